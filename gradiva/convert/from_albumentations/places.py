"""The transforms that move pixels."""

from __future__ import annotations

from typing import Any, Final

from gradiva.convert.core.calls import Name, call, written
from gradiva.convert.core.writer import NoCounterpartError

from .images import RULES, Images, literal
from .nodes import Node
from .older import renamed
from .settings import told

__all__ = ["apply"]

_FILTERS: Final = {
    0: "INTERP_NN",
    1: "INTERP_LINEAR",
    2: "INTERP_CUBIC",
    3: "INTERP_TRIANGULAR",
    4: "INTERP_LANCZOS3",
}
"""OpenCV's interpolations by their numbers, as `resize(compat="opencv")` names them."""


def fixed(value: Any) -> bool:
    """Whether a range has one number; of settings with an axis each, whether all have."""
    if isinstance(value, dict):
        return all(map(fixed, value.values()))
    if isinstance(value, list) and value and isinstance(value[0], list):
        return all(map(fixed, value))
    return value is None or (isinstance(value, list) and value[0] == value[-1])


def apply(writer: Images, node: Node, random: bool) -> None:
    """Write a call of `apply`. random: whether it draws values where it is applied."""
    writer.settings(node)
    if writer.dtype not in ("uint8", "float32"):
        raise NoCounterpartError(f"the images are {writer.dtype} then")
    if writer.layout != "HWC":
        raise NoCounterpartError("the images are no longer HWC then")
    given = {
        name: literal(value)
        for name, value in told(node.name, renamed(node.name, node.arguments)).items()
    }
    chance = writer.chance(node)
    arguments = {**given, "p": ... if chance == 1 else chance, **writer.gate_arguments()}
    inputs = [written(node.name), *writer.values]
    line = f"{', '.join(writer.values)} = {call('apply', *inputs, **arguments)}"
    writer.add(node, line, random=random or chance < 1 or not writer.alone)


def _moves(node: Node, writer: Images) -> None:
    """Refuse what boxes cannot follow. Raises NoCounterpartError."""
    if writer.targets and node.arguments.get("rotate_method") == "ellipse":
        raise NoCounterpartError('targets do not follow `rotate_method="ellipse"`')


@RULES.rule("HorizontalFlip", "VerticalFlip", calls="`flip`")
def _flip(writer: Images, node: Node) -> None:
    chance = writer.chance(node)
    if not writer.alone or writer.layout != "HWC":
        apply(writer, node, False)
        return
    coin: Any = 1
    if chance < 1:
        size = Name("images.batch_size")
        coin = Name(call("random.coin_flip", probability=chance, batch_size=size))
    flips = {"horizontal": ... if chance == 1 else coin}
    if node.name == "VerticalFlip":
        flips = {"horizontal": 0, "vertical": coin}
    writer.add(node, writer.moving("gradiva.flip", **flips), random=chance < 1)


@RULES.rule("Resize", calls='`resize(compat="opencv")`')
def _resize(writer: Images, node: Node) -> None:
    settings = writer.settings(node)
    filter = _FILTERS.get(settings["interpolation"])
    plain = settings["area_for_downscale"] is None and filter is not None
    if not plain or not writer.alone or writer.chance(node) < 1 or writer.layout != "HWC":
        apply(writer, node, False)
        return
    how: Any = ... if filter == "INTERP_LINEAR" else Name(f"types.{filter}")
    size = settings["height"], settings["width"]
    line = writer.moving("gradiva.resize", size=size, interp_type=how, compat="opencv")
    writer.add(node, line, random=False)


@RULES.rule("CenterCrop", calls="`crop`")
def _center_crop(writer: Images, node: Node) -> None:
    settings = writer.settings(node)
    if (
        settings["pad_if_needed"]
        or not writer.alone
        or writer.chance(node) < 1
        or writer.layout != "HWC"
    ):
        apply(writer, node, settings["pad_position"] == "random")
        return
    size = settings["height"], settings["width"]
    writer.add(node, writer.moving("gradiva.crop", crop=size, rounding="truncate"), random=False)


@RULES.rule("Crop", "Pad", "PadIfNeeded", "Transpose", calls="`apply`")
def _window(writer: Images, node: Node) -> None:
    settings = writer.settings(node)
    places = settings.get("pad_position"), settings.get("position")
    apply(writer, node, "random" in places)


@RULES.rule("LongestMaxSize", "SmallestMaxSize", calls="`apply`")
def _by_side(writer: Images, node: Node) -> None:
    sides = writer.settings(node)["max_size"]
    apply(writer, node, isinstance(sides, list) and len(set(sides)) > 1)


@RULES.rule(
    *("RandomCrop", "RandomSizedCrop", "RandomResizedCrop", "RandomRotate90", "D4"),
    *("SquareSymmetry",),
    calls="`apply`",
)
def _random_place(writer: Images, node: Node) -> None:
    if node.name == "SquareSymmetry":
        node = Node("D4", node.arguments, node.p, (), node.object)
    apply(writer, node, True)


@RULES.rule("RandomScale", calls="`apply`")
def _random_scale(writer: Images, node: Node) -> None:
    apply(writer, node, not fixed(writer.settings(node)["scale_limit"]))


@RULES.rule("Rotate", "SafeRotate", calls="`apply`")
def _rotate(writer: Images, node: Node) -> None:
    _moves(node, writer)
    apply(writer, node, not fixed(writer.settings(node)["limit"]))


@RULES.rule("Affine", "ShiftScaleRotate", calls="`apply`")
def _affine(writer: Images, node: Node) -> None:
    _moves(node, writer)
    settings = writer.settings(node)
    names = ("scale", "translate_percent", "translate_px", "rotate", "shear")
    apply(writer, node, not all(fixed(settings[name]) for name in names))


@RULES.rule("Perspective", calls="`apply`")
def _perspective(writer: Images, node: Node) -> None:
    apply(writer, node, True)
