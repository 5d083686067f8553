"""Graphs for Graphviz as `Pipeline.save_graph_to_dot_file` writes them: operators, and the tensors
between them."""

from __future__ import annotations

from collections.abc import Iterator

from gradiva.capture.graph.builtin_ops import random_key
from gradiva.capture.graph.graph import Edge, Graph, Node
from gradiva.capture.graph.labels import type_text
from gradiva.capture.graph.text_formats import dot_text

_STAGES = {"cpu": "#cfe3f7", "mixed": "#cdeeee", "gpu": "#d3ecc9"}
_PLAIN = "#ffffff"


def operator_dot(
    graph: Graph, show_tensors: bool = False, show_ids: bool = False, use_colors: bool = False
) -> str:
    """The operators of a graph in the language of Graphviz.

    show_tensors: draw what flows between operators as nodes of their own, with its type; else as
    arrows. show_ids: number operators and tensors. use_colors: fill operators by where they run:
    blue for the CPU, cyan for mixed, green for the GPU. Keys of random calls are not drawn.
    """
    nodes = [node for node in graph.nodes if node.operator is not random_key]
    numbers = {node: index for index, node in enumerate(nodes)}
    tensors: dict[tuple[Node, int], int] = {}
    for node in nodes:
        for output in range(len(node.type)):
            tensors[node, output] = len(tensors)
    lines = [
        f"digraph {dot_text(graph.title)} {{",
        '  node [fontname="Helvetica", fontsize=11];',
        '  edge [fontname="Helvetica", fontsize=9];',
    ]
    for node in nodes:
        name = graph.names.get(node)
        text = node.operator.name if name is None else f"{node.operator.name}\n{name}"
        if show_ids:
            text = f"{numbers[node]}: {text}"
        stage = node.type[0].device if node.type else "cpu"
        fill = _STAGES.get(stage, _PLAIN) if use_colors else _PLAIN
        style = f'shape=box, style=filled, fillcolor="{fill}"'
        lines.append(f"  op{numbers[node]} [label={dot_text(text)}, {style}];")
    if show_tensors:
        for (node, output), number in tensors.items():
            text = type_text(node.type[output])
            text = f"{number}: {text}" if show_ids else text
            lines.append(f"  t{number} [label={dot_text(text)}, shape=ellipse];")
            lines.append(f"  op{numbers[node]} -> t{number};")
    for number, _ in enumerate(graph.outputs):
        lines.append(f'  out{number} [label="output {number}", shape=ellipse, style=bold];')
    for edge, target, label in _links(graph, nodes, numbers):
        source = (
            f"t{tensors[edge.node, edge.output]}" if show_tensors else f"op{numbers[edge.node]}"
        )
        style = f" [style=dashed, label={dot_text(label)}]" if label else ""
        lines.append(f"  {source} -> {target}{style};")
    return "\n".join([*lines, "}"]) + "\n"


def _links(
    graph: Graph, nodes: list[Node], numbers: dict[Node, int]
) -> Iterator[tuple[Edge, str, str | None]]:
    """(edge, target, argument that is fed) of all edges that are drawn."""
    for node in nodes:
        for edge in node.inputs:
            if edge.node in numbers:
                yield edge, f"op{numbers[node]}", edge.argument
    for index, edge in enumerate(graph.outputs):
        yield edge, f"out{index}", None
