"""Encoded images of every flavor, made from photographs."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import tifffile
from PIL import Image

from gradiva.eager.support.opencv import cv2, has_opencv

from . import odd_jpegs
from .pictures import part

Pixels = np.ndarray[Any, Any]
ASTRONAUT = part("astronaut", 40, 150, 131, 197)
COFFEE = part("coffee", 100, 200, 121, 143)
CAMERA = np.ascontiguousarray(part("camera", 100, 150, 129, 151)[..., 0])


_ONLY_WITH_OPENCV = (
    *("png_gray16", "png_rgb16", "png_rgba16", "ppm16", "pgm16", "jp2_rgb16"),
    *("ppm_ascii", "pgm_ascii", "pgm_ascii16", "pbm_ascii"),
)
"""It writes or reads these."""


def pil(image: Pixels | Image.Image, fmt: str, **options: Any) -> bytes:
    picture = image if isinstance(image, Image.Image) else Image.fromarray(image)
    out = io.BytesIO()
    picture.save(out, fmt, **options)
    return out.getvalue()


def cv(image: Pixels, ext: str, *params: int) -> bytes:
    if image.ndim == 3:
        order = [2, 1, 0, 3][: image.shape[2]]
        image = np.ascontiguousarray(image[..., order])
    ok, out = cv2.imencode(ext, image, list(params))
    assert ok
    return bytes(out)


def tif(image: Pixels, **options: Any) -> bytes:
    out = io.BytesIO()
    tifffile.imwrite(out, image, **options)
    return out.getvalue()


def wide(image: Pixels) -> Pixels:
    """16 bits: the 8-bit value plus a low byte that varies."""
    low = np.arange(image.size, dtype=np.uint32).reshape(image.shape) * 73 % 256
    out: Pixels = (image.astype(np.uint32) * 256 + low).astype(np.uint16)
    return out


def alpha(image: Pixels) -> Pixels:
    h, w = image.shape[:2]
    ramp = (np.arange(h)[:, None] * 3 + np.arange(w)[None] * 2) % 256
    out: Pixels = np.dstack([image, ramp.astype(np.uint8)])
    return out


def channels(image: Pixels) -> Pixels:
    """Five channels: the colors and two more."""
    out: Pixels = np.dstack([image, image[::-1, :, :2]])
    return out


def palette(image: Pixels, colors: int = 200) -> Image.Image:
    return Image.fromarray(image).quantize(colors)


def exif(orientation: int) -> bytes:
    e = Image.Exif()
    e[0x0112] = orientation
    return e.tobytes()


# Motorola byte order, one entry: orientation 6.
EXIF_BIG_ENDIAN = b"Exif\0\0MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\6\0\0\0\0\0\0"


def adobe_transform(value: int | None) -> bytes:
    """A CMYK JPEG with another value in Adobe's segment, or without the segment."""
    data = pil(Image.fromarray(ASTRONAUT).convert("CMYK"), "JPEG", quality=90)
    name = data.index(b"Adobe")
    if value is None:
        length = data[name - 2] << 8 | data[name - 1]
        return data[: name - 4] + data[name - 2 + length :]
    return data[: name + 11] + bytes([value]) + data[name + 12 :]


def interlaced(image: Pixels) -> bytes:
    """An 8-bit RGB PNG in the seven passes of Adam7."""
    passes = (
        (0, 8, 0, 8),
        (0, 8, 4, 8),
        (4, 8, 0, 4),
        (0, 4, 2, 4),
        (2, 4, 0, 2),
        (0, 2, 1, 2),
        (1, 2, 0, 1),
    )
    rows = b"".join(
        b"\0" + row.tobytes()
        for top, down, left, right in passes
        for row in image[top::down, left::right]
    )
    height, width = image.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 1)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    )


