"""The arguments of `random_bbox_crop`: checked, and as its search takes them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array

_AXES = {2: ("xy", "XY", "WH"), 3: ("xyz", "XYZ", "WHD")}


@dataclass(frozen=True)
class Options:
    """columns: where starts and ends (or sizes, if `sized`) of x, y, z stand in a row; total: the
    limit of attempts, 0 for none; rules: of the search, thresholds, no_crop, attempts, total,
    scaling, ratios, overlap, every, prune (-1 for centers)."""

    ndim: int
    columns: list[int]
    sized: bool
    total: int
    rules: tuple[Any, ...]


@dataclass(frozen=True)
class Limits:
    """Of each sample, in the order x, y, z: the input's shape (N, ndim), ones if it is not known;
    the window's, (N, ndim), or (N, 0)."""

    inputs: Array
    crops: Array


@functools.lru_cache(maxsize=16)
def _ranges(argument: str, values: Any, lengths: tuple[int, ...]) -> Array:
    """(1, 2) or (3, 2): not to be written to, for it is kept."""
    found = np.array((1.0, 1.0) if values is None else values, np.float64).reshape(-1)
    if found.size not in lengths or not np.isfinite(found).all():
        raise op.wrong_value(argument, "(min, max)", values)
    ranges = found.reshape(-1, 2)
    least = 0.0 if argument == "scaling" else 1e-9
    if (ranges[:, 0] > ranges[:, 1]).any() or (ranges[:, 1] < least).any() or found.min() < 0:
        raise op.wrong_value(argument, "(min, max) with 0 <= min <= max", values)
    return ranges


def check_options(given: Mapping[str, Any]) -> None:
    """Refuse arguments that no boxes make right. Raises OperatorValueError, for the type rule."""
    given_ones = given["thresholds"]
    thresholds = given_ones if isinstance(given_ones, tuple) else (given_ones,)
    if not thresholds or not all(0 <= one <= 1 for one in thresholds):
        raise op.wrong_value("thresholds", "one or more numbers from 0 to 1", given["thresholds"])
    if given["threshold_type"] not in ("iou", "overlap"):
        raise op.wrong_value("threshold_type", "'iou' or 'overlap'", repr(given["threshold_type"]))
    prune = given["bbox_prune_threshold"]
    if prune is not None and not 0 <= prune <= 1:
        raise op.wrong_value("bbox_prune_threshold", "a number from 0 to 1", prune)
    if given["num_attempts"] < 1:
        raise op.wrong_value("num_attempts", "a number from 1 on", given["num_attempts"])
    total = given["total_num_attempts"]
    if total is not None and (total == 0 or total < -1 or total > 1 << 30):
        raise op.wrong_value("total_num_attempts", "a number from 1 on", total)
    _ranges("scaling", given["scaling"], (2,))
    _ranges("aspect_ratio", given["aspect_ratio"], (2, 6))
    if given["ltrb"] is not None and given["bbox_layout"] is not None:
        raise op.OperatorValueError("`ltrb` is the old spelling of `bbox_layout`: give one of them")
    layout = given["bbox_layout"]
    known = [start + end for start, *ends in _AXES.values() for end in ends]
    if layout is not None and sorted(layout) not in map(sorted, known):
        raise op.wrong_value("bbox_layout", f"a permutation of {', '.join(known)}", repr(layout))
    layout = given["shape_layout"]
    if layout is not None and sorted(layout) not in (["H", "W"], ["D", "H", "W"]):
        raise op.wrong_value("shape_layout", "a permutation of WH or WHD", repr(layout))
    if given["crop_shape"] is not None:
        if given["input_shape"] is None:
            raise op.wrong_value(
                "input_shape", "the shape of the input, beside `crop_shape`", "none"
            )
        for name in ("scaling", "aspect_ratio"):
            if given[name] is not None:
                raise op.OperatorValueError("`crop_shape` excludes it", argument=name)
        if given["allow_no_crop"]:
            raise op.OperatorValueError("`crop_shape` excludes it", argument="allow_no_crop")


def columns_of(call: op.Call, ndim: int) -> Options:
    """The options for boxes of so many axes. Raises OperatorValueError."""
    start, end, size = _AXES[ndim]
    layout = call["bbox_layout"] or start + (size if call["ltrb"] is False else end)
    if len(layout) != 2 * ndim:
        raise op.wrong_value(
            "bbox_layout", f"{2 * ndim} letters for boxes of {2 * ndim} numbers", layout
        )
    sized = "W" in layout
    columns = [layout.index(letter) for letter in start + (size if sized else end)]
    thresholds = np.array(call["thresholds"], np.float64)
    no_crop = call["crop_shape"] is None and call["allow_no_crop"] is not False
    total = max(call["total_num_attempts"] or 0, 0)
    scaling = _ranges("scaling", call["scaling"], (2,))[0]
    ratios = _ranges("aspect_ratio", call["aspect_ratio"], (2, 6))
    ratios = np.ascontiguousarray(np.broadcast_to(ratios, (3, 2)))
    overlap, every = call["threshold_type"] == "overlap", call["all_boxes_above_threshold"]
    prune = -1.0 if call["bbox_prune_threshold"] is None else call["bbox_prune_threshold"]
    attempts = call["num_attempts"], total
    rules = thresholds, no_crop, *attempts, scaling, ratios, overlap, every, prune
    return Options(ndim, columns, sized, total, rules)


def limits_of(call: op.Call, options: Options) -> Limits:
    """The shapes that are given, in the order x, y, z. Raises OperatorValueError."""
    letters = _AXES[options.ndim][2]
    layout = call["shape_layout"] or letters
    if len(layout) != options.ndim:
        raise op.wrong_value("shape_layout", f"a permutation of {letters}", repr(layout))
    order = [layout.index(letter) for letter in letters]
    found = []
    for name, default in (("input_shape", options.ndim), ("crop_shape", 0)):
        rows = call[name]
        if rows is None:
            found.append(np.ones((call.size, default)))
            continue
        if rows.shape[1] != options.ndim:
            raise op.wrong_value(name, f"{options.ndim} numbers", rows.shape[1])
        bad = ((rows < 1) | (rows > 1 << 30)).any(axis=1)
        op.refuse_samples(bad, name, "sizes from 1 on", rows)
        found.append(np.ascontiguousarray(rows[:, order], np.float64))
    return Limits(*found)
