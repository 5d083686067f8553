"""Sources: where samples enter. The state of a reader or of an external source lives here.

A source is read in batches, in one thread at a time. Its place is a *position* in an endless
stream of samples; the same position always is the same sample, whatever the batch size.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, ParamSpec, TypeAlias, TypeVar, cast

from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.schedules.settling import has_schedules
from gradiva.eager.support.errors import OperatorTypeError
from gradiva.eager.types.arrays import BoolVector, Int64Array
from gradiva.eager.types.device import CPU, Device
from gradiva.eager.types.dtypes import int64
from gradiva.eager.types.provenance import Progress
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.value import Symbolic

__all__ = [
    "Arrangement",
    "EpochPart",
    "LastBatchPolicy",
    "Names",
    "SamplesAgain",
    "Source",
    "SourceOperator",
    "ValueEqual",
    "arranged",
    "begin_of",
    "source_operator",
]

P = ParamSpec("P")
S = TypeVar("S", bound=Callable[[dict[str, Any], int], "Source"])


class ValueEqual(ABC):
    """An object as an argument of a source: equal to others that say the same of themselves."""

    @property
    @abstractmethod
    def description(self) -> str:
        """All that decides what it does, the same in every process."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.description == getattr(other, "description", None)

    def __hash__(self) -> int:
        return hash((type(self), self.description))

    def __repr__(self) -> str:
        return self.description


class Arrangement(ABC):
    """The form in which users get the outputs of a source, in place of their names. It is equal to
    others that arrange alike."""

    @abstractmethod
    def arrange(self, values: tuple[Any, ...]) -> Any:
        """What users get of these outputs, and of those that the arguments add at the end."""


class LastBatchPolicy(enum.Enum):
    """What to do with the last batch of an epoch, where the samples do not fill it.

    FILL: it is full; the stream of samples just goes on. DROP: it is left out. PARTIAL: it is
    smaller. With seven samples and batches of two, the reader not padding: FILL ends with [7, 1]
    and goes on with [2, 3]; DROP ends with [5, 6], PARTIAL with [7], and both go on with [1, 2].
    With interleaved shards, an epoch always ends with a step: FILL repeats its last sample.
    """

    FILL = 0
    DROP = 1
    PARTIAL = 2


def begin_of(batch: int, batches: int, length: int, batch_size: int) -> int:
    """The first sample of a batch in an epoch of so many batches and samples, none of them empty.

    The last batches of a short shard are smaller, so that it has as many as the others. Batches of
    one sample cannot be smaller: then the last one is empty.
    """
    if batch_size == 1:
        return min(batch, length)
    return max(0, min(batch * batch_size, length - (batches - batch)))


class EpochPart(NamedTuple):
    """Places from `start` to `stop` in the order of an epoch, of one of `shards` parts of it. Past
    its end its last sample is repeated."""

    epoch: int
    start: int
    stop: int
    shard: int = 0
    shards: int = 1


class SamplesAgain(NamedTuple):
    """The samples of an earlier batch: their numbers in the data set, and the positions and the
    progress that they had."""

    indices: Int64Array
    positions: Int64Array
    progress: Progress


Names: TypeAlias = "Sequence[str] | Arrangement | None"


