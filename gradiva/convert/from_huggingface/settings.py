"""The settings of a processor: those of its class, those of a configuration, in one form."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gradiva.eager.support.errors import OperatorValueError, describe, user_location

from .processors import Processor

__all__ = ["FILTERS", "settings_of"]

FILTERS = ("NEAREST", "LANCZOS", "BILINEAR", "BICUBIC", "BOX", "HAMMING")
"""Pillow's filters, by their numbers."""
_SIZES = (
    ("height", "width"),
    ("shortest_edge",),
    ("shortest_edge", "longest_edge"),
    ("max_height", "max_width"),
)
_WITHOUT_EFFECT = frozenset(
    {
        "_auto_class",
        "_commit_hash",
        "_from_auto",
        "_name_or_path",
        "_processor_class",
        "_valid_kwargs_names",
        "_valid_processor_keys",
        "auto_map",
        "device",
        "disable_grouping",
        "feature_extractor_type",
        "image_processor_type",
        "image_seq_length",
        "input_data_format",
        "model_input_names",
        "processor_class",
        "return_tensors",
        "transformers_version",
        "use_fast",
    }
)
"""Settings that change no pixel of an image that gradiva decoded."""
_LARGEST = 1 << 31
_FACTORS = 1e-30, 1e30


def settings_of(
    processor: Processor, given: Mapping[str, Any], ignore: Sequence[str]
) -> dict[str, Any]:
    """All settings of a processor, checked: `size` and the like as dictionaries of whole numbers,
    `resample` as a name of Pillow, numbers of channels as tuples.

    ignore: names of settings that may be unknown. Raises OperatorValueError.
    """
    settings = dict(processor.settings)
    rest = {key: value for key, value in given.items() if value is not None}
    _older_names(processor, rest)
    unknown = []
    for key, value in rest.items():
        if key in settings:
            settings[key] = value
        elif not _without_effect(processor, key, value) and key not in ignore:
            unknown.append(key)
    if unknown:
        shown = ", ".join(f"{key}={describe(rest[key])}" for key in sorted(map(str, unknown))[:8])
        raise OperatorValueError(
            f"{processor.name} has settings that are not known here, and may change pixels; "
            "`ignore` names those that do not",
            operator="convert.huggingface",
            argument="processor",
            expected="settings of this class of transformers",
            got=shown,
            location=user_location(),
        )
    for key in processor.lacks:
        settings[key] = False
    for key, value in settings.items():
        if key.startswith("do_"):
            settings[key] = _switch(key, value)
    square = bool(settings.pop("default_to_square"))
    settings["size"] = _size("size", settings["size"], square)
    for key in ("crop_size", "pad_size"):
        if settings[key] is not None:
            settings[key] = _size(key, settings[key], True)
    settings["resample"] = _filter(settings["resample"])
    settings["rescale_factor"] = _factor(settings["rescale_factor"])
    for key in ("image_mean", "image_std"):
        settings[key] = _numbers(key, settings[key])
    if 0.0 in settings["image_std"] and settings["do_normalize"]:
        raise _bad("image_std", "numbers other than 0", settings["image_std"])
    for key in ("patch_size", "temporal_patch_size", "merge_size"):
        if key in settings:
            settings[key] = _whole(key, settings[key])
    if "crop_pct" in settings:
        settings["crop_pct"] = _factor(settings["crop_pct"], "crop_pct")
    return settings


