"""What targets have passed before the track that they follow now: operators that bend images.

No matrix says where these move pixels, so a track ends there, and another one begins. The past of
a sample is float64, (R, 8), rows of 8 numbers; of each such operator, one after the other:

    row 0       rows of the track that ended; height and width of the grid, 0 if nothing moves;
                height and width of the image that it made; whether it is mirrored
    the track   as in `track`
    the grid    float32 (height, width, 2), two in the place of a number: where the places (-0.5,
                -0.5), (0.5, -0.5) and so on of that image come from, in the image before

In between the grid is linear, in two triangles for each cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.per_frame_types import has_frames
from gradiva.eager.types.arrays import Float32Array, Float64Array
from gradiva.eager.types.coordinate_maps import spatial_axes

from .track import COLUMNS, HEAD, MATRIX, begun, write_flat

_MOST: Final = 2.0**31
PAST: Final = op.SampleType(op.float64, 2, "", "cpu")


@dataclass(frozen=True)
class Bend:
    """One operator that bends an image: the track that ended there, the grid (h + 2, w + 2, 2),
    whose height is 0 if nothing moves, and the size of the image that it made. back: the inverse of
    the track's matrix; zeros if there is none."""

    track: Float64Array
    back: Float64Array
    grid: Float32Array
    height: int
    width: int
    mirrored: bool


