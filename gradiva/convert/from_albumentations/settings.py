"""The arguments of Albumentations' transforms: their defaults, their forms, and older names.

Albumentations takes a number where it means a range; what it stores is the range, and so are the
settings here. Names are those of version 2; those of version 1 are understood.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from gradiva.eager.support.errors import OperatorValueError, user_location

__all__ = ["DEFAULTS", "settings_for", "told"]

Form = Callable[[Any], Any]


def _plain(value: Any) -> Any:
    """As JSON has it: lists in place of tuples and arrays, numbers of Python."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return getattr(value, "value", value)


def _between(low: Callable[[float], float]) -> Form:
    """A range; of a number, from `low` of it to the number itself."""

    def form(value: Any) -> Any:
        if not isinstance(value, list):
            value = sorted([low(value), value])
        return value

    return form


_around = _between(lambda value: -value)
_exactly = _between(lambda value: value)
_from_zero = _between(lambda _: 0)
_from_one = _between(lambda _: 1)
_from_three = _between(lambda _: 3)


def _number(value: Any) -> Any:
    """A number, or one for each channel, as floats; texts stay."""
    if isinstance(value, list):
        return [float(one) for one in value]
    return value if isinstance(value, str) else float(value)


def _axes(value: Any) -> Any:
    """A range for x and one for y."""
    if value is None:
        return None
    if not isinstance(value, dict):
        value = {"x": value, "y": value}
    return {axis: _exactly(value.get(axis, 0)) for axis in "xy"}


def _scales(value: Any) -> Any:
    if isinstance(value, dict):
        value = {axis: value.get(axis, 1.0) for axis in "xy"}
    return _axes(value)


def _bits(value: Any) -> Any:
    return value if isinstance(value, list) and isinstance(value[0], list) else _exactly(value)


def _shift(value: Any) -> Any:
    """A range in parts of the whole range of values; numbers beyond 1 are values of uint8."""
    low, high = _around(value)
    return [low / 255.0, high / 255.0] if max(abs(low), abs(high)) > 1 else [low, high]


_BORDER: Final = {"border_mode": 0, "fill": 0.0}
_FILTER: Final = {"interpolation": 1}
_RESIZE: Final = {**_FILTER, "area_for_downscale": None}
_WINDOW: Final = {"pad_if_needed": False, "pad_position": "center", **_BORDER}
_BY_SIDE: Final = {"max_size": None, "max_size_hw": None, **_RESIZE}
_AFFINE: Final = {
    "scale": [1.0, 1.0],
    "translate_percent": None,
    "translate_px": 0,
    "rotate": 0.0,
    "shear": [0.0, 0.0],
    "fit_output": False,
    "keep_ratio": False,
    "balanced_scale": False,
    **_FILTER,
    **_BORDER,
}
_MEAN, _STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
_REQUIRED: Final = ...