def _older_names(processor: Processor, rest: dict[str, Any]) -> None:
    """Settings of older configurations by the names and in the form of today."""
    if processor.family == "qwen2_vl":
        size = rest.get("size", processor.settings["size"])
        size = dict(size) if isinstance(size, Mapping) else size
        for old, new in (("min_pixels", "shortest_edge"), ("max_pixels", "longest_edge")):
            if isinstance(size, dict) and old in size:
                size.setdefault(new, size.pop(old))
            if old in rest and isinstance(size, dict):
                size[new] = rest.pop(old)
        rest["size"] = size
    if processor.family == "detr":
        limit = rest.pop("max_size", 1333)
        if isinstance(rest.get("size"), int) and processor.settings["do_pad"]:
            rest["size"] = {"shortest_edge": rest["size"], "longest_edge": limit}
        old = rest.pop("pad_and_return_pixel_mask", None)
        if old is not None:
            rest.setdefault("do_pad", old)
    if rest.pop("use_square_size", False):
        side = processor.settings["size"].get("shortest_edge", 224)
        rest["size"] = {"height": side, "width": side}
    if processor.name == "OwlViTImageProcessor" and "rescale" in rest:
        rest["do_rescale"] = rest.pop("rescale")


def _without_effect(processor: Processor, key: str, value: Any) -> bool:
    """Whether a setting that the class has not changes no pixel. What is False is off."""
    if key in _WITHOUT_EFFECT or key in processor.labels or value is False:
        return True
    return key == "data_format" and getattr(value, "value", value) == "channels_first"


def _bad(key: str, expected: str, value: Any) -> OperatorValueError:
    return OperatorValueError(
        f"the setting `{key}` of the configuration is not usable",
        operator="convert.huggingface",
        argument="processor",
        expected=expected,
        got=describe(value),
        location=user_location(),
    )


def _switch(key: str, value: Any) -> bool:
    if value is not None and not isinstance(value, bool | int):
        raise _bad(key, "True or False", value)
    return bool(value)


def _number(key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _bad(key, "numbers", value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _bad(key, "finite numbers", value)
    return number


def _whole(key: str, value: Any) -> int:
    number = _number(key, value)
    if number != int(number) or not 1 <= number <= _LARGEST:
        raise _bad(key, f"whole numbers from 1 to {_LARGEST}", value)
    return int(number)


def _factor(value: Any, key: str = "rescale_factor") -> float:
    number = _number(key, value)
    if not _FACTORS[0] <= abs(number) <= _FACTORS[1]:
        raise _bad(key, f"a number other than 0, up to {_FACTORS[1]:g}", value)
    return number


def _numbers(key: str, value: Any) -> tuple[float, ...]:
    """One number for all channels, or one for each of the three."""
    row = value if isinstance(value, list | tuple) else [value]
    if len(row) not in (1, 3):
        raise _bad(key, "one number, or three for red, green and blue", value)
    return tuple(_number(key, one) for one in row)


def _size(key: str, value: Any, square: bool) -> dict[str, int]:
    """A size as a dictionary: numbers of older configurations are squares or shortest edges."""
    if not isinstance(value, int | float | str | bytes) and not isinstance(value, list | tuple):
        try:
            value = dict(value)
        except (TypeError, ValueError):
            raise _bad(key, "a dictionary of sizes", value) from None
    if isinstance(value, list | tuple):
        if len(value) == 1:
            value = value[0]
        elif len(value) == 2:
            value = {"height": value[0], "width": value[1]}
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = {"height": value, "width": value} if square else {"shortest_edge": value}
    if not isinstance(value, dict):
        raise _bad(key, "a dictionary of sizes", value)
    given = {name: one for name, one in value.items() if one is not None}
    for names in _SIZES:
        if given.keys() == {*names}:
            return {name: _whole(key, given[name]) for name in names}
    allowed = "; ".join(" and ".join(names) for names in _SIZES)
    raise _bad(key, f"one of these sets of keys: {allowed}", value)


def _filter(value: Any) -> str:
    """The name of a filter, given by its number or as a member of an enumeration."""
    name = getattr(value, "name", value)
    if isinstance(name, str):
        name = name.upper().removesuffix("_EXACT")
        if name in FILTERS:
            return name
    elif isinstance(name, int) and not isinstance(name, bool) and 0 <= name < len(FILTERS):
        return FILTERS[name]
    raise _bad("resample", f"a number from 0 to 5: {', '.join(FILTERS)}", value)