class Source(ABC):
    """The state behind one reader or external source.

    turn: number of the batch that is read for, counted from 0; set before each read. epoch: the one
    that is read. uneven: epochs differ in length, which `whole_length` knows. unit: shards are cut
    between groups of so many samples. whole: it is asked for full batches only, also where less is
    needed, because what the user hands over for a batch is one thing; the rest is cut off. device:
    where its batches are wanted: it may make them there, else they are copied. any_thread: its
    reads, one after another, may be made by different threads; the user's functions may count on
    one. used: the outputs that somebody reads, None for all; in place of the others any batch of as
    many samples will do. counted: whether nobody reads more than the number of samples. left: the
    outputs that nothing but a cache reads. known: called with the identities of the samples of a
    batch, for each output in `left`, before they are read; says which of them need not be read,
    because the cache has what is made of them. A source may read them all the same; what it leaves
    out is in `Provenance.origin`. nominal: the size of most batches, where it is also asked for
    smaller ones. across: whether the batches, of which one sample is asked for,
    continue into the next epoch.
    """

    epoch = 0
    uneven = False
    unit = 1
    turn = 0
    whole = False
    device: Device = CPU
    any_thread = False
    used: frozenset[int] | None = None
    counted: bool = False
    left: frozenset[int] = frozenset()
    known: Callable[[dict[int, Sequence[str | None]]], BoolVector] | None = None
    nominal: int | None = None
    across = False

    @property
    def epochs_begun(self) -> int | None:
        """The epoch that is read, of a source that starts again; None for one without epochs."""
        return None

    def begin(self, count: int) -> None:
        """It will be read soon: what takes its time for the first samples, about so many, may be
        begun."""

    @abstractmethod
    def read(self, batch_size: int, pool: WorkerPool) -> tuple[Batch, ...]:
        """The next samples, at most `batch_size`; of batches that have lost some
        (`on_error="skip"`), `valid` says which are left. Raises StopIteration at the end of the
        data."""

    def read_epoch(self, batch_size: int, pool: WorkerPool) -> tuple[Batch, ...]:
        """Like `read`, but stops at the end of the epoch, and does not read across it."""
        return self.read(batch_size, pool)

    def read_at(self, epoch: int, position: int, pool: WorkerPool) -> tuple[Batch, ...]:
        """The sample at this place in the order of an epoch of the whole data set, wherever the
        source is. Raises OperatorTypeError for a source that cannot go back."""
        raise OperatorTypeError("only readers can deliver one sample again")

    def read_part(self, part: EpochPart, pool: WorkerPool) -> tuple[Batch, ...]:
        """The samples of a part of an epoch, wherever the source is. Raises OperatorTypeError for
        a source that cannot go back."""
        raise OperatorTypeError("only readers can deliver any part of an epoch")

    def read_again(self, samples: SamplesAgain, pool: WorkerPool) -> tuple[Batch, ...]:
        """Samples of an earlier batch, wherever the source is. Raises OperatorTypeError for a
        source that cannot go back; OperatorValueError if the data set has no such samples."""
        raise OperatorTypeError("only readers can deliver the samples of an earlier batch again")

    def plans(self, world: int) -> Sequence[Any]:
        """The orders of so many processes that share the data, where samples have numbers: each a
        `Plan` (`ops/readers/core/plan.py`)."""
        return ()

    @property
    def shared_steps(self) -> Any:
        """The plan of a reader that shares each step of an epoch with others, an `InterleavedPlan`
        (`ops/readers/sharding/interleaved.py`); None for all other sources."""
        return None

    def share_steps(self, share: Any = None, policy: Any = None) -> None:
        """Share each step of an epoch with others from now on: the `Share` of this process, and the
        policy of the last step; None for those that it has. Only before the first batch.
        Raises OperatorTypeError for a source that cannot."""
        raise OperatorTypeError("only readers can share the steps of an epoch")

    def go_to(self, epoch: int, place: int, turn: int = 0) -> None:
        """Go to the place in an epoch where a state has left it, for a source that shares steps.
        turn: the worker that takes the first step from there."""
        raise OperatorTypeError("only readers can share the steps of an epoch")

    def expect(self, batch_size: int) -> None:
        """It will be read in batches of at most so many samples."""

    def reset(self) -> None:
        """Go to the start of the next epoch, for a source that has one and has reached its end."""

    def employ(self, processes: Any, batch_size: int) -> None:
        """Have the work of this source done by processes, which are started after this. They are a
        `ProcessPool` (`ops/external_source/workers/pool.py`)."""

    @abstractmethod
    def get_state(self) -> dict[str, Any]:
        """The place in the stream as plain data, for `set_state`."""

    @abstractmethod
    def set_state(self, state: dict[str, Any]) -> None:
        """Go to a place that `get_state` returned. Raises ValueError."""

    def mark(self) -> Any:
        """The place, for `rewind` and `state_at` in this process."""
        return self.get_state()

    def rewind(self, mark: Any) -> None:
        """Go back to a place."""
        self.set_state(mark)

    def state_at(self, mark: Any) -> dict[str, Any]:
        """What `get_state` returns at a place."""
        return cast("dict[str, Any]", mark)

    def bucket(self, bucket: Any) -> None:
        """Read in buckets from now on. Raises GradivaError in the middle of an epoch, and for a
        source that has none."""
        raise OperatorTypeError("this source has no buckets", argument="bucket")

    def most_at_once(self) -> int | None:
        """The most samples of a batch, where buckets make batches whose size nobody has said."""
        return None

    def set_weights(self, mark: Any, weights: Any) -> None:
        """Weights of the samples, for the epoch that begins next at a place."""
        raise OperatorTypeError("this source has no weights")

    def feedback(self, mark: Any, positions: Any, scores: Any) -> None:
        """Weights of the samples that have these positions, as `set_weights`."""
        raise OperatorTypeError("this source has no weights")

    def demand(self, number: int) -> None:
        """The user waits for batch `number`: a source that waits to be fed for it must not wait
        longer."""

    def close(self) -> None:
        """Nothing will be read any more: end what waits. May be called in another thread."""

    def contents(self) -> Any:
        """What the data are, as short JSON data: a checkpoint is not put into a source with others.
        None if only `set_state` can tell."""
        return None

    def classes(self) -> list[str] | None:
        """The name of each label, where labels are numbers of names; else None."""
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

    def whole_length(self, epoch: int) -> int:
        """Samples in an epoch of all shards together."""
        return self.epoch_length() or 0

    def batches(self, epoch: int, batch_size: int) -> int | None:
        """Batches in an epoch, where the source says by itself how large they are; else None."""
        return None

    def skip_epoch(self) -> None:
        """Go to the start of the next epoch, from anywhere in this one."""

    def meta(self) -> dict[str, int] | None:
        """Sizes of the epoch and its shards, or None if the source does not know them."""
        return None


