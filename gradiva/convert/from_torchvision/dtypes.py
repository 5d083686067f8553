"""From images to tensors, and normalization."""

from __future__ import annotations

from typing import Any

import numpy as np

from .values import RULES, Images, is_v2, refuse, title_of

__all__: list[str] = []

_V1_SCALE = 1 / 255
_V2_SCALE = float(np.float32(1 / 255))
"""v2 multiplies by this number; v1 divides by 255, which gives other bits."""


@RULES.rule("ToTensor", calls="`rescale_normalize`, `transpose`")
def _to_tensor(writer: Images, transform: Any) -> None:
    refuse(writer.kind == "tensor", "it takes images of Pillow, and here the images are tensors")
    writer.scaled(title_of(transform), transform, _V1_SCALE)


@RULES.rule("PILToTensor", "ToImage", calls="`transpose`")
def _to_image(writer: Images, transform: Any) -> None:
    writer.flush()
    refuse(
        writer.kind == "tensor" and type(transform).__name__ == "PILToTensor",
        "it takes images of Pillow, and here the images are tensors",
    )
    writer.kind = "tensor"
    writer.step(title_of(transform), original=transform)


@RULES.rule("ToPILImage", calls="nothing: images stay as they are")
def _to_pil(writer: Images, transform: Any) -> None:
    writer.flush()
    refuse(writer.kind == "pil", "it takes tensors, and here the images are of Pillow")
    refuse(writer.dtype != "uint8", "images of Pillow are uint8 here")
    writer.kind = "pil"
    writer.step(title_of(transform), original=transform)


@RULES.rule(
    "ConvertImageDtype", "ToDtype", calls="`rescale_normalize`", exactness="exact, to float32"
)
def _convert(writer: Images, transform: Any) -> None:
    dtype = transform.dtype
    if isinstance(dtype, dict):
        found = [one for kind, one in dtype.items() if getattr(kind, "__name__", "") == "Image"]
        refuse(not found, "its `dtype` says nothing about images")
        dtype = found[0]
    scale = getattr(transform, "scale", True)
    wanted = "" if dtype is None else str(dtype).removeprefix("torch.")
    refuse(writer.kind == "pil", "it takes tensors, and here the images are of Pillow")
    if wanted in ("", writer.dtype):
        writer.step(title_of(transform), original=transform)
        return
    refuse(wanted != "float32" or writer.dtype != "uint8", f"{writer.dtype} becomes {wanted}")
    factor = _V2_SCALE if is_v2(transform) else _V1_SCALE
    writer.scaled(title_of(transform), transform, factor if scale else 1.0)


@RULES.rule("Normalize", calls="`rescale_normalize`")
def _normalize(writer: Images, transform: Any) -> None:
    refuse(writer.kind == "pil", "it takes tensors, and here the images are of Pillow")
    refuse(writer.dtype != "float32", f"it takes floats, and here the images are {writer.dtype}")
    writer.normalized(title_of(transform), transform, transform.mean, transform.std)


@RULES.rule(
    "Identity",
    "ToPureTensor",
    "ClampBoundingBoxes",
    "ClampKeyPoints",
    "ConvertBoundingBoxFormat",
    "SanitizeBoundingBoxes",
    "SanitizeKeyPoints",
    "SetClampingMode",
    calls="nothing: they leave images as they are",
)
def _nothing(writer: Images, transform: Any) -> None:
    writer.step(title_of(transform), original=lambda value: value)
