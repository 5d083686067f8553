"""The worker pool: runs a function over ranges of samples, in several threads.

Which range goes to which thread never matters for results: ranges are fixed before they are
run, and each range writes only its own samples.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, Final, TypeAlias

import numpy as np

from gradiva.eager.support import tracing
from gradiva.eager.support.environment import positive_integer, variable
from gradiva.eager.support.errors import OperatorRuntimeError, OperatorValueError, without_frames
from gradiva.eager.support.shared_state import LiveObjects
from gradiva.eager.support.validation import integer

from . import affinity
from .threads import started

__all__ = [
    "WorkerPool",
    "default_num_threads",
    "default_pool",
    "get_num_threads",
    "pool_in_force",
    "set_num_threads",
    "shared_pool",
    "thread_count",
]

Task: TypeAlias = Callable[[int, int], None]
_NO_BATCH: Final = 1 << 62


class _Job:
    """One parallel call: its ranges, and its errors."""

    def __init__(self, task: Task, ranges: Sequence[tuple[int, int]], pool: WorkerPool) -> None:
        self.task = task
        self.pool = pool
        self.waiting = deque(ranges)
        """The ranges that no thread has taken. Threads may not share an iterator: in free-threaded
        Python two of them could get the same range."""
        self.batch = tracing.batch_of_thread()
        self.unfinished = len(ranges)
        self.errors: list[tuple[int, BaseException]] = []
        self.given_up = False
        """Whether Ctrl+C was pressed: ranges that have not begun are skipped."""
        self.lock = threading.Lock()
        # A bare lock, held until everything is done: an event would create two locks and a queue.
        self.finished = threading.Lock()
        self.finished.acquire()
        # Must be evaluated in the calling thread.
        recording = tracing.active  # once: another thread may end the trace
        self.origin = None if recording is None else recording.origin()

    def work(self) -> None:
        recording, began, done, waiting = tracing.active, 0, 0, self.waiting
        while waiting:
            self.pool.help_older(self.batch)
            try:
                begin, end = waiting.popleft()
            except IndexError:  # another thread has taken the last one
                break
            if not waiting:
                self.pool.taken(self)
            if recording is not None:
                began = recording.now()
            try:
                if not (self.pool.cancelled or self.given_up):
                    self.task(begin, end)
                if recording is not None and self.origin is not None:
                    recording.range(self.pool, self.origin, began, begin, end)
            except BaseException as error:  # noqa: BLE001  raised by `run`, in its caller
                if not isinstance(error, Exception):
                    self.given_up = True
                self.errors.append((begin, without_frames(error)))
            done += 1
        if done:
            with self.lock:
                self.unfinished -= done
                last = not self.unfinished
            if last:
                self.finished.release()

    def wait(self) -> None:
        """Wait until everything is done. Raises the error of the range that begins first."""
        while not self.finished.acquire(timeout=1.0):
            if self.pool._closed:
                self.work()  # no other thread will
        self.task = _nothing  # a thread may hold the job a little longer, but not what it refers to
        if self.errors:
            raise self.first_error()

    def first_error(self) -> BaseException:
        """The error of the range that begins first. Afterwards only the caller refers to it: it is
        raised in a frame that refers to the job."""
        errors, self.errors = self.errors, []
        return min(errors, key=lambda entry: entry[0])[1]


def _nothing(_begin: int, _end: int) -> None:
    """The task of a finished job."""


def _waited() -> None:
    """Everything is done."""


class WorkerPool:
    """`num_threads` threads, the calling one included: one fewer is started, on first use.

    dedicated: the calling thread only waits, and as many threads are started. Then several threads
    may call: the work of one fills the gaps that the other leaves. Calls for an older batch come
    first, between two ranges of a younger one: its next call is made the sooner.
    cpus: the core that each thread runs on; that of the calling one only in `pinned` blocks.
    """

    def __init__(
        self, num_threads: int, dedicated: bool = False, cpus: Sequence[int] | None = None
    ) -> None:
        if num_threads < 1:
            raise ValueError(f"num_threads: expected at least 1, got {num_threads}")
        self.num_threads = num_threads
        self.dedicated = dedicated
        self.cpus = cpus
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._open: list[_Job] = []
        """The jobs of a dedicated pool with ranges that no thread has taken."""
        self.oldest = np.full(1, _NO_BATCH, np.int64)
        """The number of the oldest batch that has such a job, for loops in compiled code."""
        # A pool may be closed by the garbage collector, in the thread that is starting it.
        self._lock = threading.RLock()
        self._closed = False
        self.stop = np.zeros(1, np.int64)
        """`cancelled`, for loops in compiled code."""
        _pools.add(self)

    @property
    def cancelled(self) -> bool:
        """Set from any thread to make running and later calls return early, with work undone."""
        return bool(self.stop[0])

    @cancelled.setter
    def cancelled(self, value: bool) -> None:
        self.stop[0] = value

    def run(self, task: Task, ranges: Sequence[tuple[int, int]]) -> None:
        """Call `task(begin, end)` for each range; return when all are done.

        If some raise, the error of the range that begins first is raised, whatever the timing.
        """
        if len(ranges) < 2 or self.num_threads == 1 or self._closed or _serving.set:
            for begin, end in ranges:
                if not self.cancelled:
                    task(begin, end)
            return
        if not self._threads:
            self._start()
        job = self._hand_out(task, ranges)
        if not self.dedicated:
            job.work()
        job.wait()

    def begin(self, task: Task, ranges: Sequence[tuple[int, int]]) -> Callable[[], None]:
        """Like `run`, for a pool with dedicated threads. Returns a function that waits for the end,
        which must be called once. Later calls begin after this one."""
        assert self.dedicated
        if not self._threads:
            self._start()
        if not ranges or not self._threads:
            self.run(task, ranges)
            return _waited
        return self._hand_out(task, ranges).wait

    def _hand_out(self, task: Task, ranges: Sequence[tuple[int, int]]) -> _Job:
        """Have the threads begin with a job."""
        job = _Job(task, ranges, self)
        if self.dedicated:
            with self._lock:
                self._open.append(job)
                self.oldest[0] = min(int(self.oldest[0]), job.batch)
        for _ in range(min(len(self._threads), len(ranges) - (not self.dedicated))):
            self._jobs.put(job)
        return job

    def taken(self, job: _Job) -> None:
        """All ranges of a job were taken."""
        if self.dedicated:
            with self._lock:
                self._open = [one for one in self._open if one is not job]
                self.oldest[0] = min([one.batch for one in self._open], default=_NO_BATCH)

    def help_older(self, batch: int) -> None:
        """Called by a thread that works for a batch: work for an older one first, if there is
        one."""
        if self.oldest[0] < batch:
            with self._lock:
                job = min(self._open, key=lambda one: one.batch, default=None)
            if job is not None and job.batch < batch:
                job.work()

    def _start(self) -> None:
        with self._lock:
            if self._threads or self._closed:
                return
            first = 0 if self.dedicated else 1
            for index in range(self.num_threads - first):
                cpu = None if self.cpus is None else self.cpus[first + index]
                try:
                    # Daemons, so that a pool that was not closed cannot delay the exit of the
                    # interpreter; the exit hook below stops them while the interpreter still works.
                    thread = started(_serve, f"gradiva-{index}", self._jobs, cpu)
                except OperatorRuntimeError:
                    if self.dedicated and not self._threads:
                        raise
                    return  # fewer are enough
                self._threads.append(thread)

    def has(self, thread: threading.Thread) -> bool:
        """Whether a thread belongs to the pool."""
        return thread in self._threads

    def pinned(self) -> contextlib.AbstractContextManager[None]:
        """A block in which the calling thread, if it takes part, runs on the first core."""
        if self.cpus is None or self.dedicated:
            return contextlib.nullcontext()
        return affinity.pinned(self.cpus[0])

    def close(self) -> None:
        """Stop the threads. A closed pool still runs calls, in the caller's thread."""
        with self._lock:
            self._closed = True
            threads, self._threads = self._threads, []
        for _ in threads:
            self._jobs.put(None)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(timeout=5)

    def __del__(self) -> None:
        for _ in getattr(self, "_threads", ()):  # missing if the arguments were wrong
            self._jobs.put(None)


