"""The headers of those JPEGs that most are like, all of a batch at once: the one walk over markers
in compiled code. It takes a file that it knows all about, and leaves all else to `segments`."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager.jit.background_kernel import BackgroundKernel
from gradiva.eager.jit.jit import jit
from gradiva.eager.types.arrays import I64Table, I64Vector, Int, Int64Array, U8Vector
from gradiva.eager.values.batch import Batch

from .headers import PIXELS_PER_BYTE
from .segments import (
    ADOBE,
    APP1,
    BASELINE,
    CODES,
    COMMENT,
    END,
    JFIF,
    QUANTIZERS,
    RESTARTS,
    SCAN,
    START,
)

_background = BackgroundKernel()


class PlainHeader(NamedTuple):
    """The headers of a baseline JPEG of 8 bits, 1 or 3 channels in one scan; channels are 0 for all
    else, and for what is damaged, and then nothing else is of value.

    has_exif: perhaps it is to be turned. first, second, third: the sampling factors of its
    components, across and down, 4 bits each. is_rgb: its components are red, green and blue, by
    libjpeg's rules. restart: the restart interval. is_whole: it has tables and codes, all segments
    are whole, its factors are from 1 to 4, and it ends with the marker of the end.
    """

    height: int
    width: int
    channels: int
    has_exif: int
    first: int
    second: int
    third: int
    is_rgb: int
    restart: int
    is_whole: int


_HEIGHT, _WIDTH, PLAIN_CHANNELS, PLAIN_HAS_EXIF, _FACTORS = range(5)
_IS_RGB, _RESTART, _IS_WHOLE = range(7, 10)
_JFIF_NAME: Final = 0x4A46494600
_ADOBE_NAME: Final = 0x41646F6265
_RGB_NAMES: Final = 0x524742
"""Names of segments and of components, as numbers."""
_NOTHING, _JFIF_YCBCR, _ADOBE_RGB, _ADOBE_YCBCR = range(4)
"""What segments say of the colors."""


def header_rows(batch: Batch, most: int) -> Int64Array | None:
    """Of each file of a batch what a `PlainHeader` says, if it has at most so many pixels, (N, 10);
    None where the kernel is not ready, or cannot read the memory."""
    data: Any = batch.data
    laid = batch.batch_shape
    found = np.empty((len(laid), len(PlainHeader._fields)), np.int64)

    def read(count: int) -> None:
        read_plain_headers(data, laid.offsets[:count], laid.volumes[:count], most, found)

    fits = isinstance(data, np.ndarray) and data.flags.writeable and data.flags.c_contiguous
    if not fits or not _background.is_worth_compiling(len(laid), lambda: read(0)):
        return None
    read(len(laid))
    return found


@jit
def read_plain_headers(
    data: U8Vector, offsets: I64Vector, sizes: I64Vector, most: int, found: I64Table
) -> None:
    """Fill a row of a `PlainHeader` for each file of at most so many pixels, and no more than it
    can hold."""
    for sample in range(len(offsets)):
        row = found[sample]
        # Element by element: Numba takes 2 s to compile an assignment to a slice.
        for column in range(row.size):
            row[column] = 0
        if not _read_header(data, offsets[sample], offsets[sample] + sizes[sample], most, row):
            row[PLAIN_CHANNELS] = row[_IS_WHOLE] = 0


@jit
def _read_header(data: U8Vector, begin: Int, end: Int, most: int, row: I64Vector) -> bool:
    """Fill the row of one file; False for what is not plain, or damaged."""
    if end - begin < 4 or data[begin] != 0xFF or data[begin + 1] != START:
        return False
    names = np.int64(0)
    colors = np.int64(_NOTHING)
    tables = codes = is_sane = False
    place: Int = begin + 2
    while place + 10 < end and data[place] == 0xFF:
        marker, start = data[place + 1], place + 4
        length = _word(data, place + 2, 2)
        behind = place + 2 + length
        if marker == SCAN:
            named_rgb = colors == _NOTHING and names == _RGB_NAMES
            row[_IS_RGB] = row[PLAIN_CHANNELS] == 3 and (colors == _ADOBE_RGB or named_rgb)
            ends = behind <= end and data[end - 2] == 0xFF and data[end - 1] == END
            row[_IS_WHOLE] = tables and codes and is_sane and length >= 2 and ends
            return bool(row[PLAIN_CHANNELS] > 0 and data[start] == row[PLAIN_CHANNELS])
        if marker == BASELINE and row[PLAIN_CHANNELS] == 0:
            if length < 11 or start + length - 3 >= end or data[start] != 8:
                return False
            names, is_sane = _read_components(data, start, length, row)
            pixels = row[_HEIGHT] * row[_WIDTH]
            if row[PLAIN_CHANNELS] == 0 or not 0 < pixels <= min(
                most, (end - begin) * PIXELS_PER_BYTE
            ):
                return False
        elif marker == QUANTIZERS:
            tables = True
        elif marker == CODES:
            codes = True
        elif marker == RESTARTS and length == 4:
            row[_RESTART] = _word(data, start, 2)
        elif not JFIF <= marker <= COMMENT:  # also fill bytes, restarts, and other frames
            return False
        elif behind <= end:
            colors = _colors_of(data, marker, start, length, colors)
        row[PLAIN_HAS_EXIF] |= marker == APP1 and data[start] == 0x45  # "E" of EXIF
        if length < 2:
            return False
        place = behind
    return False


@jit
def _colors_of(data: U8Vector, marker: Int, start: Int, length: Int, before: Int) -> np.int64:
    """What the segments of applications say of the colors of three components, with this one, as
    libjpeg understands them: JFIF goes before Adobe."""
    if before == _JFIF_YCBCR:
        return np.int64(before)
    if marker == JFIF and length >= 16 and _word(data, start, 5) == _JFIF_NAME:
        return np.int64(_JFIF_YCBCR)
    if marker == ADOBE and length >= 14 and _word(data, start, 5) == _ADOBE_NAME:
        return np.int64(_ADOBE_RGB if data[start + 11] == 0 else _ADOBE_YCBCR)
    return np.int64(before)


@jit
def _read_components(
    data: U8Vector, start: Int, length: Int, row: I64Vector
) -> tuple[np.int64, bool]:
    """What a frame header says: height, width, channels and sampling factors go into the row, of
    which channels are 0 if they are not plain. Returns the names of the components as bytes of a
    number, and whether all factors can be."""
    row[_HEIGHT], row[_WIDTH] = _word(data, start + 1, 2), _word(data, start + 3, 2)
    channels, names, sane = np.int64(data[start + 5]), np.int64(0), True
    if (channels != 1 and channels != 3) or length != 8 + 3 * channels:
        return names, False
    row[PLAIN_CHANNELS] = channels
    for component in range(channels):
        names = names << 8 | data[start + 6 + 3 * component]
        pair = np.int64(data[start + 7 + 3 * component])
        row[_FACTORS + component] = pair
        sane = bool(sane and 1 <= pair >> 4 <= 4 and 1 <= pair & 15 <= 4)
    return names, sane


@jit
def _word(data: U8Vector, place: Int, count: int) -> np.int64:
    """The number that `count` bytes from a place on are, the first the highest."""
    word = np.int64(0)
    for number in range(count):
        word = word << 8 | data[place + number]
    return word
