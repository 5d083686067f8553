"""`augmentation`, the decorator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from gradiva.eager.support.errors import OperatorTypeError, describe, user_location

from .declared import Augmentation, MagToParam, Range, with_moves

__all__ = ["augmentation"]


@overload
def augmentation(
    function: Callable[..., Any],
    *,
    mag_range: Range = ...,
    randomly_negate: bool | None = ...,
    mag_to_param: MagToParam = ...,
    param_device: str | None = ...,
    name: str | None = ...,
    augmentation_cls: type[Augmentation] | None = ...,
    moves: bool | None = ...,
) -> Augmentation: ...
@overload
def augmentation(
    function: None = None,
    *,
    mag_range: Range = ...,
    randomly_negate: bool | None = ...,
    mag_to_param: MagToParam = ...,
    param_device: str | None = ...,
    name: str | None = ...,
    augmentation_cls: type[Augmentation] | None = ...,
    moves: bool | None = ...,
) -> Callable[[Callable[..., Any]], Augmentation]: ...
def augmentation(
    function: Callable[..., Any] | None = None,
    *,
    mag_range: Range = None,
    randomly_negate: bool | None = None,
    mag_to_param: MagToParam = None,
    param_device: str | None = None,
    name: str | None = None,
    augmentation_cls: type[Augmentation] | None = None,
    moves: bool | None = None,
) -> Any:
    """Make an augmentation of a function `function(data, parameter, ...)`; a decorator.

    mag_range: (first, last), between which the magnitudes of the bins lie at equal distances, or an
        array with one for each bin. Without it, the parameter is None.
    randomly_negate: whether the magnitude is negated for each sample with a chance of one half.
    mag_to_param: from a magnitude, a float32 number, to the parameter: a number or an array, of
        one shape and dtype for all bins; float64 becomes float32. The magnitude itself by default.
    param_device: where the parameter is made: "cpu" or "auto", for arguments of operators; "gpu",
        for functions that take it as an input.
    name: of the function by default; lists of augmentations and errors show it.
    moves: for calls with `gradiva.Targets`: False if the function leaves all pixels where they are;
        True if it takes an argument `targets`, a tuple that may be empty, which it passes on behind
        the images: `return gradiva.rotate(data, *targets, angle=parameter)`.

    Further arguments of the function are taken from the call. Returns an Augmentation. Raises
    OperatorTypeError or OperatorValueError.
    """
    kind, more = augmentation_cls or Augmentation, with_moves(moves)

    def decorate(function: Callable[..., Any]) -> Augmentation:
        if not callable(function) or isinstance(function, Augmentation):
            raise OperatorTypeError(
                operator="auto_aug.augmentation",
                argument="function",
                expected="a function of data and a parameter",
                got=describe(function),
                location=user_location(),
            )
        return kind(function, mag_range, randomly_negate, mag_to_param, param_device, name, **more)

    return decorate if function is None else decorate(function)
