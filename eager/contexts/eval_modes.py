"""Evaluation modes and contexts of dynamic mode: when calls run, and on which threads."""

from __future__ import annotations

import enum
from contextvars import ContextVar
from typing import Any, ClassVar

from gradiva.eager.cuda.context import restore_streams, streams_in_force
from gradiva.eager.operators.interpreter import (
    Interpreter,
    current_interpreter,
    enter_interpreter,
    leave_interpreter,
)
from gradiva.eager.runtime.thread_pool import ThreadPool, gpu_number
from gradiva.eager.runtime.worker_pool import (
    WorkerPool,
    default_num_threads,
    default_pool,
    thread_count,
)
from gradiva.eager.support.errors import annotate_error, describe, wrong_type, wrong_value
from gradiva.eager.support.hooks import Hook
from gradiva.eager.types.device import Device, DeviceLike, check_device
from gradiva.eager.types.device import device as to_device

from .checkpoint import Checkpoint
from .stream import Stream, device_stream, face_of

lazy_interpreter: Hook[Interpreter] = Hook(
    "deferred mode", "gradiva.capture.loop.deferred_interpreter"
)
"""The interpreter of deferred mode; set by the layer that has graphs."""

_entered: ContextVar[tuple[Any, ...]] = ContextVar("gradiva_modes", default=())


class EvalMode(enum.Enum):
    """When the calls of dynamic mode run. `with EvalMode.deferred: ...` sets it for a block.

    deferred: a call is deferred; it runs, optimized together with the others, when somebody looks
        at a result: `evaluate()`, a conversion, printing.
    eager: a call runs at once (the default). On a GPU it may still be running when it returns.
    sync_cpu, sync_full: like eager, and a call returns when the CPU, or the GPU too, is done.
    default: another name of eager.
    """

    deferred = 1
    eager = 2
    sync_cpu = 3
    sync_full = 4
    default = 2  # noqa: PIE796  an alias

    def __enter__(self) -> EvalMode:
        chosen = lazy_interpreter.get() if self is EvalMode.deferred else None
        _entered.set((*_entered.get(), (self, enter_interpreter(chosen))))
        return self

    def __exit__(self, *details: object) -> None:
        *rest, (_, token) = _entered.get()
        _entered.set(tuple(rest))
        leave_interpreter(token)

    @staticmethod
    def current() -> EvalMode:
        """The current mode in this context."""
        entered = _entered.get()
        deferred = lazy_interpreter.filled and current_interpreter() is lazy_interpreter.get()
        if deferred:
            return EvalMode.deferred
        mode: EvalMode = entered[-1][0] if entered else EvalMode.eager
        return EvalMode.eager if mode is EvalMode.deferred else mode


