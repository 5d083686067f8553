"""`decoders.video`: from the bytes of video files to frames."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypedDict

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.cuda.context import Gpu
from gradiva.eager.operators.argument_types import RaggedIntsArg
from gradiva.eager.operators.fusion_roles import Decode
from gradiva.eager.simd.streaming import use_nontemporal
from gradiva.eager.types.arrays import Array
from gradiva.ops.video.clip_frames import fill_values, pad_mode_of, padded
from gradiva.ops.video.clips import Clip, decode_clips, in_host_memory, show_clip
from gradiva.ops.video.colorspaces import check_colorspace
from gradiva.ops.video.decoders import Decoders
from gradiva.ops.video.frame_index import VideoIndex, scan_video
from gradiva.ops.video.nvdec.clips import GpuDecoders
from gradiva.ops.video.video_file import VideoData, av, has_av

__all__ = ["video"]


@op.argument_group(on_error="raise", colorspace=None, apply_rotation=False)
class VideoErrors(TypedDict, total=False):
    """
    Args:
        on_error: the error policy for a video that cannot be decoded; see `docs/errors.md`. "raise"
            (default) fails the batch. "skip" takes the sample out of the batch. "replace" puts
            frames of `fill_value` in its place, or none where nothing is known of their size.
        colorspace: "bt601" for the pixels of DALI, which takes all videos to be of that standard.
            By default the colors are those that the file declares.
        apply_rotation: turn the frames as the display matrix of the file says, by quarters: videos
            of phones stand upright then. By default they lie as they were recorded.
    """

    on_error: op.OnError
    colorspace: str | None
    apply_rotation: bool


class Decoded(VideoErrors, op.Common, total=False):
    """What `decoders.video` takes beside its own arguments."""


@op.operator("decoders.video", schema="decoders__Video", formerly=("experimental.decoders.video",))
@op.uses_arguments(VideoErrors)
def video(
    input: op.SampleType,
    /,
    *,
    frames: RaggedIntsArg | None = None,
    start_frame: op.IntArg | None = None,
    end_frame: op.IntArg | None = None,
    sequence_length: op.IntArg | None = None,
    stride: op.IntArg | None = None,
    pad_mode: str = "constant",
    fill_value: op.Ints = (0,),
    build_index: bool = True,
    affine: bool = True,
    **options: op.Unpack[Decoded],
) -> op.SampleType:
    """Decode videos, or some of their frames: VP8, VP9, H.264, HEVC, AV1, MPEG-4 and others.

    FFmpeg decodes them. It needs PyAV: `pip install "gradiva[video]"`. Frame k is the
    k-th frame that FFmpeg shows, whatever the order in which the file has them. Only the frames
    that are asked for, and those that they depend on, are decoded. With `device="gpu"` NVDEC
    decodes what it can. See `docs/video.md`.

    Args:
        input: the bytes of one file per sample: uint8, 1-D.
        frames: numbers of frames, in any order, also several times. They exclude the arguments that
            follow. May differ per sample, also in number.
        start_frame, end_frame, stride: every `stride`-th frame from the first number to before the
            second; by default all.
        sequence_length: in place of `end_frame`, how many. May differ per sample, as those do.
        pad_mode: what stands for frames that the video does not have. "constant" (default): pixels
            of `fill_value`; "edge" or "repeat": its last one, or its first one for numbers below 0;
            "reflect_101" or "reflect": those before its end, backwards; "reflect_1001" or
            "symmetric": the same, with the last one twice; "none": they are left out of a range,
            and are an error in `frames`.
        fill_value: from 0 to 255, one or three.
        build_index, affine: without effect.

    Returns:
        RGB frames, uint8, FHWC.

    Raises:
        OperatorValueError: for arguments that exclude each other or are out of range.
        OperatorRuntimeError: with the sample and its file, and with the frame where it is one, for
            data that is not a video, is damaged or cut short.

    Example:
        data = np.fromfile("clip.mp4", np.uint8)
        gradiva.decoders.video(data, start_frame=0, stride=4, sequence_length=8).shape
        # (8, 32, 64, 3)
    """
    op.require_dtype(input, (op.uint8,), "encoded data")
    op.require_ndim(input, (1,), "encoded data")
    pad_mode_of(pad_mode)
    fill_values(fill_value)
    check_colorspace(options["colorspace"])
    ranges = (start_frame, end_frame, sequence_length, stride)
    if frames is not None and any(one is not None for one in ranges):
        raise op.OperatorValueError(
            "`frames` excludes `start_frame`, `end_frame`, `sequence_length` and `stride`"
        )
    if end_frame is not None and sequence_length is not None:
        raise op.OperatorValueError("`end_frame` and `sequence_length` exclude each other")
    return op.SampleType(op.uint8, 4, "FHWC", input.device)


video.not_serializable("colorspace", "apply_rotation")


@dataclass(frozen=True)
class _VideoPlan(op.Plan):
    """Of each sample: its index, None for one that failed, and the frames that are wanted."""

    indices: list[VideoIndex | None]
    frames: list[op.Int64Array]


@video.shapes
def _shapes(call: op.Call) -> _VideoPlan:
    _check(call)
    files = call.inputs[0]
    indices: list[VideoIndex | None] = [None] * call.size

    def look(sample: int) -> None:
        try:
            index = scan_video(VideoData(files.array(sample)), call["apply_rotation"])
        except (ValueError, OSError) as error:
            raise op.SampleDataError(str(error), sample=sample) from None
        if index.problem:
            raise op.SampleDataError(
                f"{index.problem}: {len(index)} frames are whole", sample=sample
            )
        indices[sample] = index

    call.each_sample(look)
    empty = np.zeros(0, np.int64)
    frames = [
        empty if index is None else _wanted(call, sample, len(index))
        for sample, index in enumerate(indices)
    ]
    shapes = [
        (0, 0, 0, 3) if index is None else (len(wanted), *index.upright_shape, 3)
        for index, wanted in zip(indices, frames, strict=True)
    ]
    return _VideoPlan(np.array(shapes, np.int64).reshape(-1, 4), indices, frames)


def _check(call: op.Call) -> None:
    for name, least in (("stride", 1), ("sequence_length", 0)):
        if call[name] is not None:
            op.refuse_samples(call[name] < least, name, f"{least} or more", call[name])


def _wanted(call: op.Call, sample: int, count: int) -> op.Int64Array:
    """The frames that are wanted of a video with so many. Raises OperatorValueError."""
    mode = pad_mode_of(call["pad_mode"])
    if call["frames"] is not None:
        asked = np.asarray(call["frames"][sample], np.int64)
        bad = asked[(asked < 0) | (asked >= count)]
        if mode == "none" and bad.size:
            expected = f"numbers from 0 to {count - 1} with pad_mode='none'"
            raise op.wrong_value("frames", expected, int(bad[0])).complete(sample=sample)
        return padded(asked, 0, count, mode)

    def given(name: str, default: int) -> int:
        return default if call[name] is None else int(call[name][sample])

    start, stride = given("start_frame", 0), given("stride", 1)
    if start >= count:
        expected = f"below {count}, the number of frames"
        raise op.wrong_value("start_frame", expected, start).complete(sample=sample)
    if call["sequence_length"] is not None:
        asked = start + stride * np.arange(given("sequence_length", 0), dtype=np.int64)
    else:
        end = given("end_frame", count)
        if end <= start:
            raise op.wrong_value("end_frame", f"above `start_frame`, {start}", end).complete(
                sample=sample
            )
        asked = np.arange(start, end, stride, dtype=np.int64)
    return padded(asked, 0, count, mode)


def _clips(call: op.Call, plan: _VideoPlan) -> dict[int, Clip]:
    """The clips of all samples that have one."""
    files, made = call.inputs[0], call.outputs[0]
    past = use_nontemporal(made.data)
    return {
        sample: Clip(
            VideoData(files.array(sample)), index, plan.frames[sample], made.array(sample), past
        )
        for sample, index in enumerate(plan.indices)
        if index is not None
    }


@video.cpu
def _cpu(call: op.Call, plan: _VideoPlan) -> None:
    decode = in_host_memory(fill_values(call["fill_value"]), call["colorspace"])
    _go_on(call, decode_clips(_clips(call, plan), Decoders(0), call.pool, decode))


@video.mixed_gpu
def _mixed(call: op.Call, gpu: Gpu, plan: _VideoPlan) -> None:
    decoders = GpuDecoders(gpu, fill_values(call["fill_value"]), call["colorspace"])
    try:
        failures = decoders.decode(_clips(call, plan), call.outputs[0], call.pool)
    finally:
        decoders.close()
    _go_on(call, failures)


def _go_on(call: op.Call, failures: Mapping[int, ValueError | OSError]) -> None:
    """Raise the error of the first sample that failed, in a call that does not go on after that."""
    for sample, problem in sorted(failures.items()):
        error = op.SampleDataError(str(problem), sample=sample)
        if not call.goes_on_after(error):
            raise error


def _decode_frames(
    call: op.Call,
) -> tuple[Callable[[int, Array, Callable[[int], None]], None], list[int]]:
    """In a fused group: no more of a clip is held than one frame."""
    plan, files = call.plan, call.inputs[0]
    assert isinstance(plan, _VideoPlan)
    fill, colorspace = fill_values(call["fill_value"]), call["colorspace"]

    def decode(sample: int, out: Array, show: Callable[[int], None]) -> None:
        index = plan.indices[sample]
        assert index is not None
        try:
            clip = Clip(VideoData(files.array(sample)), index, plan.frames[sample], out)
            show_clip(clip, fill, colorspace, show)
        except (ValueError, OSError) as error:
            if isinstance(error, op.GradivaError):
                raise
            raise op.SampleDataError(str(error), sample=sample) from None

    return decode, call.batch_shapes[0].volumes.tolist()


video.fusion_role = Decode(None, decode_frames=_decode_frames)


@functools.cache
def small_video(frames: int = 5, height: int = 18, width: int = 26) -> Array:
    """A video for examples, without loss: frame k has the brightness 40 * k."""
    stream = io.BytesIO()
    with av.open(stream, "w", format="matroska") as container:
        added = container.add_stream("ffv1", rate=Fraction(25))
        added.width, added.height, added.pix_fmt = width, height, "bgr0"
        for number in range(frames):
            picture = np.full((height, width, 3), 40 * number, np.uint8)
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format="bgr0")
            container.mux(added.encode(frame))
        container.mux(added.encode())
    return np.frombuffer(stream.getvalue(), np.uint8)


@video.cases
def _cases() -> list[op.Case]:
    if not has_av():
        return []
    files = op.batch([small_video(), small_video(3, 10, 12)])
    whole = [
        np.stack([np.full((*size, 3), 40 * number, np.uint8) for number in range(count)])
        for count, size in ((5, (18, 26)), (3, (10, 12)))
    ]
    rows = op.batch([np.array([4, 1, 1], np.int32), np.array([2], np.int32)])
    text = op.batch([np.frombuffer(b"This is a text and no video at all.", np.uint8)])
    cut = op.batch([small_video()[:-300]])

    def of(*rows: list[int]) -> list[Array]:
        return [one[row] for one, row in zip(whole, rows, strict=True)]

    blank = [np.concatenate([one, np.full_like(one[:1], 7)]) for one in of([3, 4], [])]
    return [
        op.case("default", files).equals(whole).no_oracle(),
        op.case("frames", files, frames=[2, 0, 0]).equals(of([2, 0, 0], [2, 0, 0])).no_oracle(),
        op.case("per sample", files, frames=rows).equals(of([4, 1, 1], [2])).no_oracle(),
        op.case("range", files, start_frame=[1, 0], end_frame=3, stride=2)
        .equals(of([1], [0, 2]))
        .no_oracle(),
        op.case("edge", files, frames=[-2, 4], pad_mode="edge")
        .equals(of([0, 4], [0, 2]))
        .no_oracle(),
        op.case("reflect", files, start_frame=2, sequence_length=4, pad_mode="reflect")
        .equals(of([2, 3, 4, 3], [2, 1, 0, 1]))
        .no_oracle(),
        op.case("symmetric", files, start_frame=2, sequence_length=4, pad_mode="symmetric")
        .equals(of([2, 3, 4, 4], [2, 2, 1, 0]))
        .no_oracle(),
        op.case("shortened", files, start_frame=1, sequence_length=3, pad_mode="none")
        .equals(of([1, 2, 3], [1, 2]))
        .no_oracle(),
        op.case("filled", op.batch([files.at(0)]), start_frame=3, sequence_length=3, fill_value=7)
        .equals(blank[:1])
        .no_oracle(),
        op.case("nothing", files, sequence_length=0).equals(of([], [])).no_oracle(),
        op.case("empty", op.batch(np.empty((0, 1), np.uint8))).equals([]).no_oracle(),
        op.case("no video", text).runtime_error("no video"),
        op.case("no bytes", op.batch([np.empty(0, np.uint8)])).runtime_error("empty"),
        op.case("cut", cut).runtime_error("sample 0"),
        op.case("behind the end", files, start_frame=3).value_error("`start_frame`"),
        op.case("outside", files, frames=[3], pad_mode="none").value_error("`frames`"),
        op.case("backwards", files, start_frame=1, end_frame=1).value_error("`end_frame`"),
        op.case("two ends", files, end_frame=1, sequence_length=1).value_error("exclude"),
        op.case("both", files, frames=[0], stride=1).value_error("excludes"),
        op.case("stride", files, stride=0).value_error("`stride`"),
        op.case("fill", files, fill_value=[1, 2]).value_error("`fill_value`"),
        op.case("mode", files, pad_mode="wrap").value_error("`pad_mode`"),
        op.case("colors", files, colorspace="none").value_error("`colorspace`"),
        op.case("not encoded", op.samples((5, 5), layout="")).type_error("axes"),
    ]
