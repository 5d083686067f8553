"""`experimental.readers.video`: clips of videos."""

from __future__ import annotations

from typing import Any

from gradiva.eager import extension as op
from gradiva.ops.readers.core.labels import LabelArguments
from gradiva.ops.readers.core.reader import reader_class
from gradiva.ops.readers.core.source import source_operator
from gradiva.ops.readers.reader_arguments import SHUFFLED_AFTER, ReaderArguments
from gradiva.ops.readers.table_source import opens_table

from .pixels import finisher
from .video_arguments import VideoArguments, VideoOptions, open_videos, video_types
from .video_list import Ranges
from .video_table import VideoTable


@source_operator("experimental.readers.video", schema="experimental__readers__Video")
@op.uses_arguments(VideoArguments, ..., LabelArguments, ReaderArguments)
def video(
    *,
    sequence_length: int,
    file_list_format: str = "timestamps",
    file_list_rounding: str = "start_down_end_up",
    file_list_include_end: bool = True,
    pad_mode: str = "none",
    fill_value: op.Ints = (0,),
    uniform_sample: bool = False,
    **options: op.Unpack[VideoOptions],
) -> tuple[op.SampleType, ...]:
    """Read clips of videos: VP8, VP9, H.264, HEVC, AV1, MPEG-4 and others.

    FFmpeg decodes them. It needs PyAV: `pip install "gradiva[video]"`. Frame k is the
    k-th frame that FFmpeg shows. Only the frames of a clip, and those that they depend on, are
    decoded. With `device="gpu"` NVDEC decodes what it can, and all outputs are on the GPU. See
    `docs/video.md`.

    Args:
        sequence_length: the number of frames of a clip.
        file_list_format: what `start` and `end` of lines are: "timestamps" (default), seconds by
            the file's own clock, which need not begin at 0; or "frames", numbers, of which those
            below 0 count from the end.
        file_list_rounding: which frame is meant where none is shown at that time, or the number is
            no integer: "start_down_end_up" (default), "start_up_end_down", "all_up", "all_down".
        file_list_include_end: without effect, as in DALI: the end is not included.
        pad_mode: whether the last frames of a range, too few for a clip, are one. "none" (default):
            they are left out. Otherwise they are a clip, whose frames behind the range are:
            "constant": pixels of `fill_value`; "edge" or "repeat": the last one; "reflect_101" or
            "reflect": those before its end, backwards; "reflect_1001" or "symmetric": the same,
            with the last one twice.
        fill_value: from 0 to 255, one or three.
        uniform_sample: one clip for each video or range, of frames at equal distances, the first
            and the last one included; a video of fewer frames repeats some.

    Returns:
        Clips, uint8, FHWC; labels, by default int32 of shape (1,), where there are any; then what
        was asked for of numbers and times.

    Raises:
        OperatorValueError: for arguments out of range, a missing folder or list, a line of a list
            that makes no sense, and videos without a clip.
        OperatorRuntimeError: with the file, and with the frame where it is one, for a video that
            cannot be read or decoded, or is cut.

    Example:
        reader = gradiva.experimental.readers.Video(file_root="videos", sequence_length=8)
        for clips, labels in reader.next_epoch(batch_size=2):
            print(clips.shape)
    """
    return video_types(options)


@opens_table(video)
def _open(given: dict[str, Any]) -> VideoTable:
    return open_videos(
        given,
        Ranges.of(given["file_list_format"], given["file_list_rounding"]),
        pad_mode=given["pad_mode"],
        fill_value=given["fill_value"],
        whole_strides=True,
        number_files=False,
        uniform=given["uniform_sample"],
        finish=finisher(given["image_type"]),
    )


video.not_serializable(
    *SHUFFLED_AFTER, "colorspace", "apply_rotation", "label_dtype", "label_shape"
)
video.delivers_on_gpu = True
Video = reader_class("Video", video)
