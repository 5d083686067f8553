"""Where `slice` and `decoders.image_slice` cut: from inputs and arguments to whole elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol, TypedDict

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.rows.convert import round_half_away
from gradiva.eager.support.errors import OperatorIndexError
from gradiva.eager.types.arrays import Array

_FAR: Final = 1 << 31
"""No end lies there, unless the sample is as long."""
_ARGUMENTS = (
    "start", "end", "shape", "rel_start", "rel_end", "rel_shape", "axes", "axis_names"
)  # fmt: skip
_INPUTS = ("anchor", "shape of the region")
_NORMALIZED = dict(zip(_INPUTS, ("normalized_anchor", "normalized_shape"), strict=True))


class SupportsGet(Protocol):
    """Arguments by name: a row of numbers per sample, or None."""

    def __getitem__(self, name: str, /) -> Any: ...


@op.argument_group(normalized_anchor=True, normalized_shape=True)
class SliceRegion(TypedDict, total=False):
    """
    The region is given by two more inputs or by arguments, with a number for each of the axes.

    Args:
        anchor, extent: the region's low end and its shape, 1-D. Integers are elements. Floats are
            fractions of the sample, or elements where normalized_anchor, normalized_shape are
            False.
        start, rel_start: the low end, in elements or as fractions; 0 if neither is given.
        end, rel_end: the high end, not included.
        shape, rel_shape: the extent, in place of the high end. Without either, the region ends with
            the sample. One number stands for all axes.
        axes: which axes the numbers are about, negative ones counted from the end; none: all.
            Samples may differ in how many they are, and so in how many numbers there are.
        axis_names: the letters of the axes in the layout, in place of `axes`; "WH" (x before y) if
            neither is given. Other axes stay whole.
        normalized_anchor: whether floats in `anchor` are fractions of the extents.
        normalized_shape: whether floats in `extent` are fractions of the extents.
    """

    start: op.UnevenIntsArg | None
    end: op.UnevenIntsArg | None
    shape: op.UnevenIntsArg | None
    rel_start: op.UnevenFloatsArg | None
    rel_end: op.UnevenFloatsArg | None
    rel_shape: op.UnevenFloatsArg | None
    axes: op.UnevenIntsArg | None
    axis_names: str | None
    normalized_anchor: bool
    normalized_shape: bool


class Sliced(SliceRegion, op.Common, total=False):
    """What `slice` takes."""


def check_region(anchor: Any, extent: Any, options: Mapping[str, Any]) -> None:
    """Refuse inputs and arguments that exclude each other, and inputs that hold no numbers."""
    names = ("start", "end", "shape")
    given = {name: options[name] for plain in names for name in (plain, f"rel_{plain}")}
    for name in names:
        if given[name] is not None and given[f"rel_{name}"] is not None:
            raise op.OperatorValueError(f"`{name}` and `rel_{name}` exclude each other")
    named = {name.removeprefix("rel_") for name, value in given.items() if value is not None}
    if {"end", "shape"} <= named:
        raise op.OperatorValueError("an end and a shape exclude each other")
    if anchor is not None and extent is None:
        raise op.OperatorTypeError("an anchor needs a shape: give both as inputs, or `start`, ...")
    if (anchor is not None) == bool(named):
        other = "not both" if named else "none was given"
        raise op.OperatorValueError(f"give the region by two inputs or by arguments; {other}")
    if options["axes"] is not None and options["axis_names"] is not None:
        raise op.OperatorValueError("`axes` and `axis_names` exclude each other")
    for what, value in (("anchor", anchor), ("shape", extent)):
        if value is not None and value.dtype is not None and value.dtype.is_bool:
            raise op.OperatorTypeError(f"the {what}", expected="integers or floats", got="bool")


def slice_region(
    call: op.Call, shapes: op.Int64Array, layout: str, default: str = "WH"
) -> tuple[op.Int64Array, op.Int64Array]:
    """Anchors and shapes of the regions, (N, ndim) both, that a call describes.

    shapes: of the samples, (N, ndim), with axes that `layout` names ("" if they have no names);
    default: the axes that the numbers are about if neither `axes` nor `axis_names` was given.
    Ends are rounded half away from zero. Raises OperatorValueError, also
    for an end before its start.
    """
    given = {name: call[name] for name in _ARGUMENTS}
    given |= {name: _rows(batch) for name, batch in zip(_INPUTS, call.inputs[1:], strict=False)}
    for name, batch in zip(_INPUTS, call.inputs[1:], strict=False):
        given[f"{name} in fractions"] = call[_NORMALIZED[name]] and batch.dtype.is_float
    lengths = [[len(row) for row in rows] for rows in given.values() if isinstance(rows, list)]
    if not lengths:
        return _even_region(given, shapes, layout, default)
    anchors, windows = np.empty_like(shapes), np.empty_like(shapes)
    groups: dict[tuple[int, ...], list[int]] = {}
    for sample, counts in enumerate(zip(*lengths, strict=True)):
        groups.setdefault(counts, []).append(sample)
    for members in groups.values():
        part = {name: _of(members, value) for name, value in given.items()}
        try:
            found = _even_region(part, shapes[members], layout, default)
        except op.GradivaError as error:
            if error.sample is not None:
                error.sample = members[error.sample]
            raise
        anchors[members], windows[members] = found
    return anchors, windows


def _of(members: list[int], value: Any) -> Any:
    """The rows of some samples, which have as many numbers each; other values as they are."""
    if isinstance(value, list):
        return np.stack([value[sample] for sample in members])
    return value[members] if isinstance(value, np.ndarray) else value


def _even_region(
    given: Mapping[str, Any], shapes: op.Int64Array, layout: str, default: str
) -> tuple[op.Int64Array, op.Int64Array]:
    """`slice_region` for samples that have as many numbers each."""
    axes = named_axes(given, shapes.shape, layout, default)
    if _INPUTS[0] not in given:
        return region_along(given, shapes, axes)
    along = np.take_along_axis(shapes, axes, axis=1)
    low = _input(given, _INPUTS[0], along)
    high = low + _input(given, _INPUTS[1], along)
    return _region(shapes, axes, low, high)


def region_along(
    given: SupportsGet, shapes: op.Int64Array, axes: op.Int64Array
) -> tuple[op.Int64Array, op.Int64Array]:
    """The same from the rows of start, end, shape and their `rel_` forms, about these axes."""
    along = np.take_along_axis(shapes, axes, axis=1)
    start = _argument(given, "start", along)
    low = np.zeros(along.shape) if start is None else start
    end, shape = _argument(given, "end", along), _argument(given, "shape", along)
    high = along.astype(np.float64)
    if end is not None:
        high = end
    elif shape is not None:
        high = low + shape
    return _region(shapes, axes, low, high)


def _region(
    shapes: op.Int64Array, axes: op.Int64Array, low: Array, high: Array
) -> tuple[op.Int64Array, op.Int64Array]:
    if (high < low).any():
        sample, axis = np.argwhere(high < low)[0].tolist()
        raise op.OperatorValueError(
            "the region ends before it starts",
            got=f"from {low[sample, axis]:g} to {high[sample, axis]:g}",
            sample=sample,
        )
    anchors, windows = np.zeros_like(shapes), shapes.copy()
    most = np.take_along_axis(shapes, axes, axis=1)
    first, last = _rounded(low, most), _rounded(high, most)
    np.put_along_axis(anchors, axes, first, axis=1)
    np.put_along_axis(windows, axes, last - first, axis=1)
    return anchors, windows


def _rounded(values: Array, extents: op.Int64Array) -> op.Int64Array:
    """extents: of the samples. Those of long ones may lie farther away than others."""
    bad = ~(np.abs(values) < np.where(extents < _FAR, _FAR, 2 * extents))
    if bad.any():
        raise op.OperatorValueError(
            "the region has ends that are no pixels",
            got=str(values[bad][0]),
            sample=int(np.argwhere(bad)[0][0]),
        )
    return round_half_away(values).astype(np.int64)


def named_axes(
    given: SupportsGet, samples: tuple[int, ...], layout: str, default: str
) -> op.Int64Array:
    """(N, k): the axes that the arguments `axes` or `axis_names` name, all if they name none.

    samples: (N, ndim). Raises OperatorValueError for axes that are not there, or named twice.
    """
    count, ndim = samples
    names, axes = given["axis_names"], given["axes"]
    if axes is None:
        names = default if names is None else names
        if len(set(names)) < len(names) or not set(names) <= set(layout):
            there = f"axes of {layout!r}" if layout else "`axes`, for there is no layout"
            raise op.wrong_value("axis_names", there, repr(names))
        found = [layout.index(letter) for letter in names] or list(range(ndim))
        return np.tile(np.array(found, np.int64), (count, 1))
    return wrapped_axes(axes, ndim)


def wrapped_axes(axes: op.Int64Array, ndim: int, argument: str = "axes") -> op.Int64Array:
    """Axes counted from 0, all if there are none. Raises OperatorValueError."""
    if not axes.shape[1]:
        return np.tile(np.arange(ndim), (len(axes), 1))
    return inside(axes, ndim, argument=argument)


def inside(axes: op.Int64Array, ndim: int, first: int = 0, argument: str = "axes") -> op.Int64Array:
    """(N, k): axes of the samples from `first` on, counted from 0.

    Raises OperatorIndexError for axes that are not there, or named twice.
    """
    wrapped: op.Int64Array = np.where(axes < 0, axes + ndim, axes)
    ordered = np.sort(wrapped, axis=1)
    bad = ((wrapped < 0) | (wrapped >= ndim)).any(axis=1)
    bad |= (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    op.refuse_samples(
        bad,
        argument,
        f"numbers from {-ndim} to {ndim - 1}, each axis once",
        lambda row: axes[row].tolist(),
        first=first,
        error=OperatorIndexError,
    )
    return wrapped


def _rows(given: op.Batch) -> Array | list[Array]:
    """The numbers of an input, float64: (N, k), or a list of rows whose lengths differ."""
    rows = [given.array(sample).reshape(-1) for sample in range(len(given))]
    lengths = given.batch_shape.volumes
    if (lengths == lengths[:1]).all():
        return np.array(rows, np.float64).reshape(len(rows), -1 if rows else 0)
    return [row.astype(np.float64) for row in rows]


def _input(given: Mapping[str, Any], name: str, along: op.Int64Array) -> Array:
    rows: Array = given[name]
    if rows.shape[1] != along.shape[1] and len(rows):
        raise op.OperatorValueError(
            f"the {name} has a number for each axis",
            expected=str(along.shape[1]),
            got=str(rows.shape[1]),
            sample=0,
        )
    rows = rows.reshape(along.shape)
    return rows * along if given[f"{name} in fractions"] else rows


def _argument(given: SupportsGet, name: str, along: op.Int64Array) -> Array | None:
    """`name` in elements, or `rel_<name>` made elements; None if neither was given."""
    for title, scale in ((name, None), (f"rel_{name}", along)):
        rows = given[title]
        if rows is None:
            continue
        if not len(along):  # a batch of no samples does not say how many numbers each has
            return np.empty(along.shape)
        if rows.shape[1] not in (1, along.shape[1]):
            raise op.wrong_value(title, f"1 or {along.shape[1]} numbers", rows.shape[1])
        wide = np.broadcast_to(rows, along.shape)
        if scale is not None:
            # As in DALI: a start and a shape are multiplied in float64, like inputs; in
            # all other combinations the products are float32.
            pair = given["rel_start"] is not None and given["rel_shape"] is not None
            precision = np.float64 if pair else np.float32
            wide = wide.astype(precision) * scale.astype(precision)
        return wide.astype(np.float64)
    return None
