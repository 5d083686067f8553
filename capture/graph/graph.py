"""The graph: immutable, interned nodes, in the order in which they were recorded.

A node has four fields: operator, inputs, attributes, type. Two nodes with equal fields are the same
node, so common subexpressions are shared without a pass. Random calls have their key as an input,
and effects have their number as an attribute, so nodes that must stay separate are never merged.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.support.errors import Location
from gradiva.eager.support.hooks import Hook
from gradiva.eager.types.dtypes import DType
from gradiva.eager.types.sample_type import SampleType

__all__ = ["Edge", "Graph", "GraphBuilder", "Members", "Node", "Opaque", "key_of"]

_DIGESTED = 1024
"""Arrays with more bytes than this are compared by digest, so that keys stay small."""


to_svg: Hook[Callable[[Graph], str]] = Hook("graphs as pictures", "gradiva.capture.graph.svg")
to_dot: Hook[Callable[[Graph], str]] = Hook(
    "graphs for Graphviz", "gradiva.capture.graph.text_formats"
)
to_mermaid: Hook[Callable[[Graph], str]] = Hook(
    "graphs as Mermaid flowcharts", "gradiva.capture.graph.text_formats"
)


class Edge(NamedTuple):
    """One output of a node; `argument` names the argument it feeds, None for an input."""

    node: Node
    output: int
    argument: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One call. `type` has a SampleType per output. Nodes are compared by identity."""

    operator: OperatorBase
    inputs: tuple[Edge, ...]
    attributes: tuple[tuple[str, Any], ...]
    type: tuple[SampleType, ...]

    def attribute(self, name: str, default: Any = None) -> Any:
        for key, value in self.attributes:
            if key == name:
                return value
        return default

    @property
    def device(self) -> str:
        """The device of its outputs, where the node runs: "cpu" or "gpu"."""
        return self.type[0].device if self.type else "cpu"

    @property
    def members(self) -> tuple[Node, ...]:
        """The nodes of a fused group, in order; empty for ordinary nodes. Their inputs are earlier
        members, and `input` leaves that stand for the inputs of the group, by number."""
        value = self.attribute("members")
        return value.nodes if isinstance(value, Members) else ()


class Members:
    """The nodes inside a fused group; compared by identity."""

    __slots__ = ("nodes",)

    def __init__(self, nodes: tuple[Node, ...]) -> None:
        self.nodes = nodes


