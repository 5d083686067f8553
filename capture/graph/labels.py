"""What a picture of a graph says about a node: its kind, its name, its most telling attributes."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.types.dtypes import DType
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.indexing import written
from gradiva.ops.readers.core.source import SourceOperator

from .builtin_ops import constant, parameter, random_key

if TYPE_CHECKING:
    from .graph import Edge, Graph, Node

__all__ = ["MOST", "Card", "card", "inputs_of", "members", "output_card", "type_text"]

MOST = 34
"""The characters of a line, at most."""
_LINES = 4
_PRIVATE = "_conditional."
_INTERNAL = frozenset({"effect", "shared", "seed", "slot"})
_BEFORE = 1 << 30


@dataclass(frozen=True)
class Card:
    """kind: source, operator, random, key, constant, output or fused; note: everything there is
    to say, for a tooltip."""

    kind: str
    title: str
    lines: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    note: str = ""


def members(node: Node) -> tuple[Node, ...]:
    """The calls inside a fused node, in order; () for other nodes."""
    return node.members


def inputs_of(node: Node, group: Node | None = None) -> tuple[Edge, ...]:
    """The inputs of a node; those of a member of `group` as the group takes them."""
    if group is None:
        return node.inputs
    found = []
    for edge in node.inputs:
        if edge.node.operator is parameter:
            taken = group.inputs[edge.node.attribute("number")]
            edge = taken._replace(argument=edge.argument)  # noqa: PLW2901
        found.append(edge)
    return tuple(found)


def card(node: Node, graph: Graph) -> Card:
    """What to say about a node of `graph` (or about a member of one)."""
    types = tuple(type_text(type) for type in node.type)
    note = _note(node, graph)
    if node.operator is constant:
        value = node.attribute("value")
        text = shorten(_text(value if value.size <= 4 else value.shape))
        title = text if value.size <= 4 else f"array {text}"
        return Card("constant", title, (), types, note)
    if node.operator is random_key:
        number, seed = node.attribute("number"), node.attribute("seed")
        if number is None:  # of a compiled function: the key comes with each call of it
            title = f"key of call {node.attribute('slot')}"
        else:
            title = f"key {number % _BEFORE}" if seed is None or number else f"seed {seed}"
        return Card("key", title, (), (), note)
    if node.operator is parameter:
        return Card("source", f"input {node.attribute('number')}", (), types, note)
    if members(node):
        return Card("fused", shorten(node.operator.name), (), types, note)
    kind = "operator"
    if isinstance(node.operator, SourceOperator):
        kind = "source"
    elif node.operator.random:
        kind = "random"
    lines = attribute_lines(node)
    name = graph.names.get(node)
    if name:
        lines = (shorten(f'"{name}"'), *lines)
    return Card(kind, node.operator.name.removeprefix(_PRIVATE), lines, types, note)


def output_card(edge: Edge, index: int) -> Card:
    """The pill that stands for an output of the graph."""
    text = type_text(edge.node.type[edge.output])
    return Card("output", f"output {index}", (), (), f"output {index}: {text}")


def attribute_lines(node: Node) -> tuple[str, ...]:
    """`name=value` in the order of the operator's signature, packed into a few short lines."""
    given = dict(node.attributes)
    order = [name for name in node.operator.arguments if name in given]
    order += [name for name in given if name not in order and name not in _INTERNAL]
    texts = [shorten(f"{name}={_text(given[name])}") for name in order]
    if node.operator.name == "subscript":
        texts = [shorten(written(given["ranges"]))]
    if given.get("shared"):
        texts.append("one value for all samples")
    if given.get("seed") is not None:
        texts.append(f"seed={given['seed']}")
    lines: list[str] = []
    for index, text in enumerate(texts):
        if lines and len(lines[-1]) + 2 + len(text) <= MOST:
            lines[-1] += f", {text}"
        elif len(lines) < _LINES:
            lines.append(text)
        else:
            lines.append(f"… {len(texts) - index} more")
            break
    return tuple(lines)


def type_text(type: SampleType) -> str:
    """Such as `uint8 HWC`; the device is named if it is not the CPU."""
    text = str(type)
    return text.removesuffix(" cpu")


def shorten(text: str, most: int = MOST) -> str:
    """The beginning and the end of a text that is too long, in one line."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[-(most - 1 - head) :]}"


def _text(value: Any) -> str:
    if isinstance(value, bool | str):
        return repr(value)
    if isinstance(value, DType | enum.Enum):
        return value.name
    if isinstance(value, float | np.floating):
        return f"{float(value):g}"
    if isinstance(value, np.ndarray):
        return _text(value.tolist())
    if isinstance(value, tuple | list):
        inner = ", ".join(map(_text, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(value)


def _note(node: Node, graph: Graph) -> str:
    given = [f"{name}={_whole(value)}" for name, value in node.attributes if name != "members"]
    given += [f"  {member.operator.name}" for member in members(node)]
    lines = [node.operator.name, *given, "→ " + ", ".join(map(str, node.type))]
    lines += [f"at {place}" for place in graph.locations.get(node, ())]
    return "\n".join(lines)


def _whole(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > 16:
        return f"{value.dtype}{list(value.shape)}"
    text = _text(value)
    return text if len(text) <= 300 else text[:299] + "…"
