"""The arguments that the readers of videos have in common, and what they mean."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias, TypedDict

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.argument_types import ArgumentType
from gradiva.ops.readers.core.labels import LabelArguments, LabelForm
from gradiva.ops.readers.reader_arguments import ReaderOptions, storage_of
from gradiva.ops.video.clip_frames import fill_values, pad_mode_of
from gradiva.ops.video.colorspaces import check_colorspace

from .video_list import Ranges, listed_videos
from .video_table import ClipOptions, Finish, VideoTable

__all__ = ["FrameNumbers", "VideoArguments", "VideoOptions", "open_videos", "video_types"]

MOST_FRAMES = 1 << 20
"""Of a clip."""
MOST_STEP = (1 << 31) - 1


def _numbers(value: Any) -> str:
    if isinstance(value, bool):
        return "scalar" if value else "none"
    if not isinstance(value, str):
        raise TypeError
    if value not in ("none", "scalar", "sequence"):
        raise ValueError
    return value


FrameNumbers: TypeAlias = Annotated[
    str | bool, ArgumentType("FrameNumbers", "'none', 'scalar' or 'sequence'", _numbers)
]


@op.argument_group(
    filenames=None,
    file_list="",
    file_root="",
    labels=None,
    step=-1,
    stride=1,
    enable_frame_num="none",
    enable_timestamps=False,
    image_type=op.ImageType.RGB,
    colorspace=None,
    apply_rotation=False,
)
class VideoArguments(TypedDict, total=False):
    """
    Args:
        filenames: the paths of the videos.
        file_list: a text file with lines of the form "path label [start [end]]". Paths with spaces
            stand in double quotes; those that are not absolute are paths from the working directory
            or, if nothing is there, from where the list is. The end is not included. One that is
            behind the last frame, or none, stands for the end of the video. A range without a frame
            is left out, with a warning.
        file_root: a folder with one folder per label, whose names in alphabetical order are
            numbered, holding videos. Files that are no videos are left out, with a warning.
        labels: a label for each of `filenames`.
        step: the number of frames from the beginning of a clip to that of the next one; by default,
            and below 0, `sequence_length * stride`.
        stride: the number of frames from one frame of a clip to the next.
        enable_frame_num: add an output with numbers of frames: "scalar", or True, that of the first
            one, int32 of shape (1,); "sequence" those of all, int32 of shape (frames,), -1 for what
            is filled.
        enable_timestamps: add an output with the times at which the frames are shown: seconds from
            the first frame of the file on, float64 of shape (frames,), -1.0 for what is filled.
        image_type: RGB (default) or YCbCr.
        colorspace: "bt601" for the pixels of DALI, which takes all videos to be of that standard.
            By default the colors are those that the file declares.
        apply_rotation: turn the frames as the display matrix of the file says, by quarters: videos
            of phones stand upright then. By default they lie as they were recorded.
    """

    filenames: op.Paths | None
    file_list: op.Path
    file_root: op.Path
    labels: op.Ints | None
    step: int
    stride: int
    enable_frame_num: FrameNumbers
    enable_timestamps: bool
    image_type: op.ImageTypeLike
    colorspace: str | None
    apply_rotation: bool


class VideoOptions(VideoArguments, LabelArguments, ReaderOptions, total=False):
    """For type checkers: what stands for `**options` of the type rules."""


def video_types(given: Mapping[str, Any], dtype: op.DType = op.uint8) -> tuple[op.SampleType, ...]:
    """The types of the outputs."""
    made = [op.SampleType(dtype, 4, "FHWC", "cpu")]
    if given["labels"] is not None or given["file_list"] or given["file_root"]:
        made.append(LabelForm.of(given).type)
    if given["enable_frame_num"] not in ("none", False):
        made.append(op.SampleType(op.int32, 1, "", "cpu"))
    if given["enable_timestamps"]:
        made.append(op.SampleType(op.float64, 1, "", "cpu"))
    return tuple(made)


def open_videos(
    given: dict[str, Any],
    ranges: Ranges,
    *,
    pad_mode: str,
    fill_value: Any,
    whole_strides: bool,
    number_files: bool,
    uniform: bool = False,
    finish: Finish | None = None,
) -> VideoTable:
    """The table of a reader. whole_strides: the last frame of a clip takes up `stride` frames, too.
    Raises OperatorValueError."""
    length, stride = given["sequence_length"], given["stride"]
    for name, most in (("sequence_length", MOST_FRAMES), ("stride", MOST_STEP)):
        if not 1 <= given[name] <= most:
            raise op.wrong_value(name, f"1 to {most}", given[name])
    if given["step"] == 0 or given["step"] > MOST_STEP:
        raise op.wrong_value("step", f"1 to {MOST_STEP}, or -1", given["step"])
    if op.ImageType(given["image_type"]) not in (op.ImageType.RGB, op.ImageType.YCbCr):
        raise op.wrong_value("image_type", "RGB or YCbCr", op.ImageType(given["image_type"]).name)
    check_colorspace(given["colorspace"])
    for name, default in (("stride", 1), ("step", -1)):
        if uniform and given[name] != default:
            warnings.warn(f"`{name}` means nothing with `uniform_sample`", stacklevel=2)
    storage = storage_of(given)
    videos, labels, classes = listed_videos(given, storage, number_files)
    form = LabelForm.of(given)
    if labels:
        form.checked(np.array([video.label for video in videos], np.int64))
    span = length * stride if whole_strides else 1 + (length - 1) * stride
    step = length * stride if given["step"] < 0 else given["step"]
    options = ClipOptions(
        length,
        stride,
        span,
        step,
        uniform,
        pad_mode_of(pad_mode),
        fill_values(fill_value),
        given["enable_frame_num"],
        given["enable_timestamps"],
        labels,
        bool(given["file_root"]),
        given["colorspace"],
        given["apply_rotation"],
        form,
        classes,
    )
    table = VideoTable(videos, ranges, options, storage, finish)
    if not len(table):
        name = next(one for one in ("filenames", "file_list", "file_root") if given[one])
        raise op.OperatorValueError(
            argument=name,
            expected=f"videos with a clip of {length} frames in {span}",
            got="none in them",
            file=", ".join(video.path for video in videos[:3]),
        )
    return table
