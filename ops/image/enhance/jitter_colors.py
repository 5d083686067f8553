"""`jitter_colors`: what torchvision's ColorJitter does, in an order of its own for each image."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.arrays import Array, F32Vector, F32Volume, I64Table, Slabs, Vector

from .compat import compat_libraries, compat_type, frames_of, largest, pillow, planes_of
from .torch_colors import BYTE, TO_BYTE, blend_with_mean, clamp, fused, luma, turned

_enhance: Any = lazy_module("PIL.ImageEnhance", "pillow")
_STEPS = ("brightness", "contrast", "saturation", "hue")
_ENHANCERS = ("Brightness", "Contrast", "Color")
_HUE = len(_ENHANCERS)
_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


@op.operator("jitter_colors", same_shapes=True)
def jitter_colors(
    input: op.SampleType,
    /,
    *,
    steps: op.Ints,
    order: op.IntArg = 0,
    factors: op.FloatsArg = 1.0,
    compat: str = "torchvision",
) -> op.SampleType:
    """Change brightness, contrast, saturation and hue, in an order that may differ per sample.

    Args:
        input: uint8, or float32 of 0 to 1 with "torchvision"; layouts HWC, CHW, HW and these with
            F. With "torchvision" 1 or 3 channels, with "pil" also 2 and 4, of which the last one is
            the transparency.
        steps: numbers of what is changed: 0 is the brightness, 1 the contrast, 2 the saturation, 3
            the hue; each at most once.
        order: which permutation of them: 0 is the order of `steps`, the others follow as in
            `itertools.permutations`.
        factors: one for each of the steps, not sorted by `order`; that of the hue is a part of a
            full turn, from -0.5 to 0.5.
        compat: "torchvision" or "pil": whose values.

    Returns:
        Samples of the same shapes, dtype and layout.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
        OperatorValueError: for other steps, orders, factors and numbers of channels.
    """
    numbers = np.atleast_1d(steps).tolist()
    if len(numbers) != len(set(numbers)) or not set(numbers) <= {*range(len(_STEPS))}:
        raise op.wrong_value("steps", "numbers from 0 to 3, each at most once", steps)
    return compat_type(input, compat)


@op.jit
def _jitter_samples(
    slabs: Slabs, planes: I64Table, steps: I64Table, rows: F32Volume, begin: int, end: int
) -> None:
    """Copy each frame, and change it where it is.

    steps: (N, S), in their order; rows: (N, S, 3), for each the factor, 1 less the factor, and the
    largest value.
    """
    source, sources, target, targets = slabs
    for i in range(begin, end):
        frames, height, width, channels, pixel, step = planes[i]
        size = height * width * channels
        if size == 0:
            continue
        for frame in range(frames):
            first, to = sources[i] + frame * size, targets[i] + frame * size
            image, made = source[first : first + size], target[to : to + size]
            made[:] = image
            for turn in range(steps.shape[1]):
                number, row = steps[i, turn], rows[i, turn]
                if number == 0:
                    _brighten(made, row)
                elif number == 1:
                    blend_with_mean(made, made, (channels, pixel, step), row)
                elif channels == 3 and number == 2:
                    _saturate(made, pixel, step, row)
                elif channels == 3:
                    _turn(made, pixel, step, row)


@op.jit
def _brighten(made: Vector, row: F32Vector) -> None:
    """As `brightness_row` does."""
    factor, most = row[0], row[2]
    for k in range(made.size):
        made[k] = clamp(np.float32(made[k]) * factor, most)


@op.jit
def _saturate(made: Vector, pixel: int, step: int, row: F32Vector) -> None:
    """As `saturation_row` does."""
    factor, rest, most = row[0], row[1], row[2]
    whole = most > np.float32(1.0)
    for k in range(made.size // 3):
        at = k * pixel
        gray = luma(made, at, step)
        if whole:
            gray = np.floor(gray)
        for c in range(3):
            value = np.float32(made[at + c * step]) * factor
            made[at + c * step] = clamp(fused(gray, rest, value), most)


@op.jit
def _turn(made: Vector, pixel: int, step: int, row: F32Vector) -> None:
    """As `hue_row` does."""
    turn, most = row[0], row[2]
    scale = back = np.float32(1.0)
    if most > np.float32(1.0):
        scale, back = BYTE, TO_BYTE
    for k in range(made.size // 3):
        at = k * pixel
        red = np.float32(made[at]) * scale
        green = np.float32(made[at + step]) * scale
        blue = np.float32(made[at + 2 * step]) * scale
        red, green, blue = turned(red, green, blue, turn)
        made[at] = red * back
        made[at + step] = green * back
        made[at + 2 * step] = blue * back


def _ordered(call: op.Call) -> tuple[op.Int64Array, Array]:
    """(N, S): the numbers of the steps in their order, and their factors, float32."""
    numbers = np.atleast_1d(np.asarray(call["steps"], np.int64))
    table = np.array([*permutations(range(len(numbers)))], np.int64)
    order = np.asarray(call["order"], np.int64)
    bad = (order < 0) | (order >= len(table))
    op.refuse_samples(bad, "order", f"a number from 0 to {len(table) - 1}", order)
    places = table[order].reshape(call.size, len(numbers))
    factors = np.empty((call.size, len(numbers)), np.float32)
    given = call["factors"]
    for sample in range(call.size):
        if given[sample].size not in (1, len(numbers)):
            expected = f"{len(numbers)} numbers, as many as steps"
            raise op.wrong_value("factors", expected, given[sample].size, sample=sample)
        factors[sample] = given[sample]
    turns = numbers == _HUE
    with np.errstate(invalid="ignore"):
        fit = np.where(turns, np.abs(factors) <= 0.5, (factors >= 0) & np.isfinite(factors))
    expected = "numbers from 0 on; that of the hue from -0.5 to 0.5"
    op.refuse_samples(~fit.all(axis=1), "factors", expected, lambda i: str(factors[i].tolist()))
    return numbers[places], np.take_along_axis(factors, places, axis=1)


@jitter_colors.cpu
def _cpu(call: op.Call) -> None:
    steps, factors = _ordered(call)
    if call["compat"] == "torchvision":
        rows = np.empty((*steps.shape, 3), np.float32)
        rows[..., 0], rows[..., 1] = factors, 1.0 - factors.astype(np.float64)
        rows[..., 2] = largest(call)
        call.for_slabs(_jitter_samples, planes_of(call), steps, rows)
    else:
        planes_of(call, tuple(_MODES))
        _run_pillow(call, steps, factors)


def _run_pillow(call: op.Call, steps: op.Int64Array, factors: Array) -> None:
    """The kernel that calls Pillow, as torchvision does for its images."""
    source, target = call.inputs[0], call.outputs[0]

    def make(sample: int) -> None:
        if not target.array(sample).size:
            return
        frames = frames_of(source.array(sample), target.layout)
        for one, made in zip(frames, frames_of(target.array(sample), target.layout), strict=True):
            pixels = np.ascontiguousarray(one[..., 0] if one.shape[2] == 1 else one)
            image = pillow.fromarray(pixels)
            for number, factor in zip(
                steps[sample].tolist(), factors[sample].tolist(), strict=True
            ):
                image = _changed(image, number, factor)
            made[...] = np.asarray(image).reshape(made.shape)

    call.each_sample(make, source.batch_shape.volumes.tolist())


def _changed(image: Any, number: int, factor: float) -> Any:
    if number != _HUE:
        return getattr(_enhance, _ENHANCERS[number])(image).enhance(factor)
    if image.mode == "L":
        return image
    hues, saturations, values = image.convert("HSV").split()
    turned_hues = np.asarray(hues) + np.array(int(factor * 255)).astype(np.uint8)
    parts = (pillow.fromarray(turned_hues), saturations, values)
    return pillow.merge("HSV", parts).convert(image.mode)


jitter_colors.libraries = compat_libraries


@jitter_colors.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3))
    planes = op.samples((3, 4, 5), (3, 2, 2), layout="CHW", dtype=op.float32)
    every: dict[str, Any] = {"steps": (0, 1, 2, 3), "factors": [1.2, 0.7, 1.5, 0.1]}
    halves = [(images.at(i) * np.float32(0.5)).astype(np.uint8) for i in range(3)]
    clear = op.samples((4, 5, 4), (3, 2, 4))
    return [
        op.case("nothing", images, steps=(0, 2)).equals(images.arrays()).no_oracle(),
        op.case("half", images, steps=0, factors=0.5).equals(halves).no_oracle(),
        op.case("orders", images, **every, order=[0, 5, 23]).no_oracle(),
        op.case("planes", planes, **every, order=[3, 17]).no_oracle(),
        op.case("of Pillow", images, **every, order=[0, 5, 23], compat="pil").no_oracle(),
        op.case("transparency", clear, **every, order=9, compat="pil").no_oracle(),
        op.case("gray", op.samples((3, 4, 1)), **every).no_oracle(),
        op.case("sequence", op.samples((2, 4, 5, 3), layout="FHWC"), **every).no_oracle(),
        op.case("empty", op.samples(), **every).equals([]).no_oracle(),
        op.case("channels", op.samples((2, 2, 4)), **every).value_error("channels"),
        op.case("twice", images, steps=(1, 1)).value_error("`steps`"),
        op.case("no such order", images, steps=(1, 2), order=2).value_error("`order`"),
        op.case("half a turn", images, steps=3, factors=0.6).value_error("`factors`"),
        op.case("two factors", images, steps=(0, 1, 2), factors=(1.0, 2.0)).value_error(
            "`factors`"
        ),
    ]
