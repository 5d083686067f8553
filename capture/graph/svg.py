"""Pictures of graphs as SVG, for notebooks and files. Other notations are in `text_formats.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from gradiva.eager.support.errors import OperatorValueError, wrong_type

from .graph import to_svg
from .labels import shorten
from .scene import Frame
from .svg_elements import GRAY, SANS, escape, number, straight

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["BeforeAfter", "before_after", "svg"]


class Recorded(Protocol):
    """A pipeline: what was recorded, and what runs."""

    @property
    def recorded_graph(self) -> Graph: ...

    @property
    def graph(self) -> Graph: ...


_MARGIN = 16.0
_PAGE = 980.0
"""The width of a notebook: two graphs side by side are made smaller to fit it."""


def svg(graph: Graph, caption: str | None = None) -> str:
    """The graph as a picture, from top to bottom: text of one `<svg>` element.

    Green boxes are sources, blue ones operators, orange ones random; orange pills are their keys,
    gray boxes constants, dark pills outputs, and violet frames fused groups. A dashed edge feeds
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
        body = f'{left}<g transform="translate({number(at)} 0)">{right}</g>'
        top = max(height, other)
        body += straight(at - _MARGIN, _MARGIN, at - _MARGIN, top - _MARGIN, "#d8dee4")
        return _document(body, at + more, top, _PAGE)


def before_after(before: Graph | Recorded, after: Graph | None = None) -> BeforeAfter:
    """A picture of a graph as it was recorded and as it was compiled.

    before: the recorded graph, or a pipeline, which knows both. after: the compiled graph; of a
    pipeline it is left out. Raises OperatorTypeError for one graph alone, and OperatorValueError
    if both are the same graph: `pipe.graph` is the compiled one as soon as the pipeline was built.
    """
    recorded = getattr(before, "recorded_graph", None)
    if recorded is not None and after is None:
        return BeforeAfter(recorded, before.graph)  # type: ignore[union-attr]
    if after is None:
        raise wrong_type("after", "the compiled graph, or a pipeline in place of both", "none")
    if before is after:
        raise OperatorValueError(
            "both are one graph. `pipe.graph` is the compiled one once a pipeline was built: give "
            "the pipeline itself, before_after(pipe), or pipe.recorded_graph",
            argument="before",
        )
    return BeforeAfter(before, after)  # type: ignore[arg-type]


def _document(body: str, width: float, height: float, most: float | None = None) -> str:
    """most: the width on the page, at most."""
    wide, high = number(width), number(height)
    scale = 1.0 if most is None else min(1.0, most / width)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" '
        f'width="{number(width * scale)}" height="{number(height * scale)}" '
        f'viewBox="0 0 {wide} {high}" font-family="{SANS}">'
        f'<rect x="0.5" y="0.5" width="{number(width - 1)}" height="{number(height - 1)}" rx="10" '
        f'fill="#ffffff" stroke="#d8dee4"/>{body}</svg>'
    )


def _panel(graph: Graph, caption: str | None) -> tuple[str, float, float]:
    """The picture of a graph with its caption, and its size with margins."""
    frame = Frame(graph, graph.nodes, (), graph.outputs)
    caption = shorten(graph.title if caption is None else caption, 60)
    count = f"{len(graph)} node{'' if len(graph) == 1 else 's'}"
    titled = len(caption) * 8.2 + len(count) * 6.5 + 12
    width = max(frame.layout.width, titled) + 2 * _MARGIN
    aside = (width - frame.layout.width) / 2
    body = (
        f'<text x="{number(_MARGIN)}" y="{number(_MARGIN + 11)}" font-size="13" fill="#1f2328">'
        f'<tspan font-weight="bold">{escape(caption)}</tspan>'
        f'<tspan dx="8" font-size="11" fill="{GRAY}">{count}</tspan></text>'
        f'<g transform="translate({number(aside)} {number(_MARGIN + 30)})">{frame.text()}</g>'
    )
    return body, width, frame.layout.height + 30 + 2 * _MARGIN


to_svg.fill(svg)
