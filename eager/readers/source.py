"""Sources: where samples enter. The state of a reader or of an external source lives here.

A source is read in batches, in one thread at a time. Its place is a *position* in an endless
stream of samples; the same position always is the same sample, whatever the batch size.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.support.errors import OperatorTypeError
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.value import Symbolic

if TYPE_CHECKING:
    from gradiva.eager.workers.pool import ProcessPool

__all__ = ["Source", "SourceOperator", "arranged", "source_operator"]

P = ParamSpec("P")
S = TypeVar("S", bound=Callable[[dict[str, Any], int], "Source"])


class Source(ABC):
    """The state behind one reader or external source.

    lost: samples that the last read has left out of its batches (`on_error="skip"`), by their
    index among all that it was to deliver. turn: number of the batch that is read for, counted
    from 0; set before each read. whole: it is asked for full batches only, also where less is
    needed, because what the user hands over for a batch is one thing; the rest is cut off.
    """

    lost: Sequence[int] = ()
    turn = 0
    whole = False

    @abstractmethod
    def read(self, batch_size: int, pool: WorkerPool) -> tuple[Batch, ...]:
        """The next samples, at most `batch_size`. Raises StopIteration at the end of the data."""

    def read_epoch(self, batch_size: int, pool: WorkerPool) -> tuple[Batch, ...]:
        """Like `read`, but stops at the end of the epoch, and does not read across it."""
        return self.read(batch_size, pool)

    def read_at(self, epoch: int, position: int, pool: WorkerPool) -> tuple[Batch, ...]:
        """The sample at this place in the order of an epoch of the whole data set, wherever the
        source is. Raises OperatorTypeError for a source that cannot go back."""
        raise OperatorTypeError("only readers can deliver one sample again")

    def plans(self, world: int) -> Sequence[Any]:
        """The orders of so many processes that share the data, where samples have numbers: each a
        `Plan` (`ops/readers/plan.py`)."""
        return ()

    def reset(self) -> None:
        """Go to the start of the next epoch, for a source that has one and has reached its end."""

    def employ(self, processes: ProcessPool, batch_size: int) -> None:
        """Have the work of this source done by processes, which are started after this."""

    @abstractmethod
    def get_state(self) -> dict[str, Any]:
        """The place in the stream as plain data, for `set_state`."""

    @abstractmethod
    def set_state(self, state: dict[str, Any]) -> None:
        """Go to a place that `get_state` returned. Raises ValueError."""

    def demand(self, number: int) -> None:
        """The user waits for batch `number`: a source that waits to be fed for it must not wait
        longer."""

    def close(self) -> None:
        """Nothing will be read any more: end what waits. May be called in another thread."""

    def contents(self) -> Any:
        """What the data are, as short JSON data: a checkpoint is not put into a source with others.
        None if only `set_state` can tell."""
        return None

    def remaining(self) -> int | None:
        """Samples left in the current epoch, or None if the source does not know."""
        return None

    def epoch_length(self) -> int | None:
        """Samples in the current epoch, or None if the source does not know."""
        return None

    def shard_length(self) -> int | None:
        """Samples in the current epoch without the repeats that pad it, or None."""
        return self.epoch_length()

    def skip_epoch(self) -> None:
        """Go to the start of the next epoch, from anywhere in this one."""

    def meta(self) -> dict[str, int] | None:
        """Sizes of the epoch and its shards, or None if the source does not know them."""
        return None


class SourceOperator(OperatorBase, Generic[P]):
    """An operator that stands for a source in a graph. `open` makes the state behind it.

    output_names: from the arguments, the names of the outputs, if users get them by name.
    per_sample: arguments that may differ per sample, and what a call then is: a source has no
    inputs, so it is one without these, and other operators on what it delivers.
    """

    open: Callable[[dict[str, Any], int], Source]
    output_names: Callable[[dict[str, Any]], Sequence[str] | None] | None = None
    per_sample: tuple[Sequence[str], Callable[[dict[str, Any]], Any]] | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        named: dict[str, Any] = dict(zip(self.arguments, args, strict=False))
        given = {**named, **kwargs}
        outputs = self.bind((), given)
        return arranged(outputs, self.names(given)) if self.output_names else outputs

    def bind(self, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if self.per_sample is not None:
            names, rewritten = self.per_sample
            if any(isinstance(keywords.get(name), Symbolic) for name in names):
                return rewritten(keywords)
        return super().bind(inputs, keywords)

    def check(self, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        super().check(inputs, keywords)
        for name, value in keywords.items():
            if isinstance(value, Symbolic) and name in self.arguments:
                raise OperatorTypeError(
                    "what is read is no function of what a pipeline computes",
                    argument=name,
                    expected=self.arguments[name].kind.expected,
                    got="an output of an operator",
                )

    def names(self, given: dict[str, Any]) -> Sequence[str] | None:
        """The names of the outputs of a call, if users get them by name."""
        return None if self.output_names is None else self.output_names(self.attributes(given))

    def opens(self, kind: S) -> S:
        """Decorator: what makes the Source, from all arguments (converted) and a seed."""
        self.open = kind
        return kind

    def attributes(self, given: dict[str, Any]) -> dict[str, Any]:
        """All declared arguments: the given ones checked and converted, the others' defaults."""
        values = {name: argument.default for name, argument in self.arguments.items()}
        for name, value in given.items():
            if name in self.arguments and value is not None:
                values[name] = self.arguments[name].static(value)
        return values


def arranged(values: Any, names: Sequence[str] | None) -> Any:
    """The outputs of a source as users get them: by name, one alone, or in a tuple."""
    several = tuple(values) if isinstance(values, tuple | list) else (values,)
    if names is not None:
        return dict(zip(names, several, strict=True))
    return several[0] if len(several) == 1 else several


def source_operator(
    name: str, *, schema: str | None = None, formerly: tuple[str, ...] = ()
) -> Callable[[Callable[P, Any]], SourceOperator[P]]:
    """Declare a source: decorates its type rule, whose signature is the public one. The arguments
    are those of `operator`."""

    def declare(function: Callable[P, Any]) -> SourceOperator[P]:
        made = SourceOperator[P](
            function, name, (0, 0), effects=True, schema=schema, formerly=formerly
        )
        made.takes_seed = True
        return made

    return declare