class Opaque:
    """A callable or other object in an attribute: compared by identity, shown by its name, or by
    its `shown`."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        value = self.value
        name = getattr(value, "__qualname__", None) or getattr(value, "shown", None)
        name = name if isinstance(name, str) else type(value).__qualname__
        return f"<{name}>"


def key_of(value: Any) -> Any:
    """The form of an attribute that is compared: 1, 1.0, True, 0.0 and -0.0 are all different; NaN
    is equal to itself."""
    if isinstance(value, float):
        return (float, np.float64(value).tobytes())
    if isinstance(value, tuple):
        return (tuple, tuple(key_of(item) for item in value))
    if isinstance(value, np.ndarray):
        held = value.tobytes()
        if len(held) > _DIGESTED:
            held = blake2b(held, digest_size=32).digest()
        return (np.ndarray, value.dtype.str, value.shape, held)
    if isinstance(value, Opaque):
        return (Opaque, id(value.value))
    if isinstance(value, Members):
        return (Members, id(value))
    return (type(value), value)


@dataclass(frozen=True, slots=True)
class Graph:
    """A program: `nodes` in an order in which they can run, and `outputs`.

    locations: the user's lines that made a node (several calls may have made the same one);
    names: given by the user; kept: nodes that must stay though no output needs them; origins: the
    operator that the user called, where a pass has put others in its place.
    """

    nodes: tuple[Node, ...]
    outputs: tuple[Edge, ...]
    locations: dict[Node, tuple[Location, ...]] = field(default_factory=dict)
    names: dict[Node, str] = field(default_factory=dict)
    kept: frozenset[Node] = frozenset()
    title: str = "graph"
    origins: dict[Node, str] = field(default_factory=dict)

    def with_(self, nodes: Iterable[Node], outputs: tuple[Edge, ...] | None = None) -> Graph:
        """The graph with other nodes. The facts about nodes are kept for the nodes that remain."""
        chosen = tuple(nodes)
        alive = {*chosen, *(member for node in chosen for member in node.members)}
        return Graph(
            chosen,
            self.outputs if outputs is None else outputs,
            {node: lines for node, lines in self.locations.items() if node in alive},
            {node: name for node, name in self.names.items() if node in alive},
            self.kept & alive,
            self.title,
            {node: name for node, name in self.origins.items() if node in alive},
        )

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __str__(self) -> str:
        """One line a node: `%1 = flip(%0, horizontal=%2) : uint8 HWC cpu`."""
        numbers: dict[tuple[Node, int], str] = {}
        lines = [line for node in self.nodes for line in _lines(node, numbers)]
        returned = ", ".join(numbers[edge.node, edge.output] for edge in self.outputs)
        return "\n".join([f"{self.title} {{", *lines, f"  return {returned}", "}"])

    __repr__ = __str__

    def _repr_svg_(self) -> str:
        """The picture for a notebook."""
        return to_svg.get()(self)

    def to_dot(self) -> str:
        """The graph as text for Graphviz."""
        return to_dot.get()(self)

    def to_mermaid(self) -> str:
        """The graph as a Mermaid flowchart, which GitHub draws in a `mermaid` code block."""
        return to_mermaid.get()(self)


def _lines(node: Node, numbers: dict[tuple[Node, int], str]) -> list[str]:
    """A node as text: one line, and one more for each member of a fused group."""
    inputs = [numbers[edge.node, edge.output] for edge in node.inputs]
    texts = [
        f"{edge.argument}={text}" if edge.argument else text
        for edge, text in zip(node.inputs, inputs, strict=True)
    ]
    texts += [
        f"{name}={_text(value)}"
        for name, value in node.attributes
        if not isinstance(value, Members)
    ]
    first = sum(name.startswith("%") for name in numbers.values())
    results = [f"%{first + output}" for output in range(len(node.type))]
    for output, name in enumerate(results):
        numbers[node, output] = name
    line = f"  {', '.join(results) or 'nothing'} = {node.operator.name}({', '.join(texts)}) : "
    line += ", ".join(map(str, node.type))
    if not node.members:
        return [line]
    inside: dict[tuple[Node, int], str] = {}
    lines = [line + " {"]
    for index, member in enumerate(node.members):
        for edge in member.inputs:
            if edge.node not in node.members:
                inside[edge.node, edge.output] = inputs[edge.node.attribute("number")]
        (text,) = _lines(member, {**inside})
        inside[member, 0] = f".{index}"
        lines.append(f"    .{index} = " + text.split(" = ", 1)[1])
    return [*lines, "  }"]


def _text(value: Any) -> str:
    if isinstance(value, DType | enum.Enum):
        return value.name
    if isinstance(value, np.ndarray):
        if value.size <= 4:
            return f"{value.dtype}({value.tolist()})"
        return f"{value.dtype}{list(value.shape)}"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


class GraphBuilder:
    """A graph that is being recorded."""

    def __init__(self, title: str = "graph") -> None:
        self.title = title
        self._nodes: list[Node] = []
        self._interned: dict[Any, Node] = {}
        self._locations: dict[Node, list[Location]] = {}
        self._names: dict[Node, str] = {}
        self._kept: set[Node] = set()
        self._origins: dict[Node, str] = {}

    def add(
        self,
        operator: OperatorBase,
        inputs: tuple[Edge, ...],
        attributes: dict[str, Any],
        types: tuple[SampleType, ...],
        location: Location | None = None,
        name: str | None = None,
        keep: bool = False,
    ) -> Node:
        """The node with these fields: the existing one, or a new one."""
        ordered = tuple(sorted(attributes.items()))
        key = (
            operator.name,
            tuple((id(edge.node), edge.output, edge.argument) for edge in inputs),
            tuple((key, key_of(value)) for key, value in ordered),
            name,
            types[0].device if types else "cpu",
        )
        node = self._interned.get(key)
        if node is None:
            node = Node(operator, inputs, ordered, types)
            self._interned[key] = node
            self._nodes.append(node)
        if location is not None:
            lines = self._locations.setdefault(node, [])
            if location not in lines:
                lines.append(location)
        if name is not None:
            self._names[node] = name
        if keep:
            self._kept.add(node)
        return node

    def keep(self, node: Node) -> None:
        """Keep a node although no output needs it."""
        self._kept.add(node)

    def describe(
        self,
        node: Node,
        locations: Iterable[Location],
        origin: str | None = None,
        name: str | None = None,
    ) -> Node:
        """Store the location of a node in the user's code, and the name that the user gave it."""
        lines = self._locations.setdefault(node, [])
        lines += [line for line in locations if line not in lines]
        if origin is not None:
            self._origins.setdefault(node, origin)
        if name is not None:
            self._names.setdefault(node, name)
        return node

    def described(self, node: Node) -> tuple[tuple[Location, ...], str | None, str | None]:
        """What `describe` and `add` have stored about a node."""
        lines = tuple(self._locations.get(node, ()))
        return lines, self._origins.get(node), self._names.get(node)

    def has_name(self, name: str) -> bool:
        """Whether a node with this name exists already."""
        return name in self._names.values()

    def finish(self, outputs: tuple[Edge, ...]) -> Graph:
        return Graph(
            tuple(self._nodes),
            outputs,
            {node: tuple(lines) for node, lines in self._locations.items()},
            dict(self._names),
            frozenset(self._kept),
            self.title,
            dict(self._origins),
        )
