"""What stays alive, and what only Python's collector of cycles would find. Not a test itself."""

from __future__ import annotations

import gc
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

import gradiva
from gradiva.eager.runtime.finalizer_thread import finalizer_thread

__all__ = ["Watch", "cyclic_garbage", "fails", "leased", "no_collector"]

T = TypeVar("T")


class Watch:
    """Called with things, it gives them back, and tells later which of them are alive."""

    def __init__(self) -> None:
        self._seen: list[tuple[str, weakref.ref[Any]]] = []

    def __call__(self, thing: T) -> T:
        self._seen.append((type(thing).__name__, weakref.ref(thing)))
        return thing

    def __len__(self) -> int:
        return len(self._seen)

    def alive(self) -> list[str]:
        settle()
        return [name for name, reference in self._seen if reference() is not None]


def fails(
    kind: type[BaseException], function: Callable[..., Any], /, *args: Any, **keywords: Any
) -> None:
    """A user's `try` and `except`. (`pytest.raises` would keep the error.)"""
    try:
        function(*args, **keywords)
    except kind:
        return
    raise AssertionError(f"{function} did not raise {kind.__name__}")


def settle() -> None:
    """Wait for what finalizers have left to the closer: pipelines and loops that were dropped."""
    done = threading.Event()
    finalizer_thread.ready()
    finalizer_thread.post(done.set)
    assert done.wait(60)


def leased() -> int:
    """Bytes of the pool that somebody holds an array on."""
    settle()
    return gradiva.backend.memory_stats().leased


@contextmanager
def no_collector() -> Iterator[Callable[[], None]]:
    """A block in which nothing goes but by the count of its references. It gives a function that
    waits for what was begun in it: threads of pipelines and loops that are gone may be at their
    last batch."""
    gc.collect()
    gc.freeze()  # the collections that follow pass over what is there: they would take 0.1 s each
    was, running = gc.isenabled(), set(threading.enumerate())
    gc.disable()

    def wait() -> None:
        settle()
        for thread in set(threading.enumerate()) - running:
            if thread.name.startswith(("gradiva-scheduler", "gradiva-runner", "gradiva-ahead")):
                thread.join(60)

    try:
        yield wait
    finally:
        if was:
            gc.enable()


def cyclic_garbage(step: Callable[[], None]) -> list[str]:
    """What a call leaves in cycles: objects of gradiva's, frames of its code, errors, arrays."""
    with no_collector() as wait:
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            step()
            wait()
            gc.collect()
            found = {text for thing in gc.garbage for text in _told(thing)}
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
    return sorted(found)


def _told(thing: Any) -> Iterator[str]:
    module = type(thing).__module__
    if isinstance(thing, types.FrameType):
        where = str(thing.f_globals.get("__name__"))
        if where.startswith("gradiva"):
            yield f"frame of {where}.{thing.f_code.co_name}"
    elif isinstance(thing, BaseException):
        yield f"{type(thing).__name__}: {thing}"
    elif isinstance(module, str) and module.startswith("gradiva."):
        yield f"{module}.{type(thing).__qualname__}"
    # Arrays take no part in the collection: they are what something there refers to.
    if any(isinstance(held, np.ndarray) for held in gc.get_referents(thing)):
        yield f"array in a {type(thing).__qualname__}"
