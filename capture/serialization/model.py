"""What the modules of both directions share: an operator of a file, and the writer of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from gradiva.capture.graph.graph import Edge, Graph, Node

from .edges import EdgeName


@dataclass(frozen=True)
class StoredOperator:
    """One operator of a file. inputs, outputs: names of edges; per_sample: the edge that feeds an
    argument; name: None if the user gave none; device: "cpu", "gpu" or "mixed"."""

    schema: str
    label: str
    name: str | None
    inputs: tuple[EdgeName, ...]
    per_sample: dict[str, EdgeName]
    outputs: tuple[EdgeName, ...]
    arguments: dict[str, Any]
    device: str = "cpu"


class Writer(Protocol):
    """A graph on its way into a file, for those that write one kind of node."""

    graph: Graph

    def edge(self, edge: Edge) -> EdgeName:
        """The name of what an edge carries; a constant is written when it is first used."""
        ...

    def name(self, node: Node, output: int) -> EdgeName:
        """The name of an output of a node that was written."""
        ...

    def alias(self, node: Node, name: EdgeName) -> None:
        """Let the output of `node` be what `name` is."""
        ...

    def call(
        self,
        node: Node,
        schema: str,
        inputs: Iterable[str],
        named: Iterable[tuple[str | None, str]],
        arguments: Mapping[str, Any],
        outputs: int,
        name: str | None = None,
        output: int = 0,
        helper: bool = False,
    ) -> list[EdgeName]:
        """Add an operator for `node` and return the names of its outputs; see `GraphWriter`."""
        ...
