"""Schedules as curves, for notebooks."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from gradiva.eager.schedules.rules import Arithmetic, Points, Rule
from gradiva.eager.schedules.schedule import PER, Schedule, to_picture

__all__ = ["curve"]

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 420, 160, 56, 24, 10
_COLORS = ("#3b82f6", "#f59e0b", "#10b981", "#ef4444")
_POINTS = 240
_ENDS = {"epoch": 30.0, "step": 1000.0, "sample": 10_000.0}
"""How far curves go of which nobody knows where they end."""


def curve(schedule: Schedule) -> str:
    """The schedule as text, and a curve of each number of its values."""
    text = f"<code>{escape(repr(schedule))}</code>"
    per = [name for name in PER if name in schedule.per]
    if len(per) != 1:
        return text  # of several places
    end = _end(schedule.rule) or _ENDS[per[0]]
    places = np.unique(np.rint(np.linspace(0, end, _POINTS))).astype(np.int64)
    values = _values(schedule, per[0], places)
    low, high = float(values.min()), float(values.max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    right, bottom = _WIDTH - 10, _HEIGHT - _BOTTOM
    x = _LEFT + places / end * (right - _LEFT)
    y = bottom - (values - low) / (high - low) * (bottom - _TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        'font-family="sans-serif" font-size="11" fill="gray" style="display:block">',
        f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="gray"/>',
    ]
    for column in range(values.shape[1]):
        line = "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y[:, column], strict=True))
        color = _COLORS[column % len(_COLORS)]
        parts.append(f'<path d="M{line}" fill="none" stroke="{color}" stroke-width="2"/>')
    for number, at in ((low, bottom), (high, _TOP + 8)):
        parts.append(f'<text x="{_LEFT - 6}" y="{at}" text-anchor="end">{number:.4g}</text>')
    parts += [
        f'<text x="{_LEFT}" y="{_HEIGHT - 8}">0</text>',
        f'<text x="{right}" y="{_HEIGHT - 8}" text-anchor="end">{per[0]} {end:g}</text></svg>',
    ]
    return text + "".join(parts)


def _values(schedule: Schedule, per: str, places: Any) -> Any:
    """(places, numbers of a value)."""
    if per == "sample":
        found = np.asarray(schedule.at(sample=places), np.float64)
    else:
        found = np.array([schedule.at(**{per: int(place)}) for place in places], np.float64)
    return found.reshape(len(places), -1)


def _end(rule: Rule) -> float:
    """Where the last point of a rule is, and a bit more; 0 for one without points."""
    if isinstance(rule, Points):
        return rule.points()[-1][0] * 1.1
    if isinstance(rule, Arithmetic):
        return max(map(_end, rule.operands))
    return 0.0


to_picture.fill(curve)
