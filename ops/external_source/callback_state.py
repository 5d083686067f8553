"""How what feeds an external source is saved, and continued from there.

A callable that is told which sample or batch needs nothing. What has `state_dict()` and
`load_state_dict(data)`, or `get_state()` and `set_state(data)` as Grain has them (the iterator, the
iterable, the callable, or the object whose method the callable is) is asked for its own state. Any
other iterable is started again and advanced as far as it had come; of a callable without arguments
nothing can be known, so it is continued from its first call only.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.contexts.checkpoint_files import CheckpointError
from gradiva.eager.contexts.json_codec import from_json_value, to_json_value

from .callback_source import CallbackIterator
from .prefetchable import name_of

_SAME_EACH_TIME = (list, tuple, range, np.ndarray, op.Batch)
"""Iterables that give the same items each time, so that earlier rounds need not be run again."""

_UNUSED = [[0, 0, 1]]

_METHODS = (("state_dict", "load_state_dict"), ("get_state", "set_state"))


def callback_state(callback: CallbackIterator) -> dict[str, Any]:
    """The place of a feed, as plain data of its own. Raises OperatorRuntimeError, OperatorTypeError
    if its `state_dict` raises or returns what is no plain data."""
    if callback.takes_request:
        return {}
    state: dict[str, Any] = {"history": [list(entry) for entry in callback.history]}
    holder = _holder(callback)
    if holder is not None:
        tells = methods_of(holder)[0]  # type: ignore[index]  # as it is one
        said = f"{tells}() of {_kind(holder)}"
        try:
            own = getattr(holder, tells)()
        except Exception as error:
            raise op.OperatorRuntimeError(
                f"{said} raised {type(error).__name__}: {error}"
            ) from error
        # Encoded now: it may hold lists and arrays that go on changing.
        state["own"] = to_json_value(own, said)
    return state


def _kind(holder: Any) -> str:
    return type(holder).__qualname__


def _holder(callback: CallbackIterator) -> Any:
    """Who can tell and take its own state, or None."""
    for holder in (callback.iterator, callback.source, getattr(callback.source, "__self__", None)):
        if methods_of(holder) is not None:
            return holder
    return None


def methods_of(holder: Any) -> tuple[str, str] | None:
    """The names of what tells the state of an object and of what takes it, if it has both."""
    for names in _METHODS:
        if all(callable(getattr(holder, name, None)) for name in names):
            return names
    return None


def restore_callback(callback: CallbackIterator, state: dict[str, Any]) -> None:
    """Go to a place that `callback_state` returned.

    Raises CheckpointError for the state of another kind of source, and where the source has other
    items than it had; OperatorTypeError for a source that cannot be continued there.
    """
    if callback.takes_request:
        if state:
            raise CheckpointError(
                f"the state belongs to another source: {name_of(callback.source)} is a callable "
                "that is told what to return"
            )
        return
    try:
        history = [[int(number) for number in entry] for entry in state["history"]]
        good = bool(history) and all(calls >= items >= 0 < times for calls, items, times in history)
    except (KeyError, TypeError, ValueError):
        good = False
    if not good:
        raise CheckpointError("this is not the state of a callable without arguments or iterable")
    holder, own = _holder(callback), state.get("own")
    if (holder is None) != (own is None):
        has, had = ("neither", "had both") if holder is None else ("both", "had neither")
        raise CheckpointError(
            f"the source {name_of(callback.source)} has {has} of state_dict and load_state_dict; "
            f"when the checkpoint was saved, it {had}"
        )
    if own is not None:
        _load(callback, holder, from_json_value(own))
    elif callback.iterator is not None:
        _replay(callback, history)
    elif history != callback.history:
        raise op.OperatorTypeError(
            f"{name_of(callback.source)} is a callable without an argument, of which nobody knows "
            f"where it stands; when the checkpoint was saved, it had been called {history[-1][0]} "
            "times. Give it an argument (the number of the batch), or the methods state_dict() and "
            "load_state_dict(data), or pass a generator function",
            argument="source",
        )
    callback.history = history


def _load(callback: CallbackIterator, holder: Any, own: Any) -> None:
    single = callback.iterator is callback.source
    setter = methods_of(holder)[1]  # type: ignore[index]
    try:
        if holder is callback.iterator and not single and callback.history != _UNUSED:
            holder = callback.iterator = callback.fresh()
        getattr(holder, setter)(own)
        if callback.iterator is not None and holder is not callback.iterator:
            # An iterable is told where to start, and starts then.
            callback.iterator = callback.fresh()
    except op.GradivaError:
        raise
    except Exception as error:
        raise op.OperatorRuntimeError(
            f"{setter}() of {_kind(holder)} raised {type(error).__name__}: {error}"
        ) from error


def _replay(callback: CallbackIterator, history: list[list[int]]) -> None:
    """Advance a fresh iterator as far as the one before had come.

    Earlier iterators are run through too, where their items may depend on how many there were.
    """
    if isinstance(callback.source, _SAME_EACH_TIME):
        history = history[-1:]
    elif callback.iterator is callback.source:
        _check_unused(callback)
    unused = callback.history == _UNUSED
    for calls, items, times in history:
        for _ in range(times):
            if not unused:
                callback.iterator = callback.fresh()
            unused = False
            found = _advance(callback, calls)
            if found != items:
                raise CheckpointError(
                    f"the source {name_of(callback.source)} has changed: in {calls} steps it gives "
                    f"{found} items, and gave {items} before the checkpoint was saved"
                )


def _check_unused(callback: CallbackIterator) -> None:
    iterator = callback.iterator
    started = (
        inspect.isgenerator(iterator) and inspect.getgeneratorstate(iterator) != inspect.GEN_CREATED
    )
    if started or callback.history != _UNUSED:
        raise op.OperatorTypeError(
            f"the source {name_of(iterator)} is an iterator that cannot be started again, and "
            "items were taken from it already; pass a fresh one, an iterable, or a generator "
            "function",
            argument="source",
        )


def _advance(callback: CallbackIterator, calls: int) -> int:
    """Ask the iterator for so many items, and return how many came. What it raised then, it raises
    again, and that was delivered."""
    found = 0
    for _ in range(calls):
        try:
            next(callback.iterator)  # type: ignore[arg-type]  # callables are not replayed
        except StopIteration:
            break
        except Exception:  # noqa: BLE001
            continue
        found += 1
    return found


def counted(value: Any) -> int:
    """A number of samples, calls or epochs of a state. Raises TypeError, ValueError for others."""
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"{value} is no count")
    number = int(value)
    if not 0 <= number < 1 << 62:  # positions are int64
        raise ValueError(f"{value} is no count")
    return number
