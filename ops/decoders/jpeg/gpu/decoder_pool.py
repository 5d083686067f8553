"""The JPEG decoders of a GPU: made when they are first needed, and kept. Their memory is from the
pools of the GPU."""

from __future__ import annotations

import threading
from typing import NamedTuple

from gradiva.eager import extension as op
from gradiva.eager.cuda.context import Gpu
from gradiva.eager.cuda.device_memory import Block, PinnedBlock
from gradiva.eager.cuda.streams import DeviceStream, Held, Ready
from gradiva.eager.support.user_warning import warn_user

from .allocators import Allocator
from .declarations import Status
from .decoder import JpegDecoder
from .library import NvjpegError, load


class Settings(NamedTuple):
    """What a decoder is made with; see `JpegDecoder`. width, height: hints, for the engine.

    hardware: whether any image may go to the engine.
    """

    hardware: bool
    width: int
    height: int
    device_padding: int
    pinned_padding: int
    fancy_upsampling: bool

    def check(self) -> Settings:
        """Returns itself. Raises OperatorValueError for negative sizes."""
        names = {
            "preallocate_width_hint": self.width,
            "preallocate_height_hint": self.height,
            "device_memory_padding": self.device_padding,
            "host_memory_padding": self.pinned_padding,
        }
        for name, value in names.items():
            if value < 0:
                raise op.OperatorValueError(argument=name, expected="at least 0", got=str(value))
        return self


class DecoderPool:
    """Those of one GPU, by their settings. Programs have one or two."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._decoders: dict[Settings, JpegDecoder] = {}
        self._lock = threading.Lock()
        self._useless = False

    def find(self, settings: Settings, batch_size: int) -> JpegDecoder | None:
        """A decoder with these settings, or None if nvJPEG cannot be used: a warning says so, once.

        batch_size: what the engine takes memory for, where there are hints. Raises NvjpegError if
        there is no memory for it.
        """
        with self._lock:
            found = self._decoders.get(settings)
            if found is None and not self._useless:
                try:
                    found = self._decoders[settings] = self._made(settings, batch_size)
                except op.OperatorRuntimeError as error:
                    if isinstance(error, NvjpegError) and error.status == Status.ALLOCATOR_FAILURE:
                        raise
                    self._useless = True
                    warn_user(f"JPEG files are decoded on the CPU: {error.problem}")
            return found

    def _made(self, settings: Settings, batch_size: int) -> JpegDecoder:
        gpu = self._gpu
        return JpegDecoder(
            load(),
            gpu.runtime,
            hardware=settings.hardware,
            preallocate=(batch_size, settings.width, settings.height),
            device_padding=settings.device_padding,
            pinned_padding=settings.pinned_padding,
            pinned=_pinned_allocator(gpu),
            device=_device_allocator(gpu),
            fancy_upsampling=settings.fancy_upsampling,
        )

    def close(self) -> None:
        """Close them all."""
        with self._lock:
            decoders, self._decoders = self._decoders, {}
        for decoder in decoders.values():
            decoder.close()


def _pinned_allocator(gpu: Gpu) -> Allocator:
    """Of pinned memory; the pool holds what the library frees until its stream has come past."""

    def take(size: int, stream: int) -> tuple[int, PinnedBlock]:
        block = gpu.pinned.allocate(size)
        return block.address, block

    def give(block: PinnedBlock, stream: int) -> None:
        block.held_by(DeviceStream(gpu, stream))

    return Allocator(take, pinned=True, give=give)


def _device_allocator(gpu: Gpu) -> Allocator:
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
