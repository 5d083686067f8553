"""How pixels are interpolated, by torchvision's names."""

from __future__ import annotations

from enum import Enum
from typing import Any

from gradiva.eager.support.errors import OperatorValueError, describe, user_location
from gradiva.eager.types.dtypes import InterpType

__all__ = ["InterpolationMode", "filter_of"]


class InterpolationMode(Enum):
    """The modes of `torchvision.transforms.InterpolationMode`, which are taken, too."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


_FILTERS = {
    InterpolationMode.NEAREST: InterpType.INTERP_NN,
    InterpolationMode.BILINEAR: InterpType.INTERP_LINEAR,
    InterpolationMode.BICUBIC: InterpType.INTERP_CUBIC,
    InterpolationMode.LANCZOS: InterpType.INTERP_LANCZOS3,
}
_OF_PILLOW = (
    InterpolationMode.NEAREST,
    InterpolationMode.LANCZOS,
    InterpolationMode.BILINEAR,
    InterpolationMode.BICUBIC,
    InterpolationMode.BOX,
    InterpolationMode.HAMMING,
)
"""By the numbers of Pillow's filters."""


def filter_of(interpolation: Any, title: str) -> InterpType:
    """What a mode is for operators.

    interpolation: an InterpolationMode, of torchvision as well; its value; or the number of a
    filter of Pillow. Raises OperatorValueError for what is no mode, NotImplementedError for the
    three that operators do not have.
    """
    mode = _mode_of(interpolation)
    if mode is None:
        raise OperatorValueError(
            operator=title,
            argument="interpolation",
            expected="an InterpolationMode, or the number of a filter of Pillow, 0 to 5",
            got=describe(interpolation),
            location=user_location(),
        )
    if mode not in _FILTERS:
        known = ", ".join(one.name for one in _FILTERS)
        raise NotImplementedError(
            f"{title}: `interpolation` {mode.name} is not available; there are {known}"
        )
    return _FILTERS[mode]


def _mode_of(interpolation: Any) -> InterpolationMode | None:
    if isinstance(interpolation, InterpolationMode):
        return interpolation
    if isinstance(interpolation, int) and not isinstance(interpolation, bool):
        return _OF_PILLOW[interpolation] if 0 <= interpolation < len(_OF_PILLOW) else None
    value = getattr(interpolation, "value", interpolation)
    known = {mode.value: mode for mode in InterpolationMode}
    return known.get(value) if isinstance(value, str) else None
