"""Colors, filters and random erasing."""

from __future__ import annotations

import itertools
from typing import Any

from gradiva.convert.core.calls import Name, call, written

from .values import BATCH, RULES, Images, is_v2, refuse, title_of

__all__: list[str] = []

_OPERATORS = ("brightness", "contrast", "saturation", "hue")
_FLOATS = {"contrast": 2e-7}
"""How far the results for floats from 0 to 1 are from those of torch."""
_OLD_ROUNDING = {"saturation", "hue", "autocontrast", "adjustsharpness"}
"""Operators that v1 computes for tensors with other roundings than v2: one step may differ."""


@RULES.rule(
    "ColorJitter",
    calls="`brightness`, `contrast`, `saturation`, `hue` with `compat=...`, in a random order",
    exactness="exact for uint8; v1 with tensors: within one step; floats of 0 to 1: within 2e-7",
)
def _color_jitter(writer: Images, transform: Any) -> None:
    writer.flush()
    ranges = {name: getattr(transform, name) for name in _OPERATORS}
    ranges = {name: limits for name, limits in ranges.items() if limits is not None}
    if writer.channels == 1:  # then torchvision leaves colors as they are
        ranges = {name: limits for name, limits in ranges.items() if name in _OPERATORS[:2]}
    drawn = any(low != high for low, high in ranges.values())
    values = {}
    for name, (low, high) in ranges.items():
        turn = 360.0 if name == "hue" else 1.0
        values[name] = writer.uniform(low * turn, high * turn)
    lines: list[str] = []
    if len(ranges) > 1:
        lines = _in_random_order(writer, values)
    else:
        for name, value in values.items():
            line = call(f"gradiva.{name}", "images", **{name: value}, compat=writer.compat)
            lines.append(f"images = {line}")
    writer.step(
        title_of(transform),
        *lines,
        original=transform,
        random=drawn or len(ranges) > 1,
        bound=_bound(writer, transform, list(ranges)),
    )


def _bound(writer: Images, transform: Any, names: list[str]) -> float:
    """The largest difference of operators of these names."""
    if writer.kind == "tensor" and not is_v2(transform) and not _OLD_ROUNDING.isdisjoint(names):
        return 1.0 if writer.dtype == "uint8" else 1e-6
    return max(_FLOATS.get(name, 0.0) for name in names) if writer.dtype == "float32" else 0.0


def _in_random_order(writer: Images, values: dict[str, Name]) -> list[str]:
    """Lines that draw a value for each operator, and an order of them for each image."""
    factors = ", ".join(values)
    lines = [f"{name} = {value}" for name, value in values.items()]
    functions = []
    for name in values:
        line = call(f"gradiva.{name}", "images", **{name: Name(name)}, compat=writer.compat)
        functions.append(f"    lambda images, {factors}: {line},\n")
    lines.append(f"jitters = [\n{''.join(functions)}]")
    lines.extend(order_lines(writer, len(values)))
    turn = call("select", "jitters", "turn", "images", *values)
    lines.append(f"for turn in turns:\n    images = {turn}")
    return lines


def order_lines(writer: Images, count: int) -> list[str]:
    """Lines that draw an order of so many things for each image: `turns` is a list, which of them
    is the first, the second and so on."""
    orders = list(itertools.permutations(range(count)))
    drawn = call(
        "random.uniform",
        values=Name(f"[*range({len(orders)})]"),
        dtype=Name("types.INT32"),
        batch_size=BATCH,
    )
    places = written([[order[turn] for order in orders] for turn in range(count)])
    looked = call(
        "gradiva.lookup_table",
        "order",
        keys=Name(f"range({len(orders)})"),
        values=Name("place"),
        dtype=Name("types.INT32"),
    )
    return [f"order = {drawn}", f"places = {places}", f"turns = [{looked} for place in places]"]


@RULES.rule("Grayscale", calls="`color_space_conversion(compat=...)`; three channels: `saturation`")
def _grayscale(writer: Images, transform: Any) -> None:
    writer.flush()
    if writer.channels == 1 and transform.num_output_channels == 1:
        writer.step(title_of(transform), original=transform)
        return
    refuse(writer.channels != 3, "the images have one channel")
    if transform.num_output_channels == 1:
        line = call(
            "gradiva.color_space_conversion",
            "images",
            image_type=Name("types.RGB"),
            output_type=Name("types.GRAY"),
            compat=writer.compat,
        )
        writer.channels = 1
    else:
        line = call("gradiva.saturation", "images", saturation=0.0, compat=writer.compat)
    writer.step(title_of(transform), f"images = {line}", original=transform)


@RULES.rule("RandomGrayscale", calls="`saturation(compat=...)`")
def _random_grayscale(writer: Images, transform: Any) -> None:
    writer.flush()
    if writer.channels == 1:
        writer.step(title_of(transform), original=transform)
        return
    chance = writer.chance(transform.p)
    factor: Any = 0.0 if chance is None else Name(f"1.0 - {chance}")
    line = call("gradiva.saturation", "images", saturation=factor, compat=writer.compat)
    writer.step(
        title_of(transform), f"images = {line}", original=transform, random=chance is not None
    )


