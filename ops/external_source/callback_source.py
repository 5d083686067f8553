"""What an external source calls: the user's callable or iterable, and what it hands back."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, MethodType, MethodWrapperType
from typing import Any

import numpy as np

from gradiva.eager import extension as op

from .prefetchable import name_of, raised


@dataclass(slots=True, unsafe_hash=True)
class SampleInfo:
    """The sample that a per-sample callable is asked for.

    idx_in_epoch: number of the sample in the epoch; idx_in_batch: in the batch; iteration: number
    of the batch in the epoch; epoch_idx: number of the epoch. All start at 0.
    """

    idx_in_epoch: int
    idx_in_batch: int
    iteration: int
    epoch_idx: int


@dataclass(slots=True, unsafe_hash=True)
class BatchInfo:
    """The batch that a callable with `batch_info=True` is asked for; see `SampleInfo`."""

    iteration: int
    epoch_idx: int


class CallbackIterator:
    """A callable or iterable under one face: `next(request)` returns one item.

    cycle: for iterables: "no" stops at their end, "quiet" starts them again, "raise" stops, and
    starts them again at the next epoch. `restart` is called when a new epoch begins.
    """

    def __init__(self, source: Any, cycle: Any) -> None:
        self.source = source
        self.cycle = _as_cycle(cycle)
        self._iterator: Iterator[Any] | None = None
        self.history: list[list[int]] = [[0, 0, 1]]
        """How often each of the iterators so far was asked for an item, and how many it gave:
        [calls, items, iterators], equal neighbors as one entry. The last entry is about the
        iterator in use, or the callable."""
        self.takes_request = False
        self._call: Callable[..., Any] | None = None
        self._generates = _is_generator_function(source)
        if self._generates or _is_iterable(source):
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
        else:
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
        made: Iterator[Any] = iter(source() if self._generates else source)
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


def check_source(source: Any, cycle: Any) -> None:
    """Raise OperatorTypeError for a generator that is to be started again, and for what is neither
    iterable nor a callable with at most one argument."""
    if inspect.isgenerator(source) and _as_cycle(cycle) is not None:
        raise _not_again()
    if source is not None:
        CallbackIterator(source, cycle)


def _not_again() -> op.OperatorTypeError:
    return op.OperatorTypeError(
        "the source is an iterator, which cannot be started again: pass an iterable or a "
        "generator function",
        argument="cycle",
    )


def _as_cycle(cycle: Any) -> str | None:
    if cycle in (None, False, "no"):
        return None
    if cycle in (True, "quiet"):
        return "quiet"
    if cycle == "raise":
        return "raise"
    raise op.wrong_type("cycle", "'no', 'quiet', 'raise', True or False", repr(cycle))


def _is_generator_function(source: Any) -> bool:
    """Whether calling it gives a generator; also an object whose `__call__` is such a function."""
    if inspect.isgeneratorfunction(source):
        return True
    if isinstance(source, functools.partial):
        return _is_generator_function(source.func)
    return not inspect.isclass(source) and inspect.isgeneratorfunction(
        getattr(source, "__call__", None)  # noqa: B004  # it is looked at, not asked whether it is
    )


def _is_iterable(source: Any) -> bool:
    """Whether `iter` takes it: as DALI does, a callable that is also iterable is iterated over."""
    kind = type(source)
    if hasattr(kind, "__iter__"):
        return kind.__iter__ is not None
    return hasattr(kind, "__getitem__")


_COUNTED_AS_THEY_ARE = (
    FunctionType,
    MethodType,
    BuiltinFunctionType,
    MethodWrapperType,
    functools.partial,
    type,
)
"""Callables whose own signature counts; of other objects it is that of their `__call__`."""


def _takes_argument(source: Callable[..., Any]) -> bool:
    """Whether the callable wants to be told which sample or batch.

    It does if it has a positional parameter, also one with a default. Raises OperatorTypeError for
    callables of which that cannot be known, and for those with more parameters.
    """
    called: Any = source
    if not isinstance(called, _COUNTED_AS_THEY_ARE) and not hasattr(called, "__wrapped__"):
        called = called.__call__
    try:
        parameters = list(inspect.signature(called).parameters.values())
    except (TypeError, ValueError):  # some builtins do not tell
        return False
    if isinstance(source, functools.partial):  # what it has bound by name has a default
        parameters = [
            parameter
            for parameter in parameters
            if parameter.kind is not parameter.KEYWORD_ONLY or parameter.default is parameter.empty
        ]
    for parameter in parameters:
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise _wrong_parameters(source, f"`{parameter}`, a {parameter.kind.description} one")
    if len(parameters) > 1:
        names = ", ".join(f"`{parameter}`" for parameter in parameters)
        raise _wrong_parameters(source, f"{len(parameters)}: {names}")
    return bool(parameters)


def _wrong_parameters(source: Any, got: str) -> op.OperatorTypeError:
    return op.OperatorTypeError(
        "the source must take no argument, or one that tells it which batch or sample is wanted",
        argument="source",
        expected="a callable with 0 or 1 positional parameters",
        got=f"{name_of(source)}, which has {got}",
    )


def parts_of(item: Any, count: int | None) -> tuple[Any, ...]:
    """The outputs in what a source returned. count: `num_outputs`. Raises OperatorTypeError."""
    if count is None:
        return (item,)
    if isinstance(item, np.ndarray) and item.ndim and len(item) == count:
        item = tuple(item)
    if not isinstance(item, tuple | list) or len(item) != count:
        raise op.OperatorTypeError(
            "the source returned the wrong thing",
            expected=f"a tuple of {count} (num_outputs)",
            got=f"{len(item)} values" if isinstance(item, tuple | list) else op.describe(item),
        )
    return tuple(item)


def check_parallel(source: Any, batch: bool) -> None:
    """Raise OperatorTypeError for a callable that processes cannot share."""
    if _is_generator_function(source) or _is_iterable(source) or not callable(source):
        return
    if not _takes_argument(source):
        wanted = "the number of the batch (or a BatchInfo)" if batch else "a SampleInfo"
        raise op.OperatorTypeError(
            "with parallel=True a callable is called in several processes, and is told for what",
            argument="source",
            expected=f"a callable with one argument, {wanted}",
            got=f"{name_of(source)}, which takes none",
        )
