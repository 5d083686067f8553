"""`coord_flip`: mirror the coordinates of points."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.simd.intrinsics import span
from gradiva.eager.types.arrays import BoolTable, F32Table, I64Table, Slabs


@op.operator("coord_flip", schema="CoordFlip")
def coord_flip(
    input: op.SampleType,
    /,
    *,
    flip_x: op.IntArg = 1,
    flip_y: op.IntArg = 0,
    flip_z: op.IntArg = 0,
    center_x: op.FloatArg = 0.5,
    center_y: op.FloatArg = 0.5,
    center_z: op.FloatArg = 0.5,
    layout: op.Layout = "",
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Mirror points: a coordinate c becomes 2 * center - c along the chosen axes.

    Args:
        input: float32 points (count, n), n from 1 to 3.
        flip_x, flip_y, flip_z: nonzero to mirror x, y, z.
        center_x, center_y, center_z: the coordinates that stay as they are. All may differ per
            sample; those of axes that the points do not have are ignored.
        layout: which coordinate stands where: letters x, y, z, each once; x, xy or xyz by default.

    Returns:
        Samples of the same shapes.

    Raises:
        OperatorTypeError: for other input.
        OperatorValueError: for another layout.

    Example:
        points = np.float32([[0.25, 0.5]])  # x, y
        gradiva.coord_flip(points)  # [[0.75, 0.5]]
    """
    op.require_dtype(input, (op.float32,))
    op.require_ndim(input, (2,))
    if not set(layout) <= set("xyz"):
        raise op.wrong_value("layout", "letters x, y, z", repr(layout))
    return input


@coord_flip.shapes
def _shapes(call: op.Call) -> op.BatchShape:
    batch_shape = call.inputs[0].batch_shape
    layout = call["layout"]
    sizes = batch_shape.shapes[:, 1]
    fits = (sizes >= 1) & (sizes <= 3) if not layout else sizes == len(layout)
    wanted = f"{len(layout)} coordinates, as in layout {layout!r}" if layout else "1 to 3"
    op.refuse_samples(~fits, "", wanted, sizes, "points of another number of coordinates")
    return batch_shape


@op.jit
def flip_points(
    slabs: Slabs, shapes: I64Table, flips: BoolTable, twice: F32Table, begin: int, end: int
) -> None:
    """flips, twice: (N, 3) whether, and 2 * center, by place in the point."""
    src, src_offsets, dst, dst_offsets = slabs
    for i in range(begin, end):
        size = shapes[i, 1]
        if size == 2:
            # The usual case, in a form that vectorizes.
            source = span(src, src_offsets[i], 2 * shapes[i, 0])
            target = span(dst, dst_offsets[i], 2 * shapes[i, 0])
            flip_x, flip_y, twice_x, twice_y = flips[i, 0], flips[i, 1], twice[i, 0], twice[i, 1]
            for point in range(shapes[i, 0]):
                a, b = source[2 * point], source[2 * point + 1]
                target[2 * point] = twice_x - a if flip_x else a
                target[2 * point + 1] = twice_y - b if flip_y else b
            continue
        for point in range(shapes[i, 0]):
            for k in range(size):
                at = point * size + k
                value = src[src_offsets[i] + at]
                dst[dst_offsets[i] + at] = twice[i, k] - value if flips[i, k] else value


def _plan(call: op.Call) -> tuple[Any, Any]:
    """What `flip_points` takes: flips and twice."""
    letters = call["layout"] or "xyz"
    flips = np.zeros((call.size, 3), np.bool_)
    twice = np.zeros((call.size, 3), np.float32)
    for place, letter in enumerate(letters):
        flips[:, place] = call[f"flip_{letter}"] != 0
        with np.errstate(over="ignore"):
            twice[:, place] = np.float32(2) * call[f"center_{letter}"]
    return flips, twice


@coord_flip.cpu
def _cpu(call: op.Call) -> None:
    call.for_samples(flip_points, call.slabs, call.inputs[0].batch_shape.shapes, *_plan(call))


_KERNEL: Final = op.CudaKernel("coord_flip", (Path(__file__).with_name("coord_flip.cuh"),))


@coord_flip.gpu
def _gpu(call: op.Call) -> op.Launch:
    source, target = call.inputs[0], call.outputs[0]
    flips, twice = _plan(call)
    volumes = target.batch_shape.volumes
    places = np.stack([source.batch_shape.offsets, target.batch_shape.offsets], axis=1)
    counts = np.stack([source.batch_shape.shapes[:, 1], volumes], axis=1).astype(np.int32)
    short = [counts, flips.astype(np.int32), twice.view(np.int32)]
    table = np.concatenate([places.view(np.int32), *short], axis=1)
    return op.launch_over(_KERNEL.unit({}), source.data, target.data, table, volumes)


@coord_flip.cases
def _cases() -> list[op.Case]:
    points = op.samples((3, 2), (5, 2), dtype=op.float32, layout="")
    space = op.samples((4, 3), dtype=op.float32, layout="")
    arrays = [points.at(i) for i in (0, 1)]
    x = np.array([-1, 1], np.float32)
    one, two = np.array([1, 0], np.float32), np.array([0, 4], np.float32)
    return [
        op.case("default", points).equals([array * x + one for array in arrays]),
        op.case("y", points, flip_x=0, flip_y=1, center_y=2).each(lambda p: p * -x + two),
        op.case("yx", points, layout="yx").each(lambda p: p * -x + one[::-1]).no_oracle(),
        op.case("per sample", points, flip_x=[0, 1], center_x=[1, 2]),
        op.case("space", space, flip_z=-1, center_z=0.25),
        op.case("empty", op.samples(dtype=op.float32, layout="AB")).equals([]),
        op.case("layout", points, layout="ab").value_error("`layout`"),
        op.case("letters", points, layout="xyz").value_error("sample 0"),
        op.case("four", op.samples((2, 4), dtype=op.float32, layout="")).value_error("sample 0"),
        op.case("bytes", op.samples((2, 2), layout="")).type_error("dtype"),
        op.case("wrong length", points, flip_x=[1]).value_error("`flip_x`"),
    ]
