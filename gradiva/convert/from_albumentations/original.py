"""How Albumentations runs its transforms, for reports and for steps in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.convert.core.step import Array, Original
from gradiva.eager.support.lazy_import import lazy_module

from .nodes import Node

if TYPE_CHECKING:
    albumentations: Any
else:
    albumentations = lazy_module("albumentations")
metadata = lazy_module("importlib.metadata")

__all__ = ["leaf", "originals", "version"]


def version() -> str | None:
    """That of the installed package."""
    try:
        return str(metadata.version("albumentations"))
    except metadata.PackageNotFoundError:
        return None


def theirs(node: Node) -> Any:
    """The transform itself."""
    if node.object is not None:
        return node.object
    return albumentations.from_dict({"transform": node.stored()})


def leaf(node: Node) -> Callable[[Any], Any]:
    """A transform as a function of one image, which is always applied."""
    made: list[Any] = []

    def run(image: Any) -> Any:
        if not made:
            made.append(theirs(node))
        return made[0](image=image, force_apply=True)["image"]

    return run


def originals(node: Node) -> Original:
    """How Albumentations runs all of it on an image."""
    return Original("albumentations", version, lambda image: image, _array, _whole(node))


def _whole(node: Node) -> Callable[[Any], Any]:
    made: list[Any] = []

    def run(image: Any) -> Any:
        if not made:
            given = node.object if node.object is not None else theirs(node)
            made.append(given)
        return made[0](image=image)["image"]

    return run


def _array(value: Any, layout: str) -> Array:
    found = np.asarray(value)
    # Some normalizations of uint8 are float64 with NumPy 2, and float32 with NumPy 1.
    return found.astype(np.float32) if found.dtype == np.float64 else found
