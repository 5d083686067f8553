"""What `experimental.dilate` and `experimental.erode` share."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.opencv import cv2
from gradiva.eager.types.arrays import Array, Int64Array

from .borders import pad

LAYOUTS: Final = ("HW", "HWC", "CHW", "FHW", "FHWC", "FCHW", "CFHW")
ASSUMED: Final = {2: "HW", 3: "HWC", 4: "FHWC"}

BORDER_NAMES: Final = {
    "constant": "constant",
    "replicate": "clamp",
    "clamp": "clamp",
    "reflect": "reflect_1001",
    "reflect_1001": "reflect_1001",
    "reflect1001": "reflect_1001",
    "reflect_101": "reflect_101",
    "reflect101": "reflect_101",
    "wrap": "wrap",
}
_FEW: Final = 4
"""After more iterations it is worth looking whether they still change something."""


def dilate_erode_type(input: op.SampleType, border_mode: str, iterations: int) -> op.SampleType:
    """The type rule of both."""
    op.require_dtype(input, (op.uint8, op.uint16, op.int16, op.float32))
    if border_mode not in BORDER_NAMES:
        raise op.wrong_value("border_mode", " or ".join(BORDER_NAMES), repr(border_mode))
    if iterations < 0:
        raise op.wrong_value("iterations", "0 or more", iterations)
    return op.with_layout(input, op.require_layout(input, LAYOUTS, ASSUMED))


def planes_of(layout: str, image: Array) -> Array:
    """A sample as images of one kind, (N, H, W) or (N, H, W, C): a view."""
    return image.reshape((-1, *image.shape[layout.index("H") :]))


class Masks(NamedTuple):
    """The rectangles of a call, (N, 2) each: how many pixels before and after the one that stands
    at the anchor, across and down; and the value beyond a constant border."""

    before: Int64Array
    after: Int64Array
    outside: Any


def masks_of(call: op.Call, highest: bool) -> Masks:
    """Raises OperatorValueError."""
    masks, anchors = pairs(call, "mask_size"), pairs(call, "anchor")
    for argument, bad, expected, got in (
        ("mask_size", masks < 1, "1 or more", masks),
        ("anchor", (anchors < -1) | (anchors >= masks), "-1, or a place in the mask", anchors),
    ):
        op.refuse_samples(bad.any(axis=1), argument, expected, got)
    # The maximum of no pixels is the lowest value: it never wins.
    kind = call.inputs[0].dtype.numpy
    limits: Any = np.finfo(kind) if kind.kind == "f" else np.iinfo(kind)
    before = np.where(anchors < 0, masks // 2, anchors)
    # Twice the extent on a side is every pixel, whatever the border: more changes nothing.
    first = (call.types[0].layout or "").index("H")
    most = 2 * call.inputs[0].batch_shape.shapes[:, [first + 1, first]]
    outside = kind.type(limits.min if highest else limits.max)
    return Masks(np.minimum(before, most), np.minimum(masks - 1 - before, most), outside)


def dilate_erode(call: op.Call, name: str) -> None:
    """The kernel of both; `name`: of OpenCV's function."""
    source, target = call.inputs[0], call.outputs[0]
    layout, iterations = target.layout, call["iterations"]
    border = BORDER_NAMES[call["border_mode"]]
    before, after, outside = masks_of(call, name == "dilate")
    floats = source.data.dtype.kind == "f"

    def run(sample: int) -> None:
        image, result = source.array(sample), target.array(sample)
        if image.size == 0:
            return
        low, high = before[sample, ::-1].tolist(), after[sample, ::-1].tolist()
        mask = np.ones([one + other + 1 for one, other in zip(low, high, strict=True)], np.uint8)
        planes = zip(planes_of(layout, image), planes_of(layout, result), strict=True)
        for plane, out in planes:
            flat = plane
            for _ in range(iterations):
                padded = pad(flat, low, high, border, outside)
                grown = getattr(cv2, name)(
                    padded, mask, anchor=(0, 0), borderType=cv2.BORDER_REPLICATE
                )
                then, flat = flat, grown[: plane.shape[0], : plane.shape[1]].reshape(plane.shape)
                if iterations > _FEW and np.array_equal(then, flat, equal_nan=floats):
                    break  # nothing changes any more
            out[...] = flat

    call.each_sample(run, source.batch_shape.volumes.tolist())


def pairs(call: op.Call, name: str) -> Int64Array:
    """(N, 2) of one number or of two, (width, height)."""
    given: Int64Array = call[name]
    if given.shape[1] not in (1, 2):
        raise op.wrong_value(name, "one number or two, (width, height)", given.shape[1])
    return np.broadcast_to(given, (call.size, 2))
