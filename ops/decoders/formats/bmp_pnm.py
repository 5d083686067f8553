"""BMP and PNM: what other libraries overlook of their headers is looked at here."""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

import numpy as np

from gradiva.eager.types.arrays import Array
from gradiva.ops.decoders.convert import integer_gray
from gradiva.ops.decoders.image_info import ImageInfo, integer_dtype

from .decode_opencv import color_of_file, decode_by_opencv, decode_opencv

_GAP = rb"(?:\s|#[^\r\n]*[\r\n])+"
_PNM_SIZE = re.compile(rb"P[1-6]" + _GAP + rb"(\d{1,9})" + _GAP + rb"(\d{1,9})(?=[\s#])")
_PNM_MAXIMUM = re.compile(_GAP + rb"(\d{1,9})(?=[\s#])")
_PNM_LAST = re.compile(rb"#[^\r\n]*[\r\n]|\s")
"""What ends the last number of a header: one character, or a comment that touches the number."""
_BY_MASKS = (3, 6)
_WITH_ALPHA = 6
_USUAL_MASKS = {16: ((0x7C00, 0x3E0, 0x1F), (0xF800, 0x7E0, 0x1F)), 32: ((0xFF0000, 0xFF00, 0xFF),)}
_UINT8_TOP, _UINT16_TOP = 255, 65535
_PNM_HEADER = 4096
"""No header is looked for beyond this many bytes, comments included."""
_IN_TEXT = (1, 2, 3)
_BITS, _COLORS = 4, 6


def read_bmp(view: memoryview) -> ImageInfo:
    try:
        (size,) = struct.unpack_from("<I", view, 14)
        if size == 12:
            width, height, _, bits = struct.unpack_from("<HHHH", view, 18)
            compression, colors = 0, 0
        elif size >= 40:
            width, height, _, bits, compression = struct.unpack_from("<iiHHI", view, 18)
            (colors,) = struct.unpack_from("<I", view, 46)
        else:
            raise ValueError(f"BMP header is damaged: it claims {size} bytes")
    except struct.error:
        raise ValueError("BMP ends inside its header") from None
    if bits not in (1, 4, 8, 16, 24, 32):
        raise ValueError(f"BMP with {bits} bits in a pixel is not supported")
    channels, color = _bmp_color(view, bits, size, colors)
    coding = "compressed" if compression in (1, 2) else ""
    return ImageInfo("bmp", abs(height), width, channels, color=color, coding=coding)


