"""`albumentations.recast`: the transforms that change the dtype or the axes of images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.opencv import cv2
from gradiva.eager.types.arrays import Array

from .colors import gray_plane
from .settings import Settings, image_type, settings_of
from .values import MOST_CHANNELS, channels, like, shades

_TINY: Final = 1e-4
_FAR: Final = 20
_WHOLE: Final = {"uint8": op.uint8, "uint16": op.uint16, "uint32": op.uint32}


def _from_float(image: Array, settings: Settings) -> Array:
    dtype: Any = np.dtype(settings["dtype"])
    wide = np.rint(image * np.float32(settings["max_value"]))
    return np.clip(wide, 0, np.iinfo(dtype).max).astype(dtype)


def _gray(image: Array, settings: Settings) -> Array:
    if channels(image) == 1:
        return image.reshape(image.shape[:2])
    return gray_plane(image, settings["method"])


def _tables(image: Array, low: Any, extent: Any, limited: bool) -> Array:
    """uint8 through (x - low) / extent; one number, or one for each channel."""
    tables = (shades() - np.reshape(low, (-1, 1))) / np.reshape(extent, (-1, 1))
    if limited:
        tables = tables.clip(-_FAR, _FAR)
    tables = tables.astype(np.float32)
    if len(tables) == 1:
        return like(cv2.LUT(image, tables[0]), image)
    planes = [cv2.LUT(np.ascontiguousarray(image[..., c]), one) for c, one in enumerate(tables)]
    return np.stack(planes, axis=-1)


def _normalize(image: Array, settings: Settings) -> Array:
    kind = settings["normalization"]
    if image.dtype == np.float32:
        return like(_of_floats(image, kind), image)
    each = kind.endswith("_per_channel") and channels(image) > 1
    axes: Any = (0, 1) if each else None
    if kind.startswith("image"):
        return _tables(image, image.mean(axis=axes), image.std(axis=axes) + _TINY, True)
    low, high = image.min(axis=axes), image.max(axis=axes)
    return _tables(image, low, (high - low) + _TINY, not each)


def _of_floats(image: Array, kind: str) -> Array:
    """The same by OpenCV."""
    each = kind.endswith("_per_channel") and channels(image) > 1
    low: Any
    extent: Any
    if not each and kind.startswith("min_max"):
        whole: Array = cv2.normalize(image, image.copy(), 0, 1, cv2.NORM_MINMAX, cv2.CV_32F)
        return whole
    if each and kind.startswith("image"):
        low, extent = (one[:, 0] for one in cv2.meanStdDev(image))
    elif each:
        low = image.min(axis=(0, 1))
        extent = image.max(axis=(0, 1)) - low + _TINY
    else:
        low, extent = image.mean().item(), image.std().item() + _TINY
    if channels(image) > MOST_CHANNELS:
        low, extent = (np.full_like(image, one) for one in (low, extent))
    made: Array = cv2.divide(cv2.subtract(image, low), extent, dtype=cv2.CV_32F)
    return np.clip(made, -_FAR, _FAR)


RULES: Final[dict[str, Callable[[Array, Settings], Array]]] = {
    "FromFloat": _from_float,
    "Normalize": _normalize,
    "ToGray": _gray,
}


@op.operator("albumentations.recast")
def recast(
    input: op.SampleType, /, *, transform: str, settings: str = "{}", **common: op.Unpack[op.Common]
) -> op.SampleType:
    """Apply a transform of Albumentations that changes the dtype or the axes of images.

    Args:
        input: uint8 or float32; HWC or HW.
        transform: "FromFloat", "Normalize" by the values of the image, or "ToGray" to one channel.
        settings: its arguments, as a JSON object.

    Returns:
        Images of the settings' dtype, of float32, or in the layout HW.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
        OperatorValueError: for unknown transforms and settings.

    Example:
        from gradiva.ops.image.albumentations.recast import recast

        settings = '{"dtype": "uint8", "max_value": 255.0}'
        recast(np.float32([[0, 1]]), transform="FromFloat", settings=settings)  # [[0, 255]]
    """
    if transform not in RULES:
        raise op.wrong_value("transform", "a known transform", repr(transform))
    given = settings_of(settings)
    if transform == "ToGray":
        return image_type(input).with_(ndim=2, layout="HW")
    if transform == "Normalize":
        return image_type(input).with_(dtype=op.float32)
    if given.get("dtype") not in _WHOLE:
        raise op.wrong_value("settings", f"a dtype of {', '.join(_WHOLE)}", repr(settings))
    return image_type(input, (op.float32,)).with_(dtype=_WHOLE[given["dtype"]])


recast.libraries = ("opencv-python-headless",)


@recast.shapes
def _shapes(call: op.Call) -> Any:
    shapes = call.inputs[0].batch_shape.shapes
    return shapes[:, :2] if call["transform"] == "ToGray" else shapes


recast.moves = op.IN_PLACE


@recast.cpu
def _cpu(call: op.Call) -> None:
    rule, settings = RULES[call["transform"]], settings_of(call["settings"])
    source, target = call.inputs[0], call.outputs[0]

    def run(sample: int) -> None:
        image = np.ascontiguousarray(source.array(sample))
        if image.size:
            target.array(sample)[...] = rule(image, settings)

    call.each_sample(run, source.batch_shape.volumes.tolist())


@recast.cases
def _cases() -> list[op.Case]:
    floats = op.samples((4, 5, 3), (2, 3, 3), dtype=op.float32)
    images = op.samples((4, 5, 3), (2, 3, 3))
    whole = [np.rint(one * np.float32(255)).astype(np.uint8) for one in floats.arrays()]
    bytes_ = '{"dtype": "uint8", "max_value": 255.0}'
    most = [one.max(axis=2) for one in images.arrays()]
    return [
        op.case("bytes", floats, transform="FromFloat", settings=bytes_).equals(whole).no_oracle(),
        op.case("gray", images, transform="ToGray", settings='{"method": "max"}')
        .equals(most)
        .no_oracle(),
        op.case(
            "image", images, transform="Normalize", settings='{"normalization": "image"}'
        ).no_oracle(),
        op.case("empty", op.samples(), transform="ToGray", settings='{"method": "max"}')
        .equals([])
        .no_oracle(),
        op.case("unknown", images, transform="Fog").value_error("`transform`"),
        op.case("dtype", images, transform="FromFloat", settings=bytes_).type_error("dtype"),
    ]
