"""Launches that move bytes as they lie: pieces of slabs, joined, picked or in another order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gradiva.eager.cuda.launch import CudaKernel, Launch, OutputArg, blocks_of

__all__ = ["SLABS", "fill_launch", "in_eights", "piece_launches", "sample_launches"]

Int64s = NDArray[np.int64]

SLABS: Final = 8
"""Slabs that one launch reads."""

_WORD: Final = 16
_PIECES: Final = CudaKernel("pieces", ("slabs.cuh", "pieces.cuh"))
_FILL: Final = CudaKernel("fill", ("fill.cuh",))


def in_eights(slabs: Sequence[Any]) -> list[tuple[int, list[Any]]]:
    """The slabs in groups of eight, with the number of the first one of each group. The last group
    is filled up, since a kernel has as many arguments in all calls."""
    groups = []
    for first in range(0, len(slabs), SLABS):
        group = list(slabs[first : first + SLABS])
        groups.append((first, group + group[:1] * (SLABS - len(group))))
    return groups


def piece_launches(
    slabs: Sequence[Any], target: Any, pieces: tuple[Any, Any, Any, Any]
) -> list[Launch]:
    """Launches that move pieces of slabs into one slab, a launch for each eight slabs.

    pieces: arrays, broadcast: of each piece the number of its slab, its first byte there, its first
    byte in the target, and its size in bytes. Pieces that follow each other in both are moved as
    one.
    """
    columns = [one.ravel() for one in np.broadcast_arrays(*pieces)]
    table = np.stack(columns, axis=1).astype(np.int64)
    table = _merged(table[table[:, 3] > 0])
    launches = []
    for first, group in in_eights(slabs):
        own = table
        if len(slabs) > SLABS:
            own = table[(table[:, 0] >= first) & (table[:, 0] < first + SLABS)]
            own[:, 0] -= first
        blocks = blocks_of(-(-own[:, 3] // _WORD))
        read = [slab.view(np.uint8) for slab in group]
        arguments = (*read, OutputArg(target.view(np.uint8)), own, blocks)
        launches.append(Launch(_PIECES.unit({}), len(blocks), arguments))
    return launches


def sample_launches(slab: Any, starts: Int64s, call: Any, number: int = 0) -> list[Launch]:
    """Launches that fill output `number` of a call with pieces of one slab, one for each sample,
    from these elements on."""
    target = call.outputs[number]
    size = target.dtype.itemsize
    places = target.geometry.offsets * size, target.geometry.volumes * size
    return piece_launches([slab], target.data, (0, starts * size, *places))


def _merged(table: Int64s) -> Int64s:
    follows = np.zeros(len(table), np.bool_)
    ends = table[:-1, 1:3] + table[:-1, 3:]
    follows[1:] = (table[1:, 1:3] == ends).all(axis=1) & (table[1:, 0] == table[:-1, 0])
    first = np.flatnonzero(~follows)
    merged = table[first]
    if len(first):
        merged[:, 3] = np.add.reduceat(table[:, 3], first)
    return merged


def fill_launch(target: Any, offsets: Int64s, volumes: Int64s, value: np.generic) -> Launch:
    """The launch that fills samples in a slab with one value, of the slab's dtype."""
    size = value.itemsize
    pattern = np.frombuffer(value.tobytes() * (8 // size), np.uint64)[0]
    spans = np.stack([offsets, volumes], axis=1) * size
    # A whole batch without gaps is one span.
    dense = (np.diff(spans[:, 0]) == spans[:-1, 1]).all() and len(spans)
    if dense:
        spans = np.array([[spans[0, 0], spans[:, 1].sum()]])
    blocks = blocks_of(-(-spans[:, 1] // _WORD))
    slab = OutputArg(target.view(np.uint8))
    return Launch(_FILL.unit({}), len(blocks), (slab, spans, blocks, pattern))
