"""Why a request gets no result although nothing is wrong with it: too much load, a deadline, the
end."""

from __future__ import annotations

from typing import Any

from gradiva.eager.support.errors import OperatorRuntimeError

__all__ = ["BatcherClosed", "DeadlineExceeded", "Overloaded"]


class Overloaded(OperatorRuntimeError):  # noqa: N818  the word that servers use
    """A request was refused at once: the queue is full, or its deadline cannot be met.

    predicted_ms: the time that it would take from now on, None while no batch has been measured.
    deadline_ms: the time that it may take, None if it has no deadline. queued: the number of
    requests that wait before it.
    """

    def __init__(
        self,
        problem: str = "",
        *,
        predicted_ms: float | None = None,
        deadline_ms: float | None = None,
        queued: int = 0,
        **facts: Any,
    ) -> None:
        super().__init__(problem, **facts)
        self.predicted_ms = predicted_ms
        self.deadline_ms = deadline_ms
        self.queued = queued


class DeadlineExceeded(OperatorRuntimeError, TimeoutError):  # noqa: N818
    """The deadline of a request has passed before there was a result.

    deadline_ms: the time that it was allowed to take.
    """

    def __init__(
        self, problem: str = "", *, deadline_ms: float | None = None, **facts: Any
    ) -> None:
        super().__init__(problem, **facts)
        self.deadline_ms = deadline_ms


class BatcherClosed(OperatorRuntimeError):  # noqa: N818
    """The batcher was closed before this request was done, or before it was made."""


def late(deadline_ms: float) -> DeadlineExceeded:
    """The error of a request that was not done in time."""
    return DeadlineExceeded(
        f"the request was not done within its deadline of {deadline_ms:g} ms",
        operator="Batcher",
        deadline_ms=deadline_ms,
    )
