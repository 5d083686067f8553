"""`ThreadPool`: threads that the user makes, for a block or for an `EvalContext`."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from .errors import OperatorValueError, describe
from .gpu.presence import no_gpu
from .threads import WorkerPool, default_num_threads, pool_in_force, thread_count

__all__ = ["ThreadPool", "require_no_gpu"]

_CPU = (-1, -99999)
"""Numbers that stand for no GPU: the default of other libraries, and types.CPU_ONLY_DEVICE_ID."""


class ThreadPool:
    """`num_threads` threads that work on the samples of calls, the calling thread included.

    Give it to one or several contexts, `EvalContext(thread_pool=pool)`, or use it for a block:
    `with ThreadPool(4): ...`. Several user threads may share one. Threads never change results.

    num_threads: GRADIVA_NUM_THREADS or the number of cores if not given. device_id: None, the CPU.
    Raises OperatorTypeError for what is no integer; OperatorValueError for less than 1, for more
    than 100 threads per core, and for a GPU, for which there is no backend.
    """

    def __init__(self, num_threads: int | None = None, *, device_id: int | None = None) -> None:
        require_no_gpu(device_id, "ThreadPool")
        self._workers = WorkerPool(
            default_num_threads()
            if num_threads is None
            else thread_count(num_threads, "ThreadPool", "num_threads")
        )

    @classmethod
    def of(cls, workers: WorkerPool) -> ThreadPool:
        """The face of threads that are there already."""
        made = cls.__new__(cls)
        made._workers = workers
        return made

    @property
    def workers(self) -> WorkerPool:
        """What runs the ranges of samples."""
        return self._workers

    @property
    def num_threads(self) -> int:
        """How many threads work, the calling one included."""
        return self._workers.num_threads

    @property
    def device_id(self) -> int | None:
        """None, the CPU."""
        return None

    def __enter__(self) -> ThreadPool:
        _outer.set((*_outer.get(), pool_in_force.get()))
        pool_in_force.set(self._workers)
        return self

    def __exit__(self, *details: object) -> None:
        *rest, before = _outer.get()
        _outer.set(tuple(rest))
        pool_in_force.set(before)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ThreadPool) and other._workers is self._workers

    def __hash__(self) -> int:
        return hash(self._workers)

    def __repr__(self) -> str:
        return f"<ThreadPool, num_threads={self.num_threads}>"


_outer: ContextVar[tuple[WorkerPool | None, ...]] = ContextVar("gradiva_outer_pools", default=())
"""What was in force before each block that is open in this context."""


def require_no_gpu(device_id: Any, operator: str) -> None:
    """Refuse the number of a GPU. Raises OperatorValueError."""
    if device_id is not None and (isinstance(device_id, bool) or device_id not in _CPU):
        raise OperatorValueError(
            no_gpu(), operator=operator,
            argument="device_id", expected="None", got=describe(device_id),
        )  # fmt: skip
