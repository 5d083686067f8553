"""What `experimental.dilate` and `experimental.erode` share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from gradiva.eager.dtypes import float32, int16, uint8, uint16
from gradiva.eager.errors import OperatorValueError
from gradiva.eager.lazy import lazy_module
from gradiva.eager.rules import require_dtype, require_layout, with_layout
from gradiva.eager.run import Call
from gradiva.eager.value import SampleType

from .borders import pad

if TYPE_CHECKING:
    import cv2
else:
    cv2 = lazy_module("cv2", "opencv-python-headless")

__all__ = ["ASSUMED", "LAYOUTS", "grow", "grown_type", "pairs", "planes_of"]

Array = npt.NDArray[Any]

LAYOUTS: Final = ("HW", "HWC", "CHW", "FHW", "FHWC", "FCHW", "CFHW")
ASSUMED: Final = {2: "HW", 3: "HWC", 4: "FHWC"}

_BORDERS: Final = {
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


def grown_type(input: SampleType, border_mode: str, iterations: int) -> SampleType:
    """The type rule of both."""
    require_dtype(input, (uint8, uint16, int16, float32))
    if border_mode not in _BORDERS:
        raise OperatorValueError(
            argument="border_mode", expected=" or ".join(_BORDERS), got=repr(border_mode)
        )
    if iterations < 0:
        raise OperatorValueError(argument="iterations", expected="0 or more", got=str(iterations))
    return with_layout(input, require_layout(input, LAYOUTS, ASSUMED))


def planes_of(layout: str, image: Array) -> Array:
    """A sample as images of one kind, (N, H, W) or (N, H, W, C): a view."""
    return image.reshape((-1, *image.shape[layout.index("H") :]))


def grow(call: Call, name: str) -> None:
    """The kernel of both; `name`: of OpenCV's function."""
    source, target = call.inputs[0], call.outputs[0]
    layout, iterations = target.layout, call["iterations"]
    border = _BORDERS[call["border_mode"]]
    masks, anchors = pairs(call, "mask_size"), pairs(call, "anchor")
    for argument, bad, expected, got in (
        ("mask_size", masks < 1, "1 or more", masks),
        ("anchor", (anchors < -1) | (anchors >= masks), "-1, or a place in the mask", anchors),
    ):
        if bad.any():
            sample = int(np.flatnonzero(bad.any(axis=1))[0])
            raise OperatorValueError(
                argument=argument, expected=expected, got=str(got[sample].tolist()), sample=sample
            )
    # The maximum of no pixels is the lowest value: it never wins.
    kind = source.data.dtype
    limits: Any = np.finfo(kind) if kind.kind == "f" else np.iinfo(kind)
    outside = limits.min if name == "dilate" else limits.max

    def run(sample: int) -> None:
        image, result = source.array(sample), target.array(sample)
        if image.size == 0:
            return
        (width, height), (x, y) = masks[sample].tolist(), anchors[sample].tolist()
        x, y = (width // 2 if x < 0 else x), (height // 2 if y < 0 else y)
        # Twice the extent on a side is every pixel, whatever the border: more changes nothing.
        down, across = (2 * extent for extent in planes_of(layout, image).shape[1:3])
        width = min(x, across) + min(width - 1 - x, across) + 1
        height = min(y, down) + min(height - 1 - y, down) + 1
        x, y = min(x, across), min(y, down)
        mask = np.ones((height, width), np.uint8)
        planes = zip(planes_of(layout, image), planes_of(layout, result), strict=True)
        for plane, out in planes:
            flat = plane
            for _ in range(iterations):
                padded = pad(flat, [y, x], [height - 1 - y, width - 1 - x], border, outside)
                grown = getattr(cv2, name)(
                    padded, mask, anchor=(0, 0), borderType=cv2.BORDER_REPLICATE
                )
                before, flat = flat, grown[: plane.shape[0], : plane.shape[1]].reshape(plane.shape)
                if iterations > _FEW and np.array_equal(before, flat, equal_nan=kind.kind == "f"):
                    break  # nothing changes any more
            out[...] = flat

    call.each_sample(run, source.geometry.volumes.tolist())


def pairs(call: Call, name: str) -> npt.NDArray[np.int64]:
    """(N, 2) of one number or of two, (width, height)."""
    given: npt.NDArray[np.int64] = call[name]
    if given.shape[1] not in (1, 2):
        raise OperatorValueError(
            argument=name, expected="one number or two, (width, height)", got=str(given.shape[1])
        )
    return np.broadcast_to(given, (call.size, 2))
