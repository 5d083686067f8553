"""Running the function on a batch so that a bad request fails alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import Context
from dataclasses import dataclass
from typing import Any

from gradiva.eager.execution.quarantine import collecting
from gradiva.eager.random.step import step_at
from gradiva.eager.support.errors import (
    GradivaError,
    OperatorRuntimeError,
    failure_text,
    fresh,
    without_frames,
)

from .requests import Request, batches_of
from .results import LOST, lost_sample, rows_of

__all__ = ["Outcome", "run"]


@dataclass(slots=True)
class Outcome:
    """What a request is answered with: its result, or an error."""

    request: Request
    result: Any = None
    error: BaseException | None = None


def run(
    function: Callable[..., Any], requests: Sequence[Request], isolate: bool
) -> tuple[list[Outcome], int]:
    """The outcomes of the requests of a batch, and how often the function was called.

    A sample that an operator has skipped (`on_error="skip"`) costs nothing. If the function raises
    an error, it is called again: if the error names a sample, for that one alone and for all
    others, otherwise for each half. isolate: whether it may be called again.
    """
    outcomes: list[Outcome] = []
    calls = 0
    waiting: list[tuple[Sequence[Request], bool]] = [(requests, True)]
    while waiting:
        part, by_sample = waiting.pop()
        calls += 1
        found, error = _attempt(function, part)
        if error is None:
            outcomes += found
        elif len(part) == 1 or not isolate or not isinstance(error, Exception):
            outcomes += [Outcome(one, error=_own(error, len(part))) for one in part]
        else:
            named = error.sample if isinstance(error, GradivaError) and by_sample else None
            if named is not None and 0 <= named < len(part):
                # Not believed without a test: the function may have chosen samples.
                parts = [part[named : named + 1], [*part[:named], *part[named + 1 :]]]
            else:
                parts = [part[: len(part) // 2], part[len(part) // 2 :]]
            waiting += [(one, by_sample and named is None) for one in parts]
        del error, found
    return sorted(outcomes, key=lambda one: one.request.number), calls


def _attempt(
    function: Callable[..., Any], requests: Sequence[Request]
) -> tuple[list[Outcome], BaseException | None]:
    """The outcomes of these requests by one call of the function, or its error."""
    try:
        # A context of its own: what the function sets there ends with the call.
        return Context().run(_call, function, requests), None
    except BaseException as error:  # noqa: BLE001  it is the answer to the requests
        return [], without_frames(error)


def _call(function: Callable[..., Any], requests: Sequence[Request]) -> list[Outcome]:
    batches = batches_of(requests)
    positions = batches[0].positions
    assert positions is not None
    with collecting() as quarantine, step_at(positions):
        result = function(*batches)
        lost = {one.position: one for one in quarantine if one.position is not None}
        rows = rows_of(result, positions, lost)
    return [
        Outcome(request, error=lost_sample(lost.get(request.number)))
        if row is LOST
        else Outcome(request, row)
        for request, row in zip(requests, rows, strict=True)
    ]


def _own(error: BaseException, count: int) -> BaseException:
    """The error for one of `count` requests: nobody else raises the same object."""
    if not isinstance(error, Exception):  # it would end the program of the client
        text = failure_text(error)
        return OperatorRuntimeError(
            f"the function has raised {type(error).__name__}" + (f": {text}" if text else ""),
            operator="Batcher",
        )
    if count > 1:
        try:
            error = fresh(error)
        except Exception:  # noqa: BLE001  the error of a library may not be copied
            text = f"{type(error).__name__}: {error}"
            return OperatorRuntimeError(text, operator="Batcher")
    if isinstance(error, GradivaError):
        error.sample = None  # its number in a batch says nothing to a client
    return error
