"""`per_frame`: the first axis is that of frames."""

from __future__ import annotations

from gradiva.eager import extension as op
from gradiva.eager.execution.views import view_of

from .frames import require_frames


@op.operator("per_frame", bfloat16=True, same_shapes=True)
def per_frame(
    input: op.SampleType, /, *, replace: bool = False, **common: op.Unpack[op.Common]
) -> op.SampleType:
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
        raise op.OperatorTypeError(
            "another axis is that of frames already",
            expected="F first or not at all",
            got=repr(input.layout),
        )
    return input.with_(layout="F" + input.layout[1:])


@per_frame.view
def _view(call: op.Call) -> op.Batch:
    return view_of(call.inputs[0], call.types[0], call.geometries[0])


@per_frame.cases
def _cases() -> list[op.Case]:
    videos = op.samples((4, 3, 5, 3), (2, 1, 7, 3), layout="FHWC")
    plain = op.samples((3, 4), (2, 4), dtype=op.float32, layout="")
    images = op.samples((4, 5, 3), (1, 7, 3))
    return [
        op.case("frames already", videos).equals([videos.at(i) for i in range(2)]),
        op.case("no layout", plain).equals([plain.at(i) for i in range(2)]),
        op.case("vectors", op.samples((3,), (2,), dtype=op.int32, layout="")),
        op.case("replaced", images, replace=True).equals([images.at(i) for i in range(2)]),
        op.case("empty", op.samples(layout="")).equals([]),
        op.case("another letter", images).type_error("F"),
        op.case("scalars", op.samples((), layout="")).type_error("scalars"),
    ]
