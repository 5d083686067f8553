"""Old names of operators: an old name is the function of the new one with a DeprecationWarning,
once for each line that calls it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from gradiva.eager.operators.old_arguments import warn_of_old
from gradiva.eager.operators.operator import OperatorBase, operators
from gradiva.ops.image.resize.resize_crop_mirror import resize_crop_mirror
from gradiva.ops.indexing.slice import slice as slice_
from gradiva.ops.segmentation.random_bbox_crop import random_bbox_crop

__all__ = ["fast_resize_crop_mirror", "old", "operator_of", "renamed", "ssd_random_crop"]

F = TypeVar("F", bound=Callable[..., Any])

_REPLACED = {
    "fast_resize_crop_mirror": "resize_crop_mirror",
    "shapes": "DataNode.shape",
    "ssd_random_crop": "random_bbox_crop",
}
"""Names of what is more than another name, and what is used now."""


def renamed() -> dict[str, str]:
    """Names without `fn.`, and what they are called now: by what operators say of themselves."""
    here = {old: one.name for one in operators.values() for old in one.formerly}
    return {**here, **_REPLACED}


def operator_of(function: Any) -> OperatorBase | None:
    """The operator that a function of `gradiva.fn` is, or stands for."""
    while not isinstance(function, OperatorBase) and hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function if isinstance(function, OperatorBase) else None


def _new_name(name: str, function: Any) -> str:
    operator = operator_of(function)
    assert operator is not None, name
    assert name in operator.formerly, f"{operator.name} was never called {name}"
    return operator.name


def old(name: str, function: F) -> F:
    """The function under its old name."""
    new = _REPLACED.get(name) or _new_name(name, function)
    text = f"fn.{name} is the old name of {new if new[0].isupper() else f'fn.{new}'}"

    @functools.wraps(function)
    def call(*inputs: Any, **keywords: Any) -> Any:
        warn_of_old(name, text)
        return function(*inputs, **keywords)

    call.__name__ = name.rpartition(".")[2]
    call.__wrapped__ = function
    return cast(F, call)


@functools.wraps(resize_crop_mirror)
def fast_resize_crop_mirror(images: Any, **keywords: Any) -> Any:
    """`resize_crop_mirror`, without antialiasing unless it is asked for."""
    return resize_crop_mirror(images, **{"antialias": False, **keywords})


@functools.wraps(random_bbox_crop)
def ssd_random_crop(
    images: Any, boxes: Any, labels: Any, *, num_attempts: int = 1, **common: Any
) -> Any:
    """Images, boxes and labels, cut to a random window as in "SSD: Single Shot MultiBox Detector"
    (Liu et al., 2016): `random_bbox_crop` with the paper's settings, and `slice`.

    images: HWC; boxes: float32 (n, 4), left, top, right, bottom in 0..1; labels: int32 (n,) or
    (n, 1). num_attempts: windows that are tried for each random threshold. Returns the three, with
    the boxes whose centers are in the window. Raises OperatorTypeError and OperatorValueError.
    """
    made = random_bbox_crop(
        boxes,
        labels,
        thresholds=[0.0, 0.1, 0.3, 0.5, 0.7, 0.9],
        aspect_ratio=[0.5, 2.0],
        scaling=[0.3, 1.0],
        bbox_layout="xyXY",
        allow_no_crop=True,
        num_attempts=num_attempts,
        **common,
    )
    common.pop("seed", None)
    anchors, shapes, boxes, labels = made
    return type(made)((slice_(images, anchors, shapes, **common), boxes, labels))