class SourceOperator(OperatorBase, Generic[P]):
    """An operator that stands for a source in a graph. `open` makes the state behind it.

    output_names: from the arguments, the names of the outputs, if users get them by name, or their
    arrangement.
    per_sample: arguments that may differ per sample, and what a call then is: a source has no
    inputs, so it is one without these, and other operators on what it delivers.
    only_if_read: it is not asked for samples of which nothing but the positions is needed, for
    random values.
    """

    open: Callable[[dict[str, Any], int], Source]
    output_names: Callable[[dict[str, Any]], Names] | None = None
    per_sample: tuple[Sequence[str], Callable[[dict[str, Any]], Any]] | None = None
    only_if_read = False
    takes_seed = True
    hidden_common = frozenset(("batch_size",))

    def __init__(self, *declaration: Any, draws: bool, **options: Any) -> None:
        self.draws = draws
        super().__init__(*declaration, **options)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        named: dict[str, Any] = dict(zip(self.arguments, args, strict=False))
        given = {**named, **kwargs}
        outputs = self.bind((), given)
        names = self.names(given)
        return outputs if names is None else arranged(outputs, names)

    def bind(self, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if self.per_sample is not None:
            names, rewritten = self.per_sample
            if any(isinstance(keywords.get(name), Symbolic) for name in names):
                return rewritten(keywords)
        return super().bind(inputs, keywords)

    def check(self, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        super().check(inputs, keywords)
        for name, value in keywords.items():
            if has_schedules({name: value}) and not self._takes_schedules(name):
                raise OperatorTypeError(
                    "what is read follows no schedule: a reader is the same in all epochs",
                    argument=name,
                    expected=self.arguments[name].kind.expected,
                    got=repr(value),
                )
            if isinstance(value, Symbolic) and name in self.arguments:
                raise OperatorTypeError(
                    "what is read is no function of what a pipeline computes",
                    argument=name,
                    expected=self.arguments[name].kind.expected,
                    got="an output of an operator",
                )

    def _takes_schedules(self, name: str) -> bool:
        return name not in self.arguments or self.arguments[name].kind.schedules

    def names(self, given: dict[str, Any]) -> Names:
        """The names of the outputs of a call, if users get them by name, or their arrangement."""
        if self.output_names is None:
            return None
        names = self.output_names(self.attributes(given))
        if isinstance(names, Arrangement):
            return names
        return (*names, "@index") if names is not None and given.get("with_index") else names

    def types(
        self, inputs: Sequence[SampleType], arguments: dict[str, Any]
    ) -> tuple[SampleType, ...]:
        """Those of the type rule, and with `with_index` that of the numbers of samples."""
        found = super().types(inputs, arguments)
        more = arguments.get("with_index") and "with_index" in self.arguments
        return (*found, SampleType(int64, 1, "", "cpu")) if more else found

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


def arranged(values: Any, names: Names) -> Any:
    """The outputs of a source as users get them: by name, one alone, or in a tuple."""
    several = tuple(values) if isinstance(values, tuple | list) else (values,)
    if isinstance(names, Arrangement):
        return names.arrange(several)
    if names is not None:
        return dict(zip(names, several, strict=True))
    return several[0] if len(several) == 1 else several


def source_operator(
    name: str,
    *,
    schema: str | None = None,
    formerly: tuple[str, ...] = (),
    old_arguments: Mapping[str, str | None] | None = None,
    draws: bool = True,
) -> Callable[[Callable[P, Any]], SourceOperator[P]]:
    """Declare a source: decorates its type rule, whose signature is the public one. The arguments
    are those of `operator`; draws: whether the seed decides about something, such as the order of
    samples."""

    def declare(function: Callable[P, Any]) -> SourceOperator[P]:
        return SourceOperator[P](
            function,
            name,
            (0, 0),
            effects=True,
            schema=schema,
            formerly=formerly,
            old_arguments=old_arguments,
            draws=draws,
        )

    return declare