class _Serving(threading.local):
    """Whether the calling thread belongs to a pool: calls that it makes run in this thread
    alone."""

    set = False


_serving = _Serving()


def _serve(jobs: queue.SimpleQueue[_Job | None], cpu: int | None) -> None:
    if cpu is not None:
        affinity.pin(cpu)
    _serving.set = True
    while (job := jobs.get()) is not None:
        job.work()
        job = None  # a waiting thread must not keep the last batch's buffers alive


_pools: LiveObjects[WorkerPool] = LiveObjects()
_default: WorkerPool | None = None
pool_in_force: ContextVar[WorkerPool | None] = ContextVar("gradiva_pool", default=None)
"""The pool of the current `EvalContext`."""
_default_lock = threading.RLock()
"""Who has it makes a pool. A finalizer of the user's may interrupt that, and want one, too."""
_shared: weakref.WeakValueDictionary[int, WorkerPool] = weakref.WeakValueDictionary()


def shared_pool(num_threads: int) -> WorkerPool:
    """The pool of so many threads that all who ask for it share. It is closed when nobody holds
    it."""
    found = _shared.get(num_threads)
    if found is None:
        with _default_lock:
            found = _shared.get(num_threads)
            if found is None:
                found = _shared[num_threads] = WorkerPool(num_threads)
    return found


