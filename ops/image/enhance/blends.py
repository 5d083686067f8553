"""`compat` of `brightness`, `contrast`, `saturation`, `hue` and gray images: the kernels.

All but `contrast` work pixel by pixel with torchvision's arithmetic. For these there are operators
that compiled graphs hold in their place, and that join fused groups.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.decomposition import CompositeCall, Decomposition, DecompositionPart
from gradiva.eager.operators.pixelwise import Pixelwise, run_pixelwise
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.arrays import Float32Array

from .compat import blending, compat_type, largest, pillow, planes_of, run_pillow
from .torch_colors import brightness_row, contrast_samples, gray_row, hue_row, saturation_row

enhance: Any = lazy_module("PIL.ImageEnhance", "pillow")
_ENHANCERS = {"brightness": "Brightness", "contrast": "Contrast", "saturation": "Color"}


@op.operator("brightness_of_tensors", same_shapes=True)
def brightness_of_tensors(
    input: op.SampleType, /, *, brightness: op.DoubleArg = 1.0
) -> op.SampleType:
    """Change the brightness as torchvision does.

    Args:
        input: uint8 or float32, with a layout.
        brightness: the factor; may differ per sample.

    Returns:
        Samples of the same shapes, dtype and layout.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
        OperatorValueError: for other numbers of channels, and values that torchvision refuses.
    """
    return compat_type(input, "torchvision")


@op.operator("saturation_of_tensors", same_shapes=True)
def saturation_of_tensors(
    input: op.SampleType, /, *, saturation: op.DoubleArg = 1.0
) -> op.SampleType:
    """Change the saturation as torchvision does.

    Args:
        input: uint8 or float32, RGB, with a layout.
        saturation: the factor; may differ per sample.

    Returns:
        Samples of the same shapes, dtype and layout.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
        OperatorValueError: for other numbers of channels, and values that torchvision refuses.
    """
    return compat_type(input, "torchvision")


@op.operator("hue_of_tensors", same_shapes=True)
def hue_of_tensors(input: op.SampleType, /, *, hue: op.DoubleArg = 0.0) -> op.SampleType:
    """Turn the hues as torchvision does.

    Args:
        input: uint8 or float32, RGB, with a layout.
        hue: degrees; may differ per sample.

    Returns:
        Samples of the same shapes, dtype and layout.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
        OperatorValueError: for other numbers of channels, and values that torchvision refuses.
    """
    return compat_type(input, "torchvision")


@op.operator("gray_of_tensors")
def gray_of_tensors(input: op.SampleType, /) -> op.SampleType:
    """Make gray images as torchvision does.

    Args:
        input: uint8 or float32, RGB, with a layout.

    Returns:
        Samples of the same shapes but for the number of channels, which is 1.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
        OperatorValueError: for other numbers of channels.
    """
    return compat_type(input, "torchvision")


@gray_of_tensors.shapes
def _gray_shapes(call: op.Call) -> op.BatchShape:
    shapes = call.inputs[0].batch_shape.shapes.copy()
    planes_of(call, (3,))
    shapes[:, (call.types[0].layout or "").index("C")] = 1
    return op.BatchShape.of(shapes)


@op.pixelwise(brightness_of_tensors, brightness_row)
def _brightness_rows(call: op.Call) -> Float32Array:
    planes_of(call)
    return blending(call, "brightness")[:, None]


@op.pixelwise(saturation_of_tensors, saturation_row)
def _saturation_rows(call: op.Call) -> Float32Array:
    planes_of(call, (3,))
    return blending(call, "saturation")[:, None]


@op.pixelwise(hue_of_tensors, hue_row)
def _hue_rows(call: op.Call) -> Float32Array:
    planes_of(call, (3,))
    rows = np.empty((call.size, 1, 2), np.float32)
    rows[:, 0, 0], rows[:, 0, 1] = _turns(call), largest(call)
    return rows


@op.pixelwise(gray_of_tensors, gray_row, made=1)
def _gray_rows(call: op.Call) -> Float32Array:
    return np.zeros((call.size, 1, 0), np.float32)


def _step_cases(name: str, each: list[float]) -> list[op.Case]:
    """name: of the argument; each: values for three samples."""
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3))
    planes = op.samples((3, 4, 5), (3, 2, 2), layout="CHW", dtype=op.float32)
    return [
        op.case("default", images).equals(images.arrays()).no_oracle(),
        op.case("per sample", images, **{name: each}).no_oracle(),
        op.case("planes", planes, **{name: each[0]}).no_oracle(),
        op.case("empty", op.samples(), **{name: each[0]}).equals([]).no_oracle(),
        op.case("channels", op.samples((2, 2, 4))).value_error("channels"),
        op.case("out of range", images, **{name: -181.0}).value_error(f"`{name}`"),
    ]


brightness_of_tensors.cases(lambda: _step_cases("brightness", [0.3, 1.7, 2.0]))
saturation_of_tensors.cases(lambda: _step_cases("saturation", [0.3, 1.7, 2.0]))
hue_of_tensors.cases(lambda: _step_cases("hue", [30.0, -90.0, 180.0]))


@gray_of_tensors.cases
def _gray_cases() -> list[op.Case]:
    flat = op.samples((2, 2, 3), low=90, high=90)
    planes = op.samples((3, 4, 5), (3, 2, 2), layout="CHW", dtype=op.float32)
    return [
        op.case("gray", flat).equals([np.full((2, 2, 1), 89, np.uint8)]).no_oracle(),
        op.case("planes", planes).no_oracle(),
        op.case("empty", op.samples()).equals([]).no_oracle(),
        op.case("sequence", op.samples((2, 3, 4, 3), layout="FHWC")).no_oracle(),
        op.case("channels", op.samples((2, 2, 4))).value_error("channels"),
    ]


_STEPS: Final[dict[str, Any]] = {
    "brightness": brightness_of_tensors,
    "saturation": saturation_of_tensors,
    "hue": hue_of_tensors,
    "color_space_conversion": gray_of_tensors,
}
"""By the name of an operator, the one that computes pixel by pixel what it does."""


def part_of(name: str) -> Decomposition:
    """The decomposition of an operator: its one part, where that works pixel by pixel."""

    def parts(call: CompositeCall) -> list[DecompositionPart] | None:
        if call.fixed.get("compat") != "torchvision" or not call.layout:
            return None
        if "brightness_shift" in call.given:
            return None  # the operator itself refuses it
        step = _STEPS[name]
        return [call.part(step.name, *step.arguments)]

    return parts


def check_beside(call: op.Call, **neutral: float | None) -> None:
    """Refuse other values than these of arguments for which no library has a meaning."""
    for name, value in neutral.items():
        given = call[name]
        if given is None:
            continue
        expected = "nothing, with `compat`" if value is None else f"{value:g}, with `compat`"
        bad = np.ones(call.size, bool) if value is None else given != value
        op.refuse_samples(bad, name, expected, given)


def _run_step(call: op.Call, name: str) -> None:
    """The kernel of torchvision's arithmetic, pixel by pixel."""
    role: Pixelwise = _STEPS[name].fusion_role
    run_pixelwise(call, role)


