"""From images to tensors, and normalization."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.convert.core.writer import NoCounterpartError

from .values import RULES, Images, title_of

__all__: list[str] = []

_V2_SCALE = float(np.float32(1 / 255))
"""v2 multiplies by this number; v1 divides by 255, which gives other bits."""


@RULES.rule("ToTensor", calls="`rescale_normalize`, `transpose`")
def _to_tensor(writer: Images, transform: Any) -> None:
    if writer.kind == "tensor" and "v2" not in type(transform).__module__:
        raise NoCounterpartError("it takes images of Pillow, and the images are tensors here")
    if writer.dtype != "uint8":
        raise NoCounterpartError(f"the images are {writer.dtype}")
    writer.scaled(title_of(transform), transform, 1 / 255)


@RULES.rule("Normalize", calls="`rescale_normalize`")
def _normalize(writer: Images, transform: Any) -> None:
    if writer.kind != "tensor" or writer.dtype != "float32":
        raise NoCounterpartError("it takes tensors of floats")
    mean, std = ([float(v) for v in np.ravel(one)] for one in (transform.mean, transform.std))
    writer.normalized(title_of(transform), transform, mean, std)
