"""What all transforms are: functions of batches, and steps of `Compose`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradiva.eager.support.errors import OperatorRuntimeError, user_location
from gradiva.eager.values.value import Value

from .arguments import mistaken, mistyped
from .pixels import Pixels, pixels_of

__all__ = ["Transform", "check_transforms"]


class Transform:
    """One step of `Compose`.

    A transform may also be called with a batch of gradiva, or with the symbol of one in a
    pipeline definition: images of layout HWC get the arithmetic that torchvision has for images of
    Pillow, those of layout CHW that for tensors.

    device: "cpu" or "gpu", where the images are when they come to this step.
    """

    def __init__(self, device: Any = "cpu") -> None:
        kind = str(getattr(device, "device_type", device)).partition(":")[0]
        if kind not in ("cpu", "gpu"):
            raise mistaken(self.title, "device", "'cpu' or 'gpu'", device)
        self.device = device
        self._place = kind

    @property
    def title(self) -> str:
        """The name that errors begin with."""
        return f"torchvision.{type(self).__name__}"

    def __call__(self, images: Any) -> Any:
        """The changed images, of a batch or the symbol of one.

        Raises OperatorRuntimeError for images of Pillow and tensors of torch, which `Compose`
        takes.
        """
        if not isinstance(images, Value):
            raise OperatorRuntimeError(
                "a transform is not called with images itself",
                operator=self.title,
                expected="a batch of gradiva; Compose([transform]) takes images of Pillow and "
                "tensors of torch",
                got=type(images).__name__,
                location=user_location(),
            )
        return self.apply(pixels_of(images, self.title)).data

    def apply(self, pixels: Pixels) -> Pixels:
        """The step itself, on the device of the transform."""
        if self._place == "gpu":
            pixels = pixels.with_(pixels.data.gpu())
        return self._changed(pixels)

    def _changed(self, pixels: Pixels) -> Pixels:
        raise NotImplementedError

    def __repr__(self) -> str:
        own = (f"{name}={value!r}" for name, value in vars(self).items() if name[:1] != "_")
        return f"{type(self).__name__}({', '.join(own)})"


def check_transforms(op_list: Any, title: str) -> list[Transform]:
    """The steps as a list. Raises OperatorTypeError for anything that is no transform of these."""
    expected = "a list of transforms of gradiva.experimental.torchvision"
    if isinstance(op_list, str) or not isinstance(op_list, Sequence):
        raise mistyped(title, "op_list", expected, op_list)
    for one in op_list:
        if not isinstance(one, Transform):
            theirs = type(one).__module__.startswith("torchvision.")
            hint = "; gradiva.convert.torchvision takes those of torchvision" if theirs else ""
            raise mistyped(title, "op_list", expected + hint, one)
    return list(op_list)