def _run_enhancer(call: op.Call, name: str) -> None:
    """The kernel of a blend by Pillow: `name` is that of the operator and of its factor."""
    blending(call, name)
    enhancer, values = getattr(enhance, _ENHANCERS[name]), call[name]
    run_pillow(call, lambda image, sample: enhancer(image).enhance(float(values[sample])))


def run_brightness(call: op.Call) -> None:
    """The kernel of `brightness` with `compat`."""
    check_beside(call, brightness_shift=0.0)
    _chosen(call)(call, "brightness")


def run_saturation(call: op.Call) -> None:
    """The kernel of `saturation` with `compat`."""
    _chosen(call)(call, "saturation")


def _chosen(call: op.Call) -> Callable[[op.Call, str], None]:
    return _run_step if call["compat"] == "torchvision" else _run_enhancer


def run_contrast(call: op.Call) -> None:
    """The kernel of `contrast` with `compat`."""
    check_beside(call, contrast_center=None)
    if call["compat"] == "torchvision":
        call.for_slabs(contrast_samples, planes_of(call), blending(call, "contrast"))
    else:
        _run_enhancer(call, "contrast")


def _turns(call: op.Call) -> Any:
    """(N,): `hue` in turns, float64. Raises OperatorValueError beyond half a turn."""
    degrees = call["hue"]
    bad = ~((degrees >= -180) & (degrees <= 180))
    op.refuse_samples(bad, "hue", "degrees from -180 to 180, with `compat`", degrees)
    return degrees / 360


def run_hue(call: op.Call) -> None:
    """The kernel of `hue` with `compat`."""
    turns = _turns(call)
    if call["compat"] == "torchvision":
        _run_step(call, "hue")
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
        _run_step(call, "color_space_conversion")
    else:
        run_pillow(call, lambda image, _: image.convert("L"))
