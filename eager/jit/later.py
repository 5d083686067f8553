"""Kernels that only save microseconds per sample: worth it once there are many samples, and not
worth waiting for.

One that was not compiled before is compiled by a thread beside the work, which goes on in Python
until then. So no first batch waits for it, and no pipeline stands still in the middle of a
training. One that was is loaded at once where Numba is there for others, or where a pipeline runs,
from which many samples are to come; else by that thread.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from .jit import NotThereError, idle_seconds, loaded_only

__all__ = ["MANY", "Later", "at_once", "expect_many", "prepares_at_once", "wait_until_prepared"]

MANY = 4096
"""So many samples pay for the loading of Numba."""
_QUIET: Final = 1.0
"""Seconds for which nothing was compiled or begun: nobody waits for a kernel that would be held
up."""
_LOOK: Final = 0.05
"""Seconds from one look at that to the next."""

_at_once = _many_come = False


def expect_many() -> None:
    """Many samples are to come: kernels that were compiled before are loaded when they are first
    asked for. For pipelines; where many threads are at work, another one would take seconds to load
    Numba beside them."""
    global _many_come
    _many_come = True


class Later:
    """Says whether kernels are to be called: they pay once Numba is loaded for others, or from then
    on that many samples went by; and then they have to be there."""

    def __init__(self) -> None:
        self._seen = 0
        self._begun = self._ready = False

    def pays(self, samples: int, prepare: Callable[[], object] | None = None) -> bool:
        """Whether they are, for so many more samples. prepare: calls them with nothing to do, also
        in another thread; None for kernels that are worth waiting for."""
        if not self.pays_alone(samples) and not _numba_pays():
            return False
        return prepare is None or self.is_ready(prepare)

    def pays_alone(self, samples: int) -> bool:
        """Whether they would pay for so many more samples even if Numba has yet to be loaded."""
        self._seen += samples
        return self._seen > MANY

    def is_ready(self, prepare: Callable[[], object]) -> bool:
        """Whether they are there; if not, that is begun."""
        if self._ready or self._begun:
            return self._ready
        if _at_once:
            prepare()
            self._ready = True
        elif self._are_loaded(prepare):
            self._ready = True
        else:
            self._begun = True
            _compiler.add(self, prepare)
        return self._ready

    def _are_loaded(self, prepare: Callable[[], object]) -> bool:
        """Load them, if they were compiled before, and say so."""
        if not _numba_pays() or not idle_seconds():
            return False  # it would have to be waited for
        return _load(prepare)

    def ended(self, ready: bool | None) -> None:
        """They are there, or cannot be; None: they are to be begun with again."""
        self._ready, self._begun = bool(ready), ready is not None


def _numba_pays() -> bool:
    return _many_come or "numba" in sys.modules


def _load(prepare: Callable[[], object]) -> bool:
    """Load the kernels that a function calls; False where one was not compiled before."""
    try:
        with loaded_only():
            prepare()
    except NotThereError:
        return False
    return True


class _Waiting(NamedTuple):
    later: Later
    prepare: Callable[[], object]


class _Compiler:
    """A thread that prepares one kernel after another, while there are any."""

    def __init__(self) -> None:
        self._waiting: deque[_Waiting] = deque()
        """The first one may be at work."""
        self._new: deque[_Waiting] = deque()
        """Of which nobody has asked yet whether they were compiled before."""
        self._added = 0.0
        self.after_fork()

    def after_fork(self) -> None:
        """In the child there is no such thread."""
        for later, _ in (*self._waiting, *self._new):
            later.ended(None)
        self._waiting.clear()
        self._new.clear()
        self._lock = threading.Lock()
        self._at_work = threading.Lock()
        """Who has it, has a kernel compiled: nobody may fork then, for Numba has locks."""
        self._thread: threading.Thread | None = None

    def add(self, later: Later, prepare: Callable[[], object]) -> None:
        with self._lock:
            self._new.append(_Waiting(later, prepare))
            self._added = time.perf_counter()
            if self._thread is None:
                # No daemon: a process that ends while LLVM is at work would crash.
                self._thread = threading.Thread(target=self._run, name="gradiva-compiler")
                try:
                    self._thread.start()
                except RuntimeError:  # the interpreter ends, or there are too many threads
                    self._thread = None

    def _run(self) -> None:
        main = threading.main_thread()
        while True:
            while main.is_alive() and not self._new and not self._is_quiet():
                time.sleep(_LOOK)
            with self._lock:
                if not (self._new or self._waiting) or not main.is_alive():
                    self._new.clear()
                    self._waiting.clear()
                    self._thread = None
                    return
                loads = bool(self._new)
                queue = self._new if loads else self._waiting
                found = queue[0]
            ready: bool | None = False
            try:
                with self._at_work:
                    ready = self._prepared(found.prepare, loads)
            except Exception as error:  # noqa: BLE001  Python goes on to do it all
                trace = type(error), error, error.__traceback__, threading.current_thread()
                threading.excepthook(threading.ExceptHookArgs(trace))
            with self._lock:
                queue.popleft()
                if ready is None:
                    self._waiting.append(found)
                else:
                    found.later.ended(ready)

    def _prepared(self, prepare: Callable[[], object], loads: bool) -> bool | None:
        """Whether it is done: by loading, None where there is nothing to load, or by compiling."""
        if loads:
            return _load(prepare) or None
        prepare()
        return True

    def _is_quiet(self) -> bool:
        return min(idle_seconds(), time.perf_counter() - self._added) >= _QUIET

    def wait(self) -> None:
        thread = self._thread
        if thread is not None:
            thread.join()

    def before_fork(self) -> None:
        self._at_work.acquire()

    def after_fork_in_parent(self) -> None:
        self._at_work.release()


_compiler = _Compiler()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_compiler.before_fork,
        after_in_parent=_compiler.after_fork_in_parent,
        after_in_child=_compiler.after_fork,
    )


def wait_until_prepared() -> None:
    """Wait until all kernels that have begun to be prepared are there."""
    _compiler.wait()


def prepares_at_once() -> bool:
    """Whether this is in a block of `at_once`."""
    return _at_once


@contextmanager
def at_once() -> Iterator[None]:
    """A block in which kernels are prepared when they are first asked for, and waited for."""
    global _at_once
    before, _at_once = _at_once, True
    try:
        yield
    finally:
        _at_once = before
