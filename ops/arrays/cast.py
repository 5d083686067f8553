"""`cast`: convert samples to another dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.jit.convert import convert_array, convert_sat
from gradiva.eager.jit.row_kernel import row_kernel
from gradiva.eager.operators.arguments import DTypeLike
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.operators.pixelwise import pixelwise, run_pixelwise
from gradiva.eager.types.batch_shape import Geometry
from gradiva.eager.types.dtypes import DType, bfloat16, bool_, float16, float32, int8, int64, uint8
from gradiva.eager.types.sample_type import SampleType

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["cast", "run_cast"]


@operator("cast", bfloat16=True)
def cast(input: SampleType, /, *, dtype: DTypeLike, **common: Unpack[Common]) -> SampleType:
    """Convert each element to `dtype`; shapes and layout stay.

    input: any dtype and rank. Floats that become integers are rounded half away from zero and
    saturate, NaN becomes 0; integers saturate. A number is true if it does not round to 0. float16
    is rounded half away from zero too, bfloat16 half to even.
    """
    chosen: DType = dtype  # type: ignore[assignment]  # converted by the engine
    return input.with_(dtype=chosen)


@cast.shapes
def _shapes(call: Call) -> Geometry:
    return call.inputs[0].geometry


@row_kernel()
def cast_row(source: Any, target: Any, parameters: Any) -> None:
    """One strip: convert."""
    for k in range(source.size):
        target[k] = convert_sat(source[k], target)


@pixelwise(cast, cast_row)
def _parameters(call: Call) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.empty((call.size, 1, 0), np.float32)


@cast.cpu
def run_cast(call: Call) -> None:
    """Convert the samples of the first input."""
    if bfloat16 in (call.inputs[0].dtype, call.types[0].dtype):
        # Not by way of float32, as kernels would have it: values would be rounded twice.
        target = call.outputs[0]
        samples = zip(target.arrays(), call.inputs[0].arrays(), strict=True)
        for made, sample in samples:
            made[...] = convert_array(sample, target.dtype.numpy)
        return
    run_pixelwise(call, cast.stage)


@cast.cases
def _cases() -> list[Case]:
    halves = samples((3,), layout="", dtype=float32)
    halves.at(0)[:] = [0.5, 2.5, -0.5]
    extremes = samples((4,), layout="", dtype=float32)
    extremes.at(0)[:] = [np.nan, 1e9, -1e9, 254.5]
    images = samples((3, 4, 3), (2, 2, 3))
    wide = samples((5,), (3,), dtype=int64, layout="")
    return [
        case("halves", halves, dtype=int8).equals([np.array([1, 3, -1], np.int8)]),
        case("saturate", extremes, dtype=uint8).equals([np.array([0, 255, 0, 255], np.uint8)]),
        case("to float", images, dtype=float32).equals(
            [images.at(i).astype(np.float32) for i in range(2)]
        ),
        case("to half", images, dtype=float16).equals(
            [images.at(i).astype(np.float16) for i in range(2)]
        ),
        case("integers saturate", wide, dtype="int8").equals(
            [np.clip(wide.at(i), -128, 127).astype(np.int8) for i in range(2)]
        ),
        case("to bool", images, dtype=bool_).equals([images.at(i) != 0 for i in range(2)]),
        case("same", images, dtype=uint8).equals([images.at(i) for i in range(2)]),
        case("empty", samples(), dtype=float32).equals([]),
        case("no dtype", images).type_error("`dtype`"),
        case("unknown", images, dtype=complex).type_error("`dtype`"),
    ]
