"""Memory statistics: the sizes of the results of each operator of a pipeline."""

from __future__ import annotations

import threading
from typing import Any, TypeAlias

from gradiva.capture.graph.builtin_ops import constant, parameter, random_key
from gradiva.capture.graph.graph import Graph, Node
from gradiva.eager.runtime.host_memory import capacity
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.buffers import on_cpu

Statistics: TypeAlias = "dict[str, dict[str, list[int]]]"

_KEYS = (
    "real_memory_size",
    "max_real_memory_size",
    "reserved_memory_size",
    "max_reserved_memory_size",
)


class MemoryStatistics:
    """The most bytes that each output of each operator of a graph took in any batch so far.

    What is counted, per output: `real_memory_size`, the bytes of the samples of a batch;
    `max_real_memory_size`, those of its largest sample; `reserved_memory_size`, those of the block
    that holds the batch; `max_reserved_memory_size`, the block's share of a sample, and at least
    the largest sample. Safe from any thread.
    """

    def __init__(self, graph: Graph) -> None:
        self._lock = threading.Lock()
        self._names: dict[Node, str] = {}
        self._most: dict[Node, list[list[int]]] = {}
        for node in graph.nodes:
            for member in node.members or (node,):
                name, origin = graph.names.get(member), graph.origins.get(member)
                inner = node.members and member is not node.members[-1]
                # A nameless part of an operator of the user's, inside of a group, is not listed.
                hidden = inner and origin is not None and name is None
                if not hidden and member.operator not in (constant, parameter, random_key):
                    wanted = name or origin or member.operator.name
                    self._names[member] = self._free_name(wanted)

    def _free_name(self, wanted: str) -> str:
        taken, name, number = set(self._names.values()), wanted, 1
        while name in taken:
            number += 1
            name = f"{wanted}_{number}"
        return name

    def record(self, node: Node, outputs: tuple[Batch, ...]) -> None:
        """Record the outputs of a node for a batch. The output of a fused group belongs to its last
        member."""
        maker = node.members[-1] if node.members else node
        if maker not in self._names:
            return
        sizes = [_sizes(batch) for batch in outputs]
        with self._lock:
            most = self._most.get(maker)
            if most is not None:
                sizes = [
                    [max(pair) for pair in zip(new, old, strict=True)]
                    for new, old in zip(sizes, most, strict=True)
                ]
            self._most[maker] = sizes

    def as_dict(self) -> Statistics:
        """By "CPU_" or "GPU_" and the operator's name; a list per key, a number for each output.

        Zeros for an operator inside a fused group, whose result is never in memory as a whole.
        Nothing before the first batch.
        """
        with self._lock:
            if not self._most:
                return {}
            found = dict(self._most)
        result: Statistics = {}
        for node, name in self._names.items():
            rows: list[Any] = found.get(node, [[0] * len(_KEYS)] * len(node.type))
            result[f"{node.device.upper()}_{name}"] = {
                key: [row[number] for row in rows] for number, key in enumerate(_KEYS)
            }
        return result


def _sizes(batch: Batch) -> list[int]:
    if not len(batch):
        return [0] * len(_KEYS)
    largest = int(batch.batch_shape.volumes.max()) * batch.dtype.itemsize
    held = capacity(batch.data) if on_cpu(batch.data) else batch.data.block.size  # type: ignore
    return [batch.nbytes, largest, held, max(largest, -(-held // len(batch)))]