def default_num_threads() -> int:
    """The default number of threads: GRADIVA_NUM_THREADS or DALI_NUM_THREADS, otherwise the number
    of cores that this process may use. Raises OperatorValueError for an invalid variable."""
    asked = variable("NUM_THREADS", positive_integer, "a positive integer", ("GRADIVA_", "DALI_"))
    if asked is not None:
        return asked
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


def default_pool() -> WorkerPool:
    """The pool of dynamic mode in this context."""
    global _default
    chosen = pool_in_force.get()
    if chosen is not None:
        return chosen
    if _default is None:
        with _default_lock:
            if _default is None:
                _default = WorkerPool(default_num_threads())
    return _default


_MOST_PER_CORE = 100


def thread_count(value: Any, operator: str, argument: str) -> int:
    """A number of threads. Raises OperatorTypeError for anything but an integer; OperatorValueError
    for numbers below 1, and for more threads than the system could run."""
    facts: dict[str, Any] = {"operator": operator, "argument": argument}
    number = integer(value, expected="a positive integer", bools=False, **facts)
    most = _MOST_PER_CORE * (os.cpu_count() or 1)
    if not 1 <= number <= most:
        raise OperatorValueError(
            **facts,
            expected=f"at least 1 and at most {most}, {_MOST_PER_CORE} per core",
            got=str(number),
        )
    return number


def set_num_threads(n: int | None) -> None:
    """Set the number of threads of dynamic mode; None restores the default.

    Raises OperatorTypeError for what is no integer; OperatorValueError for less than 1 and for more
    than 100 per core.
    """
    global _default
    count = default_num_threads() if n is None else thread_count(n, "set_num_threads", "n")
    fresh = WorkerPool(count)
    with _default_lock:
        old, _default = _default, fresh
    if old is not None:
        old.close()


def get_num_threads() -> int:
    """The number of threads of dynamic mode."""
    return default_pool().num_threads


@atexit.register
def _stop_all() -> None:
    for pool in _pools.members():
        pool.close()


def _forget_after_fork() -> None:
    """Threads do not survive a fork: the child starts its own on first use."""
    global _default, _default_lock
    _default, _default_lock = None, threading.RLock()
    for pool in _pools.members():
        pool._threads = []
        pool._jobs = queue.SimpleQueue()
        pool._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