def webp_exif6(image: Pixels, odd: bool) -> bytes:
    """A WebP to be turned, whose chunk of pixels has an odd or an even length.

    Chunks are padded to even lengths; DALI does not know, and stumbles over odd ones.
    """
    for height in range(image.shape[0], 0, -1):
        data = pil(np.ascontiguousarray(image[:height]), "WEBP", lossless=True, exif=exif(6))
        place = data.index(b"VP8L")
        (length,) = struct.unpack_from("<I", data, place + 4)
        if length % 2 == odd:
            return data
    raise AssertionError("no such picture")


def ascii_body(values: Pixels) -> bytes:
    return " ".join(map(str, values.ravel().tolist())).encode() + b"\n"


def pnm(kind: int, image: Pixels, maximum: int | None, body: bytes, comment: str = "") -> bytes:
    end = "" if maximum is None else f"{maximum}\n"
    return f"P{kind}\n{comment}{image.shape[1]} {image.shape[0]}\n{end}".encode() + body


def jpegs() -> dict[str, Callable[[], bytes]]:
    a = ASTRONAUT
    out: dict[str, Callable[[], bytes]] = {}
    for name, s in (("444", 0), ("422", 1), ("420", 2)):
        out[f"jpeg_{name}"] = partial(pil, a, "JPEG", quality=90, subsampling=s)
    for factor in ("411", "440", "422") if has_opencv() else ():
        value = getattr(cv2, f"IMWRITE_JPEG_SAMPLING_FACTOR_{factor}")
        out[f"jpeg_cv{factor}"] = partial(cv, a, ".jpg", cv2.IMWRITE_JPEG_SAMPLING_FACTOR, value)
    out["jpeg_progressive"] = lambda: pil(a, "JPEG", quality=85, progressive=True)
    out["jpeg_progressive_444"] = lambda: pil(
        a, "JPEG", quality=85, progressive=True, subsampling=0
    )
    out["jpeg_optimized"] = lambda: pil(a, "JPEG", quality=40, optimize=True)
    out["jpeg_restart"] = lambda: pil(a, "JPEG", quality=85, restart_marker_blocks=3)
    out["jpeg_gray"] = lambda: pil(CAMERA, "JPEG", quality=85)
    out["jpeg_gray_progressive"] = lambda: pil(CAMERA, "JPEG", quality=85, progressive=True)
    out["jpeg_cmyk"] = lambda: pil(Image.fromarray(a).convert("CMYK"), "JPEG", quality=90)
    out["jpeg_rgb"] = lambda: pil(a, "JPEG", quality=90, keep_rgb=True)
    for h, w in ((1, 1), (1, 13), (13, 1), (7, 9), (17, 31), (16, 16), (8, 25), (2, 2), (3, 3)):
        for s in (0, 1, 2):
            out[f"jpeg_{h}x{w}_{s}"] = partial(
                pil, a[20 : 20 + h, 20 : 20 + w], "JPEG", subsampling=s
            )
    for o in range(1, 9):
        out[f"jpeg_exif{o}"] = partial(pil, a, "JPEG", exif=exif(o))
    out["jpeg_exif_big_endian"] = partial(pil, a, "JPEG", exif=EXIF_BIG_ENDIAN)
    out["jpeg_ycck"] = partial(adobe_transform, 2)
    out["jpeg_cmyk_plain"] = partial(adobe_transform, None)
    out["jpeg_arithmetic"] = lambda: odd_jpegs.ARITHMETIC
    out["jpeg_sampled_4x2"] = lambda: odd_jpegs.SAMPLED_4X2
    out["jpeg_sampled_mixed"] = lambda: odd_jpegs.SAMPLED_MIXED
    return out