DEFAULTS: Final[dict[str, dict[str, Any]]] = {
    "Affine": _AFFINE,
    "Blur": {"blur_limit": [3, 7]},
    "CLAHE": {"clip_limit": 4.0, "tile_grid_size": [8, 8]},
    "CenterCrop": {"height": _REQUIRED, "width": _REQUIRED, **_WINDOW},
    "ChannelDropout": {"channel_drop_range": [1, 1], "fill": 0.0},
    "ChannelShuffle": {},
    "CoarseDropout": {
        "num_holes_range": [1, 2],
        "hole_height_range": [0.1, 0.2],
        "hole_width_range": [0.1, 0.2],
        "fill": 0.0,
    },
    "ColorJitter": {
        "brightness": [0.8, 1.2],
        "contrast": [0.8, 1.2],
        "saturation": [0.8, 1.2],
        "hue": [-0.5, 0.5],
    },
    "Crop": {"x_min": 0, "y_min": 0, "x_max": 1024, "y_max": 1024, **_WINDOW},
    "D4": {},
    "Defocus": {"radius": [3, 10], "alias_blur": [0.1, 0.5]},
    "Downscale": {
        "scale_range": [0.25, 0.25],
        "interpolation_pair": {"upscale": 0, "downscale": 0},
    },
    "Emboss": {"alpha": [0.2, 0.5], "strength": [0.2, 0.7]},
    "Equalize": {"mode": "cv", "by_channels": True},
    "Erasing": {"scale": [0.02, 0.33], "ratio": [0.3, 3.3], "fill": 0.0},
    "FromFloat": {"dtype": "uint8", "max_value": None},
    "GaussNoise": {
        "std_range": [0.2, 0.44],
        "mean_range": [0.0, 0.0],
        "per_channel": True,
        "noise_scale_factor": 1.0,
    },
    "GaussianBlur": {"blur_limit": 0, "sigma_limit": [0.5, 3.0]},
    "GridDropout": {
        "ratio": 0.5,
        "random_offset": True,
        "unit_size_range": None,
        "holes_number_xy": None,
        "shift_xy": [0, 0],
        "fill": 0.0,
    },
    "HorizontalFlip": {},
    "HueSaturationValue": {
        "hue_shift_limit": [-20, 20],
        "sat_shift_limit": [-30, 30],
        "val_shift_limit": [-20, 20],
    },
    "ISONoise": {"color_shift": [0.01, 0.05], "intensity": [0.1, 0.5]},
    "ImageCompression": {"compression_type": "jpeg", "quality_range": [99, 100]},
    "InvertImg": {},
    "LongestMaxSize": _BY_SIDE,
    "MedianBlur": {"blur_limit": [3, 7]},
    "MotionBlur": {
        "blur_limit": [3, 7],
        "allow_shifted": True,
        "angle_range": [0, 360],
        "direction_range": [-1.0, 1.0],
    },
    "MultiplicativeNoise": {"multiplier": [0.9, 1.1], "per_channel": False, "elementwise": False},
    "Normalize": {
        "mean": _MEAN,
        "std": _STD,
        "max_pixel_value": 255.0,
        "normalization": "standard",
    },
    "Pad": {"padding": 0, **_BORDER},
    "PadIfNeeded": {
        "min_height": 1024,
        "min_width": 1024,
        "pad_height_divisor": None,
        "pad_width_divisor": None,
        "position": "center",
        **_BORDER,
    },
    "Perspective": {
        "scale": [0.05, 0.1],
        "keep_size": True,
        "fit_output": False,
        **_FILTER,
        **_BORDER,
    },
    "Posterize": {"num_bits": 4},
    "RGBShift": {
        "r_shift_limit": [-20, 20],
        "g_shift_limit": [-20, 20],
        "b_shift_limit": [-20, 20],
    },
    "RandomBrightnessContrast": {
        "brightness_limit": [-0.2, 0.2],
        "contrast_limit": [-0.2, 0.2],
        "brightness_by_max": True,
        "ensure_safe_range": False,
    },
    "RandomCrop": {"height": _REQUIRED, "width": _REQUIRED, **_WINDOW},
    "RandomGamma": {"gamma_limit": [80, 120]},
    "RandomResizedCrop": {
        "size": _REQUIRED,
        "scale": [0.08, 1.0],
        "ratio": [0.75, 4 / 3],
        **_RESIZE,
        **_BORDER,
    },
    "RandomRotate90": {},
    "RandomScale": {"scale_limit": [-0.1, 0.1], **_RESIZE},
    "RandomSizedCrop": {
        "min_max_height": _REQUIRED,
        "size": _REQUIRED,
        "w2h_ratio": 1.0,
        **_RESIZE,
        **_BORDER,
    },
    "Resize": {"height": _REQUIRED, "width": _REQUIRED, **_RESIZE},
    "Rotate": {"limit": [-90, 90], "crop_border": False, **_FILTER, **_BORDER},
    "SafeRotate": {"limit": [-90, 90], **_FILTER, **_BORDER},
    "SaltAndPepper": {"amount": [0.01, 0.06], "salt_vs_pepper": [0.4, 0.6]},
    "Sharpen": {
        "alpha": [0.2, 0.5],
        "lightness": [0.5, 1.0],
        "method": "kernel",
        "kernel_size": 5,
        "sigma": 1.0,
    },
    "ShiftScaleRotate": {
        "shift_limit": [-0.0625, 0.0625],
        "shift_limit_x": None,
        "shift_limit_y": None,
        "scale_limit": [-0.1, 0.1],
        "rotate_limit": [-45, 45],
        **_FILTER,
        **_BORDER,
    },
    "SmallestMaxSize": _BY_SIDE,
    "Solarize": {"threshold_range": [0.5, 0.5]},
    "ToFloat": {"max_value": None},
    "ToGray": {"num_output_channels": 3, "method": "weighted_average"},
    "ToSepia": {},
    "ToTensorV2": {},
    "Transpose": {},
    "UnsharpMask": {"blur_limit": [3, 7], "sigma_limit": 0.0, "alpha": [0.2, 0.5], "threshold": 10},
    "VerticalFlip": {},
}
"""By transform, its arguments and their defaults; `...` where there is none. What is only about
masks is left out: targets have rules of their own."""

