"""`gradiva.convert.torchvision`."""

from __future__ import annotations

from typing import Any

from gradiva.convert.core.converted import Converted, converted
from gradiva.eager.support.errors import (
    OperatorTypeError,
    OperatorValueError,
    describe,
    user_location,
)

from . import auto_augment, choices, colors, dtypes, mixing, presets, sizes, warps
from .steps import flattened, name_of, write
from .values import RULES, Images, originals, title_of

__all__ = ["RULES", "torchvision"]

_DECLARED = (dtypes, sizes, warps, colors, choices, auto_augment, mixing, presets)
"""The modules whose rules are declared by importing them."""
_TENSORS = {
    "ConvertImageDtype",
    "CutMix",
    "GaussianNoise",
    "LinearTransformation",
    "MixUp",
    "Normalize",
    "RandomErasing",
    "ToDtype",
    "ToPILImage",
    "VideoClassification",
}
"""Transforms that take tensors and no images of Pillow."""
_TO_TENSORS = {"PILToTensor", "ToImage", "ToTensor"}


def torchvision(
    transform: Any, *, backend: str | None = None, decode: bool = False, fallback: str | None = None
) -> Converted:
    """A transform of torchvision as a function of gradiva, which gives the same tensors.

    The function takes a batch of decoded images, uint8, HWC, RGB, at once, in captured loops and in
    pipelines. It returns what the transform returns: where that is tensors, the channels are first.

    transform: a transform of `torchvision.transforms` or `.v2`, a Compose, an `nn.Sequential` or a
        list of them, or what `weights.transforms()` returns.
    backend: what the transform is given in torchvision, whose results differ: "pil" images of
        Pillow, or "tensor" tensors of uint8. By default images of Pillow, unless the first step
        that takes only one of both takes tensors.
    decode: begin with the bytes of image files; in a pipeline, decoding and what follows are then
        one pass over each image.
    fallback: "python" runs steps without counterpart in `python_function`, which is slow; by
        default they are an error.

    Random steps draw from gradiva's generator, for each image: their distributions are those of
    torchvision, their values are not.

    Returns a Converted: a function with `.code()`, its source code, and `.report(images)`, which
    compares it with the transform, step by step.

    Raises OperatorTypeError for steps without counterpart, and for other objects; and
    OperatorValueError for other arguments.

    Example:
        prepare = gradiva.convert.torchvision(weights.transforms())
        tensors = prepare(gradiva.imread(["cat.jpg", "coffee.jpg"]))
    """
    if backend not in (None, "pil", "tensor"):
        raise OperatorValueError(
            operator="convert.torchvision",
            argument="backend",
            expected='None, "pil" or "tensor"',
            got=repr(backend),
            location=user_location(),
        )
    steps = flattened(transform)
    if not steps or not all(callable(step) for step in steps):
        raise OperatorTypeError(
            operator="convert.torchvision",
            argument="transform",
            expected="a transform of torchvision, a Compose or a list of transforms",
            got=describe(transform),
            location=user_location(),
        )
    kind = backend or _backend_of(steps)
    writer = Images(fallback, kind)
    for step in steps:
        write(writer, step)
    writer.finish()
    if decode and (writer.parameters[0] != "images" or "others" in writer.parameters):
        raise OperatorValueError(
            operator="convert.torchvision",
            argument="decode",
            expected="False, for a function of decoded " + " and ".join(writer.parameters),
            got="True",
            location=user_location(),
        )
    whole = transform if callable(transform) else _in_turn(steps)
    name = f"torchvision's {title_of(transform)}"
    return converted(name, writer, originals(whole, kind), decode)


def _backend_of(steps: list[Any]) -> str:
    """The `backend` that the first step needs which takes one kind of images only."""
    for step in steps:
        name = name_of(step)
        if name in _TENSORS:
            return "tensor"
        if name in _TO_TENSORS:
            return "pil"
    return "pil"


def _in_turn(steps: list[Any]) -> Any:
    def run(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return run
