"""What all reductions share: which axes are reduced, and the way from a call to the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.rows.convert import convert_array
from gradiva.eager.support.errors import OperatorIndexError

from .cpu import DEVIATIONS, MAXIMUM, MINIMUM, PLAIN, SQUARES, SUM, reduce_samples


def resolve_axes(
    ndim: int, layout: str, axes: Sequence[int] | None, axis_names: str | None
) -> tuple[int, ...]:
    """The axes to reduce, in order; all, if none are named. Raises OperatorValueError."""
    if axis_names is not None:
        for letter in axis_names:
            if letter not in layout:
                raise op.wrong_value(
                    "axis_names",
                    f"letters of the layout {layout!r}" if layout else "a layout",
                    repr(axis_names) if layout else "samples without a layout",
                )
        return tuple(sorted(layout.index(letter) for letter in axis_names))
    if axes is None:
        return tuple(range(ndim))
    found = [axis + ndim if axis < 0 else axis for axis in axes]
    if any(not 0 <= axis < ndim for axis in found):
        expected = f"axes from {-ndim} to {ndim - 1}" if ndim else "no axes: samples are scalars"
        raise OperatorIndexError(argument="axes", expected=expected, got=str(tuple(axes)))
    if len(set(found)) != len(found):
        raise op.wrong_value("axes", "each axis once", tuple(axes))
    return tuple(sorted(found))


def exclusive(axes: Sequence[int] | None, axis_names: str | None) -> None:
    """Refuse axes that are given twice. Raises OperatorValueError."""
    if axes is not None and axis_names is not None:
        raise op.OperatorValueError("`axes` and `axis_names` exclude each other")


def reduced_type(
    input: op.SampleType, axes: op.Ints | None, axis_names: str | None, keep_dims: bool
) -> op.SampleType:
    """The input's type without the axes that are reduced, as far as it is known."""
    assert not isinstance(axes, int)  # the engine makes tuples of them
    exclusive(axes, axis_names)
    ndim, layout = input.ndim, input.layout
    if axis_names is not None and layout is None:
        return input if keep_dims else input.with_(ndim=None)
    if axes is None and axis_names is None and not keep_dims:
        return input.with_(ndim=0, layout="")
    if ndim is None:
        return input if keep_dims else input.with_(layout=None)
    taken = resolve_axes(ndim, layout or "", axes, axis_names)
    if keep_dims:
        return input
    if layout:
        layout = "".join(letter for axis, letter in enumerate(layout) if axis not in taken)
    elif layout is None and len(taken) == ndim:
        layout = ""
    return input.with_(ndim=ndim - len(taken), layout=layout)


def reduced_shapes(shapes: op.Int64Array, taken: Sequence[int], keep_dims: bool) -> op.Int64Array:
    """Shapes of the results, (N, ndim) or with fewer columns."""
    if keep_dims:
        result = shapes.copy()
        result[:, list(taken)] = 1
        return result
    return np.ascontiguousarray(np.delete(shapes, list(taken), axis=1))


def groups(shapes: op.Int64Array, taken: Sequence[int]) -> op.Int64Array:
    """Extents of adjacent axes merged: (N, 2 * pairs + 1), kept and reduced ones in turns; the
    first and the last are kept. One pair at least, whose reduced extent is 1 if no axis is."""
    merged: list[list[int]] = [[]]
    for axis in range(shapes.shape[1]):
        reduced = axis in taken
        if reduced != (len(merged) % 2 == 0):
            merged.append([])
        merged[-1].append(axis)
    while len(merged) % 2 == 0 or len(merged) < 3:
        merged.append([])
    result = np.ones((len(shapes), len(merged)), np.int64)
    for column, members in enumerate(merged):
        result[:, column] = shapes[:, members].prod(axis=1)
    return result


Floats = np.ndarray[Any, np.dtype[np.float64]]
Centers = tuple[Floats, op.Int64Array, op.Int64Array]
"""Numbers, where those of each sample begin, and how many there are."""


def sum_dtype(dtype: op.DType) -> op.DType:
    """Of a sum if none is asked for: the widest integer, float32, or float64 for float64."""
    if dtype.is_float:
        return mean_dtype(dtype)
    return op.int64 if dtype.is_signed else op.uint64


def mean_dtype(dtype: op.DType) -> op.DType:
    """Of a mean if none is asked for."""
    return op.float64 if dtype is op.float64 else op.float32


def axes_of(call: op.Call) -> tuple[int, ...]:
    """The axes that a call reduces."""
    source = call.inputs[0]
    return resolve_axes(source.batch_shape.ndim, source.layout, call["axes"], call["axis_names"])


def shapes_of(call: op.Call) -> op.Int64Array:
    """The shape rule of all reductions."""
    return reduced_shapes(call.inputs[0].batch_shape.shapes, axes_of(call), call["keep_dims"])


