"""Flips and warps."""

from __future__ import annotations

from typing import Any

from gradiva.convert.core.calls import Name, call

from .sizes import any_of, fill_of, interpolation
from .values import BATCH, RULES, Images, is_v2, refuse, title_of

__all__ = ["warp_options"]

_FILTERS = {
    "nearest": Name("types.INTERP_NN"),
    "bilinear": Name("types.INTERP_LINEAR"),
    "bicubic": Name("types.INTERP_CUBIC"),
}


def warp_options(writer: Images, filter: Any, fill: Any) -> dict[str, Any]:
    """Filter, fill value and `compat` of a warp. Raises NoCounterpartError."""
    name = interpolation(filter)
    refuse(name not in _FILTERS, f"{name} has no counterpart")
    refuse(name == "bicubic" and writer.kind == "tensor", "torchvision has no bicubic for tensors")
    options: dict[str, Any] = {"interp_type": _FILTERS[name] if name != "bilinear" else ...}
    if fill is not None:
        value = fill_of(fill)
        # Without a fill value pixels at the border of tensors are mixed with black once; with one
        # twice. Nothing is mixed in images of Pillow.
        options["fill_value"] = value if writer.kind == "tensor" or any_of(value) else ...
    options["compat"] = writer.compat
    return options


_PLACES = "places are rounded in another order: some pixels of a million differ"


@RULES.rule("RandomHorizontalFlip", "RandomVerticalFlip", calls="`flip`")
def _flip(writer: Images, transform: Any) -> None:
    writer.flush()
    chance = writer.chance(transform.p)
    coin: Any = 1 if chance is None else chance
    if type(transform).__name__ == "RandomHorizontalFlip":
        line = call("gradiva.flip", "images", horizontal=coin)
    else:
        line = call("gradiva.flip", "images", horizontal=0, vertical=coin)
    writer.step(
        title_of(transform), f"images = {line}", original=transform, random=chance is not None
    )


@RULES.rule(
    "RandomRotation",
    calls="`rotate(compat=...)`; with a color outside: `affine(compat=...)`",
    exactness="exact; a color around images of Pillow: some pixels of a million differ",
)
def _rotation(writer: Images, transform: Any) -> None:
    writer.flush()
    low, high = transform.degrees
    options = warp_options(writer, transform.interpolation, transform.fill)
    center = None if transform.center is None else [float(one) for one in transform.center]
    placed = {"center": ... if center is None else center, **options}
    bound: float | None = 0.0
    note = ""
    if isinstance(options.get("fill_value"), list):  # `rotate` has one value for all channels
        refuse(transform.expand, "a fill value for each channel, with `expand`")
        line = call("gradiva.affine", "images", angle=writer.uniform(-high, -low), **placed)
        if writer.kind == "pil":
            bound, note = None, _PLACES
    else:
        keep = ... if transform.expand else True
        angle = writer.uniform(low, high)
        line = call("gradiva.rotate", "images", angle=angle, keep_size=keep, **placed)
    writer.step(
        title_of(transform),
        f"images = {line}",
        original=transform,
        random=low != high,
        bound=bound,
        note=note,
    )
    writer.least = (1, 1) if transform.expand else writer.least


@RULES.rule(
    "RandomAffine",
    calls="`affine(compat=...)`",
    exactness="exact; v1 with images of Pillow: some pixels of a million differ",
)
def _affine(writer: Images, transform: Any) -> None:
    writer.flush()
    options = warp_options(writer, transform.interpolation, transform.fill)
    lines: list[str] = []
    arguments: dict[str, Any] = {"angle": writer.uniform(*transform.degrees)}
    drawn = transform.degrees[0] != transform.degrees[1]
    if transform.translate is not None and any(transform.translate):
        drawn = True
        sizes, moved = writer.name("size"), writer.name("translate")
        across, down = (float(part) for part in transform.translate)
        lines.append(f"{sizes} = {call('gradiva.shapes', 'images')}")
        parts = [
            f"gradiva.math.floor({writer.uniform(-part, part)} * {sizes}.slice[{axis}] + 0.5)"
            if part
            else f"{sizes}.slice[{axis}] * 0.0"
            for part, axis in ((across, 1), (down, 0))
        ]
        lines.append(f"{moved} = {call('gradiva.stack', *parts)}")
        arguments["translate"] = Name(moved)
    if transform.scale is not None:
        arguments["scale"] = writer.uniform(*transform.scale)
        drawn = drawn or transform.scale[0] != transform.scale[1]
    if transform.shear is not None:
        shear = [float(one) for one in transform.shear]
        drawn = drawn or shear[0] != shear[1] or shear[2:3] != shear[3:4]
        arguments["shear"] = writer.uniform(shear[0], shear[1])
        if len(shear) == 4:
            parts = [arguments["shear"], writer.uniform(shear[2], shear[3])]
            if shear[0] == shear[1] or shear[2] == shear[3]:
                # A number beside a value for each image becomes one, too.
                zero = f"0 * {writer.uniform(0, 1)}"
                parts = [f"{part} + {zero}" for part in parts]
            arguments["shear"] = Name(call("gradiva.stack", *parts))
            drawn = True
    if transform.center is not None:
        arguments["center"] = [float(one) for one in transform.center]
    line = call("gradiva.affine", "images", **arguments, **options)
    old = writer.kind == "pil" and not is_v2(transform)
    writer.step(
        title_of(transform),
        *lines,
        f"images = {line}",
        original=transform,
        random=drawn,
        bound=None if old else 0.0,
        note=_PLACES if old else "",
    )


@RULES.rule("RandomPerspective", calls="`perspective(compat=...)`")
def _perspective(writer: Images, transform: Any) -> None:
    writer.flush()
    options = warp_options(writer, transform.interpolation, transform.fill)
    part = float(transform.distortion_scale)
    lines = [
        f"size = {call('gradiva.shapes', 'images')}",
        "height, width = size.slice[0], size.slice[1]",
        "zero = width * 0",
        "right, low = width - 1, height - 1",
        f"move = {call('random.uniform', range=(0.0, 1.0), shape=8, batch_size=BATCH)}",
        # From 0 to this, each whole number as likely.
        f"across = gradiva.math.floor({part!r} * (width // 2)) + 1",
        f"down = gradiva.math.floor({part!r} * (height // 2)) + 1",
        "x = [gradiva.math.floor(move.slice[k] * across) for k in (0, 2, 4, 6)]",
        "y = [gradiva.math.floor(move.slice[k] * down) for k in (1, 3, 5, 7)]",
        "images = "
        + call(
            "gradiva.perspective",
            "images",
            startpoints=Name("gradiva.stack(zero, zero, right, zero, right, low, zero, low)"),
            endpoints=Name(
                "gradiva.stack("
                "x[0], y[0], right - x[1], y[1], right - x[2], low - y[2], x[3], low - y[3])"
            ),
            **options,
        ),
    ]
    if transform.p < 1:
        writer.with_chance(title_of(transform), transform.p, lines, transform)
    else:
        writer.step(title_of(transform), *lines, original=transform, random=True)
