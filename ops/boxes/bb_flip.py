"""`bb_flip`: mirror boxes as an image is mirrored."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op

from .box_rows import require_flat_boxes, require_fours


@op.operator("bb_flip", schema="BbFlip")
def bb_flip(
    input: op.SampleType,
    /,
    *,
    horizontal: op.IntArg = 1,
    vertical: op.IntArg = 0,
    ltrb: bool = False,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Mirror boxes in the unit square.

    input: boxes, float32: samples of shape (..., 4), or 1-D with four numbers for each box, in
        fractions of the image. (left, top, width, height), or with `ltrb` (left, top, right,
        bottom).
    horizontal, vertical: nonzero to mirror; may differ per sample.

    Returns boxes of the same shapes and layout: left becomes 1 - right. Widths and heights keep
    their bits. Raises OperatorTypeError for other dtypes, OperatorValueError for other shapes.
    """
    require_flat_boxes(input)
    return input


@bb_flip.shapes
def _shapes(call: op.Call) -> op.Geometry:
    require_fours(call.inputs[0])
    return call.inputs[0].geometry


@op.jit
def _flip_boxes(
    source: Any,
    source_offsets: Any,
    target: Any,
    target_offsets: Any,
    volumes: Any,
    flips: Any,
    corners: bool,
    begin: int,
    end: int,
) -> None:
    one = np.float32(1.0)
    for i in range(begin, end):
        for k in range(0, volumes[i], 4):
            for axis in range(2):
                s = source_offsets[i] + k + axis
                t = target_offsets[i] + k + axis
                first, second = source[s], source[s + 2]
                if flips[i, axis]:
                    if corners:
                        first, second = one - second, one - first
                    else:
                        first = one - (first + second)
                target[t] = first
                target[t + 2] = second


def _flips(call: op.Call) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.stack([call["horizontal"] != 0, call["vertical"] != 0], axis=1)


@bb_flip.cpu
def _cpu(call: op.Call) -> None:
    source, target = call.inputs[0], call.outputs[0]
    call.for_samples(
        _flip_boxes,
        source.data,
        source.geometry.offsets,
        target.data,
        target.geometry.offsets,
        target.geometry.volumes,
        _flips(call),
        call["ltrb"],
    )


_KERNEL: Final = op.CudaKernel("bb_flip", (Path(__file__).with_name("bb_flip.cuh"),))


@bb_flip.gpu
def _gpu(call: op.Call) -> op.Launch:
    source, target = call.inputs[0], call.outputs[0]
    volumes = target.geometry.volumes
    blocks = op.blocks_of(volumes)
    places = np.stack([source.geometry.offsets, target.geometry.offsets], axis=1)
    corners = np.full((call.size, 1), call["ltrb"])
    short = np.concatenate([volumes[:, None], _flips(call), corners], axis=1).astype(np.int32)
    table = np.concatenate([places, short.view(np.int64)], axis=1)
    return op.Launch(
        _KERNEL.unit({}), len(blocks), (source.data, op.OutputArg(target.data), table, blocks)
    )


@bb_flip.cases
def _cases() -> list[op.Case]:
    boxes = op.batch(
        [
            np.array([[0.25, 0.5, 0.25, 0.125]], np.float32),
            np.array([[0.5, 0.25, 0.75, 0.5], [0, 0, 1, 1]], np.float32),
        ]
    )
    across = [np.array([[0.5, 0.5, 0.25, 0.125]], np.float32),
              np.array([[-0.25, 0.25, 0.75, 0.5], [0, 0, 1, 1]], np.float32)]  # fmt: skip
    corners = [np.array([[0.25, 0.875, 0.25, 0.5]], np.float32),
               np.array([[0.5, 0.5, 0.75, 0.75], [0, 0, 1, 1]], np.float32)]  # fmt: skip
    none = op.batch([np.zeros((0, 4), np.float32), np.ones((1, 4), np.float32)])
    return [
        op.case("default", boxes).equals(across),
        op.case("per sample", boxes, horizontal=[1, 0]).equals([across[0], boxes.at(1)]),
        op.case("corners, vertical", boxes, ltrb=True, horizontal=0, vertical=1).equals(corners),
        op.case("flat", op.batch([box.ravel() for box in map(np.asarray, boxes)])).equals(
            [box.ravel() for box in across]
        ),
        op.case("without boxes", none, vertical=1).equals(
            [none.at(0), np.array([[-1, -1, 1, 1]], np.float32)]
        ),
        op.case("empty", op.samples(dtype=op.float32, layout="")).equals([]),
        op.case("wrong dtype", op.samples((2, 4), dtype=op.float64, layout="")).type_error("dtype"),
        op.case("scalars", op.samples((), dtype=op.float32, layout="")).type_error("four numbers"),
        op.case("six numbers", op.samples((2, 6), dtype=op.float32, layout="")).value_error(
            "sample 0"
        ),
        op.case("wrong length", boxes, vertical=[1, 0, 1]).value_error("`vertical`"),
    ]
