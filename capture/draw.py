"""Pictures of graphs as SVG, for notebooks and files. Other notations are in `diagrams.py`."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .cards import Card, card, members, output_card, shorten, type_text
from .layout import Layout, Link, Point, arrange

if TYPE_CHECKING:
    from .graph import Edge, Graph, Node

__all__ = ["BeforeAfter", "before_after", "svg"]

_SANS = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
_MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_COLOURS = {  # fill, border, name
    "source": ("#dff3e4", "#2c8a4b", "#14532d"),
    "operator": ("#eef4fc", "#5b7fb5", "#1d3557"),
    "random": ("#fff0dc", "#d9822b", "#7a3e00"),
    "key": ("#fffaf2", "#d9822b", "#8a4b08"),
    "constant": ("#f1f1f1", "#8c929a", "#3d4248"),
    "output": ("#33507a", "#33507a", "#ffffff"),
    "fused": ("#f7f2fc", "#8457b8", "#4c2a7a"),
}
_INK, _GREY, _FAINT = "#57606a", "#6b7280", "#b9c0c8"
_PAD = 10.0
_NAME, _LINE, _SMALL = 13.0, 11.0, 9.5
_MARGIN = 16.0
_FOOTER = 22.0
"""The strip at the bottom of a group, for its name: few edges pass there."""


def svg(graph: Graph, caption: str | None = None) -> str:
    """The graph as a picture, from top to bottom: text of one `<svg>` element.

    Green boxes are sources, blue ones operators, orange ones random; orange pills are their keys,
    grey boxes constants, dark pills outputs, and violet frames fused groups. A dashed edge feeds
    the argument whose name stands at its end. caption: instead of the graph's title.
    """
    body, width, height = _panel(graph, caption)
    return _document(body, width, height)


@dataclass(frozen=True)
class BeforeAfter:
    """Two graphs side by side, in a notebook or by `_repr_svg_`."""

    before: Graph
    after: Graph

    def _repr_svg_(self) -> str:
        left, width, height = _panel(self.before, f"{self.before.title}: as recorded")
        right, more, other = _panel(self.after, f"{self.after.title}: compiled")
        at = width + 2 * _MARGIN
        body = f'{left}<g transform="translate({_n(at)} 0)">{right}</g>'
        top = max(height, other)
        body += _line(at - _MARGIN, _MARGIN, at - _MARGIN, top - _MARGIN, "#d8dee4")
        return _document(body, at + more, top)


def before_after(before: Graph, after: Graph) -> BeforeAfter:
    """A picture of a graph as it was recorded and as it was compiled."""
    return BeforeAfter(before, after)


def _document(body: str, width: float, height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}" '
        f'viewBox="0 0 {_n(width)} {_n(height)}" font-family="{_SANS}">'
        f'<rect x="0.5" y="0.5" width="{_n(width - 1)}" height="{_n(height - 1)}" rx="10" '
        f'fill="#ffffff" stroke="#d8dee4"/>{body}</svg>'
    )


def _panel(graph: Graph, caption: str | None) -> tuple[str, float, float]:
    """The picture of a graph with its caption, and its size with margins."""
    frame = _Frame(graph, graph.nodes, (), graph.outputs)
    caption = shorten(graph.title if caption is None else caption, 60)
    count = f"{len(graph)} node{'' if len(graph) == 1 else 's'}"
    titled = len(caption) * 8.2 + len(count) * 6.5 + 12
    width = max(frame.layout.width, titled) + 2 * _MARGIN
    aside = (width - frame.layout.width) / 2
    body = (
        f'<text x="{_n(_MARGIN)}" y="{_n(_MARGIN + 11)}" font-size="13" fill="#1f2328">'
        f'<tspan font-weight="bold">{html.escape(caption)}</tspan>'
        f'<tspan dx="8" font-size="11" fill="{_GREY}">{count}</tspan></text>'
        f'<g transform="translate({_n(aside)} {_n(_MARGIN + 30)})">{frame.text()}</g>'
    )
    return body, width, frame.layout.height + 30 + 2 * _MARGIN


@dataclass
class _Box:
    """One box: its size, where edges enter and leave it, and a frame within, if it is a group."""

    card: Card
    width: float
    height: float
    enter: list[float]
    leave: list[float]
    labels: Sequence[str] = ()
    inner: _Frame | None = None


class _Frame:
    """A laid out graph, or the inside of a fused group, which has ports at its top and bottom."""

    def __init__(
        self,
        graph: Graph,
        nodes: Sequence[Node],
        entering: Sequence[Edge],
        leaving: Sequence[Edge],
        group: bool = False,
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
            known = _in_the_middle(edge for edge in node.inputs if edge[:2] in place)
            box = self._box(node, known)
            for index, edge in enumerate(known):
                self._link(edge, place[edge.node, edge.output], len(self.boxes), box.enter[index])
            for output in range(len(node.type)):
                place[node, output] = (len(self.boxes), output)
            self.boxes.append(box)
        first = len(self.boxes)
        for index, edge in enumerate(leaving):
            box = _port() if group else _pill(output_card(edge, index))
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
        slots_in = [max(_mono(label, _SMALL) + 12, 18.0) for label in labels]
        slots_out = [max(_mono(text, _SMALL) + 12, 18.0) for text in shown.types]
        width = 2 * _PAD + max(
            _bold(shown.title, _NAME),
            *(_mono(line, _LINE) for line in shown.lines),
            sum(slots_in) - 8,
            sum(slots_out) - 8,
        )
        height = 2 * 7 + 16 + 14 * len(shown.lines) + (12 if any(labels) else 0)
        height += 13 if shown.types else 0
        return _Box(shown, width, height, _spread(slots_in, width), _spread(slots_out, width), labels)

    def _group(
        self, node: Node, known: Sequence[Edge], inside: Sequence[Node], shown: Card
    ) -> _Box:
        last = inside[-1]
        same = len(last.type) == len(node.type)
        edge = type(known[0]) if known else None
        leaving = [edge(last, output) for output in range(len(last.type))] if same and edge else []
        inner = _Frame(self.graph, inside, known, leaving, group=True)
        width = max(inner.layout.width, _bold(shown.title, _NAME)) + 2 * 14
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
        for (edge, source, target), path, start in zip(
            self.edges, self.layout.paths, self.layout.starts, strict=True
        ):
            port = self.boxes[target].card.kind == "port"
            colour, dash, width = _INK, "", 1.5
            if edge.argument == "source":
                colour, dash, width = _FAINT, "2 3", 1.1
            elif edge.argument is not None:
                colour, dash = ("#d9822b" if edge.argument == "key" else "#5b7fb5"), "5 3"
            if self.boxes[source].card.kind == "port" and not self.boxes[source].labels:
                path = [Point(path[0].x, -3), *path[1:]]  # from the border of the group
            tip = path[-1]
            path = [*path[:-1], Point(tip.x, tip.y - (0 if port else 6))]
            dashes = f' stroke-dasharray="{dash}"' if dash else ""
            yield (
                f'<path d="{_curve(path, start)}" fill="none" stroke="{colour}" '
                f'stroke-width="{width}"{dashes}/>'
            )
            if not port:
                x, y = tip
                yield (
                    f'<path d="M{_n(x)} {_n(y)}L{_n(x - 3.8)} {_n(y - 7.5)}'
                    f'L{_n(x + 3.8)} {_n(y - 7.5)}Z" fill="{colour}"/>'
                )

    def _boxes(self) -> Iterator[str]:
        for box, corner in zip(self.boxes, self.layout.corners, strict=True):
            if box.card.kind == "port":
                for label in box.labels:
                    yield _text(box.width / 2, 9, label, _SMALL, _GREY, corner=corner)
                continue
            yield f'<g transform="translate({_n(corner.x)} {_n(corner.y)})">'
            yield f"<title>{html.escape(box.card.note)}</title>"
            yield from _shape(box)
            yield "</g>"


def _shape(box: _Box) -> Iterator[str]:
    shown = box.card
    fill, border, ink = _COLOURS[shown.kind]
    round_ = {"key": box.height / 2, "output": box.height / 2, "constant": 1.5}.get(shown.kind, 7)
    dash = ' stroke-dasharray="7 4"' if shown.kind == "fused" else ""
    yield (
        f'<rect width="{_n(box.width)}" height="{_n(box.height)}" rx="{_n(round_)}" '
        f'fill="{fill}" stroke="{border}" stroke-width="1.3"{dash}/>'
    )
    if shown.kind == "source":
        yield f'<rect x="5" y="6" width="3" height="{_n(box.height - 12)}" rx="1.5" fill="{border}"/>'
    middle = box.width / 2
    if box.inner is not None:
        base, long = box.height - _FOOTER, _bold(shown.title, _NAME)
        for x in box.leave:
            yield _line(x, base, x, box.height, _INK, 1.5)
        free = all(not 2 < x < 14 + long for x in box.leave)
        left = 10.0 if free else box.width - long - 6
        yield _text(left, base + 14, shown.title, _NAME, ink, bold=True, anchor="start")
        aside = (box.width - box.inner.layout.width) / 2
        yield f'<g transform="translate({_n(aside)} 3)">{box.inner.text()}</g>'
        return
    if shown.kind in ("key", "constant", "output"):
        y = 15.5 if shown.types else box.height / 2 + 4
        yield _text(middle, y, shown.title, 11, ink, bold=shown.kind == "output")
        for text in shown.types:
            yield _text(middle, box.height - 6, text, _SMALL, _GREY, mono=True)
        return
    y = 7.0
    if any(box.labels):
        for label, x in zip(box.labels, box.enter, strict=True):
            yield _text(x, y + 6.5, label, _SMALL, _GREY, mono=True)
        y += 12
    yield _text(middle, y + 13, shown.title, _NAME, ink, bold=True)
    y += 16
    for line in shown.lines:
        y += 14
        yield _text(middle, y - 2, line, _LINE, "#3d444d", mono=True)
    for text, x in zip(shown.types, box.leave, strict=True):
        yield _text(x, box.height - 7, text, _SMALL, _GREY, mono=True)


def _port(label: str = "") -> _Box:
    width = max(_mono(label, _SMALL) + 8, 14.0)
    height, labels = (12.0, (label,)) if label else (0.0, ())
    return _Box(Card("port", ""), width, height, [width / 2], [width / 2], labels)


def _pill(shown: Card) -> _Box:
    texts = [_bold(shown.title, 11), *(_mono(text, _SMALL) for text in shown.types)]
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
    """The middles of neighbouring slots that are stretched to fill a width."""
    spare = (width - sum(slots)) / max(len(slots), 1)
    found, x = [], 0.0
    for slot in slots:
        found.append(x + (slot + spare) / 2)
        x += slot + spare
    return found


def _curve(path: Sequence[Point], start: int) -> str:
    """Straight where a path stands or passes, bent between."""
    parts = [f"M{_n(path[start].x)} {_n(path[start].y)}"]
    for index in range(start + 1, len(path)):
        one, two = path[index - 1], path[index]
        if abs(one.x - two.x) < 0.1:
            parts.append(f"V{_n(two.y)}")
        else:
            middle = (one.y + two.y) / 2
            parts.append(
                f"C{_n(one.x)} {_n(middle)} {_n(two.x)} {_n(middle)} {_n(two.x)} {_n(two.y)}"
            )
    return "".join(parts)


def _text(
    x: float,
    y: float,
    text: str,
    size: float,
    colour: str,
    *,
    bold: bool = False,
    mono: bool = False,
    anchor: str = "middle",
    corner: Point | None = None,
) -> str:
    if corner is not None:
        x, y, mono = x + corner.x, y + corner.y, True
    family = f' font-family="{_MONO}"' if mono else ""
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{_n(x)}" y="{_n(y)}" font-size="{size:g}" fill="{colour}" '
        f'text-anchor="{anchor}"{weight}{family}>{html.escape(text)}</text>'
    )


def _line(
    x: float, y: float, right: float, bottom: float, colour: str, width: float = 1.0
) -> str:
    way = f"M{_n(x)} {_n(y)}L{_n(right)} {_n(bottom)}"
    return f'<path d="{way}" stroke="{colour}" stroke-width="{width}"/>'


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _mono(text: str, size: float) -> float:
    return len(text) * size * 0.61


def _bold(text: str, size: float) -> float:
    return len(text) * size * 0.66
