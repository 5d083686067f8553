"""The work of a pipeline or a captured loop on a GPU: its streams, and how far they may lag behind.

Nothing here waits for a batch to be done before it is returned: the memory of its outputs is
marked with a point of the stream, and whatever reads them on another stream comes after that point.
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

__all__ = ["DeviceStage", "queued", "require_gpu"]

Mark: TypeAlias = "Callable[[Iterable[Batch]], None]"


def require_gpu(
    graph: Graph, device: Device, locate: Callable[[GradivaError, Node], GradivaError]
) -> bool:
    """Whether a graph has nodes on a GPU; then it is there, or an error tells the first of their
    lines. Raises OperatorRuntimeError."""
    node = next((node for node in graph.nodes if any(t.device == "gpu" for t in node.type)), None)
    if node is None:
        return False
    try:
        gpu_of(device)
    except GradivaError as error:
        raise locate(error, node) from error.__cause__
    return True


class DeviceStage:
    """Queues batch after batch on streams of its own, in turns. Safe from any thread.

    most: batches that the GPU has not done yet, beside the one that is being queued: before another
    one is begun, the calling thread waits for the first of them.
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
    def batch(self) -> Iterator[Mark]:
        """What is queued in this block is queued on one of the streams. Call what it gives with the
        outputs, when all work on them is queued."""
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
        """Let what another stream is given from now on come after the work on these batches. Raises
        OperatorTypeError for what is no stream."""
        self._gpu.runtime.activate()
        after = device_stream(stream, self.device.device_id, "cuda_stream")
        for batch in batches:
            block = getattr(batch.data, "block", None)
            if block is not None:
                block.use(after)

    def reserve(self, nbytes: int, count: int) -> None:
        """Have `count` blocks of so many bytes waiting, for all streams together."""
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
        """Drop the streams: each is destroyed when no array of its own is left."""
        with self._lock:
            self._queued.clear()
            self._streams.clear()
        self._gpu.memory.tidy()


@contextmanager
def queued(stage: DeviceStage | None) -> Iterator[Mark]:
    """`stage.batch()`, where there is a stage."""
    if stage is None:
        yield lambda _: None
    else:
        with stage.batch() as mark:
            yield mark
