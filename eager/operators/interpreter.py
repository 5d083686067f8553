"""The current interpreter: runs, or records, the calls of operators in a context."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

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
    entered = enter_interpreter(chosen)
    try:
        yield
    finally:
        leave_interpreter(entered)


class Entered(NamedTuple):
    """What `enter_interpreter` has done."""

    chosen: Interpreter | None
    token: Token[Interpreter | None]


def enter_interpreter(chosen: Interpreter | None) -> Entered:
    """Make `chosen` the current interpreter of this context, until `leave_interpreter`; None for
    the eager one."""
    return Entered(chosen, running.set(chosen))


def leave_interpreter(entered: Entered) -> None:
    """Undo `enter_interpreter`; in another context only if that is a copy which was made since, as
    `asyncio.to_thread` makes one."""
    try:
        running.reset(entered.token)
    except ValueError:
        before = entered.token.old_value
        if running.get() is entered.chosen:
            running.set(None if before is Token.MISSING else before)


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
