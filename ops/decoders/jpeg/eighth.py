"""JPEG at an eighth of its size: the means of its blocks, and what else is needed of chroma.

A JPEG library that makes an eighth takes every code of the file apart, as for the whole image, only
to drop what most of them say. Here codes are skipped by a table that knows the next 13 bits: as
many codes at once as these hold. The pixels are those of libjpeg, to the bit: of luma an eighth is
the mean of a block, and so it is of chroma, unless that has half the samples each way; then a block
gives 2 x 2 pixels.

Nothing is judged here: a file that is unusual or damaged in any way is left to the library.
"""

from __future__ import annotations

import functools
import math
from typing import Final

import numpy as np

from gradiva.eager.jit.background_kernel import BackgroundKernel
from gradiva.eager.jit.jit import jit
from gradiva.eager.runtime.host_memory import allocate
from gradiva.eager.simd.intrinsics import span
from gradiva.eager.types.arrays import Array, U8Vector

from .codec import decode_whole, encoded_sample
from .eighth_blocks import BEYOND, MEANS, NONE, PAIRS, PLACES, SKIPPED, clean_data, read_blocks
from .eighth_codes import code_tables
from .eighth_scan import Scan, read_scan

__all__ = ["decode_eighth", "eighth_works", "fill_eighth"]

_PIXELS: Final = 1 << 10
"""So many pixels of an eighth pay for the kernel as a sample does whose kernel saves microseconds:
of 256 x 256 in the file."""
_LEAST: Final = 1 << 18
"""Bytes of a file. A smaller one takes little time anyhow, and less than the tables of its codes,
where these are its own."""
_background = BackgroundKernel()


def decode_eighth(data: Array, color: str, out: Array) -> bool:
    """Fill `out`, uint8 of an eighth of the image, in the file's orientation; color: RGB, BGR or
    GRAY. Returns whether that could be done; else `out` holds nothing of value."""
    assert out.flags.c_contiguous
    if data.size < _LEAST:
        return False
    count = 1 + out.shape[0] * out.shape[1] // _PIXELS
    if not _background.is_worth_compiling(count, eighth_works) or not eighth_works():
        return False
    return fill_eighth(data if data.flags.writeable else data.copy(), color, out)


@functools.cache
def eighth_works() -> bool:
    """Whether it gives the bits of the JPEG library here. A few images are decoded to see it, when
    it is first asked."""
    whole = np.empty((12, 17, 3), np.uint8)
    out = np.empty_like(whole)
    for subsampling in ("444", "422", "420"):
        data = encoded_sample(93, 131, subsampling)
        decode_whole(data, "RGB", whole, scale=8)
        if not fill_eighth(data, "RGB", out) or not np.array_equal(out, whole):
            return False
    return True


def fill_eighth(data: Array, color: str, out: Array) -> bool:
    """Whether this file is such a one, and undamaged; then `out` holds its pixels. Both can be
    written to, for kernels are compiled for each kind of arrays."""
    scan = read_scan(data.data)
    if scan is None or out.shape[:2] != (-(-scan.height // 8), -(-scan.width // 8)):
        return False
    luma, chroma = scan.components[0], scan.components[-1]
    codes = code_tables((luma.dc, chroma.dc), (luma.ac, chroma.ac))
    if codes is None:
        return False
    units = tuple(
        -(-extent // (8 * blocks))
        for extent, blocks in ((scan.height, luma.down), (scan.width, luma.across))
    )
    count = math.prod(units)
    segments = -(-count // scan.restart) if scan.restart else 1
    ends = np.empty(segments, np.int64)
    stream = allocate(data.size - scan.begin + BEYOND, data.dtype)
    if not clean_data(data, scan.begin, stream, ends):
        return False
    kind = _of_chroma(scan, color)
    planes = _planes(units, scan, kind)
    if not read_blocks(
        stream,
        ends,
        scan.restart or count,
        *(luma.across, luma.down, kind),
        codes,
        np.concatenate([luma.steps, chroma.steps]),
        PLACES,
        np.zeros(64, np.int64),
        *planes,
    ):
        return False
    if kind <= SKIPPED:
        out[:] = planes[0][: len(out), : out.shape[1], None]
    else:
        if kind == MEANS:
            planes[1:] = [p.repeat(luma.down, 0).repeat(luma.across, 1) for p in planes[1:]]
        y, cb, cr = (plane.reshape(-1) for plane in planes)
        columns = planes[0].shape[1], out.shape[1]
        mix_colors(y, cb, cr, *columns, color == "BGR", out.reshape(-1))
    return True


def _of_chroma(scan: Scan, color: str) -> int:
    if len(scan.components) == 1:
        return NONE
    if color == "GRAY":
        return SKIPPED
    luma = scan.components[0]
    return PAIRS if (luma.across, luma.down) == (2, 2) else MEANS


def _planes(units: tuple[int, ...], scan: Scan, kind: int) -> list[Array]:
    """Memory for luma, blue and red chroma."""
    luma = scan.components[0]
    shape = units[0] * luma.down, units[1] * luma.across
    of_chroma = {MEANS: units, PAIRS: shape}.get(kind, (0, 0))
    return [np.empty(each, np.uint8) for each in (shape, of_chroma, of_chroma)]


@jit
def mix_colors(
    luma: U8Vector, blue: U8Vector, red: U8Vector, step: int, count: int, bgr: bool, out: U8Vector
) -> None:
    """RGB or BGR of YCbCr, all of them 1-D, in libjpeg's integers of 16 bits behind the point.
    step, count: the columns of luma and chroma, and those of `out`."""
    half = np.int32(1 << 15)
    # How much of the chromas is in the first channel and in the last one.
    of_blue, of_red, none, most = np.int32(116130), np.int32(91881), np.int32(0), np.int32(255)
    b_first, r_first = (of_blue, none) if bgr else (none, of_red)
    b_last, r_last = (none, of_red) if bgr else (of_blue, none)
    for y in range(out.size // (3 * count)):
        of_luma = span(luma, y * step, count)
        of_blues, of_reds = span(blue, y * step, count), span(red, y * step, count)
        pixels = span(out, y * 3 * count, 3 * count)
        for x in range(count):
            base = np.int32(of_luma[x])
            cb = np.int32(of_blues[x]) - np.int32(128)
            cr = np.int32(of_reds[x]) - np.int32(128)
            first = np.int32(b_first * cb + r_first * cr + half) >> np.int32(16)
            green = np.int32(np.int32(-22554) * cb + np.int32(-46802) * cr + half) >> np.int32(16)
            last = np.int32(b_last * cb + r_last * cr + half) >> np.int32(16)
            pixels[3 * x] = min(max(np.int32(base + first), none), most)
            pixels[3 * x + 1] = min(max(np.int32(base + green), none), most)
            pixels[3 * x + 2] = min(max(np.int32(base + last), none), most)
