"""`bb_flip`: mirror boxes as an image is mirrored."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gradiva.eager.cuda.launch import CudaKernel, Launch, Out, blocks_of
from gradiva.eager.jit.jit import jit
from gradiva.eager.operators.arguments import IntArg
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.types.batch_shape import Geometry
from gradiva.eager.types.dtypes import float32, float64
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import batch

from .checks import require_flat_boxes, require_fours

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["bb_flip"]


@operator("bb_flip")
def bb_flip(
    input: SampleType,
    /,
    *,
    horizontal: IntArg = 1,
    vertical: IntArg = 0,
    ltrb: bool = False,
    **common: Unpack[Common],
) -> SampleType:
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
def _shapes(call: Call) -> Geometry:
    require_fours(call.inputs[0])
    return call.inputs[0].geometry


@jit
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


def _flips(call: Call) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.stack([call["horizontal"] != 0, call["vertical"] != 0], axis=1)


@bb_flip.cpu
def _cpu(call: Call) -> None:
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


_KERNEL: Final = CudaKernel("bb_flip", (Path(__file__).with_name("bb_flip.cuh"),))


@bb_flip.gpu
def _gpu(call: Call) -> Launch:
    source, target = call.inputs[0], call.outputs[0]
    volumes = target.geometry.volumes
    blocks = blocks_of(volumes)
    places = np.stack([source.geometry.offsets, target.geometry.offsets], axis=1)
    corners = np.full((call.size, 1), call["ltrb"])
    short = np.concatenate([volumes[:, None], _flips(call), corners], axis=1).astype(np.int32)
    table = np.concatenate([places, short.view(np.int64)], axis=1)
    return Launch(_KERNEL.unit({}), len(blocks), (source.data, Out(target.data), table, blocks))


@bb_flip.cases
def _cases() -> list[Case]:
    boxes = batch(
        [
            np.array([[0.25, 0.5, 0.25, 0.125]], np.float32),
            np.array([[0.5, 0.25, 0.75, 0.5], [0, 0, 1, 1]], np.float32),
        ]
    )
    across = [np.array([[0.5, 0.5, 0.25, 0.125]], np.float32),
              np.array([[-0.25, 0.25, 0.75, 0.5], [0, 0, 1, 1]], np.float32)]  # fmt: skip
    corners = [np.array([[0.25, 0.875, 0.25, 0.5]], np.float32),
               np.array([[0.5, 0.5, 0.75, 0.75], [0, 0, 1, 1]], np.float32)]  # fmt: skip
    none = batch([np.zeros((0, 4), np.float32), np.ones((1, 4), np.float32)])
    return [
        case("default", boxes).equals(across),
        case("per sample", boxes, horizontal=[1, 0]).equals([across[0], boxes.at(1)]),
        case("corners, vertical", boxes, ltrb=True, horizontal=0, vertical=1).equals(corners),
        case("flat", batch([box.ravel() for box in map(np.asarray, boxes)])).equals(
            [box.ravel() for box in across]
        ),
        case("without boxes", none, vertical=1).equals(
            [none.at(0), np.array([[-1, -1, 1, 1]], np.float32)]
        ),
        case("empty", samples(dtype=float32, layout="")).equals([]),
        case("wrong dtype", samples((2, 4), dtype=float64, layout="")).type_error("dtype"),
        case("scalars", samples((), dtype=float32, layout="")).type_error("four numbers"),
        case("six numbers", samples((2, 6), dtype=float32, layout="")).value_error("sample 0"),
        case("wrong length", boxes, vertical=[1, 0, 1]).value_error("`vertical`"),
    ]
