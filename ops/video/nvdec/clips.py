"""Clips decoded by NVDEC, each in a thread and on a stream of its own; the CPU decodes the rest.

What NVDEC does not take, refuses or leaves out is for the CPU to judge: its frames are the same,
and so are its errors.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.cuda.context import Gpu
from gradiva.eager.cuda.device_array import DeviceArray
from gradiva.eager.cuda.device_memory import PinnedBlock
from gradiva.eager.cuda.streams import DeviceStream
from gradiva.eager.support.user_warning import warn_user
from gradiva.eager.types.arrays import Array
from gradiva.ops.video.clips import Clip, decode_clips, in_host_memory, places_of
from gradiva.ops.video.colorspaces import color_numbers
from gradiva.ops.video.decoders import Decoders
from gradiva.ops.video.frame_decoder import FrameDecoder
from gradiva.ops.video.frame_index import VideoIndex
from gradiva.ops.video.video_file import VideoSource

from .convert import planes_launch
from .packets import NvdecError, NvPackets
from .protocol import NvVideoCodec
from .route import Stored, stored_for_nvdec

# PyNvVideoCodec, imported when it is first needed; what it lacks in a sentence.

_NAME: Final = "PyNvVideoCodec"


def load() -> NvVideoCodec:
    """The module. Raises OperatorRuntimeError that says what is missing."""
    try:
        return cast(NvVideoCodec, importlib.import_module(_NAME))
    except (ImportError, OSError, RuntimeError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name == _NAME:
            raise op.OperatorRuntimeError(
                "videos are decoded on a GPU through PyNvVideoCodec, which is not installed: "
                "pip install 'gradiva[nvdec]' (on x86-64), or leave out `device`"
            ) from None
        raise op.OperatorRuntimeError(
            "PyNvVideoCodec, which decodes videos on a GPU, cannot be loaded: it needs the NVIDIA "
            f"driver with its video libraries (libnvcuvid.so.1); {error}"
        ) from None


class _HostError(ValueError):
    """A video that NVDEC does not decode."""


class _NvFrames(FrameDecoder):
    """The frames of a video by NVDEC."""

    def __init__(
        self, module: NvVideoCodec, gpu: Gpu, source: VideoSource, index: VideoIndex, stored: Stored
    ) -> None:
        self.stream = DeviceStream(gpu)
        self.numbers = color_numbers(stored.colorspace, stored.full)
        packets = NvPackets(module, gpu, self.stream, stored, index.shape)
        super().__init__(source, index, packets.of)


class _Pixels:
    """The target of a clip: what was made of it, once it is all there."""

    made: DeviceArray | None = None


class _Staged(NamedTuple):
    memory: PinnedBlock
    address: int


class GpuDecoders:
    """Decoders for clips on a GPU, with those that are open. Raises OperatorRuntimeError where
    PyNvVideoCodec is missing."""

    def __init__(self, gpu: Gpu, fill: Array, colorspace: str | None) -> None:
        self._gpu, self._fill, self._colorspace = gpu, fill, colorspace
        self._module = load()
        self._by_nvdec = Decoders(0, self._opened)
        self._by_cpu = Decoders(0)
        self._stored: dict[str, Stored | None] = {}
        """How the files are stored that were looked at, by their names."""

    def decode(
        self, clips: Mapping[int, Clip], target: op.Batch, pool: op.WorkerPool
    ) -> dict[int, ValueError | OSError]:
        """Fill samples of `target`, which is of the current stream; what went wrong, by sample.

        clips: by sample; their own targets are not looked at.
        """
        offsets, data = target.batch_shape.offsets, target.data
        assert isinstance(data, DeviceArray)
        asked = {sample: clip._replace(target=_Pixels()) for sample, clip in clips.items()}
        refused = decode_clips(asked, self._by_nvdec, pool, self._decode_clip)
        made = {sample: clip.target.made for sample, clip in asked.items() if sample not in refused}
        self._gpu.runtime.activate()
        self._gpu.place([*made.values()], [int(offsets[sample]) for sample in made], data)
        for error in refused.values():
            if isinstance(error, NvdecError):
                warn_user(f"videos are decoded on the CPU: {error}")
                break
        return self._on_cpu({sample: clips[sample] for sample in refused}, target, pool)

    def close(self) -> None:
        """Close all that wait."""
        self._by_nvdec.close()
        self._by_cpu.close()

    def _opened(self, source: VideoSource, index: VideoIndex) -> FrameDecoder:
        """Raises what `FrameDecoder` does, and _HostError."""
        name = source.name
        if name in self._stored:
            stored = self._stored[name]
        else:
            stored = stored_for_nvdec(source, index, self._colorspace)
            if name:
                self._stored[name] = stored
        if stored is None:
            raise _HostError
        return _NvFrames(self._module, self._gpu, source, index, stored)

    def _decode_clip(self, clip: Clip, decoder: FrameDecoder) -> None:
        """Raises FrameError, OSError, NvdecError."""
        assert isinstance(decoder, _NvFrames)
        gpu = self._gpu
        height, width = clip.video.upright_shape
        step = 3 * height * width
        places = places_of(clip.frames)
        with gpu.on(decoder.stream):
            made = gpu.empty(step * len(clip.frames), np.dtype(np.uint8))
            blank = places.pop(-1, [])
            if blank:
                filled = np.empty((height * width, 3), np.uint8)
                filled[...] = self._fill
                for place in blank:
                    gpu.write(filled, made[step * place : step * (place + 1)])
            for frame, picture in decoder.frames(sorted(places)):
                starts = step * np.array(places[frame], np.int64)
                # The frame is good until the next packet, whose work comes after this one.
                turns = clip.video.turns
                gpu.run([planes_launch(picture.planes, decoder.numbers, turns, made, starts)])
        clip.target.made = made

    def _on_cpu(
        self, clips: Mapping[int, Clip], target: op.Batch, pool: op.WorkerPool
    ) -> dict[int, ValueError | OSError]:
        """Decode into pinned memory, and have the current stream copy that."""
        staged: dict[int, _Staged] = {}
        asked: dict[int, Clip] = {}
        for sample, clip in clips.items():
            there: Any = target.array(sample)
            memory = self._gpu.pinned.allocate(there.nbytes)
            staged[sample] = _Staged(memory, there.address)
            asked[sample] = clip._replace(target=memory.array.reshape(there.shape))
        decode = in_host_memory(self._fill, self._colorspace)
        failures = decode_clips(asked, self._by_cpu, pool, decode)
        for sample, (memory, address) in staged.items():
            if sample not in failures and memory.nbytes:
                self._gpu.write_pinned(memory, address, self._gpu.stream)
        return failures
