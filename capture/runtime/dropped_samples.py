"""Samples that leave a step: rows that are dropped from every live value (`on_error="skip"`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gradiva.capture.graph.graph import Graph, Node
from gradiva.eager.execution.error_policy import keep_rows
from gradiva.eager.execution.quarantine import Quarantine, Quarantined, place_of
from gradiva.eager.values.batch import Batch

__all__ = ["Made", "Rows", "deliver", "drop_inside", "drops", "hold", "in_step"]

Values = dict[tuple[Node, int], Batch]
Rows = np.ndarray[Any, np.dtype[np.int64]]


def drop_inside(
    lost: Sequence[int], size: int, values: Values, drawn: dict[Node, tuple[Any, Any]]
) -> int:
    """The lost samples leave a group that is run member by member: its values, and the positions
    of its random calls. Returns the new size."""
    kept = np.delete(np.arange(size), lost)
    for place, batch in values.items():
        if len(batch) == size:
            values[place] = keep_rows(batch, kept)
    for node, (key, positions) in drawn.items():
        drawn[node] = (key, positions[kept])
    return len(kept)


def in_step(
    values: Values, lost: Mapping[Node, Sequence[int]], size: int
) -> tuple[int, Rows | None]:
    """What one source has left out leaves the batches of the others: they go together by their
    place in the batch. Returns how many samples of `size` are left, and which; None for all."""
    gone = sorted({row for rows in lost.values() for row in rows})
    if not gone:
        return size, None
    for (node, output), batch in values.items():
        stays = ~np.isin(np.delete(np.arange(size), lost[node]), gone)
        if not stays.all():
            values[node, output] = keep_rows(batch, np.flatnonzero(stays))
    return size - len(gone), np.delete(np.arange(size), gone)


def drops(node: Node) -> bool:
    """Whether samples may leave the step at this node."""
    return node.attribute("on_error") == "skip" or any(map(drops, node.members))


def hold(graph: Graph) -> Graph:
    """A pass: what may leave out samples stays, though no output needs it."""
    needed = _before([*(edge.node for edge in graph.outputs), *graph.kept])
    read = {edge.node for node in graph.nodes for edge in node.inputs}
    held: set[Node] = set()
    waiting = [node for node in graph.nodes if node not in read and node not in needed]
    while waiting:
        node = waiting.pop()
        if drops(node):
            held.add(node)
        else:
            waiting += [edge.node for edge in node.inputs if edge.node not in needed]
    if not held:
        return graph
    return replace(graph, kept=graph.kept | held)


def _before(nodes: Iterable[Node]) -> set[Node]:
    """These nodes and all that they need."""
    found: set[Node] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += [edge.node for edge in node.inputs]
    return found


class Made(tuple[Batch, ...]):
    """The outputs of one iteration, with the samples that could not be read.

    rows: the samples that are left, among all that were to be read; None if that is all.
    """

    noted: Sequence[Quarantined]
    rows: Rows | None

    @staticmethod
    def of(outputs: tuple[Batch, ...], noted: Quarantine, rows: Rows | None) -> Made:
        made = Made(outputs)
        made.noted, made.rows = noted, rows
        return made


def deliver(
    outputs: tuple[Batch, ...], quarantine: Quarantine, iteration: int
) -> tuple[Batch, ...]:
    """The outputs for the user; what could not be read goes to the quarantine."""
    if not isinstance(outputs, Made):
        return outputs
    if outputs.noted:
        ordered = sorted(outputs.noted, key=place_of)
        quarantine.record(entry._replace(iteration=iteration) for entry in ordered)
    return tuple(outputs)
