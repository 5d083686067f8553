"""Resize and the transforms that are made of it, crops and pads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradiva.convert.core.calls import Name, call

from .values import BATCH, RULES, Images, is_v2, refuse, title_of

__all__ = ["center_crop", "interpolation", "resize"]

_BY_NUMBER = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}
_FILTERS = {
    "nearest": Name("types.INTERP_NN"),
    "bilinear": Name("types.INTERP_LINEAR"),
    "bicubic": Name("types.INTERP_CUBIC"),
    "lanczos": Name("types.INTERP_LANCZOS3"),
}
_ROUNDED = "images = images + np.float32(12582912) - np.float32(12582912)  # halves to even"
"""1.5 * 2**23: next to it float32 has whole numbers alone, to which sums are rounded."""
FLOAT_BOUNDS = {"nearest": 0.0, "bilinear": 5e-7, "bicubic": 2e-6}
"""How far resized floats from 0 to 1 are from those of torch."""


def interpolation(value: Any) -> str:
    """The name of an interpolation, which v2 keeps as a text or a number, too."""
    if isinstance(value, int):
        return _BY_NUMBER.get(value, str(value))
    return str(getattr(value, "value", value))


def filter_of(writer: Images, transform: Any) -> Name:
    """The filter of a resize. Raises NoCounterpartError."""
    name = interpolation(transform.interpolation)
    if name == "nearest-exact" and writer.kind == "pil":
        name = "nearest"  # Pillow has one only
    refuse(name not in _FILTERS, f"{name} has no counterpart")
    refuse(name == "lanczos" and writer.kind == "tensor", "lanczos has no counterpart for tensors")
    return _FILTERS[name]


def resize(
    writer: Images,
    title: str,
    original: Callable[[Any], Any],
    called: str,
    transform: Any,
    random: bool = False,
    before: Sequence[str] = (),
    **arguments: Any,
) -> None:
    """A call of a resize with the arithmetic that torchvision has for these images.

    transform: has `interpolation` and, for tensors, `antialias`. before: lines that come first.
    """
    writer.flush()
    filter = filter_of(writer, transform)
    options: dict[str, Any] = {"compat": writer.compat}
    if filter != _FILTERS["bilinear"]:
        options["interp_type"] = filter
    nearest = filter == _FILTERS["nearest"]
    smooth = writer.kind == "pil" or nearest or getattr(transform, "antialias", True) is True
    if not smooth:
        options["antialias"] = False
    line = f"images = {call(called, 'images', **arguments, **options)}"
    facts: dict[str, Any] = {"original": original, "random": random}
    if writer.kind == "pil" or nearest:
        writer.step(title, *before, line, **facts)
    elif writer.dtype == "float32":
        name = interpolation(transform.interpolation)
        writer.step(title, *before, line, **facts, bound=FLOAT_BOUNDS[name])
    elif is_v2(transform):
        writer.step(title, *before, line, **facts)
    else:
        # The transforms of v1 resize tensors as floats, and round halves to even.
        floats = call("gradiva.cast", "images", dtype=Name("types.FLOAT"))
        back = call("gradiva.cast", "images", dtype=Name("types.UINT8"))
        writer.step(
            title,
            *before,
            f"images = {floats}",
            line,
            _ROUNDED,
            f"images = {back}",
            **facts,
            bound=1.0,
            note="one step in a few values of 100,000: the sums of torch have another order",
        )


@RULES.rule(
    "Resize",
    calls="`resize(compat=...)`",
    exactness="exact for uint8; v1 with tensors: within one step; floats of 0 to 1: within 2e-6",
)
def _resize(writer: Images, transform: Any) -> None:
    size, longest = transform.size, getattr(transform, "max_size", None)
    sides = [size] if isinstance(size, int) else None if size is None else [int(s) for s in size]
    if sides is None:
        arguments: dict[str, Any] = {"resize_longer": int(longest or 0)}
        writer_least = (1, 1)
    elif len(sides) == 1:
        arguments = {"resize_shorter": sides[0]}
        writer_least = (sides[0], sides[0])
        if longest is not None:
            arguments["max_size"] = int(longest)
            writer_least = (1, 1)
    else:
        arguments = {"size": (sides[0], sides[1])}
        writer_least = (sides[0], sides[1])
    resize(writer, title_of(transform), transform, "gradiva.resize", transform, **arguments)
    writer.least = writer_least


@RULES.rule("RandomResize", "RandomShortestSize", calls="`resize(compat=...)`")
def _random_size(writer: Images, transform: Any) -> None:
    longest = getattr(transform, "max_size", None)
    arguments: dict[str, Any] = {}
    if type(transform).__name__ == "RandomResize":
        numbers: Sequence[int] = range(transform.min_size, transform.max_size)
        longest = None
    else:
        numbers = [int(size) for size in transform.min_size]
    values = [float(number) for number in numbers]
    refuse(len(values) > 4096, "more than 4096 sizes")
    arguments["resize_shorter"] = Name(
        call("random.uniform", values=values, batch_size=BATCH) if len(values) > 1 else values[0]
    )
    if longest is not None:
        arguments["max_size"] = int(longest)
    resize(
        writer,
        title_of(transform),
        transform,
        "gradiva.resize",
        transform,
        random=len(values) > 1,
        **arguments,
    )
    writer.least = (1, 1)


@RULES.rule(
    "RandomResizedCrop",
    calls="`random_resized_crop(compat=...)`",
    exactness="the resize as for Resize; where ten drawn windows do not fit, the one in the middle "
    "may begin one pixel later",
)
def _random_resized_crop(writer: Images, transform: Any) -> None:
    size = pair(transform.size)
    arguments: dict[str, Any] = {"size": size}
    if tuple(transform.scale) != (0.08, 1.0):
        arguments["random_area"] = tuple(float(one) for one in transform.scale)
    if tuple(transform.ratio) != (3 / 4, 4 / 3):
        arguments["random_aspect_ratio"] = tuple(float(one) for one in transform.ratio)
    resize(
        writer,
        title_of(transform),
        transform,
        "gradiva.random_resized_crop",
        transform,
        random=True,
        **arguments,
    )
    writer.least = size


def pair(size: Any) -> tuple[int, int]:
    """Height and width of one number or two."""
    sides = [int(size)] if isinstance(size, int) else [int(side) for side in size]
    return sides[0], sides[-1]


@RULES.rule("CenterCrop", calls='`crop(rounding="torchvision")`')
def _center_crop(writer: Images, transform: Any) -> None:
    center_crop(writer, title_of(transform), transform, pair(transform.size))


def center_crop(
    writer: Images, title: str, original: Callable[[Any], Any], size: tuple[int, int]
) -> None:
    """A window in the middle, with black where the image is smaller."""
    writer.flush()
    fits = writer.least[0] >= size[0] and writer.least[1] >= size[1]
    line = call(
        "gradiva.crop",
        "images",
        crop=size,
        rounding="torchvision",
        out_of_bounds_policy=... if fits else "pad",
    )
    writer.step(title, f"images = {line}", original=original)
    writer.least = size


@RULES.rule("RandomCrop", calls='`pad`, `crop(rounding="equal")`')
def _random_crop(writer: Images, transform: Any) -> None:
    writer.flush()
    size = pair(transform.size)
    mode, fill = transform.padding_mode, fill_of(transform.fill)
    lines = []
    if transform.padding:
        padding = transform.padding
        if is_v2(transform):  # it keeps left, right, top, bottom
            padding = [padding[0], padding[2], padding[1], padding[3]]
        lines.extend(pad_lines(writer, transform, padding))
    options: dict[str, Any] = {}
    if transform.pad_if_needed:
        refuse(mode != "constant", f'pad_if_needed with padding_mode="{mode}" has no counterpart')
        options = {"out_of_bounds_policy": "pad", "fill_values": fill if any_of(fill) else ...}
    line = call(
        "gradiva.crop",
        "images",
        crop=size,
        crop_pos_x=writer.uniform(0, 1),
        crop_pos_y=writer.uniform(0, 1),
        rounding="equal",
        **options,
    )
    lines.append(f"images = {line}")
    writer.step(title_of(transform), *lines, original=transform, random=True)
    writer.least = size


@RULES.rule("Pad", calls="`pad`", exactness="exact")
def _pad(writer: Images, transform: Any) -> None:
    writer.flush()
    lines = pad_lines(writer, transform, transform.padding)
    writer.step(title_of(transform), *lines, original=transform)


@RULES.rule("RandomZoomOut", calls='`crop(out_of_bounds_policy="pad")`')
def _zoom_out(writer: Images, transform: Any) -> None:
    writer.flush()
    low, high = transform.side_range
    fill = fill_of(transform.fill)
    chance = writer.chance(transform.p)
    side = writer.uniform(low - 1, high - 1)
    line = call(
        "gradiva.crop",
        "images",
        crop_h=Name("gradiva.cast(size.slice[0], dtype=types.FLOAT) * side"),
        crop_w=Name("gradiva.cast(size.slice[1], dtype=types.FLOAT) * side"),
        crop_pos_x=writer.uniform(0, 1),
        crop_pos_y=writer.uniform(0, 1),
        rounding="truncate",
        out_of_bounds_policy="pad",
        fill_values=fill if any_of(fill) else ...,
    )
    writer.step(
        title_of(transform),
        f"size = {call('gradiva.shapes', 'images')}",
        f"side = 1.0 + {side}" + ("" if chance is None else f" * {chance}"),
        f"images = {line}",
        original=transform,
        random=True,
    )


@RULES.rule("ScaleJitter", calls="`resize(compat=...)`", exactness="the resize as for Resize")
def _scale_jitter(writer: Images, transform: Any) -> None:
    writer.flush()
    wide, high = (float(side) for side in transform.target_size)  # unlike all other sizes
    name = writer.name("scaled")
    before = [
        f"size = gradiva.cast({call('gradiva.shapes', 'images')}, dtype=types.FLOAT64)",
        "height, width = size.slice[0], size.slice[1]",
        f"scale = gradiva.math.min({high!r} / height, {wide!r} / width)",
        f"scale = scale * {writer.uniform(*transform.scale_range)}",
        f"{name} = gradiva.math.floor(gradiva.stack(height * scale, width * scale))",
    ]
    resize(
        writer,
        title_of(transform),
        transform,
        "gradiva.resize",
        transform,
        random=True,
        before=before,
        size=Name(f"gradiva.cast({name}, dtype=types.FLOAT)"),
    )
    writer.least = (1, 1)


def pad_lines(writer: Images, transform: Any, padding: Any) -> list[str]:
    """Lines that add a border. padding: one number, (x, y), or (left, top, right, bottom)."""
    mode, fill, new = transform.padding_mode, fill_of(transform.fill), is_v2(transform)
    sides = [int(padding)] if isinstance(padding, int) else [int(side) for side in padding]
    left, top, right, bottom = (sides * 4)[:4] if len(sides) < 4 else sides
    refuse(min(left, top, right, bottom) < 0, "negative padding has no counterpart")
    if mode == "constant" and isinstance(fill, list):
        refuse(writer.kind == "tensor" and not new, "v1 takes one fill value for tensors")
        # `pad` fills all channels with one number; a window that is larger than the image does not.
        refuse(
            (left, top) != (right, bottom),
            "a color around an image with borders of different widths",
        )
        sizes = writer.name("size")
        return [
            f"{sizes} = {call('gradiva.shapes', 'images')}",
            "images = "
            + call(
                "gradiva.crop",
                "images",
                crop_h=Name(f"gradiva.cast({sizes}.slice[0] + {2 * top}, dtype=types.FLOAT)"),
                crop_w=Name(f"gradiva.cast({sizes}.slice[1] + {2 * left}, dtype=types.FLOAT)"),
                out_of_bounds_policy="pad",
                fill_values=fill,
            ),
        ]
    same = len({left, top, right, bottom}) == 1
    line = call(
        "gradiva.pad",
        "images",
        axis_names="HW",
        before=top if same else [top, left],
        after=bottom if same else [bottom, right],
        mode=mode if mode != "constant" else ...,
        fill_value=fill if mode == "constant" and any_of(fill) else ...,
    )
    return [f"images = {line}"]


def fill_of(fill: Any) -> Any:
    """A fill value: one number, or a list with one for each channel. Raises NoCounterpartError."""
    if fill is None:
        return 0.0
    if isinstance(fill, dict):
        found = [one for kind, one in fill.items() if getattr(kind, "__name__", kind) == "Image"]
        found = found or [fill[kind] for kind in ("others",) if kind in fill]
        refuse(not found, "its `fill` says nothing about images")
        return fill_of(found[0])
    if isinstance(fill, int | float):
        return float(fill)
    values = [float(one) for one in fill]
    return values[0] if len(set(values)) == 1 else values


def any_of(fill: Any) -> bool:
    """Whether a fill value is not 0."""
    return any(fill) if isinstance(fill, list) else bool(fill)
