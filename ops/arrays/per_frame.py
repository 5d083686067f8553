"""`per_frame`: the first axis is that of frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradiva.eager.execution.views import view_of
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.support.errors import OperatorTypeError
from gradiva.eager.types.batch_shape import Geometry
from gradiva.eager.types.dtypes import float32, int32
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch

from .frames import require_frames

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["per_frame"]


@operator("per_frame", bfloat16=True)
def per_frame(
    input: SampleType, /, *, replace: bool = False, **common: Unpack[Common]
) -> SampleType:
    """Say that the first axis is that of frames, in the layout. Nothing is copied.

    input: any dtype, at least 1-D. Without a layout it gets "F", and "*" for each further axis.
    replace: whether another letter of the first axis becomes F.

    Only the layout changes. Operators on sequences take a batch with such a layout as an argument
    with a value for each frame, or one for all frames of a sample: brightness, contrast, hue and
    the other operators on colours, `gaussian_blur`, `laplacian`, `rotate`, `warp_affine`,
    `experimental.warp_perspective`, `coord_transform` and `transforms.*`, whose results are then
    sequences. Raises OperatorTypeError for scalars, and for a layout that begins with another
    letter unless `replace` says so.
    """
    if input.ndim == 0 or not replace:
        require_frames(input)
    if input.layout is None:
        return input
    if not input.layout:
        return input if input.ndim is None else input.with_(layout="F" + "*" * (input.ndim - 1))
    if "F" in input.layout[1:]:
        raise OperatorTypeError(
            "another axis is that of frames already",
            expected="F first or not at all",
            got=repr(input.layout),
        )
    return input.with_(layout="F" + input.layout[1:])


@per_frame.shapes
def _shapes(call: Call) -> Geometry:
    return call.inputs[0].geometry


@per_frame.view
def _view(call: Call) -> Batch:
    return view_of(call.inputs[0], call.types[0], call.geometries[0])


@per_frame.cases
def _cases() -> list[Case]:
    videos = samples((4, 3, 5, 3), (2, 1, 7, 3), layout="FHWC")
    plain = samples((3, 4), (2, 4), dtype=float32, layout="")
    images = samples((4, 5, 3), (1, 7, 3))
    return [
        case("frames already", videos).equals([videos.at(i) for i in range(2)]),
        case("no layout", plain).equals([plain.at(i) for i in range(2)]),
        case("vectors", samples((3,), (2,), dtype=int32, layout="")),
        case("replaced", images, replace=True).equals([images.at(i) for i in range(2)]),
        case("empty", samples(layout="")).equals([]),
        case("another letter", images).type_error("F"),
        case("scalars", samples((), layout="")).type_error("scalars"),
    ]