def _bmp_masks(view: memoryview) -> tuple[int, int, int, int] | None:
    """Where red, green, blue and alpha are in the numbers of 16 or 32 bits that pixels are; None
    for the usual places, which OpenCV knows. Raises ValueError."""
    (size,) = struct.unpack_from("<I", view, 14)
    if size < 40:
        return None
    bits, compression = struct.unpack_from("<HI", view, 28)
    if bits not in (16, 32) or compression not in _BY_MASKS:
        return None
    try:
        red, green, blue, alpha = struct.unpack_from("<IIII", view, 14 + 40)
    except struct.error:
        raise ValueError("BMP ends inside its header") from None
    if size < 56 and compression != _WITH_ALPHA:  # three masks behind a short header
        alpha = 0
    every = (1 << bits) - 1
    if bits == 32 and not alpha:
        alpha = every & ~(red | green | blue)
    masks = red, green, blue, alpha
    usual = masks[:3] in _USUAL_MASKS[bits] and compression != _WITH_ALPHA
    if usual and (bits == 32 or (size == 40 and not alpha)):
        return None  # of 16 bits, OpenCV reads masks behind a short header alone
    for mask in masks:
        lowest = mask & -mask
        if mask > every or (mask and (mask // lowest + 1) & (mask // lowest)):
            raise ValueError("BMP header is damaged: the bits of a color do not lie side by side")
    if not (red and green and blue) or (red & green) | (red & blue) | (green & blue):
        raise ValueError("BMP header is damaged: its colors share bits")
    return masks


def _bmp_color(view: memoryview, bits: int, size: int, colors: int) -> tuple[int, str]:
    if bits > 8:
        masks = _bmp_masks(view)
        alpha = (bits == 32 and size >= 40) or (masks is not None and masks[3] > 0)
        return (4, "rgb+alpha") if alpha else (3, "rgb")
    step = 3 if size == 12 else 4
    count = min(colors or 1 << bits, 256)
    palette = bytes(view[14 + size : 14 + size + step * count])
    gray = palette[0::step] == palette[1::step] == palette[2::step]
    return (1, "gray") if gray else (3, "palette")


class _PnmHeader(NamedTuple):
    """kind: 1 to 6; end: where the pixels begin; comments: whether there are any."""

    kind: int
    width: int
    height: int
    maximum: int
    end: int
    comments: bool

    @property
    def is_small(self) -> bool:
        """Whether its bytes are no shares of 255."""
        return self.kind in (5, 6) and self.maximum < _UINT8_TOP


def _pnm_header(view: memoryview) -> _PnmHeader:
    """Raises ValueError."""
    head = bytes(view[:_PNM_HEADER])
    size = _PNM_SIZE.match(head)
    if size is None:
        raise ValueError("PNM header is damaged or cut: no width and height found")
    kind, maximum, end = head[1] - ord("0"), 1, size.end()
    if kind not in (1, 4):
        found = _PNM_MAXIMUM.match(head, end)
        maximum, end = (int(found[1]), found.end()) if found else (0, end)
        if not 1 <= maximum <= _UINT16_TOP:
            raise ValueError("PNM header is damaged or cut: no maximum from 1 to 65535 found")
    last = _PNM_LAST.match(head, end)
    end = last.end() if last else len(head)
    return _PnmHeader(kind, int(size[1]), int(size[2]), maximum, end, b"#" in head[:end])


def read_pnm(view: memoryview) -> ImageInfo:
    header = _pnm_header(view)
    maximum = _UINT16_TOP if header.is_small else header.maximum  # see `decode_pnm`
    channels = 3 if header.kind in (3, 6) else 1
    bits = maximum.bit_length()
    color, coding = "rgb" if channels == 3 else "gray", "ascii" if header.kind in (1, 2, 3) else ""
    stored = header.height, header.width, channels, bits, integer_dtype(bits), 1, color, coding
    return ImageInfo("pnm", *stored, maximum if _UINT8_TOP < maximum < _UINT16_TOP else 0)


def decode_bmp(data: Array, info: ImageInfo, color: str) -> Array:
    """Pixels (H, W, C); ``color``: RGB, BGR, GRAY or ALL."""
    masks = _bmp_masks(data.data) if info.color in ("rgb", "rgb+alpha") else None
    if masks is not None:
        image = _by_masks(_words(data, info), masks)
    elif color == "ALL" and info.channels == 4:
        # The fourth bytes, which OpenCV ignores, are stored with the colors that it reads.
        alpha = _words(data, info) >> np.uint32(24)
        rgb = decode_opencv(data, info, "RGB")
        return np.concatenate([rgb, alpha.astype(np.uint8)[..., None]], axis=2)
    else:
        return decode_by_opencv(data, info, color)
    if color == "GRAY":
        return integer_gray(image)
    if color == "BGR":
        return image[..., 2::-1]
    return image[..., : info.channels if color == "ALL" else 3]


def _words(data: Array, info: ImageInfo) -> Array:
    """(height, width): the pixels as numbers, from the top."""
    (offset,) = struct.unpack_from("<I", data.data, 10)
    height, bits = struct.unpack_from("<i2xH", data.data, 22)
    size = bits // 8
    pitch = (info.width * size + 3) // 4 * 4
    if offset + pitch * info.height > data.size:
        raise ValueError("BMP data ends early: the file is cut")
    rows = data[offset : offset + pitch * info.height].reshape(info.height, pitch)
    words = rows[:, : info.width * size].view(f"<u{size}")
    return words[::-1] if height > 0 else words


def _by_masks(words: Array, masks: tuple[int, int, int, int]) -> Array:
    """RGB and alpha, each of as many bits as its mask has; opaque where alpha has none."""
    image = np.empty((*words.shape, 4), np.uint8)
    for channel, mask in enumerate(masks):
        if not mask:
            image[..., channel] = 255
            continue
        lowest = mask & -mask
        top = mask // lowest
        values = ((words & words.dtype.type(mask)) // words.dtype.type(lowest)).astype(np.uint64)
        image[..., channel] = (values * np.uint64(510) + np.uint64(top)) // np.uint64(2 * top)
    return image


def decode_pnm(data: Array, info: ImageInfo, color: str) -> Array:
    """Pixels (H, W, C); ``color`` as for BMP. Bytes with a maximum below 255 become 16 bits, so
    that nothing is lost in gray or in other ranges."""
    header = _pnm_header(data.data)
    color = color_of_file(info, color)
    if header.kind in _IN_TEXT:
        if header.comments:
            parts = [header.width, header.height, header.maximum][: 2 if header.kind == 1 else 3]
            start = f"P{header.kind} {' '.join(map(str, parts))}\n".encode()
            data = np.concatenate([np.frombuffer(start, np.uint8), data[header.end :]])
        return decode_opencv(data, info, color)
    image = _binary_pixels(data, header)
    if image.shape[2] == 1:
        return image if color == "GRAY" else np.repeat(image, 3, axis=2)
    if color == "GRAY":
        return integer_gray(image)
    return image[..., ::-1] if color == "BGR" else image


def _binary_pixels(data: Array, header: _PnmHeader) -> Array:
    """(H, W, C): what the file stores."""
    channels = 3 if header.kind == _COLORS else 1
    stored = data[header.end :]
    size = header.width * channels * (1 + (header.maximum > _UINT8_TOP))
    size = (header.width + 7) // 8 if header.kind == _BITS else size
    if stored.size < size * header.height:
        raise ValueError("pnm data is damaged or ends early: it cannot be decoded")
    rows = stored[: size * header.height].reshape(header.height, size)
    if header.kind == _BITS:
        rows = (np.unpackbits(rows, axis=1)[:, : header.width] ^ 1) * np.uint8(_UINT8_TOP)
    elif header.is_small:
        rows = _table(header.maximum)[rows]
    elif header.maximum > _UINT8_TOP:
        rows = rows.view(">u2").astype(np.uint16)
    return rows.reshape(header.height, header.width, channels)


def _table(maximum: int) -> Array:
    """Of each byte, its share of the maximum in 16 bits."""
    values = np.minimum(np.arange(256), maximum).astype(np.int64)
    return ((values * 2 * _UINT16_TOP + maximum) // (2 * maximum)).astype(np.uint16)
