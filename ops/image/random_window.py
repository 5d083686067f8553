"""`random_window`: the window of `decoders.image_random_crop`, cut out of a decoded image; graphs
with a cache hold it, whose decoded images are kept whole."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.fusion_roles import SourceWindow, View
from gradiva.ops.random.crop_window import check_window_arguments, random_windows

from .crop import place_in_window, window_view
from .crop_window import WindowPlan
from .window_copy import copy_windows


@op.operator("random_window", bfloat16=True, random=True)
def random_window(
    input: op.SampleType,
    /,
    *,
    random_area: op.Floats = (0.08, 1.0),
    random_aspect_ratio: op.Floats = (3 / 4, 4 / 3),
    num_attempts: int = 10,
    **common: op.Unpack[op.Sampled],
) -> op.SampleType:
    """Cut a random window out of each image.

    Args:
        input: images HWC.
        random_area, random_aspect_ratio, num_attempts: as in `decoders.image_random_crop`, whose
            windows these are, for the same key.

    Returns:
        HWC samples.

    Raises:
        OperatorValueError: for bad ranges, and for images without pixels.

    Example:
        images = gradiva.imread(["cat.jpg"])
        gradiva.random_window(images, seed=1)
    """
    op.require_layout(input, ("HWC",), {3: "HWC"})
    check_window_arguments(random_area, random_aspect_ratio, num_attempts)
    return op.with_layout(input, "HWC")


@random_window.shapes
def _shapes(call: op.Call) -> WindowPlan:
    extents = call.inputs[0].batch_shape.shapes
    windows = random_windows(call, extents[:, 0], extents[:, 1])
    anchors, shapes = np.zeros_like(extents), extents.copy()
    anchors[:, :2], shapes[:, :2] = windows[:, :2], windows[:, 2:]
    return WindowPlan(shapes, anchors)


random_window.coordinate_map(place_in_window)


def _view(call: op.Call) -> SourceWindow | None:
    return window_view(call)


random_window.fusion_role = View(_view)


@random_window.cpu
def _cpu(call: op.Call, plan: WindowPlan) -> None:
    copy_windows(call, plan.anchors, np.zeros((call.size, 1)), None)


@random_window.cases
def _cases() -> list[op.Case]:
    images = op.samples((33, 47, 3), (16, 20, 3), (61, 20, 3))
    whole = {"num_attempts": 0, "random_aspect_ratio": (0.1, 10.0)}
    return [
        op.case("default", images, seed=1).no_oracle(),
        op.case("whole", images, seed=1, **whole).equals(images.arrays()).no_oracle(),
        op.case("empty", op.samples(), seed=1).equals([]),
        op.case("bad area", images, random_area=(0.5, 0.1)).value_error("`random_area`"),
        op.case("no pixels", op.samples((0, 4, 3)), seed=1).value_error("sample 0"),
    ]
