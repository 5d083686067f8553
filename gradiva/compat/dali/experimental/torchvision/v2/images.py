"""Images of Pillow and tensors of torch as batches, and results as what was given."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradiva.eager.support.errors import (
    OperatorTypeError,
    OperatorValueError,
    describe,
    user_location,
)
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.device import DeviceLike
from gradiva.eager.values.batch import Batch, as_batch

__all__ = ["Given", "as_images", "as_pillow", "is_pillow", "is_torch", "torch"]

pillow: Any = lazy_module("PIL.Image", "pillow")
torch: Any = lazy_module("torch", "torch")

_CHANNELS = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4}
"""Of the modes of Pillow that transforms take."""


def is_pillow(value: Any) -> bool:
    """Whether it is an image of Pillow. Pillow is not imported for that."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(value, module.Image)


def is_torch(value: Any) -> bool:
    """Whether it is a tensor of torch, which is not imported for that."""
    module = sys.modules.get("torch")
    return module is not None and isinstance(value, module.Tensor)


@dataclass(frozen=True)
class Given:
    """What a transform was called with: the form of its result.

    listed: a list of images, and not one; lead: the axes of a tensor before those of an image;
    likeness: the class of `tv_tensors` that the tensors are of, None for plain ones.
    """

    listed: bool = False
    lead: tuple[int, ...] = ()
    likeness: Any = None

    def results(self, batch: Batch, pure: bool = False) -> Any:
        """The images of a batch in that form; pure: tensors are plain ones.

        Raises OperatorValueError for images of several sizes that must be one tensor.
        """
        if batch.layout == "HWC":
            images = [as_pillow(pixels) for pixels in batch.cpu().arrays()]
            return images if self.listed or len(images) != 1 else images[0]
        plain = torch.Tensor
        likeness = plain if pure else self.likeness or plain
        if self.listed:
            return [_like(one.torch(), likeness) for one in batch]
        if len(batch) > 1 and not batch.batch_shape.uniform:
            raise OperatorValueError(
                "the results have different shapes, and so are no tensor",
                operator="torchvision",
                expected="one shape; give a list of images to get a list",
                got=str(batch.shape[:2])[:-1] + (", ...]" if len(batch) > 2 else "]"),
                location=user_location(),
            )
        result = batch.torch()
        return _like(result.reshape(*self.lead, *result.shape[1:]), likeness)


def _like(tensor: Any, likeness: Any) -> Any:
    return tensor if type(tensor) is likeness else tensor.as_subclass(likeness)


def as_pillow(pixels: Any) -> Any:
    """An image of Pillow of uint8 pixels (H, W, C)."""
    array = np.asarray(pixels)
    if array.dtype != np.uint8 or array.shape[2] not in _CHANNELS.values():
        raise OperatorTypeError(
            "these values are no image of Pillow",
            operator="torchvision",
            expected="uint8, with 1 to 4 channels",
            got=f"{array.dtype}, with {array.shape[2]} channels",
            location=user_location(),
        )
    return pillow.fromarray(np.ascontiguousarray(array[..., 0] if array.shape[2] == 1 else array))


def as_images(value: Any, device: DeviceLike = "cpu") -> tuple[Batch, Given]:
    """What a transform is called with as a batch: one image of Pillow, a tensor (..., C, H, W), or
    a list of images of Pillow or of tensors (C, H, W).

    Raises OperatorTypeError for anything else, OperatorValueError for modes of Pillow that
    transforms do not take.
    """
    listed = isinstance(value, list | tuple)
    images: Sequence[Any] = value if listed else [value]
    if images and all(is_pillow(one) for one in images):
        batch = as_batch([_pixels_of(one) for one in images], layout="HWC")
        given = Given(listed)
    elif images and all(is_torch(one) for one in images):
        batch, given = _batch_of_tensors(value, images, listed)
    else:
        raise _wrong(value)
    return batch.to_device(device) if str(device) != "cpu" or not _on_cpu(batch) else batch, given


def _on_cpu(batch: Batch) -> bool:
    return batch.device.device_type == "cpu"


def _pixels_of(image: Any) -> Any:
    if image.mode not in _CHANNELS:
        raise OperatorValueError(
            f"mode {image.mode} of Pillow is not supported",
            operator="torchvision",
            expected=f"one of {', '.join(_CHANNELS)}; image.convert('RGB') makes it one",
            got=image.mode,
            location=user_location(),
        )
    array = np.array(image)
    return array[..., None] if array.ndim == 2 else array


def _batch_of_tensors(value: Any, images: Sequence[Any], listed: bool) -> tuple[Batch, Given]:
    for one in images:
        if one.ndim < 3 or (listed and one.ndim != 3):
            raise OperatorTypeError(
                "this tensor is no image",
                operator="torchvision",
                expected="(C, H, W)" if listed else "(..., C, H, W)",
                got=f"the shape {tuple(one.shape)}",
                location=user_location(),
            )
    likeness = _likeness(images[0])
    if listed:
        planes = [one.detach().contiguous() for one in images]
        return as_batch(planes, layout="CHW"), Given(True, (), likeness)
    tensor = value.detach()
    flat = tensor.reshape(-1, *tensor.shape[-3:]).contiguous()
    return as_batch(flat, layout="CHW"), Given(False, tuple(tensor.shape[:-3]), likeness)


def _likeness(tensor: Any) -> Any:
    """Its class, if that is one of torchvision's for images and videos."""
    kind = type(tensor)
    if not kind.__module__.startswith("torchvision.tv_tensors"):
        return None
    if kind.__name__ not in ("Image", "Video"):
        raise _wrong(tensor)
    return kind


def _wrong(value: Any) -> OperatorTypeError:
    return OperatorTypeError(
        operator="torchvision",
        argument="input",
        expected="an image of Pillow, a tensor of torch (..., C, H, W), or a list of either",
        got=describe(value),
        location=user_location(),
    )
