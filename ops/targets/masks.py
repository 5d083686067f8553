"""`targets.masks`: masks along their tracks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import (
    BoolVector,
    Float32Array,
    Float64Array,
    I64Vector,
    Int64Array,
    Vector,
)

from .bending import bring_back
from .chosen import counts_kept, kept_of, repeated_kept
from .clipping import is_seen
from .frames import frame_tracks
from .past import Bend, first_tracks, pasts_of
from .track import FIRST, HEAD, LAYOUT, MATRIX, NOW, begun, moved, note_of, stacked

_NEAR = 1e-6
"""Of a pixel: on the edge between two pixels the later one is taken, whatever was rounded."""


@op.operator("targets.masks", inputs=(2, 4))
def masks(
    input: op.SampleType,
    track: op.SampleType,
    kept: op.SampleType | None = None,
    past: op.SampleType | None = None,
    /,
    *,
    bent: bool = False,
    maps: str = "",
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Move masks with their images: each pixel is the nearest one of the mask that came, or 0.

    Args:
        input: (H, W), or (H, W, C) with that layout: classes of pixels; or (n, H, W): one mask for
            each object, and (f, n, H, W) in each frame. Of volumes with D before H. Any dtype.
        track: how the places of the image have moved, float64.
        kept: of each object whether it is left, bool (n,).
        past: the operators that have bent the image before the track, float64; the last input.
        bent: whether there is a past.
        maps: the operators that the track follows, for those who read the graph.

    Returns:
        Masks of the size of the image as it is now.

    Raises:
        OperatorValueError: naming the sample, for masks that have another size than their image.

    Example:
        from gradiva.ops.targets.canvas import canvas
        from gradiva.ops.targets.masks import masks

        image = gradiva.imread("cat.jpg")
        masks(np.zeros((300, 451), np.uint8), canvas(image)).shape  # (300, 451)
    """
    op.require_ndim(input, (2, 3, 4, 5), "masks")
    return input.with_(device="cpu")


@dataclass(frozen=True)
class _MasksPlan(op.Plan):
    """tables: (N, 9): of each sample the number of its first mask, how many came, the extents
    (D, H, W) before and after, and channels. kept: of each mask. tracks, and matrices back,
    (T, 4, 4): from firsts[i] to firsts[i + 1] those of sample i, of which there are several if its
    frames move in different ways."""

    tables: Int64Array
    kept: BoolVector
    tracks: Float64Array
    matrices: Float64Array
    firsts: I64Vector
    pasts: list[list[Bend]] | None


masks.note = note_of("masks")


@masks.shapes
def _shapes(call: op.Call) -> _MasksPlan:
    given, found = call.inputs[0], frame_tracks(call.inputs[1])
    tracks = stacked(call.inputs[1]) if found is None else found.tracks
    axes = int(tracks[0, LAYOUT, 7]) if len(tracks) else 2
    shapes = given.batch_shape.shapes.copy()
    lead = 0 if found is None else 1
    channels = given.layout.endswith("C") and given.ndim == axes + lead + 1
    first = lead if channels else given.ndim - axes
    # Of sequences also one for each frame, without an axis of objects. Masks of an image may have
    # that layout, too: readers give it to several pictures of a sample.
    is_sequence = found is not None or (len(tracks) > 0 and tracks[0, LAYOUT, 0] == ord("F"))
    of_frames = is_sequence and given.layout.startswith("F")
    several = first == 2 or (first == 1 and not of_frames)
    if first not in (0, 1, 2) or (found is not None and first == 1 and several):
        raise op.OperatorTypeError(
            argument="masks", expected=_expected(axes, found is not None), got=f"{given.ndim}-D"
        )
    frames = np.ones(call.size, np.int64) if found is None else found.counts
    firsts = np.concatenate([[0], frames.cumsum()])
    spatial = shapes[:, first : first + axes]
    # All frames of a sequence have one size.
    some, one = frames > 0, firsts[:-1][frames > 0]
    before, after = spatial.copy(), spatial.copy()
    pasts = pasts_of(call.inputs[-1], call.inputs[1]) if call["bent"] else None
    begin = tracks if pasts is None else first_tracks(pasts, tracks)
    before[some] = begin[one, FIRST, 4 : 4 + axes][:, ::-1].astype(np.int64)
    after[some] = tracks[one, NOW, 4 : 4 + axes][:, ::-1].astype(np.int64)
    if found is not None:
        op.refuse_samples(
            (shapes[:, 0] != frames) & (shapes.prod(axis=1) > 0),
            "masks",
            lambda sample: f"{int(frames[sample])} frames, as the sequence has",
            lambda sample: int(shapes[sample, 0]),
            "masks of another number of frames",
        )
    op.refuse_samples(
        (spatial != before).any(axis=1) & (shapes[:, :first].prod(axis=1) > 0),
        "masks",
        lambda sample: f"the size of the image, {tuple(before[sample].tolist())}",
        lambda sample: tuple(spatial[sample].tolist()),
        "masks of another size",
    )
    counts = shapes[:, :first].prod(axis=1)
    kept = np.ones(int(counts.sum()), np.bool_)
    if several and len(call.inputs) > (3 if call["bent"] else 2) and call.size:
        objects = shapes[:, first - 1].copy()
        kept = kept_of(call, 2, objects, "masks")
        shapes[:, first - 1] = counts_kept(kept, objects)
        if first == 2:
            kept = repeated_kept(kept, objects, shapes[:, 0])
    tables = np.ones((call.size, 9), np.int64)
    tables[:, 0], tables[:, 1] = counts.cumsum() - counts, counts
    tables[:, 5 - axes : 5], tables[:, 8 - axes : 8] = before, after
    if channels:
        tables[:, 8] = shapes[:, -1]
    shapes[:, first : first + axes] = after
    return _MasksPlan(shapes, tables, kept, tracks, _back(tracks), firsts, pasts)


