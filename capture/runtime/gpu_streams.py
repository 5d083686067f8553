"""The streams of a pipeline or a captured loop on a GPU, and how far the GPU may lag behind.

Batches are returned before the GPU has finished them: the memory of the outputs is marked with an
event of the stream, and readers on another stream wait for that event.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from gradiva.capture.graph.graph import Graph, Node
from gradiva.eager.contexts.stream import device_stream
from gradiva.eager.cuda.cupy_runtime import gpu_of
from gradiva.eager.cuda.device_memory import Block
from gradiva.eager.cuda.streams import DeviceStream, Ready
from gradiva.eager.support.errors import GradivaError
from gradiva.eager.types.device import Device
from gradiva.eager.values.batch import Batch

__all__ = ["DeviceStage", "check_gpu", "queued"]

MarkInUse: TypeAlias = "Callable[[Iterable[Batch]], None]"


def check_gpu(
    graph: Graph, device: Device, locate: Callable[[GradivaError, Node], GradivaError]
) -> bool:
    """Whether a graph has nodes on a GPU. If it has and the GPU is missing, the error names the
    line of the first such node. Raises OperatorRuntimeError."""
    node = next((node for node in graph.nodes if any(t.device == "gpu" for t in node.type)), None)
    if node is None:
        return False
    try:
        gpu_of(device)
    except GradivaError as error:
        raise locate(error, node) from error.__cause__
    return True


class DeviceStage:
    """Queues batches on its own streams, in turns. Safe from any thread.

    most: the number of unfinished batches on the GPU, in addition to the one that is being queued.
    Before another one begins, the calling thread waits for the oldest.
    """

    def __init__(self, device: Device, most: int, streams: int = 2, priority: int = 0) -> None:
        self.device = device
        self._gpu = gpu_of(device)
        self._gpu.runtime.activate()
        self._most = most
        self._streams = deque(DeviceStream(self._gpu, priority=priority) for _ in range(streams))
        self._queued: deque[Ready] = deque()
        self._lock = threading.Lock()

    @contextmanager
    def batch(self) -> Iterator[MarkInUse]:
        """Work in this block is queued on one of the streams. Call the yielded function with the
        outputs, when all work on them has been queued."""
        self._gpu.runtime.activate()
        self._wait()
        with self._lock:
            stream = self._streams[0]
            self._streams.rotate(-1)

        def mark(outputs: Iterable[Batch]) -> None:
            ready = Ready(stream)
            for output in outputs:
                block = getattr(output.data, "block", None)
                if isinstance(block, Block) and block.stream is stream:
                    block.ready = ready
            with self._lock:
                self._queued.append(ready)

        with self._gpu.on(stream):
            yield mark

    def precede(self, stream: Any, batches: Iterable[Batch]) -> None:
        """Make later work on another stream wait for the work on these batches. Raises
        OperatorTypeError for an invalid stream."""
        self._gpu.runtime.activate()
        after = device_stream(stream, self.device.device_id, "cuda_stream")
        for batch in batches:
            block = getattr(batch.data, "block", None)
            if block is not None:
                block.use(after)

    def reserve(self, nbytes: int, count: int) -> None:
        """Allocate `count` blocks of this many bytes in advance, for all streams together."""
        for stream in self._streams:
            self._gpu.memory.reserve(nbytes, -(-count // len(self._streams)), stream)

    def _wait(self) -> None:
        while True:
            with self._lock:
                if len(self._queued) <= self._most:
                    return
                first = self._queued.popleft()
            first.wait()

    def close(self) -> None:
        """Drop the streams: each is destroyed when none of its arrays exists any more."""
        with self._lock:
            self._queued.clear()
            self._streams.clear()
        self._gpu.memory.tidy()


@contextmanager
def queued(stage: DeviceStage | None) -> Iterator[MarkInUse]:
    """`stage.batch()`, if there is a stage."""
    if stage is None:
        yield lambda _: None
    else:
        with stage.batch() as mark:
            yield mark
