"""What an external source calls: the user's callable or iterable, and what it hands back."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from gradiva.eager import extension as op
from gradiva.ops.python_function.prefetchable import name_of, raised


@dataclass(slots=True)
class SampleInfo:
    """The sample that a per-sample callable is asked for.

    idx_in_epoch: number of the sample in the epoch; idx_in_batch: in the batch; iteration: number
    of the batch in the epoch; epoch_idx: number of the epoch. All start at 0.
    """

    idx_in_epoch: int
    idx_in_batch: int
    iteration: int
    epoch_idx: int


@dataclass(slots=True)
class BatchInfo:
    """The batch that a callable with `batch_info=True` is asked for; see `SampleInfo`."""

    iteration: int
    epoch_idx: int


class Feed:
    """A callable or iterable under one face: `next(request)` returns one item.

    cycle: for iterables: "no" stops at their end, "quiet" starts them again, "raise" stops, and
    starts them again at the next epoch. `restart` is called when a new epoch begins.
    """

    def __init__(self, source: Any, cycle: Any) -> None:
        self.source = source
        self.cycle = _checked_cycle(cycle)
        self._iterator: Iterator[Any] | None = None
        self.history: list[list[int]] = [[0, 0, 1]]
        """How often each of the iterators so far was asked for an item, and how many it gave:
        [calls, items, iterators], equal neighbors as one entry. The last entry is about the
        iterator in use, or the callable."""
        self.takes_request = False
        self._call: Callable[..., Any] | None = None
        if inspect.isgeneratorfunction(source):
            pass
        elif callable(source):
            if self.cycle is not None:
                raise op.OperatorTypeError(
                    "a callable cannot be cycled: it decides itself when to raise StopIteration",
                    argument="cycle",
                    expected="None",
                    got=repr(cycle),
                )
            self._call = source
            self.takes_request = _takes_argument(source)
        elif not isinstance(source, Iterable):
            raise op.wrong_type("source", "a callable or an iterable", op.describe(source))

    @property
    def iterator(self) -> Iterator[Any] | None:
        """What gives the items, made when it is needed; None for callables."""
        if self._iterator is None and self._call is None:
            self._iterator = self.fresh()
        return self._iterator

    @iterator.setter
    def iterator(self, iterator: Iterator[Any]) -> None:
        self._iterator = iterator

    def next(self, request: Any) -> Any:
        """The item for `request`. StopIteration at the end; other exceptions as errors that name
        the callable and hold its traceback."""
        try:
            item = self._next(request)
            self.history[-1][1] += 1
            return item
        except StopIteration:
            raise
        except op.GradivaError:
            raise
        except Exception as error:
            raise raised(error, self.source, "source") from error

    def _next(self, request: Any) -> Any:
        self.history[-1][0] += 1
        if self._call is not None:
            return self._call(request) if self.takes_request else self._call()
        assert self.iterator is not None
        try:
            return next(self.iterator)
        except StopIteration:
            if self.cycle != "quiet":
                raise
            before = self.iterator
            self.start_again()
            self.history[-1][0] += 1
            try:
                return next(self.iterator)
            except StopIteration:
                if self.iterator is before:
                    raise _not_again() from None
                raise

    def start_again(self) -> None:
        """Take a fresh iterator. Raises OperatorTypeError if there is none."""
        self.iterator = self._again()
        *earlier, last = self.history
        if earlier and earlier[-1][:2] == last[:2]:
            earlier[-1][2] += 1
            self.history.pop()
        self.history.append([0, 0, 1])

    def fresh(self) -> Iterator[Any]:
        """An iterator at the start of the iterable."""
        source = self.source
        made: Iterator[Any] = iter(source() if inspect.isgeneratorfunction(source) else source)
        return made

    def _again(self) -> Iterator[Any]:
        again = self.fresh()
        # An object of the user's that is its own iterator may well go to its start in `__iter__`.
        if again is self.iterator and not isinstance(type(again).__iter__, FunctionType):
            raise _not_again()
        return again

    def restart(self) -> None:
        """A new epoch begins, after the end was reached."""
        if self._iterator is not None and self.cycle == "raise":
            self.start_again()


def _not_again() -> op.OperatorTypeError:
    return op.OperatorTypeError(
        "the source is an iterator, which cannot be started again: pass an iterable or a "
        "generator function",
        argument="cycle",
    )


def _checked_cycle(cycle: Any) -> str | None:
    if cycle in (None, False, "no"):
        return None
    if cycle in (True, "quiet"):
        return "quiet"
    if cycle == "raise":
        return "raise"
    raise op.wrong_type("cycle", "'no', 'quiet', 'raise', True or False", repr(cycle))


def _takes_argument(source: Callable[..., Any]) -> bool:
    """Whether the callable wants to be told which sample or batch."""
    try:
        parameters = inspect.signature(source).parameters.values()
    except (TypeError, ValueError):  # builtins do not tell
        return False
    needed = [
        parameter
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        and parameter.default is parameter.empty
    ]
    if len(needed) > 1:
        raise op.OperatorTypeError(
            argument="source",
            expected="a callable with at most one argument",
            got=f"{name_of(source)}, which takes {len(needed)}",
        )
    return bool(needed) or any(p.kind is p.VAR_POSITIONAL for p in parameters)


def parts_of(item: Any, count: int | None) -> tuple[Any, ...]:
    """The outputs in what a source returned. count: `num_outputs`. Raises OperatorTypeError."""
    if count is None:
        return (item,)
    if not isinstance(item, tuple | list) or len(item) != count:
        raise op.OperatorTypeError(
            "the source returned the wrong thing",
            expected=f"a tuple of {count} (num_outputs)",
            got=f"{len(item)} values" if isinstance(item, tuple | list) else op.describe(item),
        )
    return tuple(item)


def check_parallel(source: Any, batch: bool) -> None:
    """Raise OperatorTypeError for a callable that processes cannot share."""
    if inspect.isgeneratorfunction(source) or not callable(source):
        return
    if not _takes_argument(source):
        wanted = "the number of the batch (or a BatchInfo)" if batch else "a SampleInfo"
        raise op.OperatorTypeError(
            "with parallel=True a callable is called in several processes, and is told for what",
            argument="source",
            expected=f"a callable with one argument, {wanted}",
            got=f"{name_of(source)}, which takes none",
        )
