"""`ThreadPool`: threads that the user makes, for a block or for an `EvalContext`."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from gradiva.eager.support.errors import annotate_error
from gradiva.eager.types.device import Device, check_device

from .worker_pool import WorkerPool, default_num_threads, pool_in_force, thread_count

_CPU = (-1, -99999)
"""Numbers that mean no GPU: the default of other libraries, and types.CPU_ONLY_DEVICE_ID."""


class ThreadPool:
    """`num_threads` threads that work on the samples of calls, the calling thread included.

    Give it to one or several contexts, `EvalContext(thread_pool=pool)`, or use it for a block:
    `with ThreadPool(4): ...`. Several user threads may share one. Threads never change results.

    num_threads: GRADIVA_NUM_THREADS or the number of cores if not given. device_id: a GPU
    that its calls are meant for, noted; None, the CPU. Raises OperatorTypeError for what is no
    integer; OperatorValueError for less than 1 and for more than 100 threads per core;
    OperatorRuntimeError for a GPU that is not there.
    """

    def __init__(self, num_threads: int | None = None, *, device_id: int | None = None) -> None:
        self._device_id = gpu_number(device_id, "ThreadPool")
        self._workers = WorkerPool(
            default_num_threads()
            if num_threads is None
            else thread_count(num_threads, "ThreadPool", "num_threads")
        )

    @classmethod
    def of(cls, workers: WorkerPool) -> ThreadPool:
        """Wraps threads that exist already."""
        made = cls.__new__(cls)
        made._workers, made._device_id = workers, None
        return made

    @property
    def workers(self) -> WorkerPool:
        """The pool that runs the ranges of samples."""
        return self._workers

    @property
    def num_threads(self) -> int:
        """The number of threads, the calling one included."""
        return self._workers.num_threads

    @property
    def device_id(self) -> int | None:
        """The number of the GPU that it was made for; None for the CPU."""
        return self._device_id

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
"""The previous settings of each open block in this context."""


def gpu_number(device_id: Any, operator: str) -> int | None:
    """The number of an existing GPU; None for numbers that mean the CPU. Raises OperatorTypeError,
    OperatorValueError, and OperatorRuntimeError if there is no such GPU."""
    if device_id is None or (not isinstance(device_id, bool) and device_id in _CPU):
        return None
    with annotate_error(operator):
        return check_device(Device("gpu", device_id)).device_id
