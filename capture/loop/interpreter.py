"""A captured loop as the current interpreter."""

from __future__ import annotations

import weakref
from typing import Any, Protocol

from gradiva.eager.operators.interpreter import (
    Interpreter,
    current_interpreter,
    eager_interpreter,
    enter_interpreter,
    interpreter,
)
from gradiva.eager.operators.operator import OperatorBase

__all__ = ["LoopInterpreter"]


class Loop(Protocol):
    """An interpreter for some of the calls. It is told which others ran in its body."""

    def owns(
        self, operator: OperatorBase, inputs: tuple[Any, ...], keywords: dict[str, Any]
    ) -> bool: ...

    def bind(
        self, operator: OperatorBase, inputs: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any: ...

    def mark_in_use(self, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> bool: ...

    def ran_at_once(
        self, operator: OperatorBase, inputs: tuple[Any, ...], keywords: dict[str, Any], made: Any
    ) -> None: ...


class LoopInterpreter:
    """A weak reference to a loop, for the context: a loop that is no longer referenced ends."""

    def __init__(self, loop: Loop) -> None:
        self.loop = weakref.ref(loop)
        self.outer: Interpreter | None = None

    @property
    def runs_at_once(self) -> bool:
        """Whether there are only loops around a call. Calls that do not belong to a loop run as if
        there were no loop: in the body, after a `break`, and while the loops are still
        referenced."""
        outer: Interpreter | None = self.outer
        while isinstance(outer, LoopInterpreter):
            outer = outer.outer
        return outer is None

    def bind(
        self, operator: OperatorBase, inputs: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        return self._bind(operator, inputs, keywords, ())

    def _bind(
        self,
        operator: OperatorBase,
        inputs: tuple[Any, ...],
        keywords: dict[str, Any],
        inner: tuple[Loop, ...],
    ) -> Any:
        """inner: the loops inside of this one that do not own the call."""
        loop = self.loop()
        if loop is not None and loop.owns(operator, inputs, keywords):
            return loop.bind(operator, inputs, keywords)
        if loop is None and current_interpreter() is self:
            enter_interpreter(_living(self.outer))
            outer = current_interpreter() or eager_interpreter()
            return outer.bind(operator, inputs, keywords)
        self.outer = outside = _living(self.outer)
        loops = inner if loop is None else (*inner, loop)
        at_once = outside is None and bool(loops)
        using = [one for one in loops if one.mark_in_use(inputs, keywords)] if at_once else []
        with interpreter(outside):
            if isinstance(outside, LoopInterpreter):
                return outside._bind(operator, inputs, keywords, loops)
            made = (outside or eager_interpreter()).bind(operator, inputs, keywords)
        if at_once:
            (using or loops)[0].ran_at_once(operator, inputs, keywords, made)
        return made

    def enter(self) -> None:
        """Make the loop the current interpreter, unless it is already."""
        current = running = _living(current_interpreter())
        while isinstance(running, LoopInterpreter):
            if running is self:
                return
            running.outer = _living(running.outer)
            running = running.outer
        self.outer = current
        enter_interpreter(self)

    def leave(self) -> None:
        """Remove the loop from the context, also if loops that began inside of it are above it."""
        inner, running = None, current_interpreter()
        while isinstance(running, LoopInterpreter) and running is not self:
            inner, running = running, running.outer
        if running is not self:
            return
        if inner is None:
            enter_interpreter(self.outer)
        else:
            inner.outer = self.outer


def _living(found: Interpreter | None) -> Interpreter | None:
    """The first interpreter whose loop still exists. A finalizer may run in any thread, so it
    cannot remove an interpreter from its context."""
    while isinstance(found, LoopInterpreter) and found.loop() is None:
        found = found.outer
    return found
