"""Lossless JPEG (ITU-T T.81, annex H), which no library of ours writes."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

_ADOBE_RGB = b"Adobe\0d\0\0\0\0\0"
_JFIF = b"JFIF\0\1\1\0\0\1\0\1\0\0"


def _segment(marker: int, body: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(body) + 2) + body


def lossless_jpeg(
    image: np.ndarray[Any, Any], *, adobe: bool = False, jfif: bool = False, bits: int = 8
) -> bytes:
    """image: (height, width, samples). Each sample is coded as the difference to its left
    neighbor, and every number of bits has a code of five."""
    height, width, samples = image.shape
    first = np.full((1, 1, samples), 1 << (bits - 1), np.int64)
    values = image.astype(np.int64)
    before = np.concatenate([values[:, :1], values[:, :-1]], axis=1)
    before[1:, 0] = values[:-1, 0]
    before[:1, :1] = first
    codes = []
    for difference in (values - before).reshape(-1).tolist():
        size = abs(difference).bit_length()
        codes.append(format(size, "05b"))
        if size:
            rest = difference if difference > 0 else difference + (1 << size) - 1
            codes.append(format(rest, f"0{size}b"))
    text = "".join(codes)
    text += "1" * (-len(text) % 8)
    data = int(text, 2).to_bytes(len(text) // 8, "big").replace(b"\xff", b"\xff\0")
    names = b"RGBK" if adobe else bytes(range(1, 5))
    frame = struct.pack(">BHHB", bits, height, width, samples)
    frame += b"".join(bytes([names[k], 0x11, 0]) for k in range(samples))
    table = bytes([0, *(17 if k == 4 else 0 for k in range(16)), *range(17)])
    scan = bytes([samples, *(byte for k in range(samples) for byte in (names[k], 0)), 1, 0, 0])
    parts = [b"\xff\xd8"]
    parts += [_segment(0xE0, _JFIF)] if jfif else []
    parts += [_segment(0xEE, _ADOBE_RGB)] if adobe else []
    parts += [_segment(0xC3, frame), _segment(0xC4, table), _segment(0xDA, scan), data]
    return b"".join([*parts, b"\xff\xd9"])
