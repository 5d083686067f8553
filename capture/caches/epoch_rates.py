"""What a pipeline with caches has done so far: samples per second of each epoch, and its caches."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from html import escape
from typing import Any, Final

from gradiva.capture.graph.html_table import html_table

_MOST: Final = 200
"""Epochs that are remembered."""
_WIDTH, _HEIGHT, _STEP = 480, 80, 24
"""Of the picture, and the largest width of a bar, in pixels."""


class EpochRates:
    """How fast the batches of each epoch were taken. length: tells the samples of an epoch, None
    where nobody knows; it is asked after the first batch."""

    def __init__(self, length: Callable[[], int | None]) -> None:
        self._ask = length
        self._length: int | None = None
        self._begin: float | None = None
        self._count = 0
        self.epochs: deque[dict[str, float]] = deque(maxlen=_MOST)

    def took(self, samples: int, asked: float) -> None:
        """A batch was taken, which was asked for at a time (`time.perf_counter`)."""
        if self._begin is None:
            self._begin, self._length = asked, self._ask()
        self._count += samples
        if self._length and self._count >= self._length:
            now = time.perf_counter()
            seconds = max(now - self._begin, 1e-9)
            rate = self._count / seconds
            fields = {"samples": self._count, "seconds": seconds, "samples_per_second": rate}
            self.epochs.append(fields)
            self._count, self._begin = 0, now


class PipelineStats(dict[str, Any]):
    """The result of `Pipeline.stats`. In a notebook it is a picture with a bar for each epoch, and
    a table of the caches."""

    def _repr_html_(self) -> str:
        columns = ("cache of", "in", "hits", "misses", "KiB a sample", "s saved")
        rows = (
            (
                one["operator"],
                one["where"],
                one["hits"],
                one["misses"],
                f"{one['sample_bytes'] / 1024:.0f}",
                f"{one['seconds_saved']:.1f}",
            )
            for one in self["caches"]
        )
        return _bars(self["epochs"]) + html_table("caches", columns, rows)


def _bars(epochs: list[dict[str, float]]) -> str:
    """A picture of the samples per second of epochs."""
    if not epochs:
        return ""
    rates = [one["samples_per_second"] for one in epochs]
    step = min(_STEP, _WIDTH / len(rates))
    parts = []
    for number, rate in enumerate(rates):
        height = _HEIGHT * rate / max(rates)
        title = escape(f"epoch {number}: {rate:.0f} samples/s")
        parts.append(
            f'<rect x="{number * step:.1f}" y="{_HEIGHT - height:.1f}" width="{step * 0.8:.1f}" '
            f'height="{height:.1f}" fill="#4c78a8"><title>{title}</title></rect>'
        )
    label = f"samples per second of {len(rates)} epochs, at most {max(rates):.0f}"
    return (
        f'<div>{escape(label)}</div><svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" '
        f'height="{_HEIGHT}" role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )
