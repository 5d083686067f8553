"""Arguments of Albumentations 1 under their names in version 2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

__all__ = ["renamed"]

_NAMES: Final[dict[str, dict[str, str]]] = {
    "Affine": {"cval": "fill", "mode": "border_mode"},
    "ChannelDropout": {"fill_value": "fill"},
    "CoarseDropout": {"fill_value": "fill"},
    "GridDropout": {"fill_value": "fill"},
    "Perspective": {"pad_mode": "border_mode", "pad_val": "fill"},
    "PadIfNeeded": {"value": "fill"},
    "Rotate": {"value": "fill"},
    "SafeRotate": {"value": "fill"},
    "ShiftScaleRotate": {"value": "fill"},
}
"""Arguments that have another name now."""


def _gauss_noise(given: dict[str, Any]) -> None:
    limit = given.pop("var_limit", None)
    if limit is not None:
        low, high = limit if isinstance(limit, list | tuple) else (0.0, limit)
        given["std_range"] = [low**0.5 / 255.0, high**0.5 / 255.0]
    mean = given.pop("mean", None)
    if mean is not None:
        given["mean_range"] = [mean / 255.0, mean / 255.0]


def _compression(given: dict[str, Any]) -> None:
    low, high = given.pop("quality_lower", None), given.pop("quality_upper", None)
    if low is not None or high is not None:
        given["quality_range"] = [99 if low is None else low, 100 if high is None else high]
    kind = given.get("compression_type")
    if kind is not None and not isinstance(kind, str):
        given["compression_type"] = "webp" if int(getattr(kind, "value", kind)) == 1 else "jpeg"


def _solarize(given: dict[str, Any]) -> None:
    limit = given.pop("threshold", None)
    if limit is not None:
        low, high = limit if isinstance(limit, list | tuple) else (1, limit)
        given["threshold_range"] = [low / 255.0, high / 255.0]


def _sized(given: dict[str, Any]) -> None:
    """`height` and `width` of crops with a size, before 1.4."""
    size = given.pop("height", None), given.pop("width", None)
    if None not in size:
        given.setdefault("size", list(size))


def _downscale(given: dict[str, Any]) -> None:
    low, high = given.pop("scale_min", None), given.pop("scale_max", None)
    if low is not None or high is not None:
        given["scale_range"] = [0.25 if low is None else low, 0.25 if high is None else high]


def _pad(given: dict[str, Any]) -> None:
    where = given.get("position")
    if where is not None:
        given["position"] = getattr(where, "value", where)
    if given.get("fill") is None:
        given.pop("fill", None)


def _holes(given: dict[str, Any]) -> None:
    """`max_holes`, `min_height` and so on, before 1.4."""
    for least, most, name in (
        ("min_holes", "max_holes", "num_holes_range"),
        ("min_height", "max_height", "hole_height_range"),
        ("min_width", "max_width", "hole_width_range"),
    ):
        low, high = given.pop(least, None), given.pop(most, None)
        if high is not None and name not in given:
            given[name] = [high if low is None else low, high]


_CHANGES: Final[dict[str, Callable[[dict[str, Any]], None]]] = {
    "CoarseDropout": _holes,
    "Downscale": _downscale,
    "GaussNoise": _gauss_noise,
    "ImageCompression": _compression,
    "PadIfNeeded": _pad,
    "RandomResizedCrop": _sized,
    "RandomSizedCrop": _sized,
    "Solarize": _solarize,
}


def renamed(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a transform as version 2 names them."""
    names = _NAMES.get(name, {})
    found = {}
    for old, value in arguments.items():
        new = names.get(old, old)
        if new == old or value is not None:
            found[new] = value
    change = _CHANGES.get(name)
    if change is not None:
        change(found)
    return found
