"""Labels of classes, and the objects of a mask: its connected parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import I64Table, I64Vector, Int, Vector


def class_rows(call: op.Call) -> tuple[Any, Any, Any]:
    """Of each sample: the classes (N, C), their weights (N, C) or (N, 0), the background (N,)."""
    classes, weights, given = call["classes"], call["class_weights"], call["background"]
    background = np.zeros(call.size, np.int64) if given is None else given
    implied = classes is None
    if isinstance(classes, list) or isinstance(weights, list):
        classes, weights = _filled(classes, weights)
    if weights is not None:
        bad = ~((weights >= 0) & np.isfinite(weights)).all(axis=1)
        op.refuse_samples(bad, "class_weights", "numbers from 0 on", weights)
        if classes is None:
            classes = np.tile(np.arange(1, weights.shape[1] + 1), (call.size, 1))
        elif classes.shape != weights.shape:
            raise op.wrong_value(
                "class_weights",
                f"a weight for each of {classes.shape[1]} classes",
                weights.shape[1],
            )
        if implied and given is not None:
            classes = np.where(classes == background[:, None], 0, classes)
    if classes is None:
        return np.empty((call.size, 0), np.int64), np.empty((call.size, 0)), background
    if classes.shape[1] == 0:  # none are objects, while without classes all are
        classes = np.full((call.size, 1), _NO_LABEL)
        weights = None if weights is None else np.zeros((call.size, 1))
    if given is None:
        background = background.copy()
        for sample, labels in enumerate(classes.tolist()):
            while background[sample] in labels:
                background[sample] -= 1
    else:
        inside = (classes == background[:, None]).any(axis=1)
        op.refuse_samples(inside, "classes", "labels other than the background", classes)
    spread = np.empty((call.size, 0)) if weights is None else weights.astype(np.float64)
    return classes, spread, background


_NO_LABEL = np.iinfo(np.int64).min


def _filled(classes: Any, weights: Any) -> tuple[Any, Any]:
    """Classes and weights whose numbers differ between samples, as arrays: filled up with labels
    that no mask has, of weight 0."""
    counts = [len(row) for row in (weights if classes is None else classes)]
    places = np.arange(max(counts)) < np.array(counts)[:, None]
    labels = np.tile(np.arange(1, max(counts) + 1), (len(counts), 1))
    if classes is not None:
        labels[places] = np.concatenate(list(classes))
    labels[~places] = _NO_LABEL
    if weights is None:
        return labels, None
    for sample, (row, count) in enumerate(zip(weights, counts, strict=True)):
        if len(row) != count:
            expected = f"a weight for each of {count} classes"
            raise op.wrong_value("class_weights", expected, len(row), sample=sample)
    spread = np.zeros(labels.shape)
    spread[places] = np.concatenate(list(weights))
    return labels, spread


@op.jit
def _root(parents: I64Vector, run: int) -> int:
    """The first run of the object that a run is part of; paths are shortened on the way."""
    while parents[run] != run:
        parents[run] = parents[parents[run]]
        run = parents[run]
    return run


@op.jit
def _join(parents: I64Vector, one: int, other: int) -> None:
    """Make the objects of two runs one."""
    first, second = _root(parents, one), _root(parents, other)
    # The first run of an object stands for it, so that objects keep their order.
    if first < second:
        parents[second] = first
    else:
        parents[first] = second


@op.jit
def _join_rows(parents: I64Vector, runs: I64Table, rows: I64Vector, one: int, other: int) -> None:
    """Join the runs of two rows that touch and have one label."""
    a, b = rows[one], rows[other]
    a_end, b_end = rows[one + 1], rows[other + 1]
    while a < a_end and b < b_end:
        if runs[a, 0] == runs[b, 0] and runs[a, 1] < runs[b, 2] and runs[b, 1] < runs[a, 2]:
            _join(parents, a, b)
        if runs[a, 2] < runs[b, 2]:
            a += 1
        else:
            b += 1


@op.jit
def _wanted(label: Int, classes: I64Vector, background: int) -> bool:
    """Whether a label is one of `classes`, or, if there are none, not the background."""
    if classes.size == 0:
        return bool(label != background)
    found = False
    for k in range(classes.size):
        found = found or classes[k] == label
    return found


@op.jit
def _runs(
    mask: Vector, width: int, classes: I64Vector, background: int, runs: I64Table, rows: I64Vector
) -> int:
    """Fill `runs` (label, first, end, row) and where each row's begin; the number of runs."""
    count = 0
    for row in range(rows.size - 1):
        rows[row] = count
        k = row * width
        end = k + width
        while k < end:
            label = mask[k]
            first = k
            while k < end and mask[k] == label:
                k += 1
            if _wanted(np.int64(label), classes, background):
                runs[count, 0] = np.int64(label)
                runs[count, 1] = first - row * width
                runs[count, 2] = k - row * width
                runs[count, 3] = row
                count += 1
    rows[rows.size - 1] = count
    return count


@op.jit
def find_objects(
    mask: Vector, shape: I64Vector, classes: I64Vector, background: int
) -> tuple[I64Vector, I64Table]:
    """Labels (B,) and boxes (B, 2 * ndim), starts before ends, of the objects of a flat mask.

    Pixels touch along an axis, not diagonally. classes: the labels that count; all but the
    background if there are none. Objects are in the order of their first pixels.
    """
    ndim = shape.size
    width = shape[ndim - 1]
    number = 1
    for axis in range(ndim - 1):
        number *= shape[axis]
    rows = np.empty(number + 1, np.int64)
    runs = np.empty((mask.size, 4), np.int64)
    count = _runs(mask, width, classes, background, runs, rows)
    parents = np.arange(count)
    stride = 1
    for axis in range(ndim - 2, -1, -1):
        for row in range(stride, number):
            if (row // stride) % shape[axis] != 0:
                _join_rows(parents, runs, rows, row, row - stride)
        stride *= shape[axis]
    places = np.empty(count, np.int64)
    objects = 0
    for k in range(count):
        if parents[k] == k:
            places[k] = objects
            objects += 1
    labels = np.empty(objects, np.int64)
    boxes = np.empty((objects, 2 * ndim), np.int64)
    for k in range(count):
        place = places[_root(parents, k)]
        fresh = parents[k] == k
        if fresh:
            labels[place] = runs[k, 0]
        rest = np.int64(runs[k, 3])
        for axis in range(ndim - 1, -1, -1):
            if axis == ndim - 1:
                first, end = np.int64(runs[k, 1]), np.int64(runs[k, 2])
            else:
                first = rest % shape[axis]
                end = first + 1
                rest //= shape[axis]
            if fresh or first < boxes[place, axis]:
                boxes[place, axis] = first
            if fresh or end > boxes[place, ndim + axis]:
                boxes[place, ndim + axis] = end
    return labels, boxes
