"""`segmentation.random_object_bbox`: the box of a random object of a labeled mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.random.philox import philox
from gradiva.eager.types.arrays import (
    Draws,
    F32Vector,
    F64Table,
    F64Vector,
    I64Table,
    I64Vector,
    Int,
    Vector,
)
from gradiva.ops.random.scaled import scaled

from .objects import class_rows, find_objects

_DTYPES = (op.bool_, op.uint8, op.int8, op.uint16, op.int16, op.uint32, op.int32)
_FORMATS = ("anchor_shape", "start_end", "box")


@op.operator(
    "segmentation.random_object_bbox", schema="segmentation__RandomObjectBBox", random=True
)
def random_object_bbox(
    input: op.SampleType,
    /,
    *,
    background: op.IntArg | None = None,
    classes: op.UnevenIntsArg | None = None,
    class_weights: op.UnevenFloatsArg | None = None,
    foreground_prob: op.FloatArg = 1.0,
    threshold: op.IntsArg | None = None,
    k_largest: int | None = None,
    ignore_class: bool = False,
    output_class: bool = False,
    format: str = "anchor_shape",
    cache_objects: bool = False,
    **common: op.Unpack[op.Sampled],
) -> op.SampleType | tuple[op.SampleType, ...]:
    """Draw a random object of each mask, and return its bounding box.

    An object is a set of pixels of one label that touch along an axis. All arguments but k_largest,
    format and the flags may differ per sample, classes and their weights also in number.

    Args:
        input: labels, of a boolean type or an integer type up to 32 bits; of 1 to 6 axes, any
            layout.
        background: a label that is no object's; 0, or if `classes` has it, the next of -1, -2, ...
        classes: the labels of objects; all but the background by default.
        class_weights: how likely each class is, relative to the others; without `classes`, of the
            labels 1, 2, ..., with 0 in place of the background if it is one of these. A class is
            drawn first, of those that have an object in the mask, then one of its objects.
        ignore_class: draw from the objects of all labels alike, without `classes`, `class_weights`
            and `output_class`.
        threshold: the least size of a box along each axis, or along all; smaller ones do not count.
        k_largest: draw from the boxes of the largest volume only; of equal ones, the first.
        foreground_prob: how likely it is that an object is drawn, and not the whole mask.
        output_class: return the label too.
        format: "anchor_shape", "start_end": two outputs; "box": one, start and end together.
        cache_objects: accepted; nothing is cached.

    Returns:
        Int32 boxes, in pixels, with one number per axis; of the whole mask, with the background for
        a label, if no object is there or none was to be drawn.

    Raises:
        OperatorTypeError: for other dtypes.
        OperatorValueError: for arguments out of range or that do not go together.

    Example:
        mask = np.uint8([[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0]])
        gradiva.segmentation.random_object_bbox(mask, format="box", foreground_prob=1.0)
        # [1, 1, 3, 3]
    """
    op.require_dtype(input, _DTYPES, "the mask")
    if input.ndim is not None and not 1 <= input.ndim <= 6:
        raise op.OperatorTypeError("a mask has 1 to 6 axes", expected="1 to 6", got=str(input.ndim))
    if format not in _FORMATS:
        raise op.wrong_value("format", " or ".join(map(repr, _FORMATS)), repr(format))
    if ignore_class and (classes is not None or class_weights is not None or output_class):
        raise op.OperatorValueError(
            "`ignore_class` excludes `classes`, `class_weights` and `output_class`"
        )
    if k_largest is not None and k_largest < 1:
        raise op.wrong_value("k_largest", "an integer from 1 on", k_largest)
    box = op.SampleType(op.int32, 1, "", input.device)
    label = op.SampleType(op.int32, 0, "", input.device)
    made = (box,) if format == "box" else (box, box)
    made = (*made, label) if output_class else made
    return made if len(made) > 1 else made[0]


@random_object_bbox.shapes
def _shapes(call: op.Call) -> tuple[op.BatchShape, ...]:
    ndim = call.inputs[0].ndim
    size = 2 * ndim if call["format"] == "box" else ndim
    box = op.BatchShape.equal(call.size, (size,))
    made = (box,) if call["format"] == "box" else (box, box)
    return (*made, op.BatchShape.equal(call.size, ())) if call["output_class"] else made


@op.jit
def _draw(words: tuple[np.uint32, ...], which: int, count: int) -> np.int64:
    """A number below `count`, from two random words, the first of which has this index."""
    word = (np.uint64(words[which]) << np.uint64(32)) | np.uint64(words[which + 1])
    return np.int64(scaled(word, np.uint64(count)))


@op.jit
def _drawn_class(
    word: np.uint32, found: I64Vector, classes: I64Vector, weights: F64Vector
) -> tuple[bool, Int]:
    """(whether there is one, a label): one of the labels in `found` by the weights of classes."""
    shares = np.zeros(found.size)
    total = 0.0
    for k in range(found.size):
        if classes.size == 0:
            shares[k] = 1.0
        for c in range(classes.size):
            if classes[c] == found[k]:
                shares[k] += weights[c] if weights.size else 1.0
        total += shares[k]
    goal = (np.float64(word) + 0.5) * 2.0**-32 * total
    chosen = -1
    for k in range(found.size):
        if shares[k] > 0.0:
            chosen = k
            if goal < shares[k]:
                break
            goal -= shares[k]
    return chosen >= 0, found[max(chosen, 0)] if found.size else np.int64(0)


@op.jit
def _different(labels: I64Vector) -> I64Vector:
    """The labels, each once, from the least to the greatest. `np.unique` takes a second more to
    compile."""
    ordered = np.sort(labels)
    count = 0
    for k in range(ordered.size):
        if k == 0 or ordered[k] != ordered[k - 1]:
            ordered[count] = ordered[k]
            count += 1
    return ordered[:count]


@op.jit
def _ranked(volumes: I64Vector, rank: Int) -> Int:
    """Which is the one of that rank, 0 for the greatest; of equal ones the first comes first. As
    a stable `np.argsort` has it, which takes four seconds to compile."""
    found = np.sort(volumes)[volumes.size - 1 - rank]
    for k in range(volumes.size):
        if volumes[k] > found:
            rank -= 1
    for k in range(volumes.size):
        if volumes[k] == found:
            if rank == 0:
                return k
            rank -= 1
    return -1


@op.jit
def _chosen(
    objects: tuple[I64Vector, I64Table],
    classes: I64Vector,
    weights: F64Vector,
    least: I64Vector,
    ignore: bool,
    largest: int,
    words: tuple[tuple[np.uint32, ...], tuple[np.uint32, ...]],
) -> Int:
    """The number of an object, -1 if there is none."""
    labels, boxes = objects
    first, second = words
    ndim = least.size
    volumes = np.ones(labels.size, np.int64)
    able = np.ones(labels.size, np.bool_)
    for k in range(labels.size):
        for axis in range(ndim):
            extent = boxes[k, ndim + axis] - boxes[k, axis]
            volumes[k] *= extent
            able[k] = able[k] and extent >= least[axis]
    kept = np.flatnonzero(able)
    if kept.size == 0:
        return -1
    if not ignore:
        there, label = _drawn_class(first[0], _different(labels[kept]), classes, weights)
        if not there:
            return -1
        kept = kept[labels[kept] == label]
    if 0 < largest < kept.size:
        return np.int64(kept[_ranked(volumes[kept], _draw(second, 0, largest))])
    return np.int64(kept[_draw(second, 0, kept.size)])


@op.jit
def _objects(
    masks: tuple[Vector, I64Vector, I64Table, I64Vector],
    draws: Draws,
    probability: F32Vector,
    kinds: tuple[I64Table, F64Table, I64Vector],
    limits: tuple[I64Table, bool, int],
    results: tuple[I64Table, I64Vector],
    begin: int,
    end: int,
) -> None:
    """Draw an object of each mask, and write its box and its label.

    masks: the data, and offset, shape and elements of each; draws: what random values depend on;
    probability: that the box is one of the foreground; kinds: classes, their weights and the
    background; limits: the least extents of an object in pixels, whether classes are ignored, and
    among how many of the largest objects to choose; results: boxes (N, 2 * axes) and labels (N,).
    """
    source, offsets, shapes, volumes = masks
    positions, seed, number = draws
    classes, weights, background = kinds
    least, ignore, largest = limits
    boxes, labels = results
    ndim = shapes.shape[1]
    for i in range(begin, end):
        position = np.uint64(positions[i])
        first = philox(np.uint32(0), number, position, seed)
        second = philox(np.uint32(1), number, position, seed)
        for axis in range(ndim):
            boxes[i, axis] = 0
            boxes[i, ndim + axis] = shapes[i, axis]
        labels[i] = background[i]
        if np.float64(first[1]) >= np.float64(probability[i]) * 4294967296.0 or volumes[i] == 0:
            continue
        mask = source[offsets[i] : offsets[i] + volumes[i]]
        found, places = find_objects(mask, shapes[i], classes[i], background[i])
        objects, words = (found, places), (first, second)
        chosen = _chosen(objects, classes[i], weights[i], least[i], ignore, largest, words)
        if chosen >= 0:
            for k in range(2 * ndim):  # an assignment to a slice takes 2 s to compile
                boxes[i, k] = places[chosen, k]
            labels[i] = found[chosen]


@random_object_bbox.cpu
def _cpu(call: op.Call) -> None:
    source = call.inputs[0]
    ndim = source.ndim
    classes, weights, background = class_rows(call)
    kinds = np.ascontiguousarray(classes), weights, background
    probability, least = call["foreground_prob"], call["threshold"]
    bad = ~((probability >= 0) & (probability <= 1))
    op.refuse_samples(bad, "foreground_prob", "a number from 0 to 1", probability)
    if least is None:
        least = np.zeros((call.size, ndim), np.int64)
    elif least.shape[1] == 1:
        least = np.repeat(least, ndim, axis=1)
    elif least.shape[1] != ndim:
        raise op.wrong_value("threshold", f"{ndim} sizes, or one", least.shape[1])
    boxes = np.empty((call.size, 2 * ndim), np.int64)
    labels = np.empty(call.size, np.int64)
    data = source.data.view(np.uint8) if source.dtype is op.bool_ else source.data
    shape = source.batch_shape
    masks = data, shape.offsets, shape.shapes, shape.volumes
    limits, results = (least, call["ignore_class"], call["k_largest"] or 0), (boxes, labels)
    call.for_costly_samples(_objects, masks, call.draws, probability, kinds, limits, results)
    if call["format"] == "box":
        call.outputs[0].as_array()[:] = boxes
    else:
        call.outputs[0].as_array()[:] = boxes[:, :ndim]
        shapes = boxes[:, ndim:] - boxes[:, :ndim]
        ends = boxes[:, ndim:]
        call.outputs[1].as_array()[:] = shapes if call["format"] == "anchor_shape" else ends
    if call["output_class"]:
        call.outputs[-1].as_array()[:] = labels


@random_object_bbox.cases
def _cases() -> list[op.Case]:
    mask = np.zeros((6, 7), np.int32)
    mask[1:3, 2:4], mask[4, 5], mask[5, 6], mask[0, 0] = 3, 1, 1, 1
    one = np.zeros((4, 4), np.int32)
    one[1:, 2] = 9
    masks = op.batch([mask, one])
    three, nine = np.array([1, 2, 3, 4], np.int32), np.array([1, 2, 4, 3], np.int32)
    whole = [np.array([0, 0, 6, 7], np.int32), np.array([0, 0, 4, 4], np.int32)]
    box: dict[str, Any] = {"format": "box"}
    return [
        op.case("default", masks, seed=1).no_oracle(),
        op.case("largest", masks, **box, ignore_class=True, k_largest=1).equals([three, nine]),
        op.case("threshold", masks, **box, threshold=(2, 1)).equals([three, nine]),
        op.case("start and end", masks, format="start_end", classes=[[3], [9]]).equals(
            [three[:2], nine[:2]]
        ),
        op.case("no class", masks, **box, classes=5, output_class=True).equals(whole),
        op.case("never", masks, **box, foreground_prob=0).equals(whole),
        op.case(
            "weights", masks, **box, classes=(1, 3, 9), class_weights=(0, 1, 2), output_class=True
        ).equals([three, nine]),
        op.case(
            "volume", op.samples((2, 3, 4), dtype=op.int8, layout="", low=0, high=2), seed=2
        ).no_oracle(),
        op.case("empty", op.samples((0, 4), dtype=op.uint8, layout=""), **box)
        .equals([np.array([0, 0, 0, 4], np.int32)])
        .no_oracle(),
        op.case("dtype", op.samples((4, 4), dtype=op.float32, layout="")).type_error("dtype"),
        op.case("format", masks, format="corners").value_error("`format`"),
        op.case("background class", masks, background=3, classes=(3, 1)).value_error("`classes`"),
        op.case("weights for others", masks, classes=(3, 1), class_weights=(1,)).value_error(
            "`class_weights`"
        ),
        op.case("both", masks, classes=(3, 1), ignore_class=True).value_error("`ignore_class`"),
        op.case("probability", masks, foreground_prob=[0.5, 1.5]).value_error("`foreground_prob`"),
    ]
