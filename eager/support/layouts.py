"""Layouts: one letter per axis of a sample, such as "HWC". The empty string means none given."""

from __future__ import annotations

from typing import Any


def as_layout(layout: Any, ndim: int | None = None) -> str:
    """Return `layout` if it is a layout for `ndim` axes; raises TypeError or ValueError."""
    if not isinstance(layout, str):
        raise TypeError(f"expected a layout string such as 'HWC', got {layout!r}")
    named = layout.replace("*", "")  # axes without a name may be many
    if len(set(named)) != len(named):
        raise ValueError(f"expected a layout with distinct letters, got {layout!r}")
    if layout and ndim is not None and len(layout) != ndim:
        raise ValueError(f"expected a layout of {ndim} letters, one per axis, got {layout!r}")
    return layout


def channel_axis(layout: str) -> int:
    """Index of the channel axis, or -1."""
    return layout.find("C")
