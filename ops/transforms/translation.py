"""Transforms that move points axis by axis: `translation`, and `crop`, from one box to another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Float32Array

from .affine import apply, made, transform_type, vector
from .arguments import Continued, Transform
from .cases import makes, matrix, transforms_for_cases


@op.maker(
    "transforms.translation",
    schema="transforms__Translation",
    formerly=("transform_translation",),
    inputs=(0, 1),
    frames=("offset",),
)
@op.uses_arguments(Continued)
def translation(
    input: op.SampleType | op.Value | None = None,
    /,
    *,
    offset: op.FloatsArg,
    **options: op.Unpack[Transform],
) -> op.SampleType:
    """Make a translation: the transform p -> p + offset.

    Args:
        offset: the shift, n numbers.

    Example:
        gradiva.transforms.translation(offset=(10, 20))  # [[1.0, 0.0, 10.0], [0.0, 1.0, 20.0]]
    """
    return transform_type(input)


translation.shapes(lambda call: made(call, call["offset"].shape[1], "offset"))


@translation.cpu
def _translation_cpu(call: op.Call) -> None:
    offset = call["offset"]
    axes = offset.shape[1]
    own = np.zeros((call.size, axes, axes + 1), np.float32)
    for k in range(axes):
        own[:, k, k] = 1
    own[:, :, axes] = offset
    apply(call, own)


@translation.cases
def _translation_cases() -> list[op.Case]:
    moves, frames, wrong = transforms_for_cases()
    shifted = [moves.at(i) + matrix([0, 0, 1], [0, 0, -2]) for i in (0, 1)]
    rows = np.array([[1, 2], [3, 4]], np.float32)
    return [
        makes("plane", matrix([1, 0, 1], [0, 1, 2]), offset=(1, 2)),
        makes("line", matrix([1, 3]), matrix([1, 3]), offset=3),
        makes(
            "per sample", matrix([1, 0, 1], [0, 1, 2]), matrix([1, 0, 3], [0, 1, 4]), offset=rows
        ),
        op.case("after", moves, offset=(1, -2)).equals(shifted).no_oracle(),
        op.case("before", moves, offset=(1, -2), reverse_order=True).no_oracle(),
        op.case("sequence", frames, offset=(1, -2)).no_oracle(),
        op.case("empty", offset=(1, 2), batch_size=0).equals([]).no_oracle(),
        op.case("no matrix", wrong, offset=(1, 2)).value_error("n + 1"),
        op.case("other axes", moves, offset=1).value_error("`offset`"),
        op.case("seven", offset=[1] * 7).value_error("`offset`"),
        op.case("bytes", op.samples((2, 3), layout=""), offset=(1, 2)).type_error("dtype"),
    ]


@op.maker(
    "transforms.crop",
    schema="transforms__Crop",
    inputs=(0, 1),
    frames=("from_start", "from_end", "to_start", "to_end"),
)
@op.uses_arguments(Continued)
def crop(
    input: op.SampleType | op.Value | None = None,
    /,
    *,
    from_start: op.FloatsArg = 0.0,
    from_end: op.FloatsArg = 1.0,
    to_start: op.FloatsArg = 0.0,
    to_end: op.FloatsArg = 1.0,
    absolute: bool = False,
    **options: op.Unpack[Transform],
) -> op.SampleType:
    """Make the transform that maps one box to another: from_start..from_end to to_start..to_end.

    On each axis p -> (p - from_start) * s + to_start, s = (to_end - to_start) / (from_end -
    from_start), which is infinite or NaN for a box of no size.

    Args:
        from_start, from_end, to_start, to_end: corners, n numbers each or one for all axes.
        absolute: swap a start and an end where start > end.

    Example:
        gradiva.transforms.crop(from_start=(0, 0), from_end=(2, 2), to_start=(0, 0), to_end=(4, 6))
        # [[2.0, 0.0, 0.0], [0.0, 3.0, 0.0]]
    """
    return transform_type(input)


@dataclass(frozen=True)
class CropPlan(op.Plan):
    """The corners of both boxes, (N, n)."""

    low: Float32Array
    high: Float32Array
    to_low: Float32Array
    to_high: Float32Array


_CORNERS = ("from_start", "from_end", "to_start", "to_end")


@crop.shapes
def _crop_shapes(call: op.Call) -> CropPlan:
    name = max(_CORNERS, key=lambda name: call[name].shape[1])
    axes = call[name].shape[1]
    corners = [np.asarray(vector(call, other, axes), np.float32) for other in _CORNERS]
    return CropPlan(made(call, axes, name), *corners)


@crop.cpu
def _crop_cpu(call: op.Call, plan: CropPlan) -> None:
    axes = int(call.outputs[0].batch_shape.shapes[0, -2])
    low, high, to_low, to_high = plan.low, plan.high, plan.to_low, plan.to_high
    if call["absolute"]:
        low, high = np.minimum(low, high), np.maximum(low, high)
        to_low, to_high = np.minimum(to_low, to_high), np.maximum(to_low, to_high)
    own = np.zeros((call.size, axes, axes + 1), np.float32)
    with np.errstate(all="ignore"):
        scale = (to_high - to_low) / (high - low)
        own[:, :, axes] = to_low - low * scale
    for k in range(axes):
        own[:, k, k] = scale[:, k]
    apply(call, own)


@crop.cases
def _crop_cases() -> list[op.Case]:
    moves, frames, wrong = transforms_for_cases()
    box = {"from_start": (1, 2), "from_end": (3, 6)}
    return [
        makes("nothing given", matrix([1, 0])),
        makes("plane", matrix([2, 0, -2], [0, 2, -4]), **box, to_end=(4, 8)),
        makes(
            "one number",
            matrix([1, 0, 1], [0, 0.5, 1.5]),
            from_start=1,
            from_end=(3, 5),
            to_start=2,
            to_end=4,
        ),
        makes("mirrored", matrix([-1, 0, 1], [0, 1, 0]), from_start=(1, 0), from_end=(0, 1)),
        makes(
            "absolute",
            matrix([1, 0, 0], [0, 1, 0]),
            from_start=(1, 0),
            from_end=(0, 1),
            absolute=True,
        ),
        op.case("no size", batch_size=1, from_start=(1, 0), from_end=(1, 1)).no_oracle(),
        op.case("after", moves, **box).no_oracle(),
        op.case("before", frames, **box, reverse_order=True).no_oracle(),
        op.case("empty", batch_size=0, **box).equals([]).no_oracle(),
        op.case("lengths", from_start=(1, 2, 3), from_end=(3, 6)).value_error("`from_end`"),
        op.case("one axis of two", moves, from_start=0.5).value_error("2 axes"),
        op.case("none", from_start=[]).value_error("`from_start`"),
        op.case("no matrix", wrong, **box).value_error("n + 1"),
        op.case("text", to_end="far").type_error("`to_end`"),
    ]
