"""One transform after the other, and those that run in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradiva.convert.core.step import Array
from gradiva.convert.core.writer import NoCounterpartError

from .values import RULES, Images, picture, tensor, title_of, to_array

__all__ = ["flattened", "name_of", "write"]

_CONTAINERS = {"Compose", "Sequential", "ModuleList"}


def name_of(transform: Any) -> str:
    """The name of a transform; of others than torchvision's own, with their module."""
    kind = type(transform)
    if kind.__module__.startswith("torchvision.transforms"):
        return kind.__name__
    return f"{kind.__module__}.{kind.__name__}"


def flattened(transform: Any) -> list[Any]:
    """The transforms of a Compose, an `nn.Sequential` or a list, in their order."""
    name = type(transform).__name__
    if isinstance(transform, list | tuple):
        return [one for part in transform for one in flattened(part)]
    if name in _CONTAINERS and type(transform).__module__.startswith(("torchvision.", "torch.")):
        parts = getattr(transform, "transforms", None)
        return flattened(list(transform if parts is None else parts))
    return [transform]


def write(writer: Images, transform: Any) -> None:
    """Write the steps of one transform. Raises OperatorTypeError where it has no counterpart."""
    try:
        RULES.write(writer, name_of(transform), transform)
    except NoCounterpartError as reason:
        if writer.fallback is not None:
            writer.flush()
        _in_python(writer, transform, str(reason))


def _in_python(writer: Images, transform: Any, reason: str) -> None:
    """The transform itself, in `python_function`, which takes and gives arrays."""
    begin: Callable[[Array], Any] = picture if writer.kind == "pil" else tensor
    layout = writer.layout

    def run(image: Array) -> Array:
        return np.ascontiguousarray(to_array(transform(begin(image)), layout))

    run.__name__ = name_of(transform).rpartition(".")[2]
    if writer.fallback is not None:
        _look_at(writer, transform, begin)
    writer.without_counterpart(title_of(transform), reason, run, original=transform, bound=None)


def _look_at(writer: Images, transform: Any, begin: Callable[[Array], Any]) -> None:
    """What the transform makes of a small image: its kind, dtype and channels."""
    dtype = np.uint8 if writer.dtype == "uint8" else np.float32
    frames = (2,) if writer.layout.startswith("F") else ()
    value = transform(begin(np.zeros((*frames, 64, 64, writer.channels or 3), dtype)))
    made = to_array(value, writer.layout)
    writer.kind = "pil" if hasattr(value, "getbands") else "tensor"
    writer.dtype, writer.channels = made.dtype.name, made.shape[-1]
    writer.least = (1, 1)