_FORMS: Final[dict[str, Form]] = {
    **dict.fromkeys(("brightness_limit", "contrast_limit", "limit", "rotate_limit"), _around),
    **dict.fromkeys(("hue_shift_limit", "sat_shift_limit", "val_shift_limit"), _around),
    **dict.fromkeys(("shift_limit", "scale_limit"), _around),
    **dict.fromkeys(("r_shift_limit", "g_shift_limit", "b_shift_limit"), _shift),
    **dict.fromkeys(("rotate", "multiplier", "unit_size_range"), _exactly),
    **dict.fromkeys(("sigma_limit", "alias_blur"), _from_zero),
    **dict.fromkeys(("clip_limit", "radius", "gamma_limit"), _from_one),
    **dict.fromkeys(("translate_px", "translate_percent", "shear"), _axes),
    "fill": _number,
    "num_bits": _bits,
    "blur_limit": _from_three,
}
_OWN_FORMS: Final[dict[str, dict[str, Form]]] = {
    "Affine": {"scale": _scales},
    "GaussianBlur": {"blur_limit": _from_zero},
    "Perspective": {"scale": _from_zero},
    "UnsharpMask": {"alpha": _from_zero},
}


def _combined(name: str, found: dict[str, Any]) -> dict[str, Any]:
    """What depends on several arguments."""
    if name == "ShiftScaleRotate":
        both = found.pop("shift_limit")
        shift = {axis: found.pop(f"shift_limit_{axis}") for axis in "xy"}
        parts = {axis: both if one is None else _around(one) for axis, one in shift.items()}
        low, high = found.pop("scale_limit")
        scale = _axes([low + 1.0, high + 1.0])
        turn = {"scale": scale, "translate_percent": parts, "rotate": found.pop("rotate_limit")}
        found = {**_AFFINE, "translate_px": None, "shear": _axes([0.0, 0.0]), **found, **turn}
    if name == "FromFloat" and found["max_value"] is None:
        found["max_value"] = {"uint8": 255.0, "uint16": 65535.0, "uint32": 4294967295.0}[
            found["dtype"]
        ]
    return found


def told(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the arguments that a transform has and that differ from its defaults."""
    forms = {**_FORMS, **_OWN_FORMS.get(name, {})}
    found = {}
    for one, default in DEFAULTS[name].items():
        if one in arguments:
            value = _plain(arguments[one])
            if default is ... or _formed(forms, one, value) != _formed(forms, one, default):
                found[one] = value
    return found


def _formed(forms: Mapping[str, Form], name: str, value: Any) -> Any:
    return value if value is None or name not in forms else forms[name](_plain(value))


def settings_for(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a transform, complete and in their full form.

    Raises OperatorValueError for unknown transforms and arguments, and for those that are missing.
    """
    defaults = DEFAULTS[name]
    unknown = sorted(set(arguments) - set(defaults))
    missing = [one for one in defaults if defaults[one] is ... and one not in arguments]
    if unknown or missing:
        raise OperatorValueError(
            operator="convert.albumentations",
            argument=(unknown or missing)[0],
            expected=f"arguments of {name}: {', '.join(defaults) or 'none'}",
            got="an unknown argument" if unknown else "nothing",
            location=user_location(),
        )
    found = {one: _plain(arguments.get(one, default)) for one, default in defaults.items()}
    forms = {**_FORMS, **_OWN_FORMS.get(name, {})}
    found = {one: _formed(forms, one, value) for one, value in found.items()}
    return _combined(name, found)