def _expected(axes: int, of_frames: bool) -> str:
    """What masks must be."""
    if not of_frames:
        return f"{axes}-D to {axes + 2}-D samples"
    return (
        f"{axes + 2}-D samples, or {axes + 1}-D with a layout that begins with F, since the frames "
        "move in different ways"
    )


def _back(tracks: Float64Array) -> Float64Array:
    """The maps from the images now to the first ones; of those without an inverse zeros, by which
    nothing has a place."""
    maps = np.ascontiguousarray(tracks[:, MATRIX : MATRIX + 4, :4])
    with np.errstate(all="ignore"):
        good = np.abs(np.linalg.det(maps)) > 0
    made = np.zeros_like(maps)
    made[good] = np.linalg.inv(maps[good])
    return made


@op.jit
def _find_sources(
    track: Float64Array, matrix: Float64Array, extents: I64Vector, places: I64Vector
) -> None:
    """For each pixel of a mask the one that it is taken from, or -1.

    extents: a row of the tables; places: one for each pixel after.
    """
    depth, height, width = extents[2], extents[3], extents[4]
    place = np.empty(3)
    cut = len(track) > HEAD
    number = 0
    for z in range(extents[5]):
        for y in range(extents[6]):
            for x in range(extents[7]):
                w = moved(matrix, x + 0.5, y + 0.5, z + 0.5, place)
                places[number] = -1
                if w > 0.0:
                    px, py, pz = place[0] + _NEAR, place[1] + _NEAR, place[2] + _NEAR
                    inside = 0.0 <= px < width and 0.0 <= py < height and 0.0 <= pz < depth
                    if inside and cut:
                        inside = is_seen(track, place[0], place[1], place[2])
                    if inside:
                        places[number] = (int(pz) * height + int(py)) * width + int(px)
                number += 1


@op.jit
def _find_bent(
    track: Float64Array, matrix: Float64Array, extents: I64Vector, ends: Float64Array
) -> None:
    """For each pixel of a mask the place of the image before the track that it is taken from, or
    NaN. ends: (pixels, 2)."""
    place, number = np.empty(3), 0
    for y in range(extents[6]):
        for x in range(extents[7]):
            w = moved(matrix, x + 0.5, y + 0.5, 0.5, place)
            px, py = place[0] + _NEAR, place[1] + _NEAR
            inside = w > 0.0 and 0.0 <= px < track[FIRST, 4] and 0.0 <= py < track[FIRST, 5]
            inside = inside and is_seen(track, place[0], place[1], 0.5)
            ends[number, 0], ends[number, 1] = (place[0], place[1]) if inside else (np.nan, np.nan)
            number += 1


@op.jit
def _find_before(
    track: Float64Array, back: Float64Array, grid: Float32Array, ends: Float64Array
) -> None:
    """The same from the image after an operator that bends it to that before the track before."""
    place = np.empty(3)
    for k in range(len(ends)):
        if ends[k, 0] == ends[k, 0]:
            place[0], place[1] = ends[k, 0], ends[k, 1]
            found = bring_back(track, back, grid, place)
            ends[k, 0], ends[k, 1] = (place[0], place[1]) if found else (np.nan, np.nan)