def others() -> dict[str, Callable[[], bytes]]:
    a, g = COFFEE, CAMERA
    f32 = a.astype(np.float32) / 255
    out: dict[str, Callable[[], bytes]] = {
        "png_rgb": lambda: pil(a, "PNG"),
        "png_gray": lambda: pil(g, "PNG"),
        "png_rgba": lambda: pil(alpha(a), "PNG"),
        "png_la": lambda: pil(Image.fromarray(alpha(a)).convert("LA"), "PNG"),
        "png_palette": lambda: pil(palette(a), "PNG"),
        "png_palette4": lambda: pil(palette(a, 12), "PNG", bits=4),
        "png_palette_alpha": lambda: pil(palette(a), "PNG", transparency=bytes(range(200))),
        "png_rgb_trns": lambda: pil(a, "PNG", transparency=tuple(int(v) for v in a[5, 5])),
        "png_gray_trns": lambda: pil(g, "PNG", transparency=int(g[5, 5])),
        "png_bilevel": lambda: pil(Image.fromarray(g).convert("1"), "PNG"),
        "png_gray16": lambda: cv(wide(g), ".png"),
        "png_rgb16": lambda: cv(wide(a), ".png"),
        "png_rgba16": lambda: cv(wide(alpha(a)), ".png"),
        "png_interlaced": lambda: interlaced(a),
        "png_1x1": lambda: pil(a[:1, :1], "PNG"),
        "bmp_rgb": lambda: pil(a, "BMP"),
        "bmp_gray": lambda: pil(g, "BMP"),
        "bmp_palette": lambda: pil(palette(a), "BMP"),
        "bmp_bilevel": lambda: pil(Image.fromarray(g).convert("1"), "BMP"),
        "bmp_rgba": lambda: pil(alpha(a), "BMP"),
        "ppm": lambda: pil(a, "PPM"),
        "pgm": lambda: pil(g, "PPM"),
        "pbm": lambda: pil(Image.fromarray(g).convert("1"), "PPM"),
        "ppm16": lambda: cv(wide(a), ".ppm"),
        "pgm16": lambda: cv(wide(g), ".pgm"),
        "ppm_ascii": lambda: pnm(3, a, 255, ascii_body(a), "# hello\n"),
        "pgm_ascii": lambda: pnm(2, g, 255, ascii_body(g)),
        "pgm_ascii16": lambda: pnm(2, g, 65535, ascii_body(wide(g))),
        "pgm_max100": lambda: pnm(
            5, g, 100, (g.astype(int) * 100 // 255).astype(np.uint8).tobytes()
        ),
        "pgm_max1000": lambda: pnm(
            5, g, 1000, (g.astype(int) * 1000 // 255).astype(">u2").tobytes()
        ),
        "pbm_ascii": lambda: pnm(1, g, None, ascii_body((g < 128).astype(int))),
        "webp_lossy": lambda: pil(a, "WEBP", quality=80),
        "webp_lossless": lambda: pil(a, "WEBP", lossless=True),
        "webp_lossy_alpha": lambda: pil(alpha(a), "WEBP", quality=80),
        "webp_lossless_alpha": lambda: pil(alpha(a), "WEBP", lossless=True, exact=True),
        "webp_exif6": partial(webp_exif6, a, odd=False),
        "webp_exif6_odd": partial(webp_exif6, a, odd=True),
        "jp2_rgb": lambda: pil(a, "JPEG2000", irreversible=False),
        "jp2_gray": lambda: pil(g, "JPEG2000", irreversible=False),
        "jp2_rgba": lambda: pil(alpha(a), "JPEG2000", irreversible=False),
        "jp2_lossy": lambda: pil(a, "JPEG2000", irreversible=True, quality_layers=[20]),
        "jp2_gray16": lambda: pil(Image.fromarray(wide(g)), "JPEG2000"),
        "jp2_rgb16": lambda: cv(wide(a), ".jp2", cv2.IMWRITE_JPEG2000_COMPRESSION_X1000, 1000),
        "j2k_rgb": lambda: pil(a, "JPEG2000", no_jp2=True),
        "j2k_gray": lambda: pil(g, "JPEG2000", no_jp2=True),
        "tif_rgb": lambda: tif(a, photometric="rgb"),
        "tif_gray": lambda: tif(g),
        "tif_rgb16": lambda: tif(wide(a), photometric="rgb"),
        "tif_gray16": lambda: tif(wide(g)),
        "tif_big_endian16": lambda: tif(wide(g), byteorder=">"),
        "tif_rgba": lambda: tif(alpha(a), photometric="rgb", extrasamples=["unassalpha"]),
        "tif_rgba_assoc": lambda: tif(alpha(a), photometric="rgb", extrasamples=["assocalpha"]),
        "tif_float": lambda: tif(f32, photometric="rgb"),
        "tif_gray_float": lambda: tif(f32[..., 0]),
        "tif_u32": lambda: tif(wide(g).astype(np.uint32) * 65537),
        "tif_i16": lambda: tif((wide(g).astype(np.int32) - 32768).astype(np.int16)),
        "tif_planar": lambda: tif(
            np.ascontiguousarray(a.transpose(2, 0, 1)), photometric="rgb", planarconfig="separate"
        ),
        "tif_tiled": lambda: tif(a, photometric="rgb", tile=(32, 48)),
        "tif_tiled_deflate": lambda: tif(a, photometric="rgb", tile=(32, 48), compression="zlib"),
        "tif_deflate_pred": lambda: tif(a, photometric="rgb", compression="zlib", predictor=True),
        "tif_lzw": lambda: pil(a, "TIFF", compression="tiff_lzw"),
        "tif_lzw_gray": lambda: pil(g, "TIFF", compression="tiff_lzw"),
        "tif_packbits": lambda: pil(a, "TIFF", compression="packbits"),
        "tif_palette": lambda: pil(palette(a), "TIFF"),
        "tif_palette_lzw": lambda: pil(palette(a), "TIFF", compression="tiff_lzw"),
        "tif_bilevel": lambda: pil(Image.fromarray(g).convert("1"), "TIFF"),
        "tif_bilevel_g4": lambda: pil(
            Image.fromarray(g).convert("1"), "TIFF", compression="group4"
        ),
        "tif_jpeg": lambda: pil(a, "TIFF", compression="jpeg"),
        "tif_cmyk": lambda: pil(Image.fromarray(a).convert("CMYK"), "TIFF"),
        "tif_la": lambda: pil(Image.fromarray(alpha(a)).convert("LA"), "TIFF"),
        "tif_big": lambda: tif(a, photometric="rgb", bigtiff=True),
        "tif_channels": lambda: tif(channels(a), photometric="rgb"),
        "tif_channels16_tiled": lambda: tif(wide(channels(a)), photometric="rgb", tile=(32, 48)),
        "tif_channels16_deflate": lambda: tif(
            wide(channels(a)), photometric="rgb", compression="zlib", predictor=True, byteorder=">"
        ),
        "tif_planar16": lambda: tif(
            np.ascontiguousarray(wide(a).transpose(2, 0, 1)),
            photometric="rgb",
            planarconfig="separate",
        ),
        "tif_rgba16": lambda: tif(wide(alpha(a)), photometric="rgb", extrasamples=["unassalpha"]),
        "tif_white0": lambda: tif(g, photometric="miniswhite"),
        "gif": lambda: pil(palette(a), "GIF"),
        "avif": lambda: pil(a, "AVIF"),
    }
    for o in range(1, 9):
        out[f"tif_orient{o}"] = partial(pil, a, "TIFF", tiffinfo={274: o})
        out[f"png_exif{o}"] = partial(pil, a, "PNG", exif=exif(o))
    for rows in (1, 7, 500):
        out[f"tif_rows{rows}"] = partial(tif, a, photometric="rgb", rowsperstrip=rows)
    absent = () if has_opencv() else _ONLY_WITH_OPENCV
    return {name: make for name, make in out.items() if name not in absent}
