"""nvJPEG's memory, from the pools of a GPU."""

from __future__ import annotations

import threading

from gradiva.eager.cuda.context import Gpu
from gradiva.eager.cuda.device_memory import Block, PinnedBlock
from gradiva.eager.cuda.streams import DeviceStream, Held, Ready

from .allocators import Allocator


def pinned_allocator(gpu: Gpu) -> Allocator:
    """Of pinned memory; the pool holds what the library frees until its stream has come past."""

    def take(size: int, stream: int) -> tuple[int, PinnedBlock]:
        block = gpu.pinned.allocate(size)
        return block.address, block

    def give(block: PinnedBlock, stream: int) -> None:
        block.held_by(DeviceStream(gpu, stream))

    return Allocator(take, pinned=True, give=give)


def device_allocator(gpu: Gpu) -> Allocator:
    """Of device memory."""
    freed = _Freed(gpu)
    return Allocator(freed.take, pinned=False, give=freed.give)


class _Freed:
    """Blocks of one stream, which is given no work: the library says only when it frees a block
    which stream has used it, and by then the pool may no longer ask that stream."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._stream = DeviceStream(gpu)
        self._blocks = Held[Block]()
        self._lock = threading.Lock()

    def take(self, size: int, stream: int) -> tuple[int, Block]:
        self._collect()
        block = self._gpu.memory.allocate(size, self._stream)
        return block.address, block

    def give(self, block: Block, stream: int) -> None:
        with self._lock:
            self._blocks.add([Ready(DeviceStream(self._gpu, stream))], block)

    def _collect(self) -> None:
        with self._lock:
            self._blocks.past()
