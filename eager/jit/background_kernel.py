"""Background compilation of kernels that save only microseconds per sample: no batch waits
for them.

A kernel that was never compiled on this machine is compiled by a background thread, and the work is
done in Python until then. So the first batch does not wait for it, and a pipeline does not stop in
the middle of a training. A kernel from the cache is loaded immediately if Numba is loaded already,
or if a pipeline runs, since many samples will follow; otherwise the thread loads it.
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

MANY = 4096
"""The number of samples that is worth loading Numba."""
_QUIET: Final = 1.0
"""Compilation begins after this many seconds without other compilations, so that it delays none of
them."""
_LOOK: Final = 0.05
"""The seconds between two checks of that."""

_many_come = False
_at_once = 0
"""The number of open blocks of `at_once`, in any thread."""
_entering = threading.Lock()


def expect_many() -> None:
    """Many samples will follow: kernels from the cache are loaded when they are
    first needed. Called by pipelines: while many threads work, loading Numba in the background
    would take seconds."""
    global _many_come
    _many_come = True


class BackgroundKernel:
    """Decides whether kernels are to be called. They are worth it if Numba is loaded already,
    or after many samples; and they have to be ready."""

    def __init__(self) -> None:
        self._seen = 0
        self._begun = self._ready = False

    def is_worth_compiling(self, samples: int, prepare: Callable[[], object] | None = None) -> bool:
        """Whether to call them, for this many more samples. prepare: calls them without work,
        possibly in another thread; None for kernels that are worth waiting for."""
        if not self.is_worth_loading(samples) and not _numba_is_wanted():
            return False
        return prepare is None or self.is_ready(prepare)

    def is_worth_loading(self, samples: int) -> bool:
        """Whether they are worth loading Numba, for this many more samples."""
        self._seen += samples
        return self._seen > MANY

    def is_ready(self, prepare: Callable[[], object]) -> bool:
        """Whether they are ready. If not, preparing them begins."""
        if self._ready or self._begun:
            return self._ready
        if _at_once:
            prepare()
            self._ready = True
        elif self._are_loaded(prepare):
            self._ready = True
        else:
            _compiler.add(self, prepare)
        return self._ready

    def _are_loaded(self, prepare: Callable[[], object]) -> bool:
        """Load them from the cache; returns whether they were there."""
        if not _numba_is_wanted() or not idle_seconds():
            return False  # it would have to be waited for
        return _load(prepare)

    def begin(self) -> bool:
        """Preparing them begins. Returns False where it has begun before. Called under the lock of
        the thread that prepares them."""
        if self._begun or self._ready:
            return False
        self._begun = True
        return True

    def ended(self, ready: bool | None) -> None:
        """Called when preparing them has ended: whether they are ready; None to prepare them
        later."""
        self._ready, self._begun = bool(ready), ready is not None


def _numba_is_wanted() -> bool:
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
    kernel: BackgroundKernel
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
        for kernel, _ in (*self._waiting, *self._new):
            kernel.ended(None)
        self._waiting.clear()
        self._new.clear()
        self._lock = threading.Lock()
        self._at_work = threading.Lock()
        """Who has it, has a kernel compiled: nobody may fork then, for Numba has locks."""
        self._thread: threading.Thread | None = None

    def add(self, kernel: BackgroundKernel, prepare: Callable[[], object]) -> None:
        with self._lock:
            if not kernel.begin():
                return  # another thread has asked at the same time
            self._new.append(_Waiting(kernel, prepare))
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
                    found.kernel.ended(ready)

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
    return _at_once > 0


@contextmanager
def at_once() -> Iterator[None]:
    """A block in which kernels are prepared when they are first asked for, and waited for."""
    global _at_once
    with _entering:
        _at_once += 1
    try:
        yield
    finally:
        with _entering:
            _at_once -= 1
