"""The kernel of `patches`."""

from __future__ import annotations

from gradiva.eager import extension as op
from gradiva.eager.rows.patch_rows import column_place, row_place
from gradiva.eager.types.arrays import I64Table, Slabs

from .geometry import PatchPlan


def cut_samples(call: op.Call, plan: PatchPlan) -> None:
    """Fill the first output of a call with patches."""
    call.for_samples(_cut_range, call.words, plan.facts, call["patch_size"], call["temporal"])


@op.jit
def _cut_range(
    slabs: Slabs, facts: I64Table, patch: int, temporal: int, begin: int, end: int
) -> None:
    """Cut the samples `begin` to `end - 1` into patches.

    facts: see `PatchPlan`; patch: pixels of a side; temporal: frames of a patch.
    """
    src, src_offsets, dst, dst_offsets = slabs
    square = patch * patch
    for i in range(begin, end):
        frames, height, width, channels = facts[i, 0], facts[i, 1], facts[i, 2], facts[i, 3]
        per_pixel, per_channel, merge = facts[i, 6], facts[i, 7], facts[i, 8]
        wide, size = width // patch, channels * temporal * square
        for frame in range(frames):
            first = frame % temporal
            last = temporal if frame == frames - 1 else first + 1
            whole = frame // temporal * (height // patch) * wide * size
            for y in range(height):
                row = dst_offsets[i] + whole + row_place(y, wide, patch, merge, size)
                line = src_offsets[i] + frame * facts[i, 4] + y * facts[i, 5]
                for x in range(wide):
                    at = row + column_place(x, merge, size) + first * square
                    here = line + x * patch * per_pixel
                    if channels == 3 and per_pixel == 3:
                        pixels = src[here : here + 3 * patch]
                        one, apart = dst[at : at + patch], temporal * square
                        two = dst[at + apart : at + apart + patch]
                        three = dst[at + 2 * apart : at + 2 * apart + patch]
                        for k in range(patch):
                            one[k] = pixels[3 * k]
                            two[k] = pixels[3 * k + 1]
                            three[k] = pixels[3 * k + 2]
                    else:
                        for c in range(channels):
                            there = at + c * temporal * square
                            for k in range(patch):
                                dst[there + k] = src[here + c * per_channel + k * per_pixel]
                    for c in range(channels):
                        there = at + c * temporal * square
                        for again in range(1, last - first):
                            for k in range(patch):
                                dst[there + again * square + k] = dst[there + k]
