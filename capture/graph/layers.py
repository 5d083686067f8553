"""The parts of a layout, and the row in which each box stands."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple


class Link(NamedTuple):
    """An edge from box `source` to box `target`, which stands later in the list.

    leave, enter: where it meets them, in pixels from their left sides; weight: how much it pulls
    them together. Links of one `group` from one place share their way as far as they can.
    """

    source: int
    target: int
    leave: float
    enter: float
    weight: float = 1.0
    group: int = 0


class Point(NamedTuple):
    x: float
    y: float


def layers(
    count: int, links: Sequence[Link], top: Collection[int], bottom: Collection[int]
) -> list[int]:
    """The longest way from the top to each box; then what can move closer to its readers does."""
    before: list[list[Link]] = [[] for _ in range(count)]
    after: list[list[Link]] = [[] for _ in range(count)]
    for link in links:
        before[link.target].append(link)
        after[link.source].append(link)
    layer = [0] * count
    for box in range(count):
        layer[box] = max((layer[link.source] + 1 for link in before[box]), default=0)
        if box not in top and top:
            layer[box] = max(layer[box], 1)
    last = max((layer[box] for box in range(count) if box not in bottom), default=-1) + 1
    for box in bottom:
        layer[box] = last
    for box in reversed(range(count)):
        near = [link for link in after[box] if link.target not in bottom]
        pull = sum(link.weight for link in near) - sum(link.weight for link in before[box])
        if near and pull >= 0 and box not in top:
            layer[box] = min(layer[link.target] for link in near) - 1
    used = {value: rank for rank, value in enumerate(sorted(set(layer)))}
    return [used[value] for value in layer]
