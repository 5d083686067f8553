"""Tracks of sequences whose frames move each in its own way: a track for each frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.execution.per_frame import Frames
from gradiva.eager.operators.per_frame_types import has_frames
from gradiva.eager.types.arrays import Float64Array, I64Vector, Int64Array

from .track import COLUMNS, HEAD, LAYOUT, SHAPE, begun, shapes_of, stacked, write_flat

OF_FRAMES = op.SampleType(op.float64, 3, "F**", "cpu")
"""The type of these tracks: (f, R, 8) a sample, of frames that are images."""


@dataclass(frozen=True)
class FrameTracks:
    """The tracks of the frames of all samples, (T, R, 8), and how many each sample has, (N,)."""

    tracks: Float64Array
    counts: I64Vector

    @property
    def owners(self) -> I64Vector:
        """Of each frame its sample."""
        made: I64Vector = np.repeat(np.arange(len(self.counts)), self.counts)
        return made

    def folded(self) -> op.BatchShape:
        """The shapes of the batch of these tracks."""
        shapes = np.zeros((len(self.counts), 3), np.int64)
        shapes[:, 0], shapes[:, 1:] = self.counts, self.tracks.shape[1:]
        return op.BatchShape.of(shapes)


def frame_tracks(batch: op.Batch) -> FrameTracks | None:
    """The tracks of frames; None for a batch of tracks of whole samples. Raises OperatorValueError
    for what are no tracks."""
    if not has_frames(batch.type):
        return None
    if len(batch) == 0:
        return FrameTracks(np.zeros((0, HEAD, COLUMNS)), np.empty(0, np.int64))
    shapes = batch.batch_shape.shapes
    some = shapes[shapes[:, 0] > 0]  # a sequence without frames has no tracks
    if shapes.shape[1] != 3 or (some[:, 2] != COLUMNS).any() or (some[:, 1] < HEAD).any():
        raise op.OperatorValueError(
            "the tracks of frames have another shape",
            expected=f"the shape (frames, rows, {COLUMNS}), {HEAD} rows at least",
            got=str(batch.batch_shape.shape(0)),
        )
    counts, rows = shapes[:, 0].copy(), int(shapes[:, 1].max(initial=HEAD))
    made = np.zeros((int(counts.sum()), rows, COLUMNS))
    made[:, HEAD:, 3] = made[:, HEAD:, 7] = 1.0
    first = 0
    for one in batch.arrays():
        if len(one):
            made[first : first + len(one), : one.shape[1]] = one
            first += len(one)
    return FrameTracks(made, counts)


def single_frames(tracks: Float64Array, frames: Frames) -> Float64Array:
    """The tracks of frames in a call on these, of which each may have the track of its sequence, if
    it was not known before that an argument is given per frame. Raises OperatorTypeError."""
    if len(tracks) == 0 or tracks[0, LAYOUT, 0] != ord("F"):
        return tracks
    counts = np.bincount(frames.owners, minlength=len(frames.lead))
    if (shapes_of(tracks)[:, 0] != counts[frames.owners]).any():
        raise op.OperatorTypeError(
            "an argument turns out to be given per frame, with one value for all frames",
            expected="`per_frame` of it, so that this is known before the call",
        )
    return _of_single_frames(tracks)


def _of_single_frames(tracks: Float64Array) -> Float64Array:
    """Tracks of sequences as those of one frame of each."""
    made = tracks.copy()
    for row in (SHAPE, LAYOUT):
        made[:, row, :6], made[:, row, 6] = tracks[:, row, 1:7], 0
    made[:, SHAPE, 7] -= 1
    return made


def as_frames(tracks: Float64Array) -> FrameTracks:
    """The tracks of sequences as those of all their frames. Raises OperatorTypeError."""
    if len(tracks) == 0:
        return FrameTracks(tracks, np.empty(0, np.int64))
    if tracks[0, LAYOUT, 0] != ord("F"):
        raise op.OperatorTypeError(
            "values per frame need a sequence", expected="an input whose layout begins with F"
        )
    counts = shapes_of(tracks)[:, 0].copy()
    return FrameTracks(np.repeat(_of_single_frames(tracks), counts, axis=0), counts)


def tracks_of(batch: op.Batch, given: op.Batch, axes: int, what: str) -> tuple[Float64Array, bool]:
    """The tracks of what a sample holds: of the sample, or one for each frame if its frames move in
    their own ways; and whether it is so.

    given: what the samples hold; axes: the axes of it beside that of frames. Raises
    OperatorTypeError and OperatorValueError if it does not say what is in which frame.
    """
    found = frame_tracks(batch)
    if found is None:
        return stacked(batch), False
    shapes = given.batch_shape.shapes
    if given.ndim != axes + 1:
        raise op.OperatorTypeError(
            f"the frames move in different ways, so {what} need an axis of frames, the first one",
            argument=what,
            expected=f"{axes + 1}-D samples",
            got=f"{given.ndim}-D",
        )
    op.refuse_samples(
        (shapes[:, 0] != found.counts) & (shapes.prod(axis=1) > 0),
        what,
        lambda sample: f"{int(found.counts[sample])} frames, as the sequence has",
        lambda sample: int(shapes[sample, 0]),
        f"{what} of another number of frames",
    )
    return found.tracks, True


def counts_in_frames(shapes: Int64Array, batch: op.Batch) -> I64Vector:
    """Of each frame how many objects it has, where (f, n, ...) are the shapes of the samples."""
    frames = batch.batch_shape.shapes[:, 0]
    made: I64Vector = np.repeat(np.where(shapes[:, 0] == frames, shapes[:, 1], 0), frames)
    return made


@dataclass(frozen=True)
class _FramesPlan(op.Plan):
    """made: the tracks."""

    made: FrameTracks


@op.operator("targets.frames")
def frames(input: op.SampleType, /, **common: op.Unpack[op.Common]) -> op.SampleType:
    """Return a track for each frame of a sequence.

    Args:
        input: the track of a sequence, or those of its frames, which stay as they are.

    Returns:
        float64, (f, R, 8).

    Raises:
        OperatorTypeError: for the track of an image.

    Example:
        from gradiva.ops.targets.canvas import canvas
        from gradiva.ops.targets.frames import frames

        video = gradiva.as_tensor(np.zeros((3, 8, 9, 1), np.uint8), layout="FHWC")
        frames(canvas(video)).shape  # (3, 6, 8)
    """
    return OF_FRAMES


@frames.shapes
def _shapes(call: op.Call) -> _FramesPlan:
    made = frame_tracks(call.inputs[0])
    if made is None:
        made = as_frames(stacked(call.inputs[0]))
    return _FramesPlan(made.folded(), made)


@frames.cpu
def _cpu(call: op.Call, plan: _FramesPlan) -> None:
    write_flat(call.outputs[0], plan.made.tracks)


@frames.cases
def _cases() -> list[op.Case]:
    tracks = op.batch(list(begun(np.array([[2, 6, 8, 3], [0, 5, 4, 3]]), "FHWC")))
    one = begun(np.array([[6, 8, 3]]), "HWC")
    expected = [np.concatenate([one, one]), np.empty((0, HEAD, COLUMNS))]
    again = op.batch(expected, layout="F**")
    image = op.batch(list(one))
    return [
        op.case("sequences", tracks).equals(expected).no_oracle(),
        op.case("one frame", op.batch(list(begun(np.array([[1, 6, 8, 3]]), "FHWC"))))
        .equals([one])
        .no_oracle(),
        op.case("frames", again).equals(expected).no_oracle(),
        op.case("empty", op.batch(np.empty((0, HEAD, COLUMNS)))).equals([]).no_oracle(),
        op.case("image", image).type_error("sequence"),
    ]
