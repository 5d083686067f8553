"""`targets.masks`: masks along their tracks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import BoolVector, Float64Array, I64Vector, Int64Array, Vector

from .chosen import counts_kept, kept_of, repeated_kept
from .clipping import is_seen
from .track import FIRST, HEAD, LAYOUT, MATRIX, NOW, begun, moved, note_of, stacked

_NEAR = 1e-6
"""Of a pixel: on the edge between two pixels the later one is taken, whatever was rounded."""


@op.operator("targets.masks", inputs=(2, 3))
def masks(
    input: op.SampleType,
    track: op.SampleType,
    kept: op.SampleType | None = None,
    /,
    *,
    maps: str = "",
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Move masks with their images: each pixel is the nearest one of the mask that came, or 0.

    Args:
        input: (H, W), or (H, W, C) with that layout: classes of pixels; or (n, H, W): one mask for
            each object, and (f, n, H, W) in each frame. Of volumes with D before H. Any dtype.
        track: how the places of the image have moved, float64.
        kept: of each object whether it is left, bool (n,).
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
    (D, H, W) before and after, and channels. kept: of each mask. matrices: (N, 4, 4), back."""

    tables: Int64Array
    kept: BoolVector
    tracks: Float64Array
    matrices: Float64Array


masks.note = note_of("masks")


@masks.shapes
def _shapes(call: op.Call) -> _MasksPlan:
    given, tracks = call.inputs[0], stacked(call.inputs[1])
    axes = int(tracks[0, LAYOUT, 7]) if call.size else 2
    shapes = given.batch_shape.shapes.copy()
    channels = given.layout.endswith("C") and given.ndim == axes + 1
    first = 0 if channels else given.ndim - axes
    several = first > 0
    if first not in (0, 1, 2):
        raise op.OperatorTypeError(
            argument="masks", expected=f"{axes}-D to {axes + 2}-D samples", got=f"{given.ndim}-D"
        )
    spatial = shapes[:, first : first + axes]
    before = tracks[:, FIRST, 4 : 4 + axes][:, ::-1].astype(np.int64)
    after = tracks[:, NOW, 4 : 4 + axes][:, ::-1].astype(np.int64)
    op.refuse_samples(
        (spatial != before).any(axis=1) & (shapes[:, :first].prod(axis=1) > 0),
        "masks",
        lambda sample: f"the size of the image, {tuple(before[sample].tolist())}",
        lambda sample: tuple(spatial[sample].tolist()),
        "masks of another size",
    )
    counts = shapes[:, :first].prod(axis=1)
    kept = np.ones(int(counts.sum()), np.bool_)
    if several and len(call.inputs) > 2 and call.size:
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
    return _MasksPlan(shapes, tables, kept, tracks, _back(tracks))


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
def _sample_masks(
    slabs: tuple[Vector, I64Vector, Vector, I64Vector],
    tables: Int64Array,
    kept: BoolVector,
    tracks: Float64Array,
    matrices: Float64Array,
    begin: int,
    end: int,
) -> None:
    """Sample masks at the nearest pixels."""
    src, src_offsets, dst, dst_offsets = slabs
    for i in range(begin, end):
        row = tables[i]
        before, after, channels = row[2] * row[3] * row[4], row[5] * row[6] * row[7], row[8]
        places = np.empty(after, np.int64)
        _find_sources(tracks[i], matrices[i], row, places)
        to = dst_offsets[i]
        for one in range(row[1]):
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
    call.for_samples(_sample_masks, call.words, plan.tables, plan.kept, plan.tracks, plan.matrices)


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
