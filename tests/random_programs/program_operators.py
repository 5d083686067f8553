"""The calls that random programs are made of: one line per operator.

A line is the operator, how often it is drawn relative to the others, and a rule for each argument:
a function of the drawer and of what is known of the image. Arguments are given at random, those
that are marked `always` in every call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

import gradiva
from gradiva import math, types
from tests.random_programs.programs import SIZE, Drawer, Facts, Ref

__all__ = ["OPERATORS", "OTHERS", "PHASES", "Always", "Line", "draw_decoded"]

Rule: TypeAlias = Callable[[Drawer, Facts], Any]


def number(low: float, high: float) -> Rule:
    """A number, perhaps one per sample."""
    return lambda draw, image: draw.number(low, high)


def flag(draw: Drawer, image: Facts) -> Any:
    """0 or 1, perhaps one per sample."""
    return draw.flag()


def one_of(*options: Any) -> Rule:
    """One of these, the same for all samples."""
    return lambda draw, image: draw.choice(*options)


class Always(NamedTuple):
    """An argument that is always given."""

    rule: Rule


class Line(NamedTuple):
    """One operator of the table; `more`: arguments that depend on each other."""

    operator: Any
    weight: float
    rules: dict[str, Rule | Always]
    more: Callable[[Drawer, Facts], dict[str, Any]] | None = None


FILTERS = (
    types.INTERP_NN,
    types.INTERP_LINEAR,
    types.INTERP_CUBIC,
    types.INTERP_LANCZOS3,
    types.INTERP_TRIANGULAR,
    types.INTERP_GAUSSIAN,
)


def _size(draw: Drawer, image: Facts) -> dict[str, Any]:
    """How large `resize` makes it, and of which region."""
    kind = draw.choice("size", "size", "one", "xy", "resize_shorter", "resize_longer", "negative")
    given: dict[str, Any] = {}
    side = number(4, 18)
    if kind == "size":
        given["size"] = (draw.random.randint(4, 18), draw.random.randint(4, 18))
    elif kind == "one":
        given["size"] = draw.random.randint(4, 18)
    elif kind == "negative":
        given["size"] = (draw.random.randint(4, 18), -draw.random.randint(4, 18))
    elif kind == "xy":
        given["resize_x"] = side(draw, image)
        if draw.chance(0.5):
            given["resize_y"] = side(draw, image)
        given["mode"] = draw.choice("default", "stretch", "not_larger", "not_smaller")
    else:
        given[kind] = side(draw, image)
        if draw.chance(0.3):
            given["max_size"] = 16
    if draw.chance(0.2):
        given["roi_start"], given["roi_end"] = draw.choice(
            ((0.1, 0.2), (0.9, 0.7)), ((0.8, 0.0), (0.1, 1.0)), ((-0.1, 0.0), (0.5, 1.2))
        )
        given["roi_relative"] = True
    return given


def _window(draw: Drawer, image: Facts) -> dict[str, Any]:
    """A window for `crop`: mostly within all samples."""
    policy = draw.choice("error", "error", "error", "pad", "trim_to_shape")
    room = 1.0 if policy == "error" else 1.4
    height = draw.random.randint(min(2, image.height), max(2, int(image.height * room)))
    width = draw.random.randint(min(2, image.width), max(2, int(image.width * room)))
    given: dict[str, Any] = {"crop": (height, width)}
    if draw.chance(0.3):
        given = {"crop_h": draw.number(2, height), "crop_w": draw.number(2, width)}
    for name in ("crop_pos_x", "crop_pos_y"):
        if draw.chance(0.6):
            given[name] = draw.number(0.0, 1.0)
    if draw.chance(0.2):
        given["rounding"] = "truncate"
    if policy != "error":
        given["out_of_bounds_policy"] = policy
        given["fill_values"] = draw.choice(0.0, 7.0, [5.0] * image.channels)
    return given


def _normalization(draw: Drawer, image: Facts) -> dict[str, Any]:
    given = _window(draw, image) if draw.chance(0.7) else {}
    layouts = {"HWC": ("CHW", "HWC", ""), "CHW": ("CHW", "HWC"), "FHWC": ("FCHW", "FHWC")}
    given["output_layout"] = draw.choice(*layouts.get(image.layout, ("CHW",)))
    if draw.chance(0.7):
        given["mean"] = [draw.random.uniform(0, 200) for _ in range(image.channels)]
        given["std"] = draw.choice([50.0] * image.channels, 60.0, [draw.random.uniform(1, 99)])
    elif draw.chance(0.3):
        given["mean"] = draw.number(10, 100)
    return given


def _order(draw: Drawer, image: Facts) -> dict[str, Any]:
    perm = draw.random.sample(range(image.ndim), image.ndim)
    return {"perm": (2, 0, 1) if image.layout == "HWC" and draw.chance(0.7) else perm}


def _drawn_window(files: Any) -> Any:
    """A random window of files, by way of the operator that draws windows."""
    anchor, extent = gradiva.random_crop_generator(gradiva.peek_image_shape(files))
    return gradiva.decoders.image_slice(files, anchor, extent, axes=(0, 1))


def draw_decoded(draw: Drawer, files: Ref) -> None:
    """Decode an input of files in one of the ways, mostly whole. Raises GradivaError."""
    kind = draw.random.random()
    given: dict[str, Any] = {}
    if draw.chance(0.3):
        given["output_type"] = draw.choice(types.BGR, types.GRAY, types.YCbCr, types.ANY_DATA)
    if draw.chance(0.2):
        given["dtype"] = draw.choice("float32", "int16")
    decoders = gradiva.decoders
    if kind < 0.7:
        draw.call("decoders.image", decoders.image, files, **given)
    elif kind < 0.8:
        window = {"crop": (5, 4), "crop_pos_x": draw.number(0, 1), "crop_pos_y": draw.number(0, 1)}
        draw.call("decoders.image_crop", decoders.image_crop, files, **window, **given)
    elif kind < 0.9:
        draw.call("decoders.image_random_crop", decoders.image_random_crop, files, **given)
    else:
        draw.call("random_crop_generator", _drawn_window, files)


DTYPES = ("uint8", "uint8", "uint8", "float32", "float32", "float32", "int16", "int16", "int32")
OPERATORS = (
    Line(
        gradiva.crop, 5, {"dtype": lambda draw, image: draw.choice(None, None, "float32")}, _window
    ),
    Line(gradiva.flip, 5, {"horizontal": flag, "vertical": flag}),
    Line(
        gradiva.brightness_contrast,
        7,
        {
            "brightness": number(0.5, 1.6),
            "contrast": number(0.4, 1.8),
            "brightness_shift": number(-0.3, 0.3),
            "contrast_center": number(0, 128),
            "dtype": one_of(None, None, "uint8", "float32"),
        },
    ),
    Line(
        gradiva.brightness,
        1,
        {
            "brightness": Always(number(0.5, 1.6)),
            "brightness_shift": number(-0.3, 0.3),
            "dtype": one_of(None, "float32"),
        },
    ),
    Line(
        gradiva.contrast,
        1,
        {"contrast": Always(number(0.4, 1.8)), "contrast_center": number(0, 200)},
    ),
    Line(gradiva.hue, 1, {"hue": Always(number(-90, 200)), "dtype": one_of("float32")}),
    Line(gradiva.saturation, 1, {"saturation": Always(number(0, 2))}),
    Line(
        gradiva.hsv,
        1.5,
        {
            "hue": number(-90, 90),
            "saturation": number(0, 2),
            "value": number(0.5, 1.5),
            "dtype": one_of("uint8", "float32"),
        },
    ),
    Line(
        gradiva.color_twist,
        2.5,
        {
            "brightness": number(0.5, 1.6),
            "contrast": number(0.4, 1.8),
            "hue": number(-90, 90),
            "saturation": number(0, 2),
            "dtype": one_of(None, "uint8", "float32"),
        },
    ),
    Line(
        gradiva.color_space_conversion,
        2,
        {
            "image_type": Always(one_of(types.RGB, types.BGR, types.YCbCr, types.GRAY)),
            "output_type": Always(one_of(types.RGB, types.BGR, types.YCbCr, types.GRAY)),
        },
    ),
    Line(
        gradiva.gaussian_blur,
        1,
        {
            "sigma": Always(number(0.3, 1.5)),
            "window_size": one_of(3, 5),
            "dtype": one_of(None, "float32"),
        },
    ),
    Line(
        gradiva.resize,
        6,
        {
            "interp_type": one_of(*FILTERS),
            "min_filter": one_of(*FILTERS),
            "mag_filter": one_of(None),
            "antialias": one_of(False, True),
            "dtype": one_of(None, "float32"),
            "subpixel_scale": one_of(False, True),
        },
        _size,
    ),
    Line(gradiva.cast, 3, {"dtype": Always(one_of(*DTYPES, "uint16", "int64", "float16", "bool"))}),
    Line(
        gradiva.crop_mirror_normalize,
        5,
        {
            "mirror": flag,
            "scale": one_of(1.0, 64.0),
            "shift": one_of(0.0, 100.0),
            "dtype": one_of("float32", "float32", "uint8", "float16"),
            "pad_output": one_of(False, False, True),
        },
        _normalization,
    ),
    Line(gradiva.transpose, 1.5, {}, _order),
    Line(
        gradiva.random_resized_crop,
        1,
        {
            "size": Always(one_of((8, 9), 7)),
            "interp_type": one_of(*FILTERS),
            "random_area": one_of((0.2, 0.9)),
            "dtype": one_of(None, "float32"),
        },
    ),
)


def _arithmetic(draw: Drawer) -> Ref:
    """An image with a number, a value per sample, noise or itself."""
    image = draw.image()
    name, function = draw.choice(
        ("add", lambda x, y: x + y),
        ("sub", lambda x, y: x - y),
        ("mul", lambda x, y: x * y),
        ("div", lambda x, y: x / y),
        ("fdiv", lambda x, y: x // y),
        ("less", lambda x, y: x < y),
        ("math.min", math.min),
        ("math.max", math.max),
        ("math.atan2", math.atan2),
    )
    kind = draw.random.random()
    if kind < 0.4:
        other: Any = draw.choice(2, 3, 0.5, 1.5, np.float32(0.1), np.int16(5))
    elif kind < 0.6:
        other = draw.number(0.5, 2.0)
    elif kind < 0.8:
        noise = gradiva.random.normal
        deviation = draw.random.choice((1.0, 5.0))
        other = draw.call("random.normal", noise, image, stddev=deviation)
    else:
        other = draw.call("flip", gradiva.flip, image, horizontal=draw.flag())
    return draw.call(name, function, image, other)


def _function(draw: Drawer) -> Ref:
    name = draw.choice("sqrt", "exp", "sin", "floor", "abs", "tanh", "cbrt", "log2")
    return draw.call(f"math.{name}", getattr(math, name), draw.image())


def _subscript(draw: Drawer) -> Ref:
    image = draw.image()
    known = draw.facts[image.index]
    at = known.layout.index("H")
    rows = draw.choice(slice(1, None), slice(None, None, 2), slice(None, -1), slice(None, None, -1))
    before = (slice(None),) * at
    if draw.chance(0.3):
        part: Any = (*before, rows, slice(0, draw.random.randint(2, known.width)))
    elif draw.chance(0.3) and known.layout == "HWC":
        part = (..., draw.random.randrange(known.channels))
    elif draw.chance(0.4):
        flags = Ref(len(draw.program.turns[0]) - 1)
        chosen = draw.call("cast", gradiva.cast, flags, dtype="int64")
        return draw.call(
            "subscript", lambda x, n: x.slice[(*before, slice(n, None))], image, chosen
        )
    else:
        part = (*before, rows)
    return draw.call("subscript", lambda x: x.slice[part], image)


def _spare(draw: Drawer) -> Ref:
    """A random value that perhaps nobody reads, so that later calls have other numbers."""
    shape = draw.choice({}, {"shape": (2,)}, {"shape": [3, 1]})
    return draw.call("random.normal", gradiva.random.normal, batch_size=SIZE, **shape)


OTHERS = ((_arithmetic, 2.0), (_function, 0.7), (_subscript, 1.2), (_spare, 0.6))
PHASES = (
    (("crop", "flip"), 0.6),
    (("resize",), 0.6),
    (("crop", "flip"), 0.7),
    (("flip",), 0.3),
    (("brightness_contrast", "color_twist", "hsv", "contrast", "hue", "saturation", "brightness"),
     0.7),
    (("brightness_contrast", "color_space_conversion", "cast"), 0.5),
    (("crop",), 0.3),
    (("crop_mirror_normalize", "transpose"), 0.7),
)  # fmt: skip
"""A chain such as people write: operators of which one is drawn, and how often."""
