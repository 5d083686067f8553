"""TIFF files of all layouts, written sample by sample."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Numbers = Mapping[int, tuple[int, Sequence[int]]]
_CODES = {1: "B", 3: "H", 4: "I", 5: "I", 7: "B", 8: "h", 16: "Q"}


def packbits(data: bytes) -> bytes:
    """Literals alone."""
    parts = (data[k : k + 128] for k in range(0, len(data), 128))
    return b"".join(bytes([len(part) - 1]) + part for part in parts)


def lzw(data: bytes) -> bytes:
    """Literals alone: the table is cleared before codes grow beyond 9 bits."""
    codes = []
    for place in range(0, len(data), 250):
        codes += [256, *data[place : place + 250]]
    bits = "".join(format(code, "09b") for code in (*codes, 257))
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


def plain(data: bytes) -> bytes:
    return data


CODECS: dict[int, Callable[[bytes], bytes]] = {1: plain, 5: lzw, 8: zlib.compress, 32773: packbits}


def packed(rows: Array, bits: int, order: str) -> Array:
    """The bytes of rows of samples (rows, columns, samples)."""
    rows = rows.reshape(len(rows), -1)
    if rows.dtype.kind == "f" or bits in (8, 16, 32, 64):
        return np.ascontiguousarray(rows.astype(f"{order}{rows.dtype.kind}{bits // 8}")).view("u1")
    ones = (rows[..., None].astype(np.int64) >> np.arange(bits)[::-1]) & 1
    return np.packbits(ones.astype(np.uint8).reshape(len(rows), -1), axis=1)


def differences(piece: Array, predictor: int, order: str) -> Array:
    """The samples of a piece as the predictor leaves them: bytes of rows."""
    if predictor == 2:
        size = piece.dtype.itemsize
        whole = piece.view(f"u{size}").copy()
        whole[:, 1:] -= whole[:, :-1].copy()
        return packed(whole, 8 * size, order)
    count, samples = len(piece), piece.shape[2]
    size = piece.dtype.itemsize
    split = packed(piece, 8 * size, ">").reshape(count, -1, size).transpose(0, 2, 1)
    made = np.ascontiguousarray(split).reshape(count, -1)
    made[:, samples:] -= made[:, :-samples].copy()
    return made


def tiff(
    image: Array,
    photometric: int,
    *,
    bits: int = 0,
    compression: int = 1,
    order: str = "<",
    big: bool = False,
    rows: int = 0,
    tile: tuple[int, int] | None = None,
    planes: bool = False,
    predictor: int = 1,
    data: Sequence[bytes] | None = None,
    tags: Numbers | None = None,
) -> bytes:
    """image: (height, width) or (height, width, samples), of integers or floats. data: the strips,
    where they are not made of it."""
    image = image if image.ndim == 3 else image[..., None]
    height, width, samples = image.shape
    bits = bits or 8 * image.dtype.itemsize
    down, across = tile or (rows or height, width)
    pieces = []
    groups = [image[..., k : k + 1] for k in range(samples)] if planes else [image]
    for group in groups:
        for top in range(0, height, down):
            for left in range(0, width, across):
                piece = group[top : top + down, left : left + across]
                if tile:
                    over = [(0, down - piece.shape[0]), (0, across - piece.shape[1]), (0, 0)]
                    piece = np.pad(piece, over, mode="edge")
                if predictor > 1:
                    lines = differences(np.ascontiguousarray(piece), predictor, order)
                else:
                    lines = packed(piece, bits, order)
                pieces.append(CODECS[compression](lines.tobytes()) if data is None else b"")
    pieces = pieces if data is None else list(data)
    kind = 3 if image.dtype.kind == "f" else 1
    numbers: dict[int, tuple[int, Sequence[int]]] = {
        256: (4, [width]),
        257: (4, [height]),
        258: (3, [bits] * samples),
        259: (3, [compression]),
        262: (3, [photometric]),
        277: (3, [samples]),
        284: (3, [2 if planes else 1]),
        317: (3, [predictor]),
        339: (3, [kind] * samples),
    }
    numbers |= {322: (4, [across]), 323: (4, [down])} if tile else {278: (4, [down])}
    return _file({**numbers, **(tags or {})}, pieces, order, big, tiled=tile is not None)


def _file(tags: Numbers, pieces: list[bytes], order: str, big: bool, tiled: bool) -> bytes:
    place, places, body = 16, list[int](), [b""]
    for piece in pieces:
        places.append(place)
        body.append(piece + bytes(len(piece) % 2))
        place += len(body[-1])
    word = 16 if big else 4
    numbers = dict(tags)
    numbers[324 if tiled else 273] = word, places
    numbers[325 if tiled else 279] = word, [len(piece) for piece in pieces]
    entry, inline = (20, 8) if big else (12, 4)
    beyond = place + (8 if big else 2) + entry * len(numbers) + inline
    directory, values = [struct.pack(order + ("Q" if big else "H"), len(numbers))], list[bytes]()
    for tag, (kind, given) in sorted(numbers.items()):
        data = struct.pack(f"{order}{len(given)}{_CODES[kind]}", *given)
        count = len(given) // 2 if kind == 5 else len(given)
        directory.append(struct.pack(order + ("HHQ" if big else "HHI"), tag, kind, count))
        if len(data) > inline:
            directory.append(struct.pack(order + ("Q" if big else "I"), beyond))
            values.append(data + bytes(len(data) % 2))
            beyond += len(values[-1])
        else:
            directory.append(data.ljust(inline, b"\0"))
    mark = b"II" if order == "<" else b"MM"
    head = struct.pack(order + "HHHQ", 43, 8, 0, place) if big else b""
    head = head or struct.pack(order + "HIII", 42, place, 0, 0)[:14]
    return b"".join([mark, head, *body, *directory, bytes(inline), *values])
