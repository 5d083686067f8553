"""`readers.video` and `readers.video_resize`: the arguments that scripts know of old."""

from __future__ import annotations

from typing import Any, TypedDict

from gradiva.eager import extension as op
from gradiva.ops.image.resize.arguments import (
    ResizeBuffers,
    ResizeFilters,
    ResizeRegion,
    ResizeSize,
)
from gradiva.ops.image.resize.resize import resize
from gradiva.ops.readers.core.labels import LabelArguments
from gradiva.ops.readers.core.reader import reader_class
from gradiva.ops.readers.core.source import source_operator
from gradiva.ops.readers.reader_arguments import SHUFFLED_AFTER, ReaderArguments
from gradiva.ops.readers.table_source import opens_table

from .pixels import finisher
from .video_arguments import VideoArguments, VideoOptions, open_videos, video_types
from .video_list import Ranges
from .video_table import VideoTable

__all__ = ["Video", "VideoResize", "video", "video_resize"]


@op.argument_group(
    file_list_frame_num=False,
    file_list_include_preceding_frame=False,
    pad_sequences=False,
    normalized=False,
    dtype=op.uint8,
    channels=3,
    skip_vfr_check=False,
    additional_decode_surfaces=2,
)
class LegacyArguments(TypedDict, total=False):
    """
    Args:
        file_list_frame_num: `start` and `end` of lines are numbers of frames, of which those below
            0 count from the end, and not seconds by the file's own clock.
        file_list_include_preceding_frame: where no frame is shown at that time, the range begins
            with the one before, and has the one that is shown at its end; by default it lies inside
            of these times.
        pad_sequences: have a clip of the last frames of a range, too few for one, too: what is
            missing is 0.
        normalized: floats from 0 to 1, not to 255.
        dtype: uint8 (default) or float32.
        channels: 3.
        skip_vfr_check, additional_decode_surfaces: without effect: frames have the times that the
            file gives them.
    """

    file_list_frame_num: bool
    file_list_include_preceding_frame: bool
    pad_sequences: bool
    normalized: bool
    dtype: op.DTypeLike
    channels: int
    skip_vfr_check: bool
    additional_decode_surfaces: int


class LegacyOptions(LegacyArguments, VideoOptions, total=False):
    """For type checkers: what stands for `**options` of `video`."""


class ResizedOptions(
    ResizeSize, ResizeRegion, ResizeFilters, ResizeBuffers, LegacyOptions, total=False
):
    """What stands for `**options` of `video_resize`."""


def _types(given: Any) -> tuple[op.SampleType, ...]:
    dtype = given["dtype"]
    if dtype not in (op.uint8, op.float32):
        raise op.wrong_type("dtype", "uint8 or float32", dtype)
    return video_types(given, dtype)


@source_operator("readers.video", schema="readers__Video", formerly=("video_reader",))
@op.uses_arguments(VideoArguments, LegacyArguments, ..., LabelArguments, ReaderArguments)
def video(
    *, sequence_length: int, **options: op.Unpack[LegacyOptions]
) -> tuple[op.SampleType, ...]:
    """Read clips of videos, as `experimental.readers.video` does, with other arguments.

    A clip takes up the frames from its first to its last one; there, the stride behind the last one
    counts too.

    Args:
        sequence_length: the number of frames of a clip.
        labels: with `filenames`, one each; an empty list stands for the numbers of the files.

    Returns:
        Clips, uint8 or float32, FHWC; labels, by default int32 of shape (1,), where there are any;
        then what was asked for of numbers and times.

    Raises:
        OperatorTypeError: for other dtypes.
        OperatorValueError: for arguments out of range, a missing folder or list, a line of a list
            that makes no sense, and videos without a clip.
        OperatorRuntimeError: with the file, and with the frame where it is one, for a video that
            cannot be read or decoded, or is cut.

    Example:
        reader = gradiva.readers.Video(filenames=["clip.mp4"], sequence_length=8)
        for clips in reader.next_epoch(batch_size=2):
            print(clips.shape)
    """
    return _types(options)


@source_operator(
    "readers.video_resize", schema="readers__VideoResize", formerly=("video_reader_resize",)
)
@op.uses_arguments(
    VideoArguments,
    LegacyArguments,
    ...,
    ResizeSize,
    ResizeRegion,
    ResizeFilters,
    ResizeBuffers,
    LabelArguments,
    ReaderArguments,
)
def video_resize(
    *, sequence_length: int, **options: op.Unpack[ResizedOptions]
) -> tuple[op.SampleType, ...]:
    """Read clips of videos and resize their frames: `readers.video` and `resize`.

    Args:
        sequence_length: the number of frames of a clip.
        labels: with `filenames`, one each; an empty list stands for the numbers of the files.

    Returns:
        Clips, uint8 or float32, FHWC; labels, by default int32 of shape (1,), where there are any;
        then what was asked for of numbers and times.

    Raises:
        OperatorTypeError: for other dtypes.
        OperatorValueError: for arguments out of range, sizes that contradict each other, a missing
            folder or list, a line of a list that makes no sense, and videos without a clip.
        OperatorRuntimeError: with the file, and with the frame where it is one, for a video that
            cannot be read or decoded, or is cut.

    Example:
        reader = gradiva.readers.VideoResize(filenames=["clip.mp4"], sequence_length=8, size=128)
        for clips in reader.next_epoch(batch_size=2):
            print(clips.shape)
    """
    return _types(options)


_RESIZING = tuple(
    name
    for group in (ResizeSize, ResizeRegion, ResizeFilters, ResizeBuffers)
    for name in group.__annotations__
)


def _resized(given: dict[str, Any]) -> Any:
    """Sizes that differ per sample: clips, and `resize`."""
    sizes = {name: value for name, value in given.items() if name in _RESIZING}
    read = video(**{name: value for name, value in given.items() if name not in _RESIZING})
    clips, *others = read if isinstance(read, list | tuple) else [read]
    made = resize(clips, **sizes)
    return [made, *others] if others else made


video_resize.per_sample = _RESIZING, _resized


def _opened(given: dict[str, Any], resized: dict[str, Any] | None) -> VideoTable:
    if given["channels"] != 3:
        raise op.wrong_value("channels", "3", given["channels"])
    floats = given["dtype"] == op.float32
    if given["normalized"] and not floats:
        raise op.wrong_value("dtype", "float32 with `normalized`", given["dtype"])
    inside = not given["file_list_include_preceding_frame"] or given["file_list_frame_num"]
    rounding = "start_up_end_down" if inside else "start_down_end_up"
    form = "frames" if given["file_list_frame_num"] else "timestamps"
    return open_videos(
        given,
        Ranges.of(form, rounding),
        pad_mode="constant" if given["pad_sequences"] else "none",
        fill_value=0,
        whole_strides=False,
        number_files=True,
        finish=finisher(given["image_type"], given["dtype"], given["normalized"], resized),
    )


@opens_table(video)
def _open(given: dict[str, Any]) -> VideoTable:
    return _opened(given, None)


@opens_table(video_resize)
def _open_resized(given: dict[str, Any]) -> VideoTable:
    resized = {
        name: given[name]
        for name in _RESIZING
        if given[name] is not None and given[name] != video_resize.arguments[name].default
    }
    return _opened(given, resized)


for _operator in (video, video_resize):
    _operator.not_serializable(
        *SHUFFLED_AFTER, "colorspace", "apply_rotation", "label_dtype", "label_shape"
    )
    _operator.delivers_on_gpu = True
Video = reader_class("Video", video)
VideoResize = reader_class("VideoResize", video_resize)