def _starts(kind: int, source: np.dtype[Any]) -> tuple[Any, np.dtype[Any]]:
    """What totals start with (and are, if nothing is reduced), and the dtype of lanes."""
    if kind in (MINIMUM, MAXIMUM):
        if source.kind == "f":
            extreme = np.finfo(source).max if kind == MINIMUM else np.finfo(source).min
            return np.array([np.nan, extreme], source), source
        limits = np.iinfo(source)
        extreme = limits.max if kind == MINIMUM else limits.min
        return np.array([extreme, extreme], source), source
    narrow = source.itemsize <= 2 and source.kind in "iu"
    if source.kind == "f" or kind == DEVIATIONS:
        return np.zeros(2), np.dtype(np.float64)
    wide = np.dtype(np.int64 if source.kind == "i" else np.uint64)
    return np.zeros(2, wide), np.dtype(f"{source.kind}4") if narrow else wide


def planned_sums(kind: int, ending: int, dtype: np.dtype[Any]) -> tuple[int, Any, np.dtype[Any]]:
    """The kind that serves values of a dtype (not bool or float16), and its `_starts`."""
    wide = dtype.itemsize > (2 if kind == SUM else 1) or dtype.kind == "f"
    if kind == SQUARES and wide:
        # Squares are deviations from nothing; integers of 16 bits and more would not fit.
        kind = DEVIATIONS
    if kind == SUM and wide and ending != PLAIN:
        return kind, np.zeros(2), np.dtype(np.float64)
    return kind, *_starts(kind, dtype)


def reduce_batch(
    call: op.Call,
    source: op.Batch,
    kind: int,
    ending: int,
    taken: tuple[int, ...],
    result: np.ndarray[Any, Any],
    places: op.BatchShape,
    centers: Centers | None = None,
    ddof: int = 0,
) -> None:
    """Reduce the samples of `source` over the axes `taken`, into `result`.

    kind, ending: of the kernel; places: where each sample's results are; centers: of DEVIATIONS.
    """
    data = source.data
    if data.dtype.kind == "b":
        data = data.view(np.uint8)
    data = convert_array(data, np.dtype(np.float32)) if source.dtype is op.float16 else data
    count = len(source)
    kind, start, lanes = planned_sums(kind, ending, data.dtype)
    if centers is None:
        nowhere = np.zeros(count, np.int64)
        centers = (np.zeros(1), nowhere, np.ones(count, np.int64))
    # One compiled kernel for each input dtype: results of other dtypes are converted afterwards.
    natural = start.dtype if ending == PLAIN else np.dtype(np.float64)
    out = result.view(np.uint8) if kind in (MINIMUM, MAXIMUM) and result.dtype == bool else result
    if out.dtype != natural and not (out.dtype == np.float32 and natural.kind == "f"):
        out = np.zeros(result.shape, natural)
    slabs = data, source.batch_shape.offsets, out, places.offsets
    extents, rule = groups(source.batch_shape.shapes, taken), (kind, ending, ddof, start)
    call.for_samples(
        reduce_samples, slabs, extents, centers, (*rule, np.empty(0, lanes)), work=source
    )
    if not np.shares_memory(out, result):
        result[:] = convert_array(out, result.dtype)


def call_reduction(call: op.Call, kind: int, ending: int) -> None:
    """The kernel of an operator with one input, or with means as its second one."""
    target = call.outputs[0]
    taken = axes_of(call)
    centers = given_means(call) if kind == DEVIATIONS else None
    ddof = call["ddof"] if kind == DEVIATIONS else 0
    reduce_batch(
        call, call.inputs[0], kind, ending, taken, target.data, target.batch_shape, centers, ddof
    )


def given_means(call: op.Call) -> Centers:
    """The means of the second input: one for all, or one for each result."""
    offsets, volumes = fitting_means(call)
    with np.errstate(invalid="ignore"):  # between samples lies what was there
        return call.inputs[1].data.astype(np.float64), offsets, volumes


def fitting_means(call: op.Call) -> tuple[op.Int64Array, op.Int64Array]:
    """Where the means of each sample begin, and how many there are. Raises OperatorValueError."""
    source, means = call.inputs[0], call.inputs[1]
    shapes, volumes = means.batch_shape.shapes, means.batch_shape.volumes
    taken = axes_of(call)
    fits = volumes == 1
    for keep_dims in (False, True):
        wanted = reduced_shapes(source.batch_shape.shapes, taken, keep_dims)
        if wanted.shape == shapes.shape:
            fits |= (wanted == shapes).all(axis=1)
    if not fits.all():
        wanted = reduced_shapes(source.batch_shape.shapes, taken, call["keep_dims"])
        op.refuse_samples(
            ~fits,
            "",
            lambda sample: f"one number, or the shape {tuple(wanted[sample].tolist())}",
            means.batch_shape.shape,
            "the mean has the wrong shape",
        )
    return means.batch_shape.offsets, volumes
