"""Tracks: how places in the first image of a sample have moved to where they are now.

A track is what `Targets` carry from operator to operator in place of points that move: it is
composed with the map of each operator, and the points are moved once, from the first image to the
last. Per sample it is float64, (R, 8):

    row 0       the shape of the image now, at most 7 axes; their number in column 7
    row 1       its layout, the number of each letter; the number of spatial axes in column 7
    rows 2..5   columns 0..3: the matrix, 4 x 4, from (x, y, z, 1) of the first image to w * (x, y,
                z, 1) of the image now; columns 4..6 of row 2 and row 3: the low and high ends of
                what can be seen, now; of row 4: the extents of the first image, of row 5: those of
                the image now
    rows 6..    planes of the first image, (a, b, c, d) in columns 0..3 and in columns 4..7: what
                has a * x + b * y + c * z + d < 0 has been cut away

Along axes that an image does not have, its extent is 1 and nothing moves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import BoolVector, F64Vector, Float64Array, Int64Array
from gradiva.eager.types.coordinate_maps import spatial_axes

COLUMNS: Final = 8
HEAD: Final = 6
"""The rows before the planes."""
SHAPE, LAYOUT, MATRIX, LOW, HIGH, FIRST, NOW = 0, 1, 2, 2, 3, 4, 5
"""Rows. The ends and the extents are in the columns from 4 on."""
_ASSUMED: Final = {2: "HW", 3: "HWC"}
_SLACK: Final = 1e-6
"""Of a pixel: by less than this an image does not leave the next one."""


def note_of(what: str) -> Callable[[Mapping[str, Any]], str]:
    """What `explain` says of the call that moves something along its tracks."""

    def note(fixed: Mapping[str, Any]) -> str:
        maps = str(fixed.get("maps", ""))
        count = len(maps.split(", ")) if maps else 0
        return f"targets: {what} move once, along {count} operators: {maps}" if count else ""

    return note


def layout_for(layout: str, ndim: int) -> str:
    """The layout of images, also of those that have none. Raises OperatorTypeError."""
    found = layout or _ASSUMED.get(ndim, "")
    if "H" not in found or "W" not in found or not 2 <= len(found) < COLUMNS:
        raise op.OperatorTypeError(
            "targets follow images", expected="a layout with H and W", got=f"{found!r}"
        )
    return found


def extents_of(shapes: Int64Array, layout: str) -> Float64Array:
    """The extents (N, 3) along x, y, z; 1 where there is no such axis."""
    made = np.ones((len(shapes), 3))
    axes = spatial_axes(layout)
    made[:, : len(axes)] = shapes[:, axes]
    return made


def begun(shapes: Int64Array, layout: str) -> Float64Array:
    """The tracks (N, 6, 8) of images that have not moved."""
    count, ndim = shapes.shape
    made = np.zeros((count, HEAD, COLUMNS))
    if count == 0:
        return made
    made[:, SHAPE, :ndim], made[:, SHAPE, 7] = shapes, ndim
    made[:, LAYOUT, :ndim] = [ord(letter) for letter in layout]
    made[:, LAYOUT, 7] = len(spatial_axes(layout))
    made[:, MATRIX : MATRIX + 4, :4] = np.eye(4)
    extents = extents_of(shapes, layout)
    made[:, HIGH, 4:7] = made[:, FIRST, 4:7] = made[:, NOW, 4:7] = extents
    return made


def stacked(tracks: op.Batch) -> Float64Array:
    """The tracks of a batch as one array (N, R, 8). Where they differ in length, planes are added
    that cut nothing. Raises OperatorValueError for what is no track."""
    if len(tracks) == 0:
        return np.zeros((0, HEAD, COLUMNS))
    shapes = tracks.batch_shape.shapes
    if shapes.shape[1] != 2 or (shapes[:, 1] != COLUMNS).any() or (shapes[:, 0] < HEAD).any():
        raise op.OperatorValueError(
            "the track of targets has another shape",
            expected=f"the shape (rows, {COLUMNS}), {HEAD} rows at least",
            got=str(tracks.batch_shape.shape(0)),
        )
    if tracks.batch_shape.uniform:
        made: Float64Array = np.asarray(tracks.as_array(), np.float64)
        return made
    rows = int(tracks.batch_shape.shapes[:, 0].max())
    made = np.zeros((len(tracks), rows, COLUMNS))
    made[:, HEAD:, 3] = made[:, HEAD:, 7] = 1.0
    for number, one in enumerate(tracks.arrays()):
        made[number, : len(one)] = one
    return made


def _places(shape: op.BatchShape) -> Int64Array:
    """Where the elements of all samples are in their slab, one sample after the other."""
    volumes = shape.volumes
    made: Int64Array = np.repeat(shape.offsets - (volumes.cumsum() - volumes), volumes)
    return made + np.arange(len(made))


def flat(batch: op.Batch) -> Any:
    """The elements of all samples, one sample after the other."""
    if batch.batch_shape.dense:
        return batch.data[: int(batch.batch_shape.volumes.sum())]
    return batch.data[_places(batch.batch_shape)]


def write_flat(batch: op.Batch, values: Any) -> None:
    """Fill a batch with elements, one sample after the other."""
    if batch.batch_shape.dense:
        batch.data[: values.size] = values.reshape(-1)
    else:
        batch.data[_places(batch.batch_shape)] = values.reshape(-1)


def layout_of(tracks: Float64Array) -> str:
    """The layout of the images now. All have one; there must be a track."""
    ndim = int(tracks[0, SHAPE, 7])
    return "".join(chr(int(letter)) for letter in tracks[0, LAYOUT, :ndim])


def shapes_of(tracks: Float64Array) -> Int64Array:
    """The shapes of the images now, (N, ndim)."""
    made: Int64Array = tracks[:, SHAPE, : int(tracks[0, SHAPE, 7])].astype(np.int64)
    return made


def matrices_of(maps: Float64Array, axes: int) -> Float64Array:
    """Maps as they are declared, as matrices (N, 4, 4)."""
    made = np.zeros((len(maps), 4, 4))
    made[:] = np.eye(4)
    made[:, :axes, :axes], made[:, :axes, 3] = maps[:, :axes, :axes], maps[:, :axes, axes]
    if maps.shape[1] == axes + 1:
        made[:, 3, :axes], made[:, 3, 3] = maps[:, axes, :axes], maps[:, axes, axes]
    return made


@op.jit
def moved(matrix: Float64Array, x: float, y: float, z: float, to: F64Vector) -> float:
    """Move a place by a matrix (4, 4); returns w, by which it was divided if it is above 0."""
    w = matrix[3, 0] * x + matrix[3, 1] * y + matrix[3, 2] * z + matrix[3, 3]
    scale = 1.0 / w if w > 0.0 else 1.0
    for axis in range(3):
        row = matrix[axis]
        to[axis] = (row[0] * x + row[1] * y + row[2] * z + row[3]) * scale
    return float(w)


@op.jit
def hull(
    matrix: Float64Array,
    low: F64Vector,
    high: F64Vector,
    axes: int,
    ends: tuple[F64Vector, F64Vector],
    place: F64Vector,
) -> bool:
    """The ends of what a box becomes under a matrix (4, 4): the least box around its corners.

    Returns False, without ends, if a corner goes to no place. place: (3,), scratch memory.
    """
    least, most = ends
    for axis in range(3):
        least[axis], most[axis] = np.inf, -np.inf
    for corner in range(1 << axes):
        x = high[0] if corner & 1 else low[0]
        y = high[1] if corner & 2 else low[1]
        z = high[2] if corner & 4 else low[2]
        if not moved(matrix, x, y, z, place) > 0.0:
            return False
        for axis in range(3):
            least[axis] = min(least[axis], place[axis])
            most[axis] = max(most[axis], place[axis])
    if axes < 3:
        least[2], most[2] = low[2], high[2]
    return True


@op.jit
def _see(
    map: Float64Array,
    old: Float64Array,
    new: Float64Array,
    axes: int,
    ends: tuple[F64Vector, F64Vector],
    place: F64Vector,
) -> None:
    """Fill in the ends of what can be seen after an operator, which moves places by `map`. ends:
    (3,) each, place: (3,), scratch memory."""
    least, most = ends
    seen = True
    for axis in range(axes):
        if not old[HIGH, 4 + axis] > old[LOW, 4 + axis]:
            seen = False
    for axis in range(3):
        new[LOW, 4 + axis] = 0.0
        new[HIGH, 4 + axis] = new[NOW, 4 + axis] if seen else 0.0
    if seen and hull(map, old[LOW, 4:7], old[HIGH, 4:7], axes, ends, place):
        for axis in range(axes):
            new[LOW, 4 + axis] = max(least[axis], 0.0)
            high = min(most[axis], new[NOW, 4 + axis])
            new[HIGH, 4 + axis] = max(high, new[LOW, 4 + axis])


@op.jit
def compose_tracks(
    tracks: Float64Array,
    maps: Float64Array,
    extents: Float64Array,
    axes: int,
    made: Float64Array,
    cut: BoolVector,
) -> None:
    """Follow one operator.

    tracks: (N, R, 8); maps: (N, 4, 4), from the image that it was given to the one that it makes,
    whose extents are (N, 3). made: (N, R + axes, 8), all but the first two rows of which are filled
    in; cut: (N,), whether something of the image was cut away.
    """
    rows = tracks.shape[1]
    place, least, most = np.empty(3), np.empty(3), np.empty(3)
    nothing = np.zeros(3)
    for i in range(len(tracks)):
        old, new, map = tracks[i], made[i], maps[i]
        for row in range(HEAD, rows):
            for column in range(COLUMNS):
                new[row, column] = old[row, column]
        for row in range(4):
            for column in range(4):
                total = 0.0
                for k in range(4):
                    total += map[row, k] * old[MATRIX + k, column]
                new[MATRIX + row, column] = total
        for axis in range(3):
            new[FIRST, 4 + axis] = old[FIRST, 4 + axis]
            new[NOW, 4 + axis] = extents[i, axis]
        whole = hull(map, nothing, old[NOW, 4:7], axes, (least, most), place)
        cut[i] = not whole
        for axis in range(axes):
            if not (least[axis] >= -_SLACK and most[axis] <= extents[i, axis] + _SLACK):
                cut[i] = True
        _see(map, old, new, axes, (least, most), place)
        for axis in range(axes):
            planes = new[rows + axis]
            for column in range(4):
                along, below = new[MATRIX + axis, column], new[MATRIX + 3, column]
                planes[column] = along if cut[i] else 0.0
                planes[4 + column] = extents[i, axis] * below - along if cut[i] else 0.0
            if not cut[i]:
                planes[3] = planes[7] = 1.0


def followed(
    tracks: Float64Array, maps: Float64Array, shapes: Int64Array, layout: str
) -> Float64Array:
    """The tracks of images after an operator with these maps, as `matrices_of` has them, which
    makes images of these shapes and this layout."""
    count, rows, _ = tracks.shape
    axes, ndim = len(spatial_axes(layout)), shapes.shape[1]
    made, cut = np.zeros((count, rows + axes, COLUMNS)), np.zeros(count, np.bool_)
    made[:, SHAPE, :ndim], made[:, SHAPE, 7] = shapes, ndim
    made[:, LAYOUT, :ndim] = [ord(letter) for letter in layout]
    made[:, LAYOUT, 7] = axes
    compose_tracks(tracks, maps, extents_of(shapes, layout), axes, made, cut)
    return made if cut.any() else np.ascontiguousarray(made[:, :rows])
