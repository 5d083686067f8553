"""`feed_input`: finds the source for the data, and checks the data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from gradiva.capture.recording.data_node import DataNode
from gradiva.capture.recording.free_node import FreeNode
from gradiva.eager.support.errors import OperatorKeyError, annotate_error, describe, wrong_type
from gradiva.eager.values.batch import Batch
from gradiva.ops.external_source.queue_source import QueueSource

from .source_plan import SourcePlan


def queue_sources(plan: SourcePlan) -> dict[str, QueueSource]:
    """The sources that can be fed, by name; those without one by number."""
    found: dict[str, QueueSource] = {}
    for node, source in plan.sources.items():
        if isinstance(source, QueueSource):
            found[plan.graph.names.get(node) or f"external_source_{len(found)}"] = source
    return found


def feed(
    plan: SourcePlan, items: Mapping[str, Any] | Iterable[tuple[Any, Any]], layout: str | None
) -> None:
    """Feed batches to sources, by name or symbol: to all of them, or to none if one batch is
    invalid."""
    accepted: list[tuple[QueueSource, int, Batch]] = []
    with annotate_error("Pipeline.feed_input"):
        for target, data in items.items() if isinstance(items, Mapping) else items:
            for source, output, item in _targets(plan, target, data):
                accepted.append(
                    (source, output, source.accept(item, output, plan.batch_size, layout))
                )
    for source, output, batch in accepted:
        source.feed(output, batch)


def _targets(plan: SourcePlan, target: Any, data: Any) -> list[tuple[QueueSource, int, Any]]:
    """The source and the number of the output; all outputs, if a tuple is given."""
    if isinstance(target, FreeNode):
        raise _unknown(target)
    if isinstance(target, DataNode):
        return [(_of_symbol(plan, target), target.edge.output, data)]
    if not isinstance(target, str):
        raise wrong_type(
            "data_node",
            "the symbol or the name of an external source of this pipeline",
            describe(target, 200),
        )
    known = queue_sources(plan)
    name, number = target, None
    if target not in known and (match := re.fullmatch(r"(.+)\[(\d+)\]", target)):
        name, number = match.group(1), int(match.group(2))
    source = known.get(name)
    if source is None or (number is not None and number >= source.num_outputs):
        raise OperatorKeyError(
            argument="data_node",
            expected="the name of an external source without a source "
            f"({', '.join(map(repr, known)) or 'there is none'})",
            got=repr(target),
        )
    if number is not None or source.num_outputs == 1:
        return [(source, number or 0, data)]
    if not isinstance(data, tuple) or len(data) != source.num_outputs:
        raise wrong_type(
            "data",
            f"a tuple of {source.num_outputs} batches, or the name {name + '[0]'!r}",
            describe(data),
            f"{name!r} has {source.num_outputs} outputs",
        )
    return [(source, output, item) for output, item in enumerate(data)]


def _of_symbol(plan: SourcePlan, symbol: DataNode) -> QueueSource:
    wanted = symbol.edge.node
    for node, source in plan.sources.items():
        same = node is wanted or (
            node.operator is wanted.operator
            and node.attribute("effect") == wanted.attribute("effect")
        )
        if same and isinstance(source, QueueSource):
            return source
    raise _unknown(symbol)


def _unknown(symbol: DataNode) -> OperatorKeyError:
    return OperatorKeyError(
        argument="data_node",
        expected="the symbol of an external source without a source, in this pipeline",
        got=repr(symbol),
    )
