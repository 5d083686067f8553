"""What is known about images while transforms of torchvision are converted; how these run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.convert.core.calls import Name, call, function
from gradiva.convert.core.rules import Rules
from gradiva.convert.core.step import Array, Original
from gradiva.convert.core.writer import NoCounterpartError, Writer
from gradiva.eager.support.lazy_import import lazy_module

if TYPE_CHECKING:
    import PIL.Image as pil
    import torch
else:
    pil = lazy_module("PIL.Image", "pillow")
    torch = lazy_module("torch")
metadata = lazy_module("importlib.metadata")

__all__ = ["BATCH", "RULES", "Images", "is_v2", "originals", "title_of", "to_array"]

BATCH = Name("images.batch_size")
_TITLE = 200
_LAYOUTS = {"HWC": ("CHW", [2, 0, 1]), "FHWC": ("CFHW", [3, 0, 1, 2])}
"""By the layout of images and of videos here: that of tensors, and how to get it."""


class Images(Writer):
    """kind: "pil" or "tensor": what the images are in torchvision after the steps so far.

    Until tensors leave the function they are HWC here, which is faster, and the division by 255
    waits for a Normalize, with which it is one call. least: the least height and width that the
    images can have.
    """

    def __init__(self, fallback: str | None, kind: str) -> None:
        super().__init__("convert.torchvision", fallback, RULES.supported())
        self.kind = kind
        self.least = (1, 1)
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
        self, title: str, original: Callable[[Any], Any], mean: Sequence[Any], std: Sequence[Any]
    ) -> None:
        """Subtract a mean and divide by a deviation, one or one for each channel."""
        titles, steps, scale = self._waiting or ([], [], 1.0)
        self._waiting = None
        given = {"mean": _plain(mean), "std": _plain(std)}
        self._rescale([*titles, title], [*steps, original], scale, **given)

    def flush(self) -> None:
        """Write what waits."""
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            self._rescale(*waiting)

    def _rescale(
        self, titles: list[str], steps: list[Callable[[Any], Any]], scale: float, **arguments: Any
    ) -> None:
        given: Any = ... if scale == 1 / 255 else scale
        line = call("gradiva.rescale_normalize", "images", **arguments, rescale=given)
        self.step(", ".join(titles), f"images = {line}", original=_chain(steps))

    def finish(self) -> None:
        """Tensors leave the function with the channels first."""
        self.flush()
        if self.kind == "tensor" and self.layout in _LAYOUTS:
            self.layout, order = _LAYOUTS[self.layout]
            line = call("gradiva.transpose", "images", perm=order)
            self.step(f"tensors are {self.layout}", f"images = {line}", original=_same)

    def uniform(self, low: float, high: float) -> Name:
        """An expression that draws a value for each image; a number where there is one only, which
        is then of float32 in torchvision, too."""
        low, high = float(low), float(high)
        if low == high:
            return Name(repr(float(np.float32(low))))
        drawn = call("random.uniform", range=(low, high), batch_size=BATCH)
        return Name(drawn)

    def chance(self, p: float) -> Name | None:
        """An expression that is 1 with this probability, for each image; None if it always is."""
        if p >= 1:
            return None
        return Name(call("random.coin_flip", probability=float(p), batch_size=BATCH))

    def with_chance(
        self, title: str, p: float, lines: Sequence[str], original: Any, **facts: Any
    ) -> None:
        """A step that is done with a probability; the lines change `images`, and keep their dtype
        and number of channels."""
        chance = self.chance(p)
        if chance is None:
            self.step(title, *lines, original=original, **facts)
            return
        name = self.name("applied")
        defined = function(name, ["images"], lines, "images")
        chosen = f"images = {call('select', f'[lambda images: images, {name}]', chance, 'images')}"
        self.step(title, "", defined, "", chosen, original=original, random=True, **facts)


RULES: Rules[Images] = Rules("torchvision")
"""How each transform is converted; the modules beside this one declare the rules."""


def _chain(functions: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        for one in functions:
            value = one(value)
        return value

    return run


def _same(value: Any) -> Any:
    return value


def _plain(values: Any) -> list[float]:
    return [float(value) for value in np.ravel(values)]


def is_v2(transform: Any) -> bool:
    """Whether it is one of `torchvision.transforms.v2`, whose arithmetic on tensors differs."""
    return ".v2." in type(transform).__module__


def title_of(transform: Any) -> str:
    """A transform as it shows itself, in one line."""
    text = " ".join(repr(transform).split()).replace("( ", "(").replace(" )", ")")
    return text if len(text) <= _TITLE else text[: _TITLE - 3] + "..."


def originals(transform: Callable[[Any], Any], kind: str) -> Original:
    """How torchvision runs the transform on images of Pillow, or on tensors."""
    return Original(
        package="torchvision",
        version=_version,
        begin=picture if kind == "pil" else tensor,
        array=to_array,
        whole=transform,
    )


def _version() -> str | None:
    try:
        return str(metadata.version("torchvision"))
    except metadata.PackageNotFoundError:
        return None


def picture(image: Array) -> Any:
    """An image of Pillow."""
    pixels = image[..., 0] if image.shape[-1] == 1 else image
    return pil.fromarray(np.ascontiguousarray(pixels))


def tensor(image: Array) -> Any:
    """A tensor with the channels before height and width."""
    return torch.from_numpy(np.ascontiguousarray(np.moveaxis(image, -1, -3)))


def to_array(value: Any, layout: str) -> Array:
    """An image of Pillow or a tensor as an array of this layout."""
    if hasattr(value, "getbands"):
        pixels = np.asarray(value)
        return pixels[..., None] if pixels.ndim == 2 else pixels
    planes = np.asarray(value)
    return np.moveaxis(planes, -3, -1) if layout.endswith("C") else planes


def refuse(condition: bool, reason: str) -> None:
    """Raise NoCounterpartError with the reason if the condition holds."""
    if condition:
        raise NoCounterpartError(reason)
