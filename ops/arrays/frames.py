"""Operators on sequences: `per_frame`, `element_extract` and `sequence_rearrange`.

Frames are the first axis, F if it has a letter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.execution.gpu_copies import piece_launches, sample_launches
from gradiva.eager.execution.views import view_of
from gradiva.eager.operators.argument_types import RaggedIntsArg

from .copy import copy_pieces, copy_samples


def check_frames(input: op.SampleType) -> None:
    """Refuse scalars, and layouts that do not begin with F. Raises OperatorTypeError."""
    if input.ndim == 0:
        raise op.OperatorTypeError("scalars have no frames", expected="at least 1-D samples")
    if input.layout and not input.layout.startswith("F"):
        raise op.OperatorTypeError(
            "the first axis is not that of frames",
            expected="a layout that begins with F, or none",
            got=repr(input.layout),
        )


def check_in_range(numbers: Any, asked: Any, source: op.Batch, argument: str) -> None:
    """Refuse numbers (N, n) of frames that are not there, where `asked` (N, n) says that they are
    meant. Raises OperatorValueError, with the sample."""
    counts = source.batch_shape.shapes[:, :1]
    bad = asked & ((numbers < 0) | (numbers >= counts))
    if bad.any():
        sample, place = np.argwhere(bad)[0].tolist()
        count = int(counts[sample, 0])
        raise op.wrong_value(
            argument,
            f"frames from 0 to {count - 1}" if count else "none, of a sample without any",
            int(numbers[sample, place]),
            sample=sample,
        )


@op.operator("per_frame", schema="PerFrame", bfloat16=True, same_shapes=True)
def per_frame(
    input: op.SampleType, /, *, replace: bool = False, **common: op.Unpack[op.Common]
) -> op.SampleType:
    """Mark the first axis as the axis of frames, in the layout; nothing is copied.

    Only the layout changes. Operators on sequences take a batch with such a layout as an argument
    with a value for each frame, or one for all frames of a sample: brightness, contrast, hue and
    the other operators on colors, `gaussian_blur`, `laplacian`, `rotate`, `warp_affine`,
    `experimental.warp_perspective`, `coord_transform` and `transforms.*`, whose results are then
    sequences.

    Args:
        input: any dtype, at least 1-D. Without a layout it gets "F", and "*" for each further axis.
        replace: whether another letter of the first axis becomes F.

    Returns:
        The same samples under the new layout.

    Raises:
        OperatorTypeError: for scalars, and for a layout that begins with another letter unless
            `replace` says so.

    Example:
        videos = gradiva.batch([np.zeros((3, 48, 64, 3), np.uint8)], layout="FHWC")
        angles = gradiva.per_frame(gradiva.batch([np.float32([0, 10, 20])]))  # degrees
        videos = gradiva.rotate(videos, angle=angles, keep_size=True)
    """
    if input.ndim == 0 or not replace:
        check_frames(input)
    if input.layout is None:
        return input
    if not input.layout:
        return input if input.ndim is None else input.with_(layout="F" + "*" * (input.ndim - 1))
    if "F" in input.layout[1:]:
        raise op.OperatorTypeError(
            "another axis is that of frames already",
            expected="F first or not at all",
            got=repr(input.layout),
        )
    return input.with_(layout="F" + input.layout[1:])


per_frame.view(lambda call: view_of(call.inputs[0], call.types[0], call.batch_shapes[0]))


@per_frame.cases
def _per_frame_cases() -> list[op.Case]:
    videos = op.samples((4, 3, 5, 3), (2, 1, 7, 3), layout="FHWC")
    plain = op.samples((3, 4), (2, 4), dtype=op.float32, layout="")
    images = op.samples((4, 5, 3), (1, 7, 3))
    return [
        op.case("frames already", videos).equals(videos.arrays()),
        op.case("no layout", plain).equals(plain.arrays()),
        op.case("vectors", op.samples((3,), (2,), dtype=op.int32, layout="")),
        op.case("replaced", images, replace=True).equals(images.arrays()),
        op.case("empty", op.samples(layout="")).equals([]),
        op.case("another letter", images).type_error("F"),
        op.case("scalars", op.samples((), layout="")).type_error("scalars"),
    ]


@op.operator("element_extract", schema="ElementExtract", bfloat16=True)
def element_extract(
    input: op.SampleType, /, *, element_map: op.Ints, **common: op.Unpack[op.Common]
) -> op.SampleType | tuple[op.SampleType, ...]:
    """Take single frames out of each sequence.

    Args:
        input: any dtype, at least 1-D, whose first axis is that of frames: a layout that begins
            with F, or none.
        element_map: numbers of frames, from 0; one output for each.

    Returns:
        An output for each number in `element_map`, with an axis and a letter less than the input:
        one, or a tuple of several.

    Raises:
        OperatorTypeError: for other layouts and scalars.
        OperatorValueError: for no numbers at all and, with the sample, for frames that are not
            there.

    Example:
        video = gradiva.as_tensor(np.zeros((8, 48, 64, 3), np.uint8), layout="FHWC")
        first, last = gradiva.element_extract(video, element_map=[0, 7])
        first.shape  # (48, 64, 3)
    """
    chosen: tuple[int, ...] = element_map  # type: ignore[assignment]  # converted by the engine
    check_frames(input)
    if not chosen or min(chosen) < 0:
        raise op.wrong_value("element_map", "numbers from 0 on", chosen)
    frame = input.with_(
        ndim=None if input.ndim is None else input.ndim - 1, layout=(input.layout or "")[1:]
    )
    if input.layout is None:
        frame = frame.with_(layout=None)
    return frame if len(chosen) == 1 else (frame,) * len(chosen)


@element_extract.shapes
def _element_extract_shapes(call: op.Call) -> tuple[op.Int64Array, ...]:
    source, chosen = call.inputs[0], call["element_map"]
    numbers = np.tile(np.array(chosen, np.int64), (call.size, 1))
    check_in_range(numbers, True, source, "element_map")
    if source.layout:
        call.types = tuple(type.with_(layout=source.layout[1:]) for type in call.types)
    return (source.batch_shape.shapes[:, 1:],) * len(chosen)


@element_extract.cpu
def _element_extract_cpu(call: op.Call) -> None:
    source = call.inputs[0]
    volumes, item = call.outputs[0].batch_shape.volumes, source.dtype.itemsize
    places = [source.batch_shape.offsets + frame * volumes for frame in call["element_map"]]
    copy_samples(call, source.data, [begins * item for begins in places])


@element_extract.gpu
def _element_extract_gpu(call: op.Call) -> list[op.Launch]:
    source, launches = call.inputs[0], []
    for output, frame in enumerate(call["element_map"]):
        begins = source.batch_shape.offsets + frame * call.outputs[output].batch_shape.volumes
        launches += sample_launches(source.data, begins, call, output)
    return launches


@element_extract.cases
def _element_extract_cases() -> list[op.Case]:
    videos = op.samples((4, 3, 5, 3), (2, 1, 7, 3), layout="FHWC")
    plain = op.samples((3, 4), (2, 4), dtype=op.float32, layout="")
    numbers = op.samples((3,), (2,), dtype=op.int16, layout="F")
    return [
        op.case("one", videos, element_map=1).each(lambda video: video[1]),
        op.case("several", videos, element_map=[1, 0, 1]).each(lambda video: video[1]),
        op.case("no layout", plain, element_map=[0]).each(lambda one: one[0]),
        op.case("to scalars", numbers, element_map=[1]).each(lambda number: number[1]).no_oracle(),
        op.case("empty", op.samples(layout="FHWC"), element_map=[0]).equals([]),
        op.case("too few frames", videos, element_map=[2]).value_error("sample 1"),
        op.case("negative", videos, element_map=[-1]).value_error("`element_map`"),
        op.case("nothing", videos, element_map=[]).value_error("`element_map`"),
        op.case("images", op.samples((2, 2, 3)), element_map=[0]).type_error("frames"),
    ]


@op.operator("sequence_rearrange", schema="SequenceRearrange", bfloat16=True)
def sequence_rearrange(
    input: op.SampleType, /, *, new_order: RaggedIntsArg, **common: op.Unpack[op.Common]
) -> op.SampleType:
    """Put the frames of each sequence into another order.

    A frame may stand there several times, or not at all.

    Args:
        input: any dtype, at least 1-D, whose first axis is that of frames: a layout that begins
            with F, or none.
        new_order: for each frame of the result its number in the input, from 0. May differ per
            sample, in its length too.

    Returns:
        The chosen frames of each sequence.

    Raises:
        OperatorTypeError: for other layouts and scalars.
        OperatorValueError: with the sample, for an empty order and for frames that are not there.

    Example:
        frames = np.int32([10, 20, 30])
        gradiva.sequence_rearrange(frames, new_order=[2, 1, 0, 0])  # [30, 20, 10, 10]
    """
    check_frames(input)
    if not isinstance(new_order, op.SampleType | op.Value):
        numbers: tuple[int, ...] = new_order  # type: ignore[assignment]  # converted by the engine
        if not numbers or min(numbers) < 0:
            raise op.wrong_value("new_order", "numbers from 0 on", numbers)
    return input


@sequence_rearrange.shapes
def _sequence_rearrange_shapes(call: op.Call) -> op.Int64Array:
    orders: list[op.Int64Array] = call["new_order"]
    source = call.inputs[0]
    counts = np.array([order.size for order in orders], np.int64)
    op.refuse_samples(counts == 0, "new_order", "at least one frame", lambda _: "none")
    order = np.zeros((call.size, int(counts.max(initial=0))), np.int64)
    asked = np.arange(order.shape[1]) < counts[:, None]
    order[asked] = np.concatenate([np.empty(0, np.int64), *orders])
    check_in_range(order, asked, source, "new_order")
    shapes = source.batch_shape.shapes.copy()
    shapes[:, 0] = counts
    return shapes


def _taken(call: op.Call) -> tuple[op.Int64Array, op.Int64Array, op.Int64Array]:
    """Elements of a frame of each sample, frames of each result, first elements of the frames."""
    batch_shape, orders = call.inputs[0].batch_shape, call["new_order"]
    counts = np.array([order.size for order in orders], np.int64)
    frames = batch_shape.volumes // np.maximum(batch_shape.shapes[:, 0], 1)
    taken = np.concatenate([np.empty(0, np.int64), *orders])
    return (
        frames,
        counts,
        np.repeat(batch_shape.offsets, counts) + taken * np.repeat(frames, counts),
    )


@sequence_rearrange.cpu
def _sequence_rearrange_cpu(call: op.Call) -> None:
    source = call.inputs[0]
    _, counts, starts = _taken(call)
    copy_pieces(call, source.data, starts * source.dtype.itemsize, counts=counts)


@sequence_rearrange.gpu
def _sequence_rearrange_gpu(call: op.Call) -> list[op.Launch]:
    source, target = call.inputs[0], call.outputs[0]
    frames, counts, starts = _taken(call)
    owners, numbers = op.numbered(counts)
    places = target.batch_shape.offsets[owners] + numbers * frames[owners]
    size = source.dtype.itemsize
    pieces = 0, starts * size, places * size, frames[owners] * size
    return piece_launches([source.data], target.data, pieces)


@sequence_rearrange.cases
def _sequence_rearrange_cases() -> list[op.Case]:
    videos = op.samples((4, 3, 5, 3), (2, 1, 7, 3), layout="FHWC")
    plain = op.samples((3, 4), (2, 4), dtype=op.float32, layout="")
    numbers = op.samples((3,), (2,), dtype=op.int16, layout="F")
    orders = np.array([[2, 3], [1, 0]], np.int32)
    return [
        op.case("swap", videos, new_order=[1, 0, 1]).each(lambda video: video[[1, 0, 1]]),
        op.case("one", plain, new_order=1).each(lambda one: one[[1]]),
        op.case("per sample", videos, new_order=orders).equals(
            [videos.at(i)[orders[i]] for i in range(2)]
        ),
        op.case("numbers", numbers, new_order=[1, 0]).each(lambda one: one[[1, 0]]).no_oracle(),
        op.case("empty", op.samples(layout="FHWC"), new_order=[0]).equals([]),
        op.case("too few frames", videos, new_order=[0, 2]).value_error("sample 1"),
        op.case("negative", videos, new_order=[-1]).value_error("`new_order`"),
        op.case("nothing", videos, new_order=[]).value_error("`new_order`"),
        op.case("images", op.samples((2, 2, 3)), new_order=[0]).type_error("frames"),
    ]
