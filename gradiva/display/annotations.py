"""Boxes, labels and masks as users give them to `show`, checked, one entry per sample."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gradiva.eager.support.errors import (
    GradivaError,
    OperatorTypeError,
    OperatorValueError,
    describe,
    wrong_type,
    wrong_value,
)
from gradiva.eager.values.tensor import to_array

from .axes import Array

__all__ = ["boxes_of", "labels_of", "masks_of"]


def boxes_of(boxes: Any, count: int, single: bool) -> list[Array] | None:
    """(n, 4) for each sample. Raises OperatorTypeError or OperatorValueError."""
    if boxes is None:
        return None
    found = []
    for index, given in enumerate(_entries("boxes", boxes, count, single)):
        array = _numbers("boxes", given, index)
        if array.ndim == 1 and array.size in (0, 4):
            array = array.reshape(-1, 4)
        if array.ndim != 2 or array.shape[1] != 4:
            raise wrong_value(
                "boxes", "shape (n, 4): left, top, right, bottom", str(array.shape), sample=index
            )
        found.append(array)
    return found


def relative(boxes: Sequence[Array]) -> bool:
    """Whether the coordinates are parts of the picture: floats, none of them over 1."""
    return all(
        array.dtype.kind == "f" and (not array.size or np.nanmax(array, initial=0) <= 1)
        for array in boxes
    )


def masks_of(masks: Any, count: int, single: bool) -> list[Array] | None:
    """(n, H, W) for each sample. Raises OperatorTypeError or OperatorValueError."""
    if masks is None:
        return None
    found = []
    for index, given in enumerate(_entries("masks", masks, count, single)):
        array = _numbers("masks", given, index)
        if array.ndim == 3 and array.shape[2] == 1 != array.shape[1]:
            array = array[..., 0]
        if array.ndim == 2:
            array = array[None]
        if array.ndim != 3:
            raise wrong_value(
                "masks", "shape (H, W), (H, W, 1) or (n, H, W)", str(array.shape), sample=index
            )
        found.append(array)
    return found


def labels_of(
    labels: Any, count: int, single: bool, boxes: Sequence[Array] | None
) -> list[tuple[str, list[str]]] | None:
    """For each sample, what stands below it, and what stands at each of its boxes.

    Raises OperatorTypeError or OperatorValueError.
    """
    if labels is None:
        return None
    if single:
        amount = len(boxes[0]) if boxes else 0
        each = amount and hasattr(labels, "__len__") and len(labels) == amount
        if _scalar(labels) or (each and (_scalar(labels[0]) or _column(labels))):
            labels = [labels]
    found: list[tuple[str, list[str]]] = []
    for index, given in enumerate(_entries("labels", labels, count, False)):
        amount = len(boxes[index]) if boxes is not None else 0
        texts = _texts(given, index)
        if isinstance(texts, str):
            found.append((texts, []))
        elif amount and len(texts) == amount:
            found.append(("", texts))
        elif len(texts) == 1:
            found.append((texts[0], []))
        elif amount and texts:
            raise wrong_value(
                "labels",
                f"one label, or one for each of its {amount} boxes",
                str(len(texts)),
                sample=index,
            )
        else:
            found.append((", ".join(texts), []))
    return found


def _scalar(value: Any) -> bool:
    """Whether it is one text or one number, and not a list of some kind."""
    plain = isinstance(value, str | bytes | int | float | os.PathLike)
    return plain or (not isinstance(value, list | tuple | dict) and getattr(value, "ndim", 1) == 0)


def _column(value: Any) -> bool:
    """Whether it is an array of shape (n, 1): labels as operators on boxes take them."""
    return getattr(value, "ndim", 1) == 2 and bool(value.shape[1] == 1)


def _entries(argument: str, given: Any, count: int, single: bool) -> list[Any]:
    """One entry per sample."""
    if single:
        own = isinstance(given, list | tuple) and len(given) == 1
        return list(given) if own and not _scalar(given[0]) else [given]
    if _scalar(given) or isinstance(given, dict) or not isinstance(given, Iterable):
        raise wrong_type(argument, "one entry per sample", describe(given))
    # A batch of pipeline mode and of dynamic mode, an array and a list: all can be iterated over.
    try:
        entries = list(given)
    except TypeError:
        raise wrong_type(argument, "one entry per sample", describe(given)) from None
    if len(entries) != count:
        raise wrong_value(argument, f"one entry for each of the {count} samples", f"{len(entries)}")
    return entries


def _numbers(argument: str, given: Any, index: int) -> Array:
    try:
        if isinstance(given, list | tuple) and not len(given):
            return np.zeros(0, np.float32)
        if isinstance(given, list | tuple):
            given = np.array([np.asarray(entry) for entry in given])
        return to_array(given)
    except GradivaError as error:
        raise error.complete(argument=argument, sample=index) from None
    except (TypeError, ValueError) as error:
        raise OperatorTypeError(
            argument=argument, expected="an array of numbers", got=str(error), sample=index
        ) from None


def _texts(given: Any, index: int) -> str | list[str]:
    """One text for a sample, or several."""
    if isinstance(given, str | bytes | os.PathLike):
        return _text(given)
    if isinstance(given, list | tuple):
        if all(_scalar(item) for item in given):
            return [_text(item) for item in given]
        raise _no_label(describe(given), index)
    try:
        array = given if isinstance(given, np.ndarray) else to_array(given)
    except GradivaError:
        raise _no_label(describe(given), index) from None
    if array.dtype == np.uint8 and array.ndim == 1 and array.size > 1:
        text = array.tobytes().decode("utf-8", "replace")
        if text.isprintable():  # from get_property
            return text
    if _column(array):
        array = array[:, 0]
    if array.ndim > 1:
        raise _no_label(f"shape {array.shape}", index)
    texts = [_text(value) for value in array.reshape(-1).tolist()]
    return texts if array.ndim else texts[0]


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, os.PathLike):
        return str(os.path.basename(os.fspath(value)))
    if not isinstance(value, str) and hasattr(value, "item"):
        value = value.item()
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _no_label(got: str, index: int) -> GradivaError:
    return OperatorValueError(
        argument="labels", expected="a text, a number or a list of them", got=got, sample=index
    )