@RULES.rule("RGB", calls="nothing, for images of three channels")
def _rgb(writer: Images, transform: Any) -> None:
    writer.flush()
    refuse(writer.channels != 3, "the images have one channel")
    writer.step(title_of(transform), original=transform)


@RULES.rule("RandomInvert", calls="`255 - images`; floats `1 - images`")
def _invert(writer: Images, transform: Any) -> None:
    writer.flush()
    top = "np.uint8(255)" if writer.dtype == "uint8" else "np.float32(1)"
    writer.with_chance(title_of(transform), transform.p, [f"images = {top} - images"], transform)


@RULES.rule("RandomPosterize", calls="`posterize`")
def _posterize(writer: Images, transform: Any) -> None:
    writer.flush()
    refuse(writer.dtype != "uint8", f"it takes uint8, and here the images are {writer.dtype}")
    line = call("gradiva.posterize", "images", bits=int(transform.bits))
    writer.with_chance(title_of(transform), transform.p, [f"images = {line}"], transform)


@RULES.rule("RandomSolarize", calls="`solarize`")
def _solarize(writer: Images, transform: Any) -> None:
    writer.flush()
    line = call("gradiva.solarize", "images", threshold=float(transform.threshold))
    writer.with_chance(title_of(transform), transform.p, [f"images = {line}"], transform)


@RULES.rule(
    "RandomAdjustSharpness",
    "RandomAutocontrast",
    "RandomEqualize",
    calls="`sharpness(compat=...)`, `autocontrast(compat=...)`, `equalize(compat=...)`",
    exactness="exact; the first two of v1 with tensors: within one step",
)
def _enhance(writer: Images, transform: Any) -> None:
    writer.flush()
    name = type(transform).__name__
    if name == "RandomAdjustSharpness":
        factor = float(transform.sharpness_factor)
        line = call("gradiva.sharpness", "images", sharpness=factor, compat=writer.compat)
    elif name == "RandomAutocontrast":
        line = call("gradiva.autocontrast", "images", compat=writer.compat)
    else:
        refuse(writer.dtype != "uint8", f"it takes uint8, and here the images are {writer.dtype}")
        line = call("gradiva.equalize", "images", compat=writer.compat)
    bound = _bound(writer, transform, [name.removeprefix("Random").lower()])
    lines = [f"images = {line}"]
    writer.with_chance(title_of(transform), transform.p, lines, transform, bound=bound)


@RULES.rule(
    "GaussianBlur",
    calls='`gaussian_blur(compat="torchvision")`',
    exactness="uint8: within one step; floats of 0 to 1: within 1e-6",
)
def _blur(writer: Images, transform: Any) -> None:
    writer.flush()
    across, down = (int(side) for side in transform.kernel_size)
    low, high = transform.sigma
    line = call(  # torchvision blurs images of Pillow as tensors
        "gradiva.gaussian_blur",
        "images",
        window_size=across if across == down else [down, across],
        sigma=writer.uniform(low, high),
        compat="torchvision",
    )
    writer.step(
        title_of(transform),
        f"images = {line}",
        original=transform,
        random=low != high,
        bound=1.0 if writer.dtype == "uint8" else 1e-6,
    )


@RULES.rule("GaussianNoise", calls="`noise.gaussian`, `math.clamp`")
def _noise(writer: Images, transform: Any) -> None:
    writer.flush()
    refuse(writer.dtype != "float32", f"it takes floats, and here the images are {writer.dtype}")
    line = call(
        "gradiva.noise.gaussian",
        "images",
        mean=float(transform.mean),
        stddev=float(transform.sigma),
    )
    lines = [f"images = {line}"]
    if transform.clip:
        lines.append("images = gradiva.math.clamp(images, 0, 1)")
    writer.step(title_of(transform), *lines, original=transform, random=True)


@RULES.rule("RandomErasing", calls="`random_erasing`")
def _erasing(writer: Images, transform: Any) -> None:
    writer.flush()
    refuse(writer.kind == "pil", "it takes tensors, and here the images are of Pillow")
    value = transform.value
    options: dict[str, Any] = {}
    if value is None or isinstance(value, str):
        refuse(writer.dtype != "float32", "random values for images of uint8")
        options["fill"] = "pixel"
    else:
        values = [float(value)] if isinstance(value, int | float) else [float(v) for v in value]
        if any(values):
            options["fill_value"] = values if len(values) > 1 else values[0]
    low, high = transform.ratio
    line = call(
        "gradiva.random_erasing",
        "images",
        probability=float(transform.p),
        random_area=tuple(float(one) for one in transform.scale),
        # Height by width there, width by height here.
        random_aspect_ratio=(1 / high, 1 / low),
        **options,
    )
    writer.step(title_of(transform), f"images = {line}", original=transform, random=True)
