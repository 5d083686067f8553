"""Graphs in the notations of other tools: Graphviz, and Mermaid, which GitHub renders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .graph import to_dot, to_mermaid
from .labels import Card, card, inputs_of, members, output_card

if TYPE_CHECKING:
    from .graph import Graph, Node

_DOT = {  # shape, fill, border
    "source": ("box", "#dff3e4", "#2c8a4b"),
    "operator": ("box", "#eef4fc", "#5b7fb5"),
    "random": ("box", "#fff0dc", "#d9822b"),
    "key": ("ellipse", "#fffaf2", "#d9822b"),
    "constant": ("note", "#f1f1f1", "#8c929a"),
    "output": ("ellipse", "#dde5f2", "#33507a"),
}
_MERMAID = {  # what stands around the text
    "source": ("[/", "/]"),
    "operator": ("[", "]"),
    "random": ("[", "]"),
    "key": ("{{", "}}"),
    "constant": ("(", ")"),
    "output": ("([", "])"),
}


class _Names:
    """Short names of nodes, members included; an edge to or from a group is drawn at a member."""

    def __init__(self, graph: Graph) -> None:
        self.numbers: dict[Node, str] = {}
        self._add(graph.nodes)

    def _add(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            self.numbers.setdefault(node, f"n{len(self.numbers)}")
            self._add(members(node))

    def source(self, node: Node) -> str:
        """The member that made the last value of a group; or the node."""
        inside = members(node)
        return self.source(inside[-1]) if inside else self.numbers[node]


def _links(graph: Graph, names: _Names) -> list[tuple[str, str, str | None]]:
    """(source, target, name of the argument that is fed) of all edges, those in groups included."""
    found: list[tuple[str, str, str | None]] = []

    def visit(nodes: Sequence[Node], group: Node | None) -> None:
        for node in nodes:
            inside = members(node)
            if inside:
                visit(inside, node)
                continue
            found.extend(
                (names.source(edge.node), names.numbers[node], edge.argument)
                for edge in inputs_of(node, group)
                if edge.node in names.numbers
            )

    visit(graph.nodes, None)
    outputs = enumerate(graph.outputs)
    return found + [(names.source(edge.node), f"out{index}", None) for index, edge in outputs]


def dot(graph: Graph) -> str:
    """The graph in the language of Graphviz; a fused group is a cluster around its members."""
    names = _Names(graph)
    lines = [
        f"digraph {dot_text(graph.title)} {{",
        "  rankdir=TB; bgcolor=white; compound=true;",
        '  node [fontname="Helvetica", fontsize=11, style="rounded,filled"];',
        '  edge [fontname="Helvetica", fontsize=9, color="#57606a"];',
    ]

    def box(name: str, shown: Card, indent: str) -> None:
        shape, fill, border = _DOT[shown.kind]
        text = dot_text("\n".join([shown.title, *shown.lines, ", ".join(shown.types)]).strip())
        lines.append(
            f'{indent}{name} [label={text}, shape={shape}, fillcolor="{fill}", color="{border}", '
            f"tooltip={dot_text(shown.note)}];"
        )

    def visit(nodes: Sequence[Node], indent: str) -> None:
        for node in nodes:
            shown, inside = card(node, graph), members(node)
            if not inside:
                box(names.numbers[node], shown, indent)
                continue
            lines.append(f"{indent}subgraph cluster_{names.numbers[node]} {{")
            lines.append(
                f'{indent}  label={dot_text(shown.title)}; style="rounded,dashed,filled"; '
                'color="#8457b8"; fillcolor="#f7f2fc"; fontname="Helvetica";'
            )
            visit(inside, indent + "  ")
            lines.append(f"{indent}}}")

    visit(graph.nodes, "  ")
    for index, edge in enumerate(graph.outputs):
        box(f"out{index}", output_card(edge, index), "  ")
    for source, target, argument in _links(graph, names):
        style = "" if argument is None else f" [style=dashed, label={dot_text(argument)}]"
        lines.append(f"  {source} -> {target}{style};")
    return "\n".join([*lines, "}"]) + "\n"


def dot_text(text: str) -> str:
    """A quoted string of Graphviz's language."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def mermaid(graph: Graph) -> str:
    """The graph as a Mermaid flowchart; put it into a block fenced as `mermaid`."""
    names = _Names(graph)
    lines = ["flowchart TB"]

    def box(name: str, shown: Card, indent: str) -> None:
        left, right = _MERMAID[shown.kind]
        parts = [f"<b>{_mermaid_text(shown.title)}</b>", *map(_mermaid_text, shown.lines)]
        if shown.types:
            parts.append(f"<i>{_mermaid_text(', '.join(shown.types))}</i>")
        lines.append(f'{indent}{name}{left}"{"<br/>".join(parts)}"{right}:::{shown.kind}')

    def visit(nodes: Sequence[Node], indent: str) -> None:
        for node in nodes:
            shown, inside = card(node, graph), members(node)
            if not inside:
                box(names.numbers[node], shown, indent)
                continue
            title = _mermaid_text(shown.title)
            lines.append(f'{indent}subgraph {names.numbers[node]}["{title}"]')
            visit(inside, indent + "  ")
            lines.append(f"{indent}end")

    visit(graph.nodes, "  ")
    for index, edge in enumerate(graph.outputs):
        box(f"out{index}", output_card(edge, index), "  ")
    for source, target, argument in _links(graph, names):
        arrow = "-->" if argument is None else f'-. "{_mermaid_text(argument)}" .->'
        lines.append(f"  {source} {arrow} {target}")
    for kind, (_, fill, border) in _DOT.items():
        lines.append(f"  classDef {kind} fill:{fill},stroke:{border},color:#1f2328")
    return "\n".join(lines) + "\n"


def _mermaid_text(text: str) -> str:
    """Everything but letters, digits and harmless signs, as the code of the character."""
    return "".join(
        sign if sign.isalnum() or sign in " .,=_()…:/-+" else f"#{ord(sign)};" for sign in text
    )


to_dot.fill(dot)


to_mermaid.fill(mermaid)
