"""One level of a picture: the boxes and edges of a graph, or of the inside of a fused group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .labels import Card, card, inputs_of, members, output_card
from .layered_layout import Layout, arrange
from .layers import Link, Point
from .svg_elements import (
    COLORS,
    FAINT,
    GRAY,
    INK,
    LINE,
    NAME,
    SMALL,
    bold_width,
    curve,
    escape,
    mono_width,
    number,
    straight,
    text_at,
)

if TYPE_CHECKING:
    from .graph import Edge, Graph, Node

_PAD = 10.0
_FOOTER = 22.0
"""The strip at the bottom of a group, for its name: few edges pass there."""


@dataclass
class _Box:
    """One box: its size, where edges enter and leave it, and a frame within, if it is a group."""

    card: Card
    width: float
    height: float
    enter: list[float]
    leave: list[float]
    labels: Sequence[str] = ()
    inner: Frame | None = None


class Frame:
    """A laid out graph, or the inside of a fused group, which has ports at its top and bottom."""

    def __init__(
        self,
        graph: Graph,
        nodes: Sequence[Node],
        entering: Sequence[Edge],
        leaving: Sequence[Edge],
        group: Node | None = None,
    ) -> None:
        self.graph = graph
        self.boxes: list[_Box] = []
        self.edges: list[tuple[Edge, int, int]] = []  # edge, source box, target box
        self.links: list[Link] = []
        place: dict[tuple[Node, int], tuple[int, int]] = {}  # value -> box, its port
        for edge in entering:
            # A value may enter twice, as an input and as an argument: the first port serves both.
            place.setdefault((edge.node, edge.output), (len(self.boxes), 0))
            self.boxes.append(_port(edge.argument or ""))
        for node in nodes:
            known = _in_the_middle(edge for edge in inputs_of(node, group) if edge[:2] in place)
            box = self._box(node, known)
            for index, edge in enumerate(known):
                self._link(edge, place[edge.node, edge.output], len(self.boxes), box.enter[index])
            for output in range(len(node.type)):
                place[node, output] = (len(self.boxes), output)
            self.boxes.append(box)
        first = len(self.boxes)
        for index, edge in enumerate(leaving):
            box = _port() if group is not None else _pill(output_card(edge, index))
            self._link(edge, place[edge.node, edge.output], len(self.boxes), box.width / 2)
            self.boxes.append(box)
        self.layout: Layout = arrange(
            [(box.width, box.height) for box in self.boxes],
            self.links,
            range(len(entering)),
            range(first, len(self.boxes)),
        )
        self.first_out = first

    def _link(self, edge: Edge, source: tuple[int, int], target: int, enter: float) -> None:
        box, port = source
        weight = {None: 3.0, "source": 0.05}.get(edge.argument, 1.0)
        group = 0 if edge.argument is None else 2 if edge.argument == "source" else 1
        self.edges.append((edge, box, target))
        self.links.append(Link(box, target, self.boxes[box].leave[port], enter, weight, group))

    def _box(self, node: Node, known: Sequence[Edge]) -> _Box:
        shown = card(node, self.graph)
        labels = [_label(edge) for edge in known]
        if shown.kind in ("key", "constant"):
            box = _pill(shown)
            box.leave = [box.width / 2] * len(node.type)
            box.enter = [box.width / 2] * len(known)
            return box
        inside = members(node)
        if inside:
            return self._group(node, known, inside, shown)
        slots_in = [max(mono_width(label, SMALL) + 12, 18.0) for label in labels]
        slots_out = [max(mono_width(text, SMALL) + 12, 18.0) for text in shown.types]
        width = 2 * _PAD + max(
            bold_width(shown.title, NAME),
            *(mono_width(line, LINE) for line in shown.lines),
            sum(slots_in) - 8,
            sum(slots_out) - 8,
        )
        height = 2 * 7 + 16 + 14 * len(shown.lines) + (12 if any(labels) else 0)
        height += 13 if shown.types else 0
        return _Box(
            shown, width, height, _spread(slots_in, width), _spread(slots_out, width), labels
        )

    def _group(
        self, node: Node, known: Sequence[Edge], inside: Sequence[Node], shown: Card
    ) -> _Box:
        last = inside[-1]
        same = len(last.type) == len(node.type)
        edge = type(known[0]) if known else None
        leaving = [edge(last, output) for output in range(len(last.type))] if same and edge else []
        inner = Frame(self.graph, inside, known, leaving, node)
        width = max(inner.layout.width, bold_width(shown.title, NAME)) + 2 * 14
        aside = (width - inner.layout.width) / 2
        tops = inner.layout.corners
        enter = [
            aside + tops[index].x + inner.boxes[index].width / 2 for index in range(len(known))
        ]
        leave = [
            aside + tops[index].x + inner.boxes[index].width / 2
            for index in range(inner.first_out, len(inner.boxes))
        ] or [width * (k + 1) / (len(node.type) + 1) for k in range(len(node.type))]
        height = inner.layout.height + _FOOTER + 3
        return _Box(shown, width, height, enter, leave, (), inner)

    def text(self) -> str:
        """The picture without its surroundings."""
        return "".join([*self._edges(), *self._boxes()])

    def _edges(self) -> Iterator[str]:
        for (edge, source, target), way, start in zip(
            self.edges, self.layout.paths, self.layout.starts, strict=True
        ):
            port = self.boxes[target].card.kind == "port"
            color, dash, width = INK, "", 1.5
            if edge.argument == "source":
                color, dash, width = FAINT, "2 3", 1.1
            elif edge.argument is not None:
                color, dash = ("#d9822b" if edge.argument == "key" else "#5b7fb5"), "5 3"
            first, tip = way[0], way[-1]
            if self.boxes[source].card.kind == "port" and not self.boxes[source].labels:
                first = Point(first.x, -3)  # from the border of the group
            path = [first, *way[1:-1], Point(tip.x, tip.y - (0 if port else 6))]
            dashes = f' stroke-dasharray="{dash}"' if dash else ""
            yield (
                f'<path d="{curve(path, start)}" fill="none" stroke="{color}" '
                f'stroke-width="{width}"{dashes}/>'
            )
            if not port:
                x, y = tip
                yield (
                    f'<path d="M{number(x)} {number(y)}L{number(x - 3.8)} {number(y - 7.5)}'
                    f'L{number(x + 3.8)} {number(y - 7.5)}Z" fill="{color}"/>'
                )

    def _boxes(self) -> Iterator[str]:
        for box, corner in zip(self.boxes, self.layout.corners, strict=True):
            if box.card.kind == "port":
                for label in box.labels:
                    yield text_at(box.width / 2, 9, label, SMALL, GRAY, corner=corner)
                continue
            yield f'<g transform="translate({number(corner.x)} {number(corner.y)})">'
            yield f"<title>{escape(box.card.note)}</title>"
            yield from _shape(box)
            yield "</g>"


def _shape(box: _Box) -> Iterator[str]:
    shown = box.card
    fill, border, ink = COLORS[shown.kind]
    round_ = {"key": box.height / 2, "output": box.height / 2, "constant": 1.5}.get(shown.kind, 7)
    dash = ' stroke-dasharray="7 4"' if shown.kind == "fused" else ""
    yield (
        f'<rect width="{number(box.width)}" height="{number(box.height)}" rx="{number(round_)}" '
        f'fill="{fill}" stroke="{border}" stroke-width="1.3"{dash}/>'
    )
    if shown.kind == "source":
        inner = number(box.height - 12)
        yield f'<rect x="5" y="6" width="3" height="{inner}" rx="1.5" fill="{border}"/>'
    middle = box.width / 2
    if box.inner is not None:
        base, long = box.height - _FOOTER, bold_width(shown.title, NAME)
        for x in box.leave:
            yield straight(x, base, x, box.height, INK, 1.5)
        free = all(not 2 < x < 14 + long for x in box.leave)
        left = 10.0 if free else box.width - long - 6
        yield text_at(left, base + 14, shown.title, NAME, ink, bold=True, anchor="start")
        aside = (box.width - box.inner.layout.width) / 2
        yield f'<g transform="translate({number(aside)} 3)">{box.inner.text()}</g>'
        return
    if shown.kind in ("key", "constant", "output"):
        y = 15.5 if shown.types else box.height / 2 + 4
        yield text_at(middle, y, shown.title, 11, ink, bold=shown.kind == "output")
        for text in shown.types:
            yield text_at(middle, box.height - 6, text, SMALL, GRAY, mono=True)
        return
    y = 7.0
    if any(box.labels):
        for label, x in zip(box.labels, box.enter, strict=True):
            yield text_at(x, y + 6.5, label, SMALL, GRAY, mono=True)
        y += 12
    yield text_at(middle, y + 13, shown.title, NAME, ink, bold=True)
    y += 16
    for line in shown.lines:
        y += 14
        yield text_at(middle, y - 2, line, LINE, "#3d444d", mono=True)
    for text, x in zip(shown.types, box.leave, strict=True):
        yield text_at(x, box.height - 7, text, SMALL, GRAY, mono=True)


def _port(label: str = "") -> _Box:
    width = max(mono_width(label, SMALL) + 8, 14.0)
    height, labels = (12.0, (label,)) if label else (0.0, ())
    return _Box(Card("port", ""), width, height, [width / 2], [width / 2], labels)


def _pill(shown: Card) -> _Box:
    texts = [bold_width(shown.title, 11), *(mono_width(text, SMALL) for text in shown.types)]
    width = max(texts) + 22
    height = 34.0 if shown.types else 24.0
    return _Box(shown, width, height, [width / 2], [width / 2])


def _in_the_middle(edges: Iterable[Edge]) -> list[Edge]:
    """Inputs between arguments, so that the way of the data runs down the middle."""
    known = list(edges)
    inputs = [edge for edge in known if edge.argument is None]
    arguments = [edge for edge in known if edge.argument is not None]
    half = len(arguments) // 2
    return [*arguments[:half], *inputs, *arguments[half:]]


def _label(edge: Edge) -> str:
    return "" if edge.argument in (None, "source", "key") else str(edge.argument)


def _spread(slots: Sequence[float], width: float) -> list[float]:
    """The middles of neighboring slots that are stretched to fill a width."""
    spare = (width - sum(slots)) / max(len(slots), 1)
    found, x = [], 0.0
    for slot in slots:
        found.append(x + (slot + spare) / 2)
        x += slot + spare
    return found
