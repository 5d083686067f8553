"""What is known about images while transforms of torchvision are converted; how these run."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.convert.core.calls import call
from gradiva.convert.core.rules import Rules
from gradiva.convert.core.step import Array, Original
from gradiva.convert.core.writer import Writer
from gradiva.eager.support.lazy_import import lazy_module

if TYPE_CHECKING:
    import PIL.Image as pil
    import torch
else:
    pil = lazy_module("PIL.Image", "pillow")
    torch = lazy_module("torch")

__all__ = ["RULES", "Images", "originals", "title_of"]

_TITLE = 200


class Images(Writer):
    """kind: "pil" or "tensor": what the images are in torchvision after the steps so far.

    Until tensors leave the function they are HWC here, which is faster, and the division by 255
    waits for a Normalize, with which it is one call: `scale`.
    """

    def __init__(self, fallback: str | None, kind: str) -> None:
        super().__init__("convert.torchvision", fallback, RULES.supported())
        self.kind = kind
        self._waiting: tuple[list[str], list[Callable[[Any], Any]], float] | None = None

    @property
    def compat(self) -> str:
        """The `compat` that gives the bits of torchvision for such images."""
        return "pil" if self.kind == "pil" else "torchvision"

    def scaled(self, title: str, original: Callable[[Any], Any], scale: float) -> None:
        """The images become floats: values times `scale`."""
        self.flush()
        self._waiting = [title], [original], scale
        self.kind, self.dtype = "tensor", "float32"

    def normalized(
        self, title: str, original: Callable[[Any], Any], mean: list[float], std: list[float]
    ) -> None:
        """Subtract a mean and divide by a deviation, for each channel."""
        titles, originals, scale = self._waiting or ([], [], 1.0)
        self._waiting = None
        self._rescale([*titles, title], [*originals, original], scale, mean=mean, std=std)

    def flush(self) -> None:
        """Write what waits."""
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            self._rescale(*waiting)

    def _rescale(
        self,
        titles: list[str],
        originals: list[Callable[[Any], Any]],
        scale: float,
        **arguments: Any,
    ) -> None:
        given: Any = ... if scale == 1 / 255 else scale
        line = call("gradiva.rescale_normalize", "images", **arguments, rescale=given)
        self.step(", ".join(titles), f"images = {line}", original=_chain(originals))

    def finish(self) -> None:
        """Tensors leave the function as CHW."""
        self.flush()
        if self.kind == "tensor" and self.layout == "HWC":
            self.layout = "CHW"
            line = call("gradiva.transpose", "images", perm=[2, 0, 1])
            self.step("tensors are CHW", f"images = {line}", original=lambda value: value)


RULES: Rules[Images] = Rules("torchvision")
"""How each transform is converted; the modules beside this one declare the rules."""


def _chain(functions: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        for function in functions:
            value = function(value)
        return value

    return run


def title_of(transform: Any) -> str:
    """A transform as it shows itself, in one line."""
    text = " ".join(repr(transform).split()).replace("( ", "(").replace(" )", ")")
    return text if len(text) <= _TITLE else text[: _TITLE - 3] + "..."


def originals(transform: Callable[[Any], Any], kind: str) -> Original:
    """How torchvision runs the transform on images of Pillow, or on tensors."""
    return Original(
        package="torchvision",
        version=_version,
        begin=_picture if kind == "pil" else _tensor,
        array=_array,
        whole=transform,
    )


def _version() -> str | None:
    try:
        return importlib.metadata.version("torchvision")
    except importlib.metadata.PackageNotFoundError:
        return None


def _picture(image: Array) -> Any:
    return pil.fromarray(np.ascontiguousarray(image))


def _tensor(image: Array) -> Any:
    return torch.from_numpy(np.ascontiguousarray(np.moveaxis(image, -1, -3)))


def _array(value: Any, layout: str) -> Array:
    if hasattr(value, "getbands"):
        pixels = np.asarray(value)
        return pixels[..., None] if pixels.ndim == 2 else pixels
    planes = np.asarray(value)
    return np.moveaxis(planes, -3, -1) if layout.endswith("C") else planes
