"""AutoAugment, RandAugment and TrivialAugmentWide, with the arithmetic of torchvision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gradiva.convert.core.calls import Name, call

from .values import BATCH, RULES, Images, refuse, title_of
from .warps import warp_options

__all__: list[str] = []

_TO_DEGREES = "57.29577951308232"


@dataclass(frozen=True)
class _Space:
    """The strongest changes: of a shear, of a translation in pixels or (`relative`) as a part of
    the size, of a rotation in degrees, of factors, and of the number of bits."""

    shear: float
    translate: float
    relative: bool
    rotate: float
    factor: float
    bits: int


_PAPER = _Space(0.3, 150 / 331, True, 30.0, 0.9, 4)
_WIDE = _Space(0.99, 32.0, False, 135.0, 0.99, 6)
_NAMES = (
    *("Identity", "ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness"),
    *("Color", "Contrast", "Sharpness", "Posterize", "Solarize", "AutoContrast", "Equalize"),
    "Invert",
)
_CALLS = "`auto_aug.core.select` of `affine`, `rotate`, `brightness` and so on, with `compat=...`"


@RULES.rule("RandAugment", calls=_CALLS)
def _rand_augment(writer: Images, transform: Any) -> None:
    names = _NAMES[:-1]
    bins = int(transform.num_magnitude_bins)
    lines = _augmentations(writer, transform, _PAPER, names)
    lines.append(f"level = {int(transform.magnitude)} / {bins - 1}")
    turn = [f"which = {_drawn(len(names))}", *_turn("which")]
    lines.append(f"for _ in range({int(transform.num_ops)}):\n" + _indented(turn))
    writer.step(title_of(transform), *lines, original=transform, random=True)


@RULES.rule("TrivialAugmentWide", calls=_CALLS)
def _trivial_augment(writer: Images, transform: Any) -> None:
    names = _NAMES[:-1]
    bins = int(transform.num_magnitude_bins)
    lines = _augmentations(writer, transform, _WIDE, names)
    lines.append(f"level = {_drawn(bins, whole=False)} / {float(bins - 1)!r}")
    lines.extend([f"which = {_drawn(len(names))}", *_turn("which")])
    writer.step(title_of(transform), *lines, original=transform, random=True)


@RULES.rule("AutoAugment", calls=_CALLS)
def _auto_augment(writer: Images, transform: Any) -> None:
    policies = getattr(transform, "_policies", None) or transform.policies
    lines = _augmentations(writer, transform, _PAPER, _NAMES)
    lines.append(f"policy = {_drawn(len(policies))}")
    for turn in range(2):
        which = [_NAMES.index(policy[turn][0]) for policy in policies]
        chances = [float(policy[turn][1]) for policy in policies]
        levels = [(policy[turn][2] or 0) / 9 for policy in policies]
        lines.append(f"which = {_looked_up(which, whole=True)}")
        lines.append(f"chance = {_looked_up(chances)}")
        lines.append(f"level = {_looked_up(levels)}")
        coin = call("random.coin_flip", probability=Name("chance"), batch_size=BATCH)
        lines.append(f"which = which * {coin}  # 0 is no change")
        lines.extend(_turn("which"))
    writer.step(title_of(transform), *lines, original=transform, random=True)


def _augmentations(
    writer: Images, transform: Any, space: _Space, names: Sequence[str]
) -> list[str]:
    """Lines that define a list of functions: of images, of a level from 0 to 1, and of a sign."""
    writer.flush()
    refuse(writer.dtype != "uint8", f"it takes uint8, and here the images are {writer.dtype}")
    refuse(writer.channels != 3, "the images have one channel")
    options = warp_options(writer, transform.interpolation, transform.fill)
    bodies = {**_warped(space, options), **_colored(space, writer.compat)}
    bodies["Rotate"] = _rotated(space, options)
    functions = "".join(f"    lambda images, level, sign: {bodies[name]},\n" for name in names)
    return [f"augmentations = [\n{functions}]"]


def _warped(space: _Space, options: dict[str, Any]) -> dict[str, str]:
    shear = f"gradiva.math.atan({space.shear!r} * level) * {_TO_DEGREES} * sign"
    moves = []
    for axis in (1, 0):
        size = f" * gradiva.shapes(images).slice[{axis}]" if space.relative else ""
        moves.append(f"gradiva.math.floor({space.translate!r} * level{size}) * sign")
    corner = {"center": [0.0, 0.0]}

    def warped(**arguments: Any) -> str:
        text = call("gradiva.affine", "images", **arguments, **options)
        return text.replace("\n", "\n    ")

    return {
        "Identity": "images",
        "ShearX": warped(shear=Name(shear), **corner),
        "ShearY": warped(shear=Name(f"gradiva.stack(0.0 * sign, {shear})"), **corner),
        "TranslateX": warped(translate=Name(f"gradiva.stack({moves[0]}, 0.0 * sign)")),
        "TranslateY": warped(translate=Name(f"gradiva.stack(0.0 * sign, {moves[1]})")),
    }


def _rotated(space: _Space, options: dict[str, Any]) -> str:
    given = dict(options)
    angle = f"{space.rotate!r} * level * sign"
    if isinstance(given.get("fill_value"), list):  # `rotate` has one value for all channels
        text = call("gradiva.affine", "images", angle=Name(f"-({angle})"), **given)
    else:
        text = call("gradiva.rotate", "images", angle=Name(angle), keep_size=True, **given)
    return text.replace("\n", "\n    ")


def _colored(space: _Space, compat: str) -> dict[str, str]:
    factor = Name(f"1.0 + {space.factor!r} * level * sign")
    # In float32, next to 1.5 * 2**23, sums are rounded to whole numbers, halves to even.
    bits = Name(
        f"gradiva.cast(0.0 * sign + 8.0 - {space.bits}.0 * level + 12582912.0 - 12582912.0, "
        "dtype=types.INT32)"
    )
    threshold = Name("255.0 * (1.0 - level) + 0.0 * sign")
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "Brightness": ("brightness", {"brightness": factor, "compat": compat}),
        "Color": ("saturation", {"saturation": factor, "compat": compat}),
        "Contrast": ("contrast", {"contrast": factor, "compat": compat}),
        "Sharpness": ("sharpness", {"sharpness": factor, "compat": compat}),
        "Posterize": ("posterize", {"bits": bits}),
        "Solarize": ("solarize", {"threshold": threshold}),
        "AutoContrast": ("autocontrast", {"compat": compat}),
        "Equalize": ("equalize", {"compat": compat}),
    }
    made = {
        name: call(f"gradiva.{operator}", "images", **arguments).replace("\n", "\n    ")
        for name, (operator, arguments) in calls.items()
    }
    made["Invert"] = "np.uint8(255) - images"
    return made


def _drawn(count: int, whole: bool = True) -> str:
    """An expression that draws a number below this one for each image."""
    dtype = Name("types.INT32") if whole else ...
    values = Name(f"[*range({count})]")
    return call("random.uniform", values=values, dtype=dtype, batch_size=BATCH)


def _looked_up(values: Sequence[float], whole: bool = False) -> str:
    return call(
        "gradiva.lookup_table",
        "policy",
        keys=Name(f"range({len(values)})"),
        values=[float(value) for value in values],
        dtype=Name("types.INT32") if whole else ...,
    )


def _turn(which: str) -> list[str]:
    sign = call("random.uniform", values=[-1.0, 1.0], batch_size=BATCH)
    chosen = call("select", "augmentations", which, "images", "level", "sign")
    return [f"sign = {sign}", f"images = {chosen}"]


def _indented(lines: Sequence[str]) -> str:
    return "\n".join(f"    {line}" for text in lines for line in text.splitlines())
