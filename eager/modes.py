"""Evaluation modes and contexts of dynamic mode: when calls run, and on which threads."""

from __future__ import annotations

import enum
from contextvars import ContextVar
from types import TracebackType
from typing import Any, ClassVar

from .checkpoint import Checkpoint
from .device import DeviceLike, require_cpu
from .device import device as to_device
from .errors import OperatorTypeError, OperatorValueError
from .operator import Interpreter, current_interpreter, enter_interpreter, leave_interpreter
from .threads import WorkerPool, default_num_threads, default_pool, pool_in_force

__all__ = ["EvalContext", "EvalMode", "lazy_interpreter", "pool_of"]

lazy_interpreter: list[Interpreter] = []
"""The interpreter of deferred mode; put here by the room that has graphs."""

_entered: ContextVar[tuple[Any, ...]] = ContextVar("gradiva_modes", default=())


class EvalMode(enum.Enum):
    """When the calls of dynamic mode run. `with EvalMode.deferred: ...` sets it for a block.

    deferred: a call is noted down; it runs, optimised together with the others, when somebody looks
        at a result: `evaluate()`, a conversion, printing.
    eager: a call runs at once (the default). On a GPU it may still be running when it returns.
    sync_cpu, sync_full: like eager, and a call returns when the CPU, or the GPU too, is done.
    """

    deferred = "deferred"
    eager = "eager"
    sync_cpu = "sync_cpu"
    sync_full = "sync_full"

    def __enter__(self) -> EvalMode:
        chosen = lazy_interpreter[0] if self is EvalMode.deferred else None
        _entered.set((*_entered.get(), (self, enter_interpreter(chosen))))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        *rest, (_, token) = _entered.get()
        _entered.set(tuple(rest))
        leave_interpreter(token)

    @staticmethod
    def current() -> EvalMode:
        """The mode in force in this context."""
        entered = _entered.get()
        deferred = bool(lazy_interpreter) and current_interpreter() is lazy_interpreter[0]
        if deferred:
            return EvalMode.deferred
        mode: EvalMode = entered[-1][0] if entered else EvalMode.eager
        return EvalMode.eager if mode is EvalMode.deferred else mode


class EvalContext:
    """The threads that work on calls made in a `with` block, and the results pending there.

    num_threads: threads of its own, or None for those of the process. device_id: None, the CPU.
    """

    _default: ClassVar[EvalContext | None] = None

    def __init__(
        self, *, num_threads: int | None = None, device_id: int | None = None,
        device: DeviceLike | None = None,
    ) -> None:  # fmt: skip
        if device is not None:
            require_cpu(to_device(device))
        if device_id is not None:
            raise OperatorValueError(
                "this version of gradiva has no GPU backend", operator="EvalContext",
                argument="device_id", expected="None", got=repr(device_id),
            )  # fmt: skip
        if num_threads is not None and (
            isinstance(num_threads, bool) or not isinstance(num_threads, int) or num_threads < 1
        ):
            raise OperatorTypeError(
                operator="EvalContext", argument="num_threads", expected="a positive integer",
                got=repr(num_threads),
            )  # fmt: skip
        self._pool = None if num_threads is None else WorkerPool(num_threads)
        self._results: dict[Any, Any] = {}
        self._checkpoint: Checkpoint | None = None

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint of this context; nothing is registered with it until the user does."""
        if self._checkpoint is None:
            self._checkpoint = Checkpoint()
        return self._checkpoint

    @property
    def num_threads(self) -> int:
        return self.thread_pool.num_threads

    @property
    def thread_pool(self) -> WorkerPool:
        """The threads that work on calls."""
        return self._pool or default_pool()

    @property
    def device_id(self) -> int | None:
        return None

    @property
    def cuda_stream(self) -> None:
        """None: there is no GPU backend yet."""
        return None

    @staticmethod
    def default() -> EvalContext:
        """The context of calls outside of any `with` block."""
        if EvalContext._default is None:
            EvalContext._default = EvalContext()
        return EvalContext._default

    @staticmethod
    def current() -> EvalContext:
        """The context in force."""
        entered = _contexts.get()
        return entered[-1][0] if entered else EvalContext.default()

    def evaluate_all(self) -> None:
        """Run all deferred calls whose results somebody still holds."""
        for pending in lazy_interpreter:
            pending.evaluate_all()  # type: ignore[attr-defined]  # the deferred one has it

    def cached_results(self, invocation: Any) -> Any:
        """What `cache_results` kept for this invocation, or None."""
        return self._results.get(invocation)

    def cache_results(self, invocation: Any, results: Any) -> None:
        """Keep results under a key, for `cached_results`."""
        self._results[invocation] = results

    def __enter__(self) -> EvalContext:
        token = None if self._pool is None else pool_in_force.set(self._pool)
        _contexts.set((*_contexts.get(), (self, token)))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        *rest, (_, token) = _contexts.get()
        _contexts.set(tuple(rest))
        if token is not None:
            pool_in_force.reset(token)

    def __repr__(self) -> str:
        threads = self._pool.num_threads if self._pool else f"{default_num_threads()}, shared"
        return f"<EvalContext, num_threads={threads}>"


def pool_of(ctx: object) -> WorkerPool | None:
    """The threads of an argument `ctx`; None if it is not given. Raises OperatorTypeError."""
    if ctx is None:
        return None
    if not isinstance(ctx, EvalContext):
        raise OperatorTypeError(argument="ctx", expected="an EvalContext", got=repr(ctx))
    return ctx.thread_pool


_contexts: ContextVar[tuple[Any, ...]] = ContextVar("gradiva_contexts", default=())
