"""Which translations a suite or policy has: by pixels, or by a part of the image's size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradiva.auto_aug import augmentations as a
from gradiva.eager.support.errors import (
    OperatorTypeError,
    OperatorValueError,
    describe,
    user_location,
)

from .core import Augmentation

__all__ = ["leave_out", "shape_arguments", "translations", "warp_arguments"]


def translations(
    use_shape: bool, default_abs: float, default_rel: float, max_abs: Any, max_rel: Any, caller: str
) -> list[Augmentation]:
    """`translate_x` and `translate_y`. max_abs, max_rel: the largest distance, a number or
    (along y, along x). Raises OperatorTypeError or OperatorValueError."""
    if use_shape and max_abs is not None:
        raise _contradiction(caller, "max_translate_abs", "`max_translate_rel`, as shapes are used")
    if not use_shape and max_rel is not None:
        raise _contradiction(
            caller, "max_translate_rel", "`max_translate_abs`, as no shapes are used"
        )
    if use_shape:
        y, x = _pair(default_rel if max_rel is None else max_rel, caller, "max_translate_rel")
        moves = (a.translate_x, x), (a.translate_y, y)
    else:
        y, x = _pair(default_abs if max_abs is None else max_abs, caller, "max_translate_abs")
        moves = (a.translate_x_no_shape, x), (a.translate_y_no_shape, y)
    return [move.augmentation(mag_range=(0, most)) for move, most in moves]


def _contradiction(caller: str, argument: str, expected: str) -> OperatorValueError:
    return OperatorValueError(
        operator=caller,
        argument=argument,
        expected=expected,
        got=f"`{argument}`",
        location=user_location(),
    )


def _pair(given: Any, caller: str, argument: str) -> tuple[Any, Any]:
    pair = tuple(given) if isinstance(given, tuple | list | np.ndarray) else (given, given)
    if len(pair) != 2 or not all(
        isinstance(one, int | float | np.number) and not isinstance(one, bool) for one in pair
    ):
        raise OperatorTypeError(
            operator=caller,
            argument=argument,
            expected="a number, or two: along y and along x",
            got=describe(given),
            location=user_location(),
        )
    return pair[0], pair[1]


def shape_arguments(shape: Any) -> dict[str, Any]:
    """The `shape` argument of translations, if there is one."""
    return {} if shape is None else {"shape": shape}


def warp_arguments(fill_value: Any, interp_type: Any) -> dict[str, Any]:
    """Arguments of the warps."""
    return {"fill_value": fill_value, "interp_type": interp_type}


def leave_out(
    suite: Sequence[Augmentation], excluded: Sequence[str] | None, caller: str
) -> list[Augmentation]:
    """The suite without the augmentations of these names. Raises OperatorTypeError or
    OperatorValueError."""
    if excluded is None:
        return list(suite)
    if isinstance(excluded, str) or not all(isinstance(one, str) for one in excluded):
        raise OperatorTypeError(
            operator=caller,
            argument="excluded",
            expected="a list of names of augmentations",
            got=describe(excluded),
            location=user_location(),
        )
    names = [one.name for one in suite]
    for name in excluded:
        if name not in names:
            raise OperatorValueError(
                operator=caller,
                argument="excluded",
                expected="some of " + ", ".join(names),
                got=repr(name),
                location=user_location(),
            )
    return [one for one in suite if one.name not in excluded]
