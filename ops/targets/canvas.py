"""`targets.canvas`: the track of images that have not moved yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.fusion_roles import Decode
from gradiva.eager.operators.operator import OperatorBase

from .follower import TRACK, TrackPlan, canvas_of, plan_of, write_tracks
from .track import begun, layout_for


@op.operator("targets.canvas", bfloat16=True)
def canvas(input: op.SampleType, /, **common: op.Unpack[op.Common]) -> op.SampleType:
    """Return the track of images: their shapes and layout, and that nothing has moved.

    Args:
        input: images, volumes or sequences of any dtype. Without a layout HW or HWC, by rank.

    Returns:
        What `gradiva.Targets` hold in place of points that move: float64, (6, 8).

    Raises:
        OperatorTypeError: for layouts without H or W.

    Example:
        from gradiva.ops.targets.canvas import canvas

        canvas(gradiva.imread("cat.jpg")).shape  # (6, 8)
    """
    if input.layout:
        layout_for(input.layout, 0)
    return TRACK


canvas.metadata = True


def _of_maker(maker: OperatorBase, fixed: Mapping[str, Any]) -> OperatorBase | None:
    """Decoders tell the shapes of images from the headers of the files; not those of what replaces
    an image."""
    decodes = isinstance(maker.fusion_role, Decode) and fixed.get("on_error") != "replace"
    return canvas_of(maker) if decodes else None


canvas.without_pixels = _of_maker


@canvas.shapes
def _shapes(call: op.Call) -> TrackPlan:
    images = call.inputs[0]
    layout = images.layout
    if call.size or layout:
        layout = layout_for(layout, images.ndim)
    return plan_of(begun(images.batch_shape.shapes, layout))


canvas.cpu(write_tracks)


@canvas.cases
def _cases() -> list[op.Case]:
    images = op.samples((6, 8, 3), (5, 4, 3))
    expected = begun(np.array([[6, 8, 3], [5, 4, 3]]), "HWC")
    return [
        op.case("images", images).equals(list(expected)).no_oracle(),
        op.case("empty", op.samples()).equals([]).no_oracle(),
        op.case("no layout", op.samples((3, 4), layout="")).no_oracle(),
        op.case("planes", op.samples((3, 6, 8), layout="CHW"))
        .equals(list(begun(np.array([[3, 6, 8]]), "CHW")))
        .no_oracle(),
        op.case("audio", op.samples((9,), layout="")).type_error("layout"),
    ]
