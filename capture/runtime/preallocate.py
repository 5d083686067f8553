"""Allocates memory before the first batch, if the user has given the sizes."""

from __future__ import annotations

from typing import Any

from gradiva.capture.graph.builtin_ops import constant, fused, parameter, random_key
from gradiva.capture.graph.graph import Graph, Node
from gradiva.capture.graph.hints import HINT
from gradiva.eager.runtime.host_memory import pool
from gradiva.eager.runtime.memory_settings import settings
from gradiva.eager.support.validation import integer

from .gpu_streams import DeviceStage

_AT_WORK = 2
"""The number of batches that are computed at once: an intermediate result may need a block for
each."""


def check_bytes_per_sample(value: Any) -> int:
    """The argument of a pipeline. Raises OperatorTypeError or OperatorValueError."""
    return integer(
        value,
        0,
        expected="a number of bytes, 0 for no hint",
        bools=False,
        operator="Pipeline",
        argument="bytes_per_sample",
    )


def preallocate(
    graph: Graph,
    batch_size: int,
    bytes_per_sample: int = 0,
    depth: int = 1,
    stage: DeviceStage | None = None,
) -> None:
    """Have blocks waiting in the pools for the results of this graph, as large as its hints say.

    bytes_per_sample: for results without a hint of their own; 0 for none. depth: batches that are
    made ahead. An output needs a block in each of them, one while it is made, and one in the hands
    of the user. What a fused group passes on inside takes no memory, and hints for it have no
    effect. Raises OperatorValueError for an environment variable that makes no sense, hints or not.
    """
    settings.read()
    needed: dict[tuple[str, int], int] = {}
    outputs = {(edge.node, edge.output) for edge in graph.outputs}
    for node in graph.nodes:
        if node.operator in (constant, parameter, random_key):
            continue
        for output, hint in enumerate(_hints(node)):
            size = (hint or bytes_per_sample) * batch_size
            if size:
                count = depth + _AT_WORK if (node, output) in outputs else _AT_WORK
                place = node.device, size
                needed[place] = needed.get(place, 0) + count
    for (device, size), count in needed.items():
        if device == "cpu":
            pool.reserve(size, count)
        elif stage is not None:
            stage.reserve(size, count)


def _hints(node: Node) -> tuple[int, ...]:
    """Bytes per sample of each output, as given to its operator; 0 if not given."""
    made_by = node.members[-1] if node.operator is fused else node
    hints = made_by.attribute(HINT, 0)
    return hints if isinstance(hints, tuple) else (int(hints),) * len(node.type)