def _packed(track: Float64Array, grid: Float32Array, size: tuple[int, int]) -> Float64Array:
    """The rows of one operator."""
    made = np.zeros((1 + len(track) + -(-grid.size // (2 * COLUMNS)), COLUMNS))
    made[0, :5] = len(track), *grid.shape[:2], *size
    if grid.size:
        right, down = grid[1:-1, 2:] - grid[1:-1, :-2], grid[2:, 1:-1] - grid[:-2, 1:-1]
        turns = right[..., 0] * down[..., 1] - right[..., 1] * down[..., 0]
        made[0, 5] = float((turns < 0).sum() * 2 > turns.size)
    made[1 : 1 + len(track)] = track
    made[1 + len(track) :].reshape(-1).view(np.float32)[: grid.size] = grid.reshape(-1)
    return made


def _no_past(shape: tuple[int, ...]) -> op.OperatorValueError:
    return op.OperatorValueError(
        "the track of what targets have passed is damaged",
        expected=f"rows of {COLUMNS} numbers, as many as their first rows say",
        got=f"the shape {shape}",
    )


def bends_of(past: Any) -> list[Bend]:
    """The operators of the past of a sample, the first one first. Raises OperatorValueError for
    what is no past."""
    rows, made, first = np.ascontiguousarray(past, np.float64), list[Bend](), 0
    if rows.ndim != 2 or rows.shape[1] != COLUMNS:
        raise _no_past(rows.shape)
    while first < len(rows):
        if not (np.abs(rows[first, :5]) <= _MOST).all():
            raise _no_past(rows.shape)
        count, high, wide, height, width = rows[first, :5].astype(np.int64).tolist()
        track = rows[first + 1 : first + 1 + count]
        begin, size = first + 1 + count, 2 * high * wide
        end = begin + -(-size // (2 * COLUMNS))
        if min(high, wide, height, width) < 0 or count < HEAD or end > len(rows):
            raise _no_past(rows.shape)
        grid = rows[begin:end].reshape(-1).view(np.float32)[:size].reshape(high, wide, 2)
        matrix = track[MATRIX : MATRIX + 4, :4]
        with np.errstate(all="ignore"):
            good = bool(np.abs(np.linalg.det(matrix)) > 0)
        back = np.zeros((4, 4))
        if good:
            back[:] = np.linalg.inv(matrix)
        made.append(Bend(track, back, grid, height, width, rows[first, 5] != 0))
        first = end
    return made


def _grid(sources: Any) -> Float32Array:
    """The grid of places at the centers of pixels, (h, w, 2), with a border in which they go on as
    the two beside them do."""
    height, width = sources.shape[:2]
    if height == 0 or width == 0:
        return np.zeros((0, 0, 2), np.float32)
    made = np.empty((height + 2, width + 2, 2), np.float32)
    made[1:-1, 1:-1] = sources
    _go_on(made[1:-1].transpose(1, 0, 2), np.array([1, 0], np.float32))
    _go_on(made, np.array([0, 1], np.float32))
    return made


def _go_on(rows: Float32Array, step: Float32Array) -> None:
    """Fill in the first and the last row. step: from row to row, if there is but one between."""
    several = len(rows) > 3
    rows[0] = rows[1] - (rows[2] - rows[1] if several else step)
    rows[-1] = rows[-2] + (rows[-2] - rows[-3] if several else step)


@dataclass(frozen=True)
class PastPlan(op.Plan):
    """rows: of each sample."""

    rows: list[Float64Array]


def plan_of_rows(rows: list[Float64Array]) -> PastPlan:
    """The plan of a call that makes the past of each sample."""
    shapes = np.array([one.shape for one in rows], np.int64).reshape(-1, 2)
    return PastPlan(op.BatchShape.of(shapes), rows)


def write_rows(call: op.Call) -> None:
    """The kernel of such a call."""
    assert isinstance(call.plan, PastPlan)
    write_flat(call.outputs[0], np.concatenate([*call.plan.rows, np.empty((0, COLUMNS))]))


def bent(
    inner: op.Call, sources: list[Any], tracks: op.Batch, pasts: op.Batch, name: str
) -> PastPlan:
    """The past after an operator that bends images. inner: its call; sources: what its rule says,
    see `SourceMaps`. Raises OperatorTypeError and OperatorValueError."""
    shapes, layout = inner.batch_shapes[0].shapes, inner.types[0].layout or ""
    x, y = spatial_axes(layout)
    rows = []
    for sample, source in enumerate(sources):
        size = (int(shapes[sample, y]), int(shapes[sample, x]))
        grid = np.zeros((0, 0, 2), np.float32)
        if source is not None and source.shape != (*size, 2):
            raise op.OperatorValueError(
                "its displacement has another shape",
                expected=f"{(*size, 2)}",
                got=str(source.shape),
                sample=sample,
                operator=name,
            )
        if source is not None:
            grid = _grid(source)
        one = _packed(tracks.array(sample), grid, size)
        rows.append(np.concatenate([pasts.array(sample), one]))
    return plan_of_rows(rows)


def check_flat(track: op.SampleType | op.Batch, name: str) -> None:
    """Refuse what no displacement can be followed for: frames that move in their own ways."""
    type = track.type if isinstance(track, op.Batch) else track
    if has_frames(type):
        raise op.OperatorTypeError(
            "the operator cannot move targets of frames that have moved in different ways: it "
            "bends the image",
            operator=name,
        )


@op.operator("targets.past")
def past(input: op.SampleType, /, **common: op.Unpack[op.Common]) -> op.SampleType:
    """Return the past of samples that have none: no operator has bent the image.

    Args:
        input: the track of a sample, float64.

    Returns:
        float64, (0, 8).

    Raises:
        OperatorTypeError: for tracks of frames.

    Example:
        from gradiva.ops.targets.canvas import canvas
        from gradiva.ops.targets.past import past

        past(canvas(gradiva.imread("cat.jpg"))).shape  # (0, 8)
    """
    check_flat(input, "targets.past")
    return PAST


@past.shapes
def _shapes(call: op.Call) -> PastPlan:
    return plan_of_rows([np.empty((0, COLUMNS))] * call.size)


past.cpu(write_rows)


@past.cases
def _cases() -> list[op.Case]:
    tracks = op.batch(list(begun(np.array([[6, 8, 3], [5, 4, 3]]), "HWC")))
    none = np.empty((0, COLUMNS))
    return [
        op.case("images", tracks).equals([none, none]).no_oracle(),
        op.case("one", op.batch(np.empty((1, 8, COLUMNS)))).equals([none]).no_oracle(),
        op.case("whole numbers", op.batch(np.empty((1, 6, COLUMNS), np.int32)))
        .equals([none])
        .no_oracle(),
        op.case("empty", op.batch(np.empty((0, 6, COLUMNS)))).equals([]).no_oracle(),
        op.case("frames", op.batch(np.empty((1, 2, 6, COLUMNS)), layout="F**")).type_error(
            "frames"
        ),
    ]


def pasts_of(pasts: op.Batch, tracks: op.Batch) -> list[list[Bend]]:
    """The past that belongs to each track: of a sample, or of each of its frames."""
    made = [bends_of(one) for one in pasts.arrays()]
    if not has_frames(tracks.type):
        return made
    counts = tracks.batch_shape.shapes[:, 0].tolist()
    return [one for one, count in zip(made, counts, strict=True) for _ in range(count)]


def first_tracks(pasts: list[list[Bend]], tracks: Float64Array) -> Float64Array:
    """The heads of the tracks that begin with the first images, (N, 6, 8)."""
    made = tracks[:, :HEAD].copy()
    for sample, bends in enumerate(pasts):
        if bends:
            made[sample] = bends[0].track[:HEAD]
    return made
