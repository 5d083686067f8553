"""Small JPEGs, or windows of them, many in one call of a kernel, by libjpeg-turbo itself.

For a picture of a few hundred pixels, making a codec, calling it, and taking turns in the
interpreter cost as much as the decoding. Here one codec decodes one file after the other. Nothing
is judged, as with windows (`window`): a file about which the library has anything to say is
left to the usual way.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.background_kernel import BackgroundKernel
from gradiva.eager.jit.packed_calls import KernelCall, PerThread, run_calls
from gradiva.eager.operators.fusion_roles import DecodeSeveral
from gradiva.eager.runtime.chunks import MANY
from gradiva.eager.simd.guarded_calls import call_guarded
from gradiva.eager.types.arrays import BoolVector, I32Vector, I64Table, I64Vector, U8Vector

from .library import ABORT, DESTROY, FINISH, jpeg_functions
from .window import (
    CODEC,
    HEIGHT,
    OK,
    STATE_BYTES,
    TABLES,
    WARNINGS,
    WIDTH,
    create_codec,
    ends_well,
    read_rows,
    read_whole_rows,
    start_file,
    window_decoder_works,
)

__all__ = ["MOST_PIXELS", "Parts", "decode_small_jpegs"]

Array = np.ndarray[Any, Any]

_SMALL: Final = 1 << 14
"""Pixels of a picture for which a call costs a hundredth: of such ones the kernel pays at once."""
MOST_PIXELS: Final = 1 << 20
"""Pixels of a picture for which it pays in the long run, or where many threads take turns in the
interpreter."""
_FILES: Final = 16
"""Files that one codec decodes: it keeps the tables of each, and goes through them for the next."""
_APART: Final = 256
"""Bytes between what two threads write all the time: CPUs fetch lines of 64 bytes in pairs,
and no two threads shall share one."""
_background, _larger = BackgroundKernel(), BackgroundKernel()


class Parts(NamedTuple):
    """Of each file, (N, 4) and (N, 2), int64: the window that is wanted, top, left, height and
    width, which is not empty; no rows: the whole image. Then what is found out of windows: how far
    behind the place of its file each begins, and from one row to the next, in elements. least: the
    pixels that a window must leave out to be decoded alone, and not the whole image."""

    windows: op.Int64Array
    laid: op.Int64Array
    least: int = 0

    @classmethod
    def whole(cls, count: int) -> Parts:
        """All of all files."""
        return cls(np.zeros((count, 4), np.int64), np.zeros((count, 2), np.int64))


def _that_pay(facts: op.Int64Array, threads: int) -> op.Int64Array:
    """The facts without those of files for which the kernel does not pay yet."""
    larger = (facts[:, 3] != 0) & (facts[:, 0] * facts[:, 1] > _SMALL)
    count = int(np.count_nonzero(larger))
    if not count or threads > MANY or _larger.is_worth_loading(count):
        return facts
    return np.where(larger[:, None], 0, facts)


def decode_small_jpegs(
    files: op.Batch,
    facts: op.Int64Array,
    fast_idct: bool,
    parts: Parts | None = None,
    threads: int = 1,
    by_row: bool = False,
) -> DecodeSeveral | None:
    """What decodes the small ones of some files, if there are any, and they can be decoded here. A
    file that it does not make is to be decoded in the usual way.

    facts: int64 (N, 4): height, width, channels of each file, and the library's number of the color
    that is wanted, 0 for one that is left out; parts: all of all, unless given. threads: that
    share the files. by_row: each is a window, and its place has room for no more; else for the
    whole image.
    """
    facts = _that_pay(facts, threads) if len(facts) else facts
    few = int(np.count_nonzero(facts[:, 3])) if len(facts) else 0
    chosen, laid = parts or Parts.whole(len(facts)), files.batch_shape
    longest = 3 * int(facts[:, 1].max()) + _APART if by_row and few else 0
    done = np.zeros(len(facts), np.bool_)

    def calls(memory: Array, places: op.Int64Array, threads: int) -> list[KernelCall]:
        words = (-(-STATE_BYTES // _APART) * _APART + _APART) // 8
        states = np.empty((threads, words), np.int64)
        rows = np.empty((threads, longest), np.uint8)
        parts = states, states.view(np.int32), rows
        *own, row = [one[0] if threads == 1 else PerThread(one) for one in parts]
        wanted = facts, chosen.windows, chosen.laid, chosen.least
        given = files.data, laid.offsets, laid.volumes, *wanted, int(fast_idct)
        target = memory if memory.ndim == 1 else PerThread(memory)
        return [(_decode, (jpeg_functions(), *own, *given, target, places, row, done))]

    def prepare() -> None:
        if window_decoder_works():
            run_calls(calls(np.empty(0, np.uint8), np.zeros(0, np.int64), 1), 0, 0)

    if not few or not _background.is_worth_compiling(few, prepare) or not window_decoder_works():
        return None
    return DecodeSeveral(calls, done)


@op.jit
def _decode(
    functions: op.Int64Array,
    state: op.Int64Array,
    fields: I32Vector,
    data: U8Vector,
    offsets: I64Vector,
    sizes: I64Vector,
    facts: I64Table,
    windows: I64Table,
    laid: I64Table,
    least: int,
    transform: int,
    memory: U8Vector,
    places: I64Vector,
    row: U8Vector,
    done: BoolVector,
    begin: int,
    end: int,
) -> None:
    """Decode small JPEGs with libjpeg, and note in `done` which were decoded.

    functions: addresses of libjpeg's functions; state, fields: memory for its structures, as 64-bit
    and as 32-bit words; data, offsets, sizes: the files; facts: height, width, channels and color
    of each, color 0 for those that are left out; windows, laid, least: as of `Parts`; transform:
    which method of the inverse transform; memory, places: where each sample goes; row: memory for a
    row, if windows go row by row: then whole images are left out; begin, end: the range of samples.
    """
    mark = state.ctypes.data
    files: Any = np.int64(0)
    for sample in range(begin, end):
        height, width, channels, color = facts[sample]
        top, left, rows, columns = windows[sample]
        alone = rows > 0 and height * width - rows * columns >= least
        if color == 0 or (row.size > 0 and not alone):
            continue
        if files % _FILES == 0:
            if files > 0:
                call_guarded(mark, functions[DESTROY], mark + CODEC, 0, 0, 0)
            state[:] = 0
            if not create_codec(functions, state):
                break
        files += 1
        for table in range(12):
            state[TABLES + table] = 0
        source, size = data.ctypes.data + offsets[sample], sizes[sample]
        started = start_file(functions, state, fields, source, size, channels, 1, color, transform)
        if started and fields[HEIGHT] == height and fields[WIDTH] == width:
            pitch = width if color == 1 else 3 * width
            target, room = memory.ctypes.data + places[sample], height * pitch
            if alone:
                way, final = target, target - target
                if row.size > 0:
                    way, room, final = row.ctypes.data, row.size, target
                first, pitch = read_rows(
                    functions, state, fields, top, left, rows, columns, way, room, final
                )
                laid[sample, 0], laid[sample, 1] = first, pitch
                good = first >= 0 and state[WARNINGS] == 0 and ends_well(functions, state, fields)
                done[sample] = good
            else:
                laid[sample, 0], laid[sample, 1] = top * pitch + left * (pitch // width), pitch
                done[sample] = _read(functions, state, target, height, pitch)
        if alone or not done[sample]:
            call_guarded(mark, functions[ABORT], mark + CODEC, 0, 0, 0)
    if files > 0:
        call_guarded(mark, functions[DESTROY], mark + CODEC, 0, 0, 0)


@op.jit
def _read(
    functions: op.Int64Array, state: op.Int64Array, target: int, height: int, pitch: int
) -> bool:
    """Whether all rows were read, to the end of the file, and the library has nothing to say."""
    if not read_whole_rows(functions, state, target, pitch, height):
        return False
    mark = state.ctypes.data
    finished = call_guarded(mark, functions[FINISH], mark + CODEC, 0, 0, 0)
    return finished == OK and state[WARNINGS] == 0
