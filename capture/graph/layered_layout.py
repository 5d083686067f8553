"""Where the boxes of a picture stand: a layered layout, from top to bottom.

The steps are those of K. Sugiyama, S. Tagawa, M. Toda, "Methods for visual understanding of
hierarchical system structures" (1981): layers, an order in each layer with few crossings of edges,
then coordinates. Lengths are in pixels; y grows downwards.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect, insort
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .layers import Link, Point, layers

_SWEEPS = 24
_GAP = 26.0
_LANE = 12.0
"""The width of an edge that passes a layer."""


@dataclass
class Layout:
    """The left top corners of the boxes, and a path per link.

    The first point of a path is left and its last point is met vertically; in between, points
    come in pairs around a straight way, and curves connect the pairs. `starts` has the index of
    the point in which a path leaves the ways of links before it.
    """

    corners: list[Point]
    paths: list[list[Point]]
    starts: list[int]
    width: float
    height: float


def arrange(
    sizes: Sequence[tuple[float, float]],
    links: Sequence[Link],
    top: Collection[int] = (),
    bottom: Collection[int] = (),
) -> Layout:
    """Place boxes of these (width, height); those in `top` and `bottom` in the first, last row."""
    if not sizes:
        return Layout([], [], [], 0.0, 0.0)
    return _Arranger(sizes, links, top, bottom).arrange()


def _inversions(values: Sequence[float]) -> int:
    total = 0
    seen: list[float] = []
    for value in values:
        total += len(seen) - bisect(seen, value)
        insort(seen, value)
    return total


class _Arranger:
    """The state of one layout. Elements are the boxes, then the lanes of long links."""

    def __init__(
        self,
        sizes: Sequence[tuple[float, float]],
        links: Sequence[Link],
        top: Collection[int],
        bottom: Collection[int],
    ) -> None:
        self.sizes = sizes
        self.links = links
        self.layer = layers(len(sizes), links, top, bottom)
        self.width = [width for width, _ in sizes]
        self.chains: list[list[int]] = []
        # Per element, its neighbors above and below: (element, port there, own port, weight).
        self.above: list[list[tuple[int, float, float, float]]] = [[] for _ in sizes]
        self.below: list[list[tuple[int, float, float, float]]] = [[] for _ in sizes]
        lanes: dict[tuple[int, float, int, int], int] = {}
        joined: set[tuple[int, int]] = set()
        for link in links:
            chain = [link.source]
            for layer in range(self.layer[link.source] + 1, self.layer[link.target]):
                key = (link.source, link.leave, link.group, layer)
                if key not in lanes:
                    lanes[key] = len(self.width)
                    self.width.append(_LANE)
                    self.layer.append(layer)
                    self.above.append([])
                    self.below.append([])
                chain.append(lanes[key])
            chain.append(link.target)
            self.chains.append(chain)
            self._join(chain, link, joined)
        rows = max(self.layer) + 1
        self.rows: list[list[int]] = [[] for _ in range(rows)]
        for element, layer in enumerate(self.layer):
            self.rows[layer].append(element)

    def _join(self, chain: list[int], link: Link, joined: set[tuple[int, int]]) -> None:
        boxes = len(self.sizes)
        for one, two in itertools.pairwise(chain):
            if max(one, two) >= boxes and (one, two) in joined:
                continue
            joined.add((one, two))
            leave = link.leave if one < boxes else _LANE / 2
            enter = link.enter if two < boxes else _LANE / 2
            # Long links are kept straight where they pass.
            weight = link.weight * (1, 2, 8)[(one >= boxes) + (two >= boxes)]
            self.below[one].append((two, enter, leave, weight))
            self.above[two].append((one, leave, enter, weight))

    def arrange(self) -> Layout:
        self._order()
        left = self._columns()
        return self._finish(left)

    def _order(self) -> None:
        """Sort each row by the mean place of its neighbors, down and up; keep the best found."""
        best, fewest = [list(row) for row in self.rows], self._crossings()
        for sweep in range(_SWEEPS):
            if not fewest:
                break
            down = sweep % 2 == 1
            order = range(1, len(self.rows)) if down else range(len(self.rows) - 2, -1, -1)
            neighbors = self.above if down else self.below
            for index in order:
                place = self._places(self.rows[index + (-1 if down else 1)])
                own = self._places(self.rows[index])

                def goal(
                    element: int,
                    near: Sequence[Sequence[tuple[int, float, float, float]]] = neighbors,
                    place: dict[int, int] = place,
                    own: dict[int, int] = own,
                ) -> float:
                    found = near[element]
                    if not found:
                        return float(own[element])
                    total = sum(w * (place[e] + port / self.width[e]) for e, port, _, w in found)
                    return total / sum(w for _, _, _, w in found)

                if sweep % 4 > 1:
                    # Ties turn round now and then, so that the search does not stand still.
                    self.rows[index].reverse()
                self.rows[index].sort(key=goal)
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(row) for row in self.rows], crossings
        self.rows = best

    @staticmethod
    def _places(row: list[int]) -> dict[int, int]:
        return {element: place for place, element in enumerate(row)}

    def _crossings(self) -> int:
        """How bad the order is: crossings, of which those of two heavy links count most."""
        total = 0
        for upper, lower in itertools.pairwise(self.rows):
            place = self._places(lower)
            ends = sorted(
                (index + own / self.width[e], place[other] + port / self.width[other], weight)
                for index, e in enumerate(upper)
                for other, port, own, weight in self.below[e]
            )
            total += _inversions([end for _, end, _ in ends])
            total += 20 * _inversions([end for _, end, weight in ends if weight >= 1])
        return total

    def _columns(self) -> list[float]:
        """The left sides: each near the mean of its neighbors, with the order and gaps kept."""
        left = [0.0] * len(self.width)
        for row in self.rows:
            x = 0.0
            for element in row:
                left[element] = x
                x += self.width[element] + _GAP
        for turn in range(_SWEEPS):
            down = turn % 2 == 0
            for row in self.rows if down else reversed(self.rows):
                goals, weights = [], []
                for element in row:
                    # The last turns look both ways, the first ones follow the sweep.
                    near = self.above[element] if down else self.below[element]
                    if 2 * turn >= _SWEEPS or not near:
                        near = self.above[element] + self.below[element]
                    weight = sum(w for _, _, _, w in near)
                    pull = sum(w * (left[e] + port - own) for e, port, own, w in near)
                    goals.append(pull / weight if weight else left[element])
                    weights.append(weight or 0.01)
                self._fit_row(row, goals, weights, left)
        for _ in range(2):
            self._straighten(left)
        least = min(left)
        return [x - least for x in left]

    def _straighten(self, left: list[float]) -> None:
        """Lay the lanes of each long link in one line, where their neighbors leave room."""
        least: dict[int, int] = {}
        most: dict[int, int] = {}
        for row in self.rows:
            for one, two in itertools.pairwise(row):
                least[two], most[one] = one, two
        boxes = len(self.sizes)
        done: set[int] = set()
        for chain in self.chains:
            lanes = [element for element in chain if element >= boxes and element not in done]
            done.update(lanes)
            if not lanes:
                continue
            low = max(
                (left[e] + self.width[e] + _LANE for e in map(least.get, lanes) if e is not None),
                default=-math.inf,
            )
            high = min(
                (left[e] - 2 * _LANE for e in map(most.get, lanes) if e is not None),
                default=math.inf,
            )
            if low <= high:
                # Near the end: most of the way is then free of bends.
                goal = min(max(left[lanes[-1]], low), high)
                for lane in lanes:
                    left[lane] = goal

    def _fit_row(
        self, row: list[int], goals: list[float], weights: list[float], left: list[float]
    ) -> None:
        """The least squares fit to the goals that keeps order and gaps, by pooling neighbors."""
        offsets = [0.0]
        for one, two in itertools.pairwise(row):
            lane = one >= len(self.sizes) and two >= len(self.sizes)
            offsets.append(offsets[-1] + self.width[one] + (_LANE if lane else _GAP))
        blocks: list[tuple[float, float, int]] = []  # sum of weights, mean, number of elements
        for goal, weight, offset in zip(goals, weights, offsets, strict=True):
            block = (weight, goal - offset, 1)
            while blocks and blocks[-1][1] > block[1]:
                w, mean, n = blocks.pop()
                total = w + block[0]
                block = (total, (w * mean + block[0] * block[1]) / total, n + block[2])
            blocks.append(block)
        means = [mean for _, mean, count in blocks for _ in range(count)]
        for element, mean, offset in zip(row, means, offsets, strict=True):
            left[element] = mean + offset

    def _finish(self, left: list[float]) -> Layout:
        boxes = len(self.sizes)
        tops: list[float] = []
        ends: list[float] = []
        y = 0.0
        for row in self.rows:
            tops.append(y)
            ends.append(y + max((self.sizes[e][1] for e in row if e < boxes), default=0.0))
            swing = max(
                (
                    abs(left[e] + own - left[other] - port)
                    for e in row
                    for other, port, own, _ in self.below[e]
                ),
                default=0.0,
            )
            y = ends[-1] + 28 + min(0.1 * swing, 44)
        corners = []
        for box in range(boxes):
            row_top, row_end = tops[self.layer[box]], ends[self.layer[box]]
            corners.append(Point(left[box], (row_top + row_end - self.sizes[box][1]) / 2))
        paths, starts = [], []
        drawn: set[tuple[int, int]] = set()
        for link, chain in zip(self.links, self.chains, strict=True):
            x = left[link.source] + link.leave
            path = [
                Point(x, corners[link.source].y + self.sizes[link.source][1]),
                Point(x, ends[self.layer[link.source]]),
            ]
            start = 0
            for one, two in itertools.pairwise(chain[:-1]):
                x = left[two] + _LANE / 2
                path += [Point(x, tops[self.layer[two]]), Point(x, ends[self.layer[two]])]
                if (one, two) in drawn:
                    start = len(path) - 1
                drawn.add((one, two))
            x = left[link.target] + link.enter
            path += [Point(x, tops[self.layer[link.target]]), Point(x, corners[link.target].y)]
            paths.append(path)
            starts.append(start)
        width = max(left[e] + self.width[e] for e in range(len(left)))
        return Layout(corners, paths, starts, width, ends[-1])
