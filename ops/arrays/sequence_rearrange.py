"""`sequence_rearrange`: the frames of sequences in another order."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.gpu.copies import piece_launches
from gradiva.eager.operators.arguments import RaggedIntsArg

from .copy_pieces import copy_pieces
from .frames import require_frames, require_in_range


@op.operator("sequence_rearrange", bfloat16=True)
def sequence_rearrange(
    input: op.SampleType, /, *, new_order: RaggedIntsArg, **common: op.Unpack[op.Common]
) -> op.SampleType:
    """The frames of each sequence in another order; frames may come several times, or not at all.

    input: any dtype, at least 1-D, whose first axis is that of frames: a layout that begins with F,
    or none. new_order: for each frame of the result its number in the input, from 0. May differ per
    sample, in its length too.

    Raises OperatorTypeError for other layouts and scalars, OperatorValueError, with the sample, for
    an empty order and for frames that are not there.
    """
    require_frames(input)
    if not isinstance(new_order, op.SampleType | op.Value):
        numbers: tuple[int, ...] = new_order  # type: ignore[assignment]  # converted by the engine
        if not numbers or min(numbers) < 0:
            raise op.OperatorValueError(
                argument="new_order", expected="numbers from 0 on", got=str(numbers)
            )
    return input


@sequence_rearrange.shapes
def _shapes(call: op.Call) -> op.Int64Array:
    orders: list[op.Int64Array] = call["new_order"]
    source = call.inputs[0]
    counts = np.array([order.size for order in orders], np.int64)
    if call.size and not counts.all():
        raise op.OperatorValueError(
            argument="new_order",
            expected="at least one frame",
            got="none",
            sample=int(np.flatnonzero(counts == 0)[0]),
        )
    order = np.zeros((call.size, int(counts.max(initial=0))), np.int64)
    asked = np.arange(order.shape[1]) < counts[:, None]
    order[asked] = np.concatenate([np.empty(0, np.int64), *orders])
    require_in_range(order, asked, source, "new_order")
    shapes = source.geometry.shapes.copy()
    shapes[:, 0] = counts
    return shapes


def _taken(call: op.Call) -> tuple[op.Int64Array, op.Int64Array, op.Int64Array]:
    """Elements of a frame of each sample, frames of each result, first elements of the frames."""
    geometry, orders = call.inputs[0].geometry, call["new_order"]
    counts = np.array([order.size for order in orders], np.int64)
    frames = geometry.volumes // np.maximum(geometry.shapes[:, 0], 1)
    taken = np.concatenate([np.empty(0, np.int64), *orders])
    return frames, counts, np.repeat(geometry.offsets, counts) + taken * np.repeat(frames, counts)


@sequence_rearrange.cpu
def _cpu(call: op.Call) -> None:
    source = call.inputs[0]
    _, counts, starts = _taken(call)
    copy_pieces(call, source.data, starts * source.dtype.itemsize, counts=counts)


@sequence_rearrange.gpu
def _gpu(call: op.Call) -> list[op.Launch]:
    source, target = call.inputs[0], call.outputs[0]
    frames, counts, starts = _taken(call)
    owners, numbers = op.numbered(counts)
    places = target.geometry.offsets[owners] + numbers * frames[owners]
    size = source.dtype.itemsize
    pieces = 0, starts * size, places * size, frames[owners] * size
    return piece_launches([source.data], target.data, pieces)


@sequence_rearrange.cases
def _cases() -> list[op.Case]:
    videos = op.samples((4, 3, 5, 3), (2, 1, 7, 3), layout="FHWC")
    plain = op.samples((3, 4), (2, 4), dtype=op.float32, layout="")
    numbers = op.samples((3,), (2,), dtype=op.int16, layout="F")
    orders = np.array([[2, 3], [1, 0]], np.int32)
    return [
        op.case("swap", videos, new_order=[1, 0, 1]).equals(
            [videos.at(i)[[1, 0, 1]] for i in range(2)]
        ),
        op.case("one", plain, new_order=1).equals([plain.at(i)[[1]] for i in range(2)]),
        op.case("per sample", videos, new_order=orders).equals(
            [videos.at(i)[orders[i]] for i in range(2)]
        ),
        op.case("numbers", numbers, new_order=[1, 0])
        .equals([numbers.at(i)[[1, 0]] for i in range(2)])
        .no_oracle(),
        op.case("empty", op.samples(layout="FHWC"), new_order=[0]).equals([]),
        op.case("too few frames", videos, new_order=[0, 2]).value_error("sample 1"),
        op.case("negative", videos, new_order=[-1]).value_error("`new_order`"),
        op.case("nothing", videos, new_order=[]).value_error("`new_order`"),
        op.case("images", op.samples((2, 2, 3)), new_order=[0]).type_error("frames"),
    ]
