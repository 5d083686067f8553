"""`reinterpret`: the bytes of each sample as another dtype and shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.operators.arguments import DTypeLike, FloatsArg, IntsArg, Layout
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.types.dtypes import bool_, float32, int16, int32, uint8
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch

from .new_shapes import reshaped_type, reshaped_view, wanted_shapes

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["reinterpret"]


@operator("reinterpret", inputs=(1, 2), bfloat16=True)
def reinterpret(
    input: SampleType,
    shape_input: Any = None,
    /,
    *,
    dtype: DTypeLike | None = None,
    shape: IntsArg | None = None,
    rel_shape: FloatsArg | None = None,
    src_dims: IntsArg | None = None,
    layout: Layout | None = None,
    **common: Unpack[Common],
) -> SampleType:
    """The bytes of each sample as elements of another dtype, under another shape. Nothing is copied
    but for bool, and for memory where the elements would not be aligned.

    input: any dtype, rank and layout. dtype: of the result; that of the input by default.
    shape_input, shape, rel_shape, src_dims, layout: as in `reshape`, extents in elements of the
        result; `rel_shape` is relative to the extents of the input. Without them the last extent
        changes with the size of the elements.

    As bool, every byte but 0 is True. Raises OperatorValueError, with the sample, if the bytes do
    not fill the shape or the last axis, and as `reshape` does.
    """
    return reshaped_type(input, shape_input, shape, rel_shape, src_dims, layout, dtype)


reinterpret.shapes(wanted_shapes)
reinterpret.view(reshaped_view)


reinterpret.host_from = 1


@reinterpret.cases
def _cases() -> list[Case]:
    images = samples((4, 6, 4), (1, 7, 8), (3, 1, 12))
    uniform = samples((4, 6), (4, 6), (4, 6), layout="HW")
    odd = samples((1, 6), (3, 2), (5, 4), layout="")
    scalars = samples((), (), dtype=int32, layout="")

    def viewed(batch: Batch, dtype: type) -> list[np.ndarray[Any, Any]]:
        return [sample.view(dtype) for sample in batch.arrays()]

    return [
        case("wider", images, dtype=int32).equals(viewed(images, np.int32)),
        case("narrower", samples((2, 3), (4, 1), dtype=float32, layout="HW"), dtype=uint8).equals(
            viewed(samples((2, 3), (4, 1), dtype=float32, layout="HW"), np.uint8)
        ),
        case("uniform", uniform, dtype=int16).equals(viewed(uniform, np.int16)),
        case("to bool", odd, dtype=bool_).equals([odd.at(i) != 0 for i in range(3)]),
        case("shape", odd, dtype=int16, shape=[-1]).equals(
            [odd.at(i).reshape(-1).view(np.int16) for i in range(3)]
        ),
        case("scalars", scalars, dtype=float32).equals(viewed(scalars, np.float32)),
        case("scalars as bytes", scalars, dtype=uint8, shape=[4])
        .equals([scalars.at(i).reshape(1).view(np.uint8) for i in range(2)])
        .no_oracle(),
        case("empty", samples(), dtype=uint8).equals([]),
        case("last axis", odd, dtype=int32).value_error("sample 0"),
        case("scalars that grow", scalars, dtype=uint8).value_error("`dtype`"),
        case("nothing", images).value_error("nothing to do"),
    ]
