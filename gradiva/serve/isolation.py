"""Running the function on a batch so that a bad request fails alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import Context
from dataclasses import dataclass
from typing import Any

from gradiva.eager.execution.quarantine import Quarantine, Quarantined, collecting_in, isolated
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
    an error, it is called again: if operators have skipped samples or the error names one, for
    these and for all others, otherwise for each half. isolate: whether it may be called again.
    """
    outcomes: list[Outcome] = []
    calls = 0
    waiting: list[tuple[Sequence[Request], bool]] = [(requests, True)]
    while waiting:
        part, by_sample = waiting.pop()
        calls += 1
        attempt = _attempt(function, part)
        error = attempt.error
        if error is None:
            outcomes += attempt.outcomes
        elif len(part) == 1 or not isolate or not isinstance(error, Exception):
            outcomes += [
                Outcome(one, error=_own(error, len(part), attempt.lost.get(one.number)))
                for one in part
            ]
        else:
            # What is suspected is tested: the function may have chosen samples, so that the number
            # in the error is another one.
            bad = _suspects(part, attempt) if by_sample else []
            parts = [part[: len(part) // 2], part[len(part) // 2 :]]
            if 0 < len(bad) < len(part):
                parts = [bad, [one for one in part if one not in bad]]
            waiting += [(one, not bad) for one in parts]
        del error, attempt
    return sorted(outcomes, key=lambda one: one.request.number), calls


@dataclass(slots=True)
class _Attempt:
    """One call of the function. lost: the samples that operators have skipped or replaced, by
    position; outcomes: if there was no error."""

    lost: dict[int, Quarantined]
    outcomes: Sequence[Outcome] = ()
    error: BaseException | None = None


def _attempt(function: Callable[..., Any], requests: Sequence[Request]) -> _Attempt:
    quarantine = isolated()
    outcomes: Sequence[Outcome] = ()
    failed = None
    try:
        # A context of its own: what the function sets there ends with the call.
        outcomes = Context().run(_call, function, requests, quarantine)
    except BaseException as error:  # noqa: BLE001  it is the answer to the requests
        failed = without_frames(error)
    return _Attempt(_by_position(quarantine), outcomes, failed)


def _call(
    function: Callable[..., Any], requests: Sequence[Request], quarantine: Quarantine
) -> list[Outcome]:
    batches = batches_of(requests)
    positions = batches[0].positions
    assert positions is not None
    with collecting_in(quarantine), step_at(positions):
        result = function(*batches)
        lost = _by_position(quarantine)
        rows = rows_of(result, positions, lost)
    return [
        Outcome(request, error=lost_sample(lost.get(request.number)))
        if row is LOST
        else Outcome(request, row)
        for request, row in zip(requests, rows, strict=True)
    ]


def _by_position(quarantine: Quarantine) -> dict[int, Quarantined]:
    return {one.position: one for one in quarantine if one.position is not None}


def _suspects(requests: Sequence[Request], attempt: _Attempt) -> list[Request]:
    """The requests that may be at fault."""
    found = [one for one in requests if one.number in attempt.lost]
    named = attempt.error.sample if isinstance(attempt.error, GradivaError) else None
    if not found and named is not None and 0 <= named < len(requests):
        found = [requests[named]]
    return found


def _own(error: BaseException, count: int, lost: Quarantined | None) -> BaseException:
    """The error for one of `count` requests: nobody else raises the same object. lost: of its
    sample, without which the function did not know what to do."""
    if lost is not None and isinstance(error, Exception):
        damage = lost_sample(lost)
        damage.__cause__ = error if count == 1 else None
        return damage
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
