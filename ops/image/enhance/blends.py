"""`compat` of `brightness`, `contrast`, `saturation`, `hue` and gray images: the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.arrays import Float32Array

from .compat import blending, largest, pillow, planes_of, run_pillow
from .torch_colors import (
    brightness_samples,
    contrast_samples,
    gray_samples,
    hue_samples,
    saturation_samples,
)

enhance: Any = lazy_module("PIL.ImageEnhance", "pillow")
_KERNELS = {
    "brightness": brightness_samples,
    "contrast": contrast_samples,
    "saturation": saturation_samples,
}
_ENHANCERS = {"brightness": "Brightness", "contrast": "Contrast", "saturation": "Color"}


def refuse_beside(call: op.Call, **neutral: float | None) -> None:
    """Refuse other values than these of arguments for which no library has a meaning."""
    for name, value in neutral.items():
        given = call[name]
        if given is None:
            continue
        expected = "nothing, with `compat`" if value is None else f"{value:g}, with `compat`"
        bad = np.ones(call.size, bool) if value is None else given != value
        op.refuse_samples(bad, name, expected, given)


def run_blend(call: op.Call, name: str) -> None:
    """The kernel of a blend: `name` is that of the operator and of its factor."""
    factors = blending(call, name)
    if call["compat"] == "torchvision":
        call.for_slabs(_KERNELS[name], planes_of(call), factors)
        return
    enhancer = getattr(enhance, _ENHANCERS[name])
    values = call[name]
    run_pillow(call, lambda image, sample: enhancer(image).enhance(float(values[sample])))


def run_brightness(call: op.Call) -> None:
    """The kernel of `brightness` with `compat`."""
    refuse_beside(call, brightness_shift=0.0)
    run_blend(call, "brightness")


def run_contrast(call: op.Call) -> None:
    """The kernel of `contrast` with `compat`."""
    refuse_beside(call, contrast_center=None)
    run_blend(call, "contrast")


def run_saturation(call: op.Call) -> None:
    """The kernel of `saturation` with `compat`."""
    run_blend(call, "saturation")


def run_hue(call: op.Call) -> None:
    """The kernel of `hue` with `compat`: degrees from -180 to 180."""
    degrees = call["hue"]
    bad = ~((degrees >= -180) & (degrees <= 180))
    op.refuse_samples(bad, "hue", "degrees from -180 to 180, with `compat`", degrees)
    turns = degrees / 360
    if call["compat"] == "torchvision":
        rows: Float32Array = np.empty((call.size, 2), np.float32)
        rows[:, 0], rows[:, 1] = turns, largest(call)
        call.for_slabs(hue_samples, planes_of(call), rows)
        return

    def change(image: Any, sample: int) -> Any:
        hues, saturations, values = image.convert("HSV").split()
        turned = np.asarray(hues) + np.array(int(turns[sample] * 255)).astype(np.uint8)
        parts = (pillow.fromarray(turned), saturations, values)
        return pillow.merge("HSV", parts).convert("RGB")

    run_pillow(call, change)


def run_gray(call: op.Call) -> None:
    """The kernel of `color_space_conversion` from RGB to GRAY with `compat`."""
    if call["compat"] == "torchvision":
        call.for_slabs(gray_samples, planes_of(call, None))
        return
    run_pillow(call, lambda image, _: image.convert("L"))