@op.jit
def _copy_bent(
    source: Vector,
    target: Vector,
    row: I64Vector,
    kept: BoolVector,
    ends: Float64Array,
    masks: tuple[int, int, int],
) -> int:
    """Take the pixels of masks of a sample from these places. masks: the number of the first one,
    of the one behind the last, and where the first goes; returns where the next one goes."""
    height, width, channels = row[3], row[4], row[8]
    first, last, to = masks
    for one in range(first, last):
        if not kept[row[0] + one]:
            continue
        for k in range(len(ends)):
            px, py = ends[k, 0] + _NEAR, ends[k, 1] + _NEAR
            inside = 0.0 <= px < width and 0.0 <= py < height
            place = ((one * height + int(py)) * width + int(px)) * channels if inside else 0
            for c in range(channels):
                target[to] = source[place + c] if inside else 0
                to += 1
    return to


def _sample_bent(call: op.Call, plan: _MasksPlan, begin: int, end: int) -> None:
    """Sample masks of images that operators have bent."""
    assert plan.pasts is not None
    for sample in range(begin, end):
        row, to = plan.tables[sample], 0
        source = call.inputs[0].array(sample).reshape(-1)
        target = call.outputs[0].array(sample).reshape(-1)
        tracks = range(plan.firsts[sample], plan.firsts[sample + 1])
        for frame, track in enumerate(tracks):
            ends = np.empty((int(row[5] * row[6] * row[7]), 2))
            _find_bent(plan.tracks[track], plan.matrices[track], row, ends)
            for bend in reversed(plan.pasts[track]):
                _find_before(bend.track, bend.back, bend.grid, ends)
            each = int(row[1]) // len(tracks)
            masks = (each * frame, each * (frame + 1), to)
            to = _copy_bent(source, target, row, plan.kept, ends, masks)


@op.jit
def _sample_masks(
    slabs: tuple[Vector, I64Vector, Vector, I64Vector],
    tables: Int64Array,
    kept: BoolVector,
    tracks: Float64Array,
    matrices: Float64Array,
    firsts: I64Vector,
    begin: int,
    end: int,
) -> None:
    """Sample masks at the nearest pixels."""
    src, src_offsets, dst, dst_offsets = slabs
    for i in range(begin, end):
        row = tables[i]
        before, after, channels = row[2] * row[3] * row[4], row[5] * row[6] * row[7], row[8]
        places = np.empty(after, np.int64)
        to, frames = dst_offsets[i], firsts[i + 1] - firsts[i]
        for frame in range(frames):
            track = firsts[i] + frame
            _find_sources(tracks[track], matrices[track], row, places)
            for one in range(row[1] // frames * frame, row[1] // frames * (frame + 1)):
                if not kept[row[0] + one]:
                    continue
                source = src_offsets[i] + one * before * channels
                for k in range(after):
                    for c in range(channels):
                        dst[to] = 0
                        if places[k] >= 0:
                            dst[to] = src[source + places[k] * channels + c]
                        to += 1


@masks.cpu
def _cpu(call: op.Call, plan: _MasksPlan) -> None:
    if plan.pasts is not None:
        call.for_samples(lambda begin, end: _sample_bent(call, plan, begin, end))
        return
    facts = (plan.tables, plan.kept, plan.tracks, plan.matrices, plan.firsts)
    call.for_samples(_sample_masks, call.words, *facts)


@masks.cases
def _cases() -> list[op.Case]:
    tracks = op.batch(list(begun(np.array([[6, 8, 3], [5, 4, 3]]), "HWC")))
    flat, several = (
        op.samples((6, 8), (5, 4), layout=""),
        op.samples((3, 6, 8), (0, 5, 4), layout=""),
    )
    kept = op.batch([np.array([True, False, True]), np.empty(0, np.bool_)])
    return [
        op.case("classes", flat, tracks).equals([flat.at(0), flat.at(1)]).no_oracle(),
        op.case("objects", several, tracks, kept)
        .equals([several.at(0)[[0, 2]], several.at(1)])
        .no_oracle(),
        op.case("empty", op.batch(np.empty((0, 1, 1, 1))), op.batch(np.empty((0, 1, 1))))
        .equals([])
        .no_oracle(),
        op.case("audio", op.samples((6,), (5,), layout=""), tracks).type_error("masks"),
        op.case("size", op.samples((6, 8), (5, 5), layout=""), tracks).value_error("sample 1"),
    ]