class EvalContext:
    """The threads that work on calls made in a `with` block, and the results pending there.

    num_threads: threads of its own. thread_pool: threads made before, in place of a number. With
    neither, the current ones are used. device_id, device: the current device of the block; on a
    GPU, cuda_stream is the current stream there (see `Stream`). A context may be entered again, and
    in several threads at once.

    Raises OperatorTypeError and OperatorValueError for numbers as `ThreadPool` does, for both
    kinds of threads together, for what is no pool or stream; OperatorRuntimeError for a GPU that is
    not there.
    """

    _default: ClassVar[EvalContext]

    def __init__(
        self,
        *,
        num_threads: int | None = None,
        device_id: int | None = None,
        cuda_stream: Any = None,
        thread_pool: ThreadPool | None = None,
        device: DeviceLike | None = None,
    ) -> None:
        number = gpu_number(device_id, "EvalContext")
        with annotate_error("EvalContext"):
            self._device = None if device is None else check_device(to_device(device))
            if number is not None:
                self._device = Device("gpu", number)
            self._stream = None
            if cuda_stream is not None:
                self._stream = device_stream(cuda_stream, number, "cuda_stream")
            if thread_pool is not None and not isinstance(thread_pool, ThreadPool):
                raise wrong_type("thread_pool", "a ThreadPool", describe(thread_pool))
            if thread_pool is not None and num_threads is not None:
                raise wrong_value(
                    "num_threads",
                    "thread_pool or num_threads, not both",
                    describe(num_threads),
                    "the pool has its number of threads",
                )
            if num_threads is not None:
                thread_pool = ThreadPool(thread_count(num_threads, "EvalContext", "num_threads"))
        self._pool = thread_pool
        self._results: dict[Any, Any] = {}
        self._checkpoint = Checkpoint()

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint of this context; nothing is registered with it until the user does."""
        return self._checkpoint

    @property
    def num_threads(self) -> int:
        """The number of threads for calls."""
        return self.thread_pool.num_threads

    @property
    def thread_pool(self) -> ThreadPool:
        """The threads for calls."""
        return self._pool or ThreadPool.of(default_pool())

    @property
    def device_id(self) -> int | None:
        """The number of its GPU; None for the CPU."""
        return None if self._device is None else self._device.device_id

    @property
    def cuda_stream(self) -> Stream | None:
        """The stream of its calls on a GPU; None for the current one."""
        return None if self._stream is None else face_of(self._stream)

    @staticmethod
    def default() -> EvalContext:
        """The context of calls outside of any `with` block."""
        return EvalContext._default

    @staticmethod
    def current() -> EvalContext:
        """The current context."""
        entered = _contexts.get()
        return entered[-1] if entered else EvalContext.default()

    def evaluate_all(self) -> None:
        """Run all deferred calls made in this context whose results somebody still holds. Where
        some fail the others run, then the first error is raised."""
        if lazy_interpreter.filled:
            lazy_interpreter.get().evaluate_all(self)  # type: ignore[attr-defined]  # the deferred one has it

    def cached_results(self, invocation: Any) -> Any:
        """What `cache_results` kept for this invocation, or None."""
        return self._results.get(_key(invocation))

    def cache_results(self, invocation: Any, results: Any) -> None:
        """Keep results under a key, for `cached_results`, as long as the context lives. Raises
        OperatorTypeError for a key that has no hash."""
        self._results[_key(invocation)] = results

    def __enter__(self) -> EvalContext:
        if self._pool is not None:
            self._pool.__enter__()
        if self._device is not None:
            self._device.__enter__()
        _contexts.set((*_contexts.get(), self))
        _streams.set((*_streams.get(), streams_in_force()))
        if self._stream is not None:
            self._stream.gpu.set_stream(self._stream)
        return self

    def __exit__(self, *details: object) -> None:
        *rest, before = _streams.get()
        restore_streams(before)
        _streams.set(tuple(rest))
        _contexts.set(_contexts.get()[:-1])
        if self._device is not None:
            self._device.__exit__(None, None, None)
        if self._pool is not None:
            self._pool.__exit__(*details)

    def __repr__(self) -> str:
        threads = self._pool.num_threads if self._pool else f"{default_num_threads()}, shared"
        return f"<EvalContext, num_threads={threads}>"


def pool_of(ctx: object) -> WorkerPool | None:
    """The threads of an argument `ctx`; None if it was not given. Raises OperatorTypeError."""
    if ctx is None:
        return None
    if not isinstance(ctx, EvalContext):
        raise wrong_type("ctx", "an EvalContext", repr(ctx))
    return ctx.thread_pool.workers


def _key(invocation: Any) -> Any:
    try:
        hash(invocation)
    except TypeError:
        raise wrong_type(
            "invocation", "a key with a hash", describe(invocation), operator="EvalContext"
        ) from None
    return invocation


_streams: ContextVar[tuple[Any, ...]] = ContextVar("gradiva_streams_before", default=())
"""The previous current streams of each context that was entered."""

_contexts: ContextVar[tuple[EvalContext, ...]] = ContextVar("gradiva_contexts", default=())

EvalContext._default = EvalContext()
