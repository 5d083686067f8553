"""The current interpreter: runs, or records, the calls of operators in a context."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any, Protocol

from gradiva.eager.support.hooks import Hook

if TYPE_CHECKING:
    from .operator import OperatorBase


class Interpreter(Protocol):
    """Runs, or records, one call of an operator."""

    def bind(
        self, operator: OperatorBase, inputs: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any: ...


running: ContextVar[Interpreter | None] = ContextVar("gradiva_interpreter", default=None)
"""The current interpreter; None for the eager one."""
eager_hook: Hook[Interpreter] = Hook(
    "the interpreter that runs calls at once", "gradiva.eager.execution.eager_interpreter"
)
free_calls_hook: Hook[Interpreter] = Hook(
    "calls without data, outside of a pipeline", "gradiva.capture.recording.free_calls"
)


@contextmanager
def interpreter(chosen: Interpreter | None) -> Iterator[None]:
    """Make `chosen` the current interpreter in this block, in this context; None for the eager
    one."""
    token = running.set(chosen)
    try:
        yield
    finally:
        running.reset(token)


def enter_interpreter(chosen: Interpreter | None) -> Token[Interpreter | None]:
    """Make `chosen` the current interpreter of this context, until `leave_interpreter`; None for
    the eager one."""
    return running.set(chosen)


def leave_interpreter(token: Token[Interpreter | None]) -> None:
    """Undo `enter_interpreter`; from another context it has no effect."""
    with suppress(ValueError):
        running.reset(token)


def eager_interpreter() -> Interpreter:
    """The interpreter that runs calls immediately."""
    return eager_hook.get()


def runs_at_once() -> bool:
    """Whether a call now runs immediately, or makes a free node if it has no data: it is not
    recorded. Captured loops let such calls pass."""
    chosen = running.get()
    return chosen is None or getattr(chosen, "runs_at_once", False)


def current_interpreter() -> Interpreter | None:
    """The current interpreter, or None for the eager one."""
    return running.get()
