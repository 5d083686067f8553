"""BMP and PNM: what other libraries overlook of their headers is looked at here."""

from __future__ import annotations

import struct

import numpy as np

from gradiva.eager.types.arrays import Array
from gradiva.ops.decoders.convert import integer_gray
from gradiva.ops.decoders.image_info import ImageInfo

from .decode_opencv import color_of_file, decode_by_opencv, decode_opencv
from .headers_other import UINT8_TOP, UINT16_TOP, PnmHeader, bmp_masks, pnm_header

_IN_TEXT = (1, 2, 3)
_BITS, _COLORS = 4, 6


def decode_bmp(data: Array, info: ImageInfo, color: str) -> Array:
    """Pixels (H, W, C); ``color``: RGB, BGR, GRAY or ALL."""
    masks = bmp_masks(data.data) if info.color in ("rgb", "rgb+alpha") else None
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
    header = pnm_header(data.data)
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


def _binary_pixels(data: Array, header: PnmHeader) -> Array:
    """(H, W, C): what the file stores."""
    channels = 3 if header.kind == _COLORS else 1
    stored = data[header.end :]
    size = header.width * channels * (1 + (header.maximum > UINT8_TOP))
    size = (header.width + 7) // 8 if header.kind == _BITS else size
    if stored.size < size * header.height:
        raise ValueError("pnm data is damaged or ends early: it cannot be decoded")
    rows = stored[: size * header.height].reshape(header.height, size)
    if header.kind == _BITS:
        rows = (np.unpackbits(rows, axis=1)[:, : header.width] ^ 1) * np.uint8(UINT8_TOP)
    elif header.is_small:
        rows = _table(header.maximum)[rows]
    elif header.maximum > UINT8_TOP:
        rows = rows.view(">u2").astype(np.uint16)
    return rows.reshape(header.height, header.width, channels)


def _table(maximum: int) -> Array:
    """Of each byte, its share of the maximum in 16 bits."""
    values = np.minimum(np.arange(256), maximum).astype(np.int64)
    return ((values * 2 * UINT16_TOP + maximum) // (2 * maximum)).astype(np.uint16)
