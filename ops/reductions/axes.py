"""Which axes are reduced, and how samples look to the kernel: groups of axes that lie together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradiva.eager import extension as op


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
        raise op.OperatorValueError(argument="axes", expected=expected, got=str(tuple(axes)))
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
