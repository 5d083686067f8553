"""What an external source calls: the user's callable or iterable, and what it hands back."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gradiva.eager.errors import GradivaError, OperatorRuntimeError, OperatorTypeError, describe

__all__ = ["BatchInfo", "Feed", "SampleInfo", "check_parallel", "name_of", "parts_of"]


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
    """A callable or iterable under one face: `next(request)` hands out one item.

    cycle: for iterables: "no" stops at their end, "quiet" starts them again, "raise" stops, and
    starts them again at the next epoch. `restart` is called when a new epoch begins.
    """

    def __init__(self, source: Any, cycle: Any) -> None:
        self.source = source
        self.cycle = _checked_cycle(cycle)
        self._iterator: Iterator[Any] | None = None
        self.takes_request = False
        self._call: Callable[..., Any] | None = None
        if inspect.isgeneratorfunction(source):
            pass
        elif callable(source):
            if self.cycle is not None:
                raise OperatorTypeError(
                    "a callable cannot be cycled: it decides itself when to raise StopIteration",
                    argument="cycle",
                    expected="None",
                    got=repr(cycle),
                )
            self._call = source
            self.takes_request = _takes_argument(source)
        elif not isinstance(source, Iterable):
            raise OperatorTypeError(
                argument="source", expected="a callable or an iterable", got=describe(source)
            )

    def next(self, request: Any) -> Any:
        """The item for `request`. StopIteration at the end; other exceptions as errors that name
        the callable and hold its traceback."""
        try:
            if self._call is not None:
                return self._call(request) if self.takes_request else self._call()
            if self._iterator is None:
                self._iterator = self._again()
            try:
                return next(self._iterator)
            except StopIteration:
                if self.cycle != "quiet":
                    raise
                self._iterator = self._again()
                return next(self._iterator)
        except StopIteration:
            raise
        except GradivaError:
            raise
        except Exception as error:
            raise OperatorRuntimeError(
                f"the source {name_of(self.source)} raised {type(error).__name__}: {error}\n"
                + _user_trace(error)
            ) from error

    def _again(self) -> Iterator[Any]:
        source = self.source
        again: Iterator[Any] = iter(source() if inspect.isgeneratorfunction(source) else source)
        if again is self._iterator:
            raise OperatorTypeError(
                "the source is an iterator, which cannot be started again: pass an iterable or a "
                "generator function",
                argument="cycle",
            )
        return again

    def restart(self) -> None:
        """A new epoch begins, after the end was reached."""
        if self._iterator is not None and self.cycle == "raise":
            self._iterator = self._again()


def _checked_cycle(cycle: Any) -> str | None:
    if cycle in (None, False, "no"):
        return None
    if cycle in (True, "quiet"):
        return "quiet"
    if cycle == "raise":
        return "raise"
    raise OperatorTypeError(
        argument="cycle", expected="'no', 'quiet', 'raise', True or False", got=repr(cycle)
    )


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
        raise OperatorTypeError(
            argument="source",
            expected="a callable with at most one argument",
            got=f"{name_of(source)}, which takes {len(needed)}",
        )
    return bool(needed) or any(p.kind is p.VAR_POSITIONAL for p in parameters)


def name_of(source: Any) -> str:
    return getattr(source, "__qualname__", None) or type(source).__qualname__


def parts_of(item: Any, count: int | None) -> tuple[Any, ...]:
    """The outputs in what a source returned. count: `num_outputs`. Raises OperatorTypeError."""
    if count is None:
        return (item,)
    if not isinstance(item, tuple | list) or len(item) != count:
        raise OperatorTypeError(
            "the source returned the wrong thing",
            expected=f"a tuple of {count} (num_outputs)",
            got=f"{len(item)} values" if isinstance(item, tuple | list) else describe(item),
        )
    return tuple(item)


def check_parallel(source: Any, batch: bool) -> None:
    """Raise OperatorTypeError for a callable that processes cannot share."""
    if inspect.isgeneratorfunction(source) or not callable(source):
        return
    if not _takes_argument(source):
        wanted = "the number of the batch (or a BatchInfo)" if batch else "a SampleInfo"
        raise OperatorTypeError(
            "with parallel=True a callable is called in several processes, and is told for what",
            argument="source",
            expected=f"a callable with one argument, {wanted}",
            got=f"{name_of(source)}, which takes none",
        )


def _user_trace(error: BaseException) -> str:
    """The user's frames of an exception, ours left out."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "/gradiva/" not in frame.filename.replace("\\", "/")
    ]
    return "".join(traceback.format_list(frames)).rstrip()
