"""The calls in converted functions: a transform of Albumentations, and the choice of a container.

    images = apply("RandomBrightnessContrast", images, brightness_limit=(-0.2, 0.2), p=0.5)
    images, targets = apply("Rotate", images, targets, limit=(-30, 30))
    chosen = choose(images, kind="one", weights=(0.5, 0.5))
    images = apply("Blur", images, blur_limit=(3, 7), gates=chosen, place=0)

Arguments are those of Albumentations 2; what is left out has its default.
"""

from __future__ import annotations

import json
from typing import Any

from gradiva.eager.support.errors import OperatorValueError, user_location
from gradiva.ops.image.albumentations.choose import choose as draw_choice
from gradiva.ops.image.albumentations.draw import draw
from gradiva.ops.image.albumentations.geometry import RULES as PLACES
from gradiva.ops.image.albumentations.geometry import geometry
from gradiva.ops.image.albumentations.pixels import RULES as COLORS
from gradiva.ops.image.albumentations.pixels import pixels
from gradiva.ops.image.albumentations.recast import recast as change

from .settings import settings_for

__all__ = ["apply", "choose", "recast"]

# Images and targets may be of any kind here.
_draw: Any = draw
_draw_choice: Any = draw_choice
_change: Any = change
_OPERATORS: Any = (pixels, geometry)


def apply(
    name: str,
    images: Any,
    targets: Any = None,
    /,
    *,
    p: float = 1.0,
    gates: Any = None,
    place: int = 0,
    seed: int | None = None,
    **arguments: Any,
) -> Any:
    """Apply a transform of Albumentations to each image, with numbers drawn for it.

    Args:
        name: of the transform, as in Albumentations.
        images: uint8 or float32 of 0 to 1, HWC or HW.
        targets: `gradiva.Targets` that follow them.
        p: the probability that the transform is applied to an image.
        gates, place: what `choose` returned, and which transform of the container this is.
        seed: of the drawn numbers; by default those of gradiva's generator.
        arguments: of the transform, under the names of Albumentations 2.

    Returns:
        The images; with targets both.

    Raises:
        OperatorValueError: for unknown transforms and arguments.
        OperatorTypeError: for other dtypes and layouts.
    """
    if name not in PLACES and name not in COLORS:
        raise OperatorValueError(
            operator="convert.albumentations",
            argument="name",
            expected="a transform that gradiva has",
            got=repr(name),
            location=user_location(),
        )
    given = {"transform": name, "settings": json.dumps(settings_for(name, arguments))}
    drawing: dict[str, Any] = {"place": place, "probability": p}
    if seed is not None:
        drawing["seed"] = seed
    inputs = (images,) if gates is None else (images, gates)
    drawn = _draw(*inputs, **given, **drawing)
    operator = _OPERATORS[name in PLACES]
    if targets is None:
        return operator(images, drawn, **given)
    if name in PLACES:
        return operator(images, drawn, targets, **given)
    return operator(images, drawn, **given), targets


def choose(
    images: Any,
    /,
    *,
    kind: str,
    weights: tuple[float, ...],
    chosen: int = 1,
    p: float = 1.0,
    gates: Any = None,
    place: int = 0,
) -> Any:
    """Choose transforms of a container for each image; `gates` of `apply`.

    Args:
        images: which say how many samples there are.
        kind: "one" by its weight (OneOf), "some" different ones in their order (SomeOf), "again",
            which may be the same, "order" or "free", the same in a random order (RandomOrder).
        weights: of each transform.
        chosen: how many are applied.
        p: the probability that any are.
        gates, place: of a container around this one.

    Returns:
        For each image zeros and ones: of each transform whether it is applied; for "again" of each
        transform whether it is applied for the first, the second time and so on; for "order" and
        "free" of each step which transform it is.

    Raises:
        OperatorValueError: for arguments out of range.
    """
    inputs = (images,) if gates is None else (images, gates)
    settings: dict[str, Any] = {"kind": kind, "weights": weights, "chosen": chosen}
    return _draw_choice(*inputs, **settings, place=place, probability=p)


def recast(name: str, images: Any, /, **arguments: Any) -> Any:
    """Apply a transform that changes the dtype or the axes: "FromFloat", "Normalize" by the values
    of each image, "ToGray" to one channel.

    Args:
        name: of the transform.
        images: uint8 or float32, HWC or HW.
        arguments: of the transform, under the names of Albumentations 2.

    Returns:
        The images.

    Raises:
        OperatorTypeError: for other dtypes.
    """
    return _change(images, transform=name, settings=json.dumps(settings_for(name, arguments)))
