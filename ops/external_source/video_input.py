"""`experimental.inputs.video`: sequences of frames from videos that are fed, one after another."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.simd.streaming import use_nontemporal
from gradiva.ops.readers.core.source import Source, source_operator
from gradiva.ops.video.clips import Clip, decode_clips, in_host_memory, video_shapes
from gradiva.ops.video.colorspaces import check_colorspace
from gradiva.ops.video.decoders import Decoders
from gradiva.ops.video.frame_index import VideoIndex, scan_video
from gradiva.ops.video.video_file import VideoData

from .batch_converter import one_size
from .queue_source import QueueSource

__all__ = ["video"]


@source_operator("experimental.inputs.video", schema="experimental__inputs__Video", draws=False)
def video(
    *,
    sequence_length: int,
    last_sequence_policy: str = "partial",
    blocking: bool = False,
    no_copy: bool = False,
    affine: bool = True,
    colorspace: str | None = None,
    apply_rotation: bool = False,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Decode videos that `Pipeline.feed_input` feeds under `name`, as sequences of frames.

    What is fed is a batch of one: the bytes of a video. Each run delivers its next sequences, as
    many as a batch has; the last ones of a video are a smaller batch. Then comes the video that was
    fed next. A checkpoint within a video goes on there, once the video is fed again.

    Args:
        sequence_length: the number of frames of a sequence.
        last_sequence_policy: the last sequence of a video has the frames that are left ("partial",
            default), or is filled up with frames of 0 ("pad").
        blocking: let `run` wait for a video that is to be fed, instead of raising
            OperatorRuntimeError.
        no_copy: use the bytes where they are; they must not be changed while they are in use.
        affine: without effect.
        colorspace: "bt601" for the pixels of DALI, which takes all videos to be of that standard.
            By default the colors are those that the file declares.
        apply_rotation: turn the frames as the display matrix of the file says, by quarters: videos
            of phones stand upright then. By default they lie as they were recorded.

    Returns:
        RGB frames, uint8, FHWC.

    Raises:
        OperatorValueError: for arguments out of range.
        OperatorRuntimeError: with the frame where it is one, for data that is not a video, is
            damaged or cut short; where there is nothing left to be read.

    Example:
        @pipeline_def(batch_size=4, num_threads=2)
        def clips():
            return fn.experimental.inputs.video(name="videos", sequence_length=8)

        pipe = clips()
        pipe.feed_input("videos", [np.fromfile("clip.mp4", np.uint8)])
        (frames,) = pipe.run()
    """
    if sequence_length < 1:
        raise op.wrong_value("sequence_length", "1 or more", sequence_length)
    if last_sequence_policy not in ("partial", "pad"):
        expected = "'partial' or 'pad'"
        raise op.wrong_value("last_sequence_policy", expected, repr(last_sequence_policy))
    check_colorspace(colorspace)
    return op.SampleType(op.uint8, 4, "FHWC", "cpu")


video.not_serializable("colorspace", "apply_rotation")


@video.opens
def _open(arguments: dict[str, Any], seed: int) -> Source:
    return VideoInput(arguments)


class VideoInput(QueueSource):
    """The videos that wait, and the place in the one that is read."""

    whole = False

    def __init__(self, arguments: dict[str, Any]) -> None:
        receives = {"num_outputs": None, "layout": None, "dtype": op.uint8, "ndim": None}
        super().__init__({**arguments, **receives, "repeat_last": False})
        self._length: int = arguments["sequence_length"]
        self._pads = arguments["last_sequence_policy"] == "pad"
        self._colorspace: str | None = arguments["colorspace"]
        self._upright: bool = arguments["apply_rotation"]
        self._decoders = Decoders(0)
        self._current: tuple[VideoData, VideoIndex] | None = None
        self._number = self._frame = 0

    def accept(self, item: Any, output: int, batch_size: int, layout: str | None) -> op.Batch:
        self._converter.fixed = [None]  # bytes are bytes, in whatever shape
        batch = self._converter.batch(item, output, layout)
        if one_size((batch,), batch_size) != 1:
            raise op.OperatorValueError(
                "a video input takes one video at a time",
                argument="data",
                expected="a batch of one",
                got=f"{len(batch)} samples",
            )
        return batch

    def read(self, batch_size: int, pool: op.WorkerPool) -> tuple[op.Batch, ...]:
        if self._current is None:
            (fed,) = self._taken(1, pool)
            data = np.ascontiguousarray(fed.array(0)).reshape(-1)
            self._number += 1
            self._current = self._opened(VideoData(data, f"fed video {self._number}"))
        source, index = self._current
        length, begin = self._length, min(self._frame, len(index))
        end = min(begin + batch_size * length, len(index))
        counts = [min(length, end - first) for first in range(begin, end, length)]
        self._frame = end
        if end == len(index):
            self._current, self._frame = None, 0
        made = self._sequences(source, index, begin, counts, pool)
        if self._current is None:
            self._decoders.close()
            if index.problem:
                raise op.SampleDataError(f"{index.problem}: {len(index)} frames are whole")
        return (made,)

    def _opened(self, source: VideoData) -> tuple[VideoData, VideoIndex]:
        try:
            return source, scan_video(source, self._upright)
        except (ValueError, OSError) as error:
            self._frame = 0
            raise op.SampleDataError(str(error)) from None

    def _sequences(
        self,
        source: VideoData,
        index: VideoIndex,
        begin: int,
        counts: list[int],
        pool: op.WorkerPool,
    ) -> op.Batch:
        sizes = [self._length if self._pads else count for count in counts]
        shapes = video_shapes([(size, index) for size in sizes])
        made = op.Batch.empty(op.BatchShape.of(shapes), op.SampleType(op.uint8, 4, "FHWC", "cpu"))
        clips, past = dict[int, Clip](), use_nontemporal(made.data)
        for place, (size, count) in enumerate(zip(sizes, counts, strict=True)):
            frames = np.full(size, -1, np.int64)
            first = begin + place * self._length
            frames[:count] = np.arange(first, first + count)
            clips[place] = Clip(source, index, frames, made.array(place), past)
        fill = np.zeros(3, np.uint8)
        decode = in_host_memory(fill, self._colorspace)
        failed = decode_clips(clips, self._decoders, pool, decode)
        positions = np.arange(self._position, self._position + len(counts), dtype=np.int64)
        self._position += len(counts)
        for place in sorted(failed):
            raise op.SampleDataError(str(failed[place]), sample=place)
        made.provenance = op.Provenance(positions)
        return made

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "frame": self._frame}

    def set_state(self, state: dict[str, Any]) -> None:
        super().set_state(state)
        frame = state.get("frame", 0)
        if not isinstance(frame, int) or frame < 0:
            raise op.OperatorValueError("this is not the state of a video input")
        self._current, self._frame = None, frame

    def close(self) -> None:
        super().close()
        self._decoders.close()
