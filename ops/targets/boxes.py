"""`targets.boxes`: boxes along their tracks, and which of the objects are left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Float64Array

from .bent_boxes import move_bent_boxes
from .box_moves import ENDS_FIRST, FORMATS, NO_AREA, NOT_FINITE, OUTSIDE, move_boxes
from .frames import counts_in_frames, tracks_of
from .past import first_tracks, pasts_of
from .track import FIRST, LAYOUT, begun, flat, note_of, write_flat

_FAULTS: Final = {
    NOT_FINITE: "finite numbers",
    ENDS_FIRST: "a box that does not end before it begins",
    NO_AREA: "a box with an area",
    OUTSIDE: "a box that is not outside of its image",
}


@op.operator("targets.boxes", inputs=(2, 3))
def boxes(
    input: op.SampleType,
    track: op.SampleType,
    past: op.SampleType | None = None,
    /,
    *,
    format: str = "xyxy",
    relative: bool = False,
    made_format: str | None = None,
    made_relative: bool | None = None,
    clip: bool = True,
    drop: bool = True,
    min_visibility: float = 0.0,
    min_area: float = 0.0,
    min_size: float = 0.0,
    invalid: str = "raise",
    maps: str = "",
    **common: op.Unpack[op.Common],
) -> tuple[op.SampleType, op.SampleType]:
    """Move boxes with their images, and say which of them are left.

    Args:
        input: the boxes of a sample, (n, 4), of volumes (n, 6); or of each frame, (f, n, 4).
        track: how the places of the image have moved, float64.
        past: the operators that have bent it before that, float64.
        format, relative, clip, drop, min_visibility, min_area, min_size, invalid: as in
            `gradiva.Targets`.
        made_format, made_relative: of the result, if these differ.
        maps: the operators that the track follows, for those who read the graph.

    Returns:
        The boxes that are left, float32, or float64 if they came so; and for each that came whether
        it is left, bool (n,).

    Raises:
        OperatorValueError: for boxes that are none, naming sample and object.

    Example:
        from gradiva.ops.targets.boxes import boxes
        from gradiva.ops.targets.canvas import canvas

        image = gradiva.imread("cat.jpg")
        moved, left = boxes(np.float32([[10, 20, 30, 40]]), canvas(image))
        moved  # [[10.0, 20.0, 30.0, 40.0]]
    """
    check_format(format)
    check_format(made_format or format)
    if invalid not in ("raise", "drop"):
        raise op.wrong_value("invalid", "'raise' or 'drop'", repr(invalid))
    op.require_ndim(input, (2, 3), "boxes")
    dtype = op.float64 if input.dtype is op.float64 else op.float32
    return op.SampleType(dtype, input.ndim, ""), op.SampleType(op.bool_, 1, "")


def check_format(format: str) -> None:
    """Refuse what is no format of boxes."""
    if format not in FORMATS:
        raise op.wrong_value("format", ", ".join(map(repr, FORMATS)), repr(format))


@dataclass(frozen=True)
class _BoxesPlan(op.Plan):
    """made: all boxes that are left, (K, 2 * axes); kept: of each that came whether it is."""

    made: Float64Array
    kept: np.ndarray[Any, np.dtype[np.bool_]]


def rows_of(batch: op.Batch, width: int, what: str) -> Float64Array:
    """The rows of all samples, (n, width) each, or (f, n, width), one sample after the other,
    float64. Samples without rows may have any width. Raises OperatorValueError."""
    shapes = batch.batch_shape.shapes
    counts = shapes[:, :-1].prod(axis=1)
    bad = (counts > 0) & (shapes[:, -1] != width)
    op.refuse_samples(
        bad, what, f"shape (n, {width})", batch.batch_shape.shape, f"{what} of another shape"
    )
    made: Float64Array = np.asarray(flat(batch), np.float64).reshape(-1, width)
    assert len(made) == counts.sum()  # kernels check no bounds
    return made


boxes.note = note_of("boxes")


@boxes.shapes
def _shapes(call: op.Call) -> _BoxesPlan:
    given = call.inputs[0]
    tracks, of_frames = tracks_of(call.inputs[1], given, 2, "boxes")
    axes = int(tracks[0, LAYOUT, 7]) if len(tracks) else 2
    rows = rows_of(given, 2 * axes, "boxes")
    extents = given.batch_shape.shapes
    counts = extents[:, :-1].prod(axis=1) if call.size else np.empty(0, np.int64)
    form, after = call["format"], call["made_format"] or call["format"]
    relative, other = call["relative"], call["made_relative"]
    forms = (
        FORMATS.index(form),
        relative,
        FORMATS.index(after),
        relative if other is None else other,
    )
    policy = (
        call["clip"],
        call["drop"],
        float(call["min_visibility"]),
        float(call["min_area"]),
        float(call["min_size"]),
    )
    if of_frames:
        counts = counts_in_frames(extents, call.inputs[1])
    made, kept = np.empty_like(rows), np.empty(len(rows), np.bool_)
    faults = np.empty(len(rows), np.int64)
    if len(call.inputs) > 2:
        pasts = pasts_of(call.inputs[2], call.inputs[1])
        move_bent_boxes(rows, counts, tracks, pasts, forms, policy, made, kept, faults)
        tracks = first_tracks(pasts, tracks)
    else:
        move_boxes(rows, counts, tracks, axes, forms, policy, made, kept, faults)
    if faults.any():
        if call["invalid"] == "raise":
            frames = call.inputs[1].batch_shape.shapes[:, 0] if of_frames else None
            _refuse(rows, counts, faults, tracks, frames)
        kept &= faults == 0
    if given.ndim == 3:
        return _of_frames(extents, made, kept, 2 * axes)
    ends = counts.cumsum()
    left = np.zeros(len(kept) + 1, np.int64)
    kept.cumsum(out=left[1:])
    shapes = np.full((call.size, 2), 2 * axes, np.int64)
    shapes[:, 0] = left[ends] - left[ends - counts]
    return _BoxesPlan((shapes, counts[:, None]), made[kept], kept)


def _of_frames(extents: Any, rows: Float64Array, kept: Any, width: int) -> _BoxesPlan:
    """The plan for boxes of each frame, (f, n, width): an object is left that is left in a frame;
    in others its box is 0."""
    made, left, begin = [np.empty((0, width))], [np.empty(0, np.bool_)], 0
    shapes = np.full((len(extents), 3), width, np.int64)
    for sample, (frames, count, _) in enumerate(extents.tolist()):
        end = begin + frames * count
        seen = kept[begin:end].reshape(frames, count)
        own = np.where(seen[:, :, None], rows[begin:end].reshape(frames, count, width), 0)
        left.append(seen.any(axis=0))
        made.append(own[:, left[-1]].reshape(-1, width))
        shapes[sample, :2] = frames, np.count_nonzero(left[-1])
        begin = end
    counts = extents[:, 1:2] if len(extents) else np.empty((0, 1), np.int64)
    return _BoxesPlan((shapes, counts), np.concatenate(made), np.concatenate(left))


def _refuse(rows: Any, counts: Any, faults: Any, tracks: Any, frames: Any) -> None:
    """Raise the error of the first box with a fault. frames: how many each sample has, if there is
    a track for each."""
    number = int(np.flatnonzero(faults)[0])
    ends = counts.cumsum()
    sample = int(np.searchsorted(ends, number, side="right"))
    place = number - int(ends[sample] - counts[sample])
    fault = int(faults[number])
    expected = _FAULTS[fault]
    if fault == OUTSIDE:
        x, y, _ = tracks[sample, FIRST, 4:7].tolist()
        expected += f", {y:g} x {x:g} pixels"
    where = ""
    if frames is not None:
        owner = int(np.searchsorted(frames.cumsum(), sample, side="right"))
        where = f" in frame {sample - int(frames[:owner].sum())}"
        sample, count = owner, int(counts[sample])
    else:
        count = int(counts[sample])
    raise op.OperatorValueError(
        f"the box of object {place} of {count}{where} is not valid",
        argument="boxes",
        expected=expected,
        got=str(rows[number].tolist()),
        sample=sample,
    )


@boxes.cpu
def _cpu(call: op.Call, plan: _BoxesPlan) -> None:
    write_flat(call.outputs[0], plan.made)
    write_flat(call.outputs[1], plan.kept)


@boxes.cases
def _cases() -> list[op.Case]:
    some = [np.array([[1, 2, 5, 6], [0, 0, 4, 4]], np.float32), np.empty((0, 4), np.float32)]
    tracks = op.batch(list(begun(np.array([[8, 8, 3], [4, 4, 3]]), "HWC")))
    given = op.batch(some)
    sized = [np.array([[1, 2, 4, 4], [0, 0, 4, 4]], np.float32), some[1]]
    backwards = op.batch([some[0], np.array([[3, 1, 2, 2]], np.float32)])
    return [
        op.case("as they are", given, tracks).equals(some).no_oracle(),
        op.case("sizes", op.batch(sized), tracks, format="xywh", made_format="xyxy")
        .equals(some)
        .no_oracle(),
        op.case("backwards", backwards, tracks).value_error("object 0 of 1"),
        op.case("relative", op.batch([some[0] / 8, some[1]]), tracks, relative=True)
        .equals([some[0] / 8, some[1]])
        .no_oracle(),
        op.case("empty", op.batch(np.empty((0, 1, 1))), op.batch(np.empty((0, 1, 1))))
        .equals([])
        .no_oracle(),
        op.case("wide", op.samples((1, 5), (1, 5), layout=""), tracks).value_error("(n, 4)"),
        op.case("format", given, tracks, format="yxyx").value_error("format"),
    ]
