"""What a batcher has done so far, in numbers and as a table."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from copy import copy
from typing import Any, Final

from gradiva.capture.graph.html_table import html_table

from .requests import Request

__all__ = ["BatcherStats", "Counts"]

_MOST: Final = 10_000
"""Of so many requests the latencies are remembered."""
_PERCENTILES: Final = (50, 90, 99)


class Counts:
    """Counts of requests and batches. Changed under the lock of the engine."""

    def __init__(self) -> None:
        self.requests = 0
        self.done = 0
        self.failed = 0
        self.refused = 0
        self.late = 0
        self.canceled = 0
        self.batches = 0
        self.samples = 0
        self.calls = 0
        self.latencies: deque[float] = deque(maxlen=_MOST)

    def ended(self, requests: Iterable[Request], how: str) -> None:
        """Count requests that have ended. how: "done", "failed", "late" or "canceled"."""
        for request in requests:
            if not request.counted:
                request.counted = True
                setattr(self, how, getattr(self, how) + 1)

    def copy(self) -> Counts:
        """The counts as they are now."""
        made = copy(self)
        made.latencies = self.latencies.copy()
        return made

    def told(self, queued: int, running: int, batch_ms: dict[int, float]) -> BatcherStats:
        """The numbers for the user. batch_ms: the expected times of batches, by their size."""
        found = sorted(self.latencies)
        latency = {
            f"p{percent}": 1e3 * found[min(len(found) * percent // 100, len(found) - 1)]
            for percent in _PERCENTILES
            if found
        }
        return BatcherStats(
            requests=self.requests,
            done=self.done,
            failed=self.failed,
            refused=self.refused,
            late=self.late,
            canceled=self.canceled,
            queued=queued,
            running=running,
            batches=self.batches,
            mean_batch_size=self.samples / self.batches if self.batches else 0.0,
            calls=self.calls,
            latency_ms=latency,
            batch_ms=batch_ms,
        )


class BatcherStats(dict[str, Any]):
    """The result of `Batcher.stats`. In a notebook it is a table.

    requests: all that were made; each of them is `done`, `failed` (its own error), `refused`
    (Overloaded), `late` (DeadlineExceeded), `canceled`, or `queued` or `running` now, or it has got
    the error of a batcher that was closed. batches, mean_batch_size: those that have run; calls: of
    the function, which are more if errors made it run again. latency_ms: percentiles of the time
    from the request to its result, of the last 10,000 that are done. batch_ms: the expected time of
    a batch of one sample, and of a full one.
    """

    def __str__(self) -> str:
        return "\n".join(f"{name}: {value}" for name, value in self._lines())

    def _lines(self) -> list[tuple[str, str]]:
        return [
            (name.replace("_", " "), _text(value)) for name, value in self.items() if value != {}
        ]

    def _repr_html_(self) -> str:
        return html_table("batcher", ("", "value:"), self._lines())


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_text(one)}" for name, one in value.items())
    return f"{value:.1f}" if isinstance(value, float) else str(value)
