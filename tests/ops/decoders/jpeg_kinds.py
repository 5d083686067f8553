"""JPEGs with everything that a walk over their segments can meet: `kinds`, by name."""

from __future__ import annotations

import io
from functools import cache
from typing import Any

import numpy as np
from PIL import Image

from tests.oracle import odd_jpegs

from .lossless_jpegs import lossless_jpeg

__all__ = ["kinds", "segment"]

_SIZE = 67, 101


def picture() -> np.ndarray[Any, Any]:
    """A ramp with noise: every block differs from its neighbors."""
    noise = np.random.default_rng(3).integers(0, 40, (*_SIZE, 3))
    y, x = np.mgrid[0 : _SIZE[0], 0 : _SIZE[1]]
    values: np.ndarray[Any, Any] = noise + np.stack([2 * y, x, y + x], -1)
    return values.clip(0, 255).astype(np.uint8)


def encoded(image: Any, **options: Any) -> bytes:
    stream = io.BytesIO()
    image = image if isinstance(image, Image.Image) else Image.fromarray(image)
    image.save(stream, "JPEG", quality=85, **options)
    return stream.getvalue()


def segment(marker: int, body: bytes) -> bytes:
    return bytes([0xFF, marker]) + (len(body) + 2).to_bytes(2, "big") + body


def exif(orientation: int) -> bytes:
    tags = Image.Exif()
    tags[0x0112] = orientation
    return segment(0xE1, tags.tobytes())


def _adobe(transform: int, more: bytes = b"") -> bytes:
    return segment(0xEE, b"Adobe\0\x64\0\0\0\0" + bytes([transform]) + more)


def _scans_apart() -> bytes:
    """A sequential file of three scans of one component each: those of three gray files."""
    planes = Image.fromarray(picture()).convert("YCbCr").split()
    parts = [encoded(plane) for plane in planes]
    first = parts[0]
    frame, scan = first.index(b"\xff\xc0"), first.index(b"\xff\xda")
    height_width = first[frame + 5 : frame + 9]
    table = b"".join(bytes([k, 0x11, 0]) for k in (1, 2, 3))
    made = first[:frame] + segment(0xC0, b"\x08" + height_width + b"\x03" + table)
    made += first[frame + 13 : scan]
    for number, part in enumerate(parts, 1):
        made += (
            segment(0xDA, bytes([1, number, 0, 0, 63, 0])) + part[part.index(b"\xff\xda") + 10 : -2]
        )
    return made + b"\xff\xd9"


def _replaced(data: bytes, place: int, new: bytes) -> bytes:
    return data[:place] + new + data[place + len(new) :]


@cache
def kinds() -> dict[str, bytes]:
    """Each is the same picture, or damaged in one place."""
    base = encoded(picture())
    gray = encoded(picture()[..., 0])
    cmyk = encoded(Image.fromarray(picture()).convert("CMYK"))
    restarts = encoded(picture(), restart_marker_blocks=3)
    progressive = encoded(picture(), progressive=True)
    arithmetic = odd_jpegs.ARITHMETIC
    frame, scan = base.index(b"\xff\xc0"), base.index(b"\xff\xda")
    tables = base.index(b"\xff\xdb")
    codes = base.index(b"\xff\xc4")
    garbage = b"\x12\x34\x00"
    without_jfif = base[:2] + base[20:]
    thumbnail = encoded(picture()[:16, :16])
    adobe = cmyk.index(b"Adobe") - 4
    cmyk_frame, cmyk_scan = cmyk.index(b"\xff\xc0"), cmyk.index(b"\xff\xda")
    without_adobe = cmyk[:adobe] + cmyk[adobe + 16 :]
    return {
        "base": base,
        "gray": gray,
        "444": encoded(picture(), subsampling=0),
        "422": encoded(picture(), subsampling=1),
        "progressive": progressive,
        "arithmetic": arithmetic,
        "extended": base.replace(b"\xff\xc0", b"\xff\xc1"),
        "12 bits": _replaced(base.replace(b"\xff\xc0", b"\xff\xc1"), frame + 4, b"\x0c"),
        "16 bits": _replaced(base, frame + 4, b"\x10"),
        "lossless": lossless_jpeg(picture(), jfif=True),
        "lossless rgb": lossless_jpeg(picture(), adobe=True),
        "hierarchical": base.replace(b"\xff\xc0", b"\xff\xc5"),
        "arithmetic lossless": base.replace(b"\xff\xc0", b"\xff\xcb"),
        "scans apart": _scans_apart(),
        "scans apart with restarts": _scans_apart().replace(
            b"\xff\xc0", b"\xff\xdd\0\4\0\0\xff\xc0"
        ),
        # Restarts.
        "restarts": restarts,
        "interval 0": base[:scan] + segment(0xDD, b"\0\0") + base[scan:],
        "interval before the frame": base[:tables] + segment(0xDD, b"\xff\xff") + base[tables:],
        "interval too short": base[:tables] + segment(0xDD, b"\0") + base[tables:],
        "interval too long": base[:tables] + segment(0xDD, b"\0\0\0") + base[tables:],
        "restart between segments": base[:tables] + b"\xff\xd0\xff\xd7" + base[tables:],
        "restart before the scan": base[:scan] + b"\xff\xd3" + base[scan:],
        # Colors.
        "rgb": encoded(picture(), keep_rgb=True),
        "rgb by names": _named(without_jfif),
        "cmyk": cmyk,
        "ycck": cmyk[: adobe + 15] + b"\2" + cmyk[adobe + 16 :],
        "cmyk without adobe": without_adobe,
        "ycck, adobe behind the frame": without_adobe[: cmyk_frame - 16]
        + without_adobe[cmyk_frame - 16 : cmyk_scan - 16]
        + _adobe(2)
        + without_adobe[cmyk_scan - 16 :],
        "ycck, adobe behind garbage": without_adobe[: cmyk_scan - 16]
        + garbage
        + _adobe(2)
        + without_adobe[cmyk_scan - 16 :],
        "two adobes": cmyk[:adobe] + _adobe(2) + cmyk[adobe:],
        "two adobes, the last ycck": cmyk[: adobe + 16] + _adobe(2) + cmyk[adobe + 16 :],
        "adobe too short": without_adobe[:2]
        + segment(0xEE, b"Adobe\0\x64\0\0\0\0")
        + without_adobe[2:],
        "adobe longer": without_adobe[:2] + _adobe(2, b"more") + without_adobe[2:],
        "adobe rgb": without_jfif[:2] + _adobe(0) + without_jfif[2:],
        "adobe rgb and jfif": base[:20] + _adobe(0) + base[20:],
        "no jfif": without_jfif,
        "jfif 2": _replaced(base, 11, b"\2"),
        # Orientation.
        "exif 6": base[:2] + exif(6) + base[2:],
        "exif behind the frame": base[:scan] + exif(6) + base[scan:],
        "exif behind garbage": base[:scan] + garbage + exif(6) + base[scan:],
        "exif behind fill bytes": base[:2] + b"\xff" * 5 + exif(6) + base[2:],
        "exif behind a restart": base[:20] + b"\xff\xd5" + exif(6) + base[20:],
        "exif 1 and 6": base[:2] + exif(1) + exif(6) + base[2:],
        "exif 6 and 3": base[:2] + exif(6) + exif(3) + base[2:],
        "exif behind the scan": base[:-2] + exif(6) + base[-2:],
        "exif without orientation": base[:2]
        + segment(0xE1, b"Exif\0\0II*\0\x08\0\0\0\0\0")
        + base[2:],
        "exif damaged": base[:2] + segment(0xE1, b"Exif\0\0II*\0\xff\xff\xff\0") + base[2:],
        "app1 of xmp": base[:2] + segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0<x/>") + base[2:],
        # Thumbnails, and images behind the image.
        "thumbnail": base[:2]
        + segment(0xE1, b"Exif\0\0II*\0\x08\0\0\0\0\0" + thumbnail)
        + base[2:],
        "thumbnail in a comment": base[:2] + segment(0xFE, thumbnail) + base[2:],
        "mpo": base[:20] + segment(0xE2, b"MPF\0II*\0\x08\0\0\0\0\0") + base[20:] + gray,
        "video behind": base + b"\0\0\0\x18ftypmp42" + bytes(range(256)) * 3,
        "padding behind": base + bytes(5000),
        # Segments.
        "comment first": base[:2] + segment(0xFE, b"a comment") + base[2:],
        "comment before the frame": base[:frame]
        + segment(0xFE, b"\xff\xc0\xff\xd9")
        + base[frame:],
        "comment before the scan": base[:scan] + segment(0xFE, b"\xff\xda\xff\xd8") + base[scan:],
        "app of length 2": base[:20] + segment(0xE5, b"") + base[20:],
        "app1 of length 2": base[:20] + segment(0xE1, b"") + base[20:],
        "app14 of length 2": base[:20] + segment(0xEE, b"") + base[20:],
        "app0 of length 2": base[:2] + segment(0xE0, b"") + base[2:],
        "app of length 1": base[:20] + b"\xff\xe5\0\1" + base[20:],
        "app of length 0": base[:20] + b"\xff\xe5\0\0" + base[20:],
        "app of length 0 before the scan": base[:scan] + b"\xff\xe5\0\0" + base[scan:],
        "comment of length 0": base[:20] + b"\xff\xfe\0\0" + base[20:],
        "app to the end": base[:20] + b"\xff\xe5\xff\xff" + base[20:],
        "app to the end before the scan": base[:scan] + b"\xff\xe5\xff\xff" + base[scan:],
        "all apps": base[:20]
        + b"".join(segment(0xE0 + k, bytes(k)) for k in range(16))
        + base[20:],
        "fill bytes": base[:tables] + b"\xff" * 9 + base[tables:],
        "fill bytes before the scan": base[:scan] + b"\xff" * 9 + base[scan:],
        "fill bytes before the end": base[:-2] + b"\xff" * 9 + base[-2:],
        "fill bytes first": base[:2] + b"\xff" + base[2:],
        "tem": base[:tables] + b"\xff\x01" + base[tables:],
        "second soi": base[:tables] + b"\xff\xd8" + base[tables:],
        "second soi first": base[:2] + base,
        "second soi before the scan": base[:scan] + b"\xff\xd8" + base[scan:],
        "garbage first": base[:2] + b"\xff" + garbage + base[2:],
        "garbage before tables": base[:tables] + garbage + base[tables:],
        "garbage before the frame": base[:frame] + garbage + base[frame:],
        "garbage before codes": base[:codes] + garbage + base[codes:],
        "garbage before the scan": base[:scan] + garbage + base[scan:],
        "stuffed zero before the frame": base[:frame] + b"\xff\0\xff\0" + base[frame:],
        "stuffed zero before the scan": base[:scan] + b"\xff\0" + base[scan:],
        "zero before the scan": base[:scan] + b"\0" + base[scan:],
        "reserved": base[:tables] + segment(0x02, b"abc") + base[tables:],
        "jpg": base[:tables] + segment(0xC8, b"abc") + base[tables:],
        "jpg0": base[:tables] + segment(0xF0, b"abc") + base[tables:],
        "jpg0 before the scan": base[:scan] + segment(0xF0, b"abc") + base[scan:],
        "dhp": base[:tables] + segment(0xDE, base[frame + 4 : frame + 19]) + base[tables:],
        "exp": base[:tables] + segment(0xDF, b"\x11") + base[tables:],
        "dac": base[:tables] + segment(0xCC, b"\0\x10") + base[tables:],
        "dnl in the header": base[:tables] + segment(0xDC, b"\0\x20") + base[tables:],
        "dnl": base[:-2] + segment(0xDC, _SIZE[0].to_bytes(2, "big")) + base[-2:],
        "height by dnl": _replaced(base, frame + 5, b"\0\0")[:-2]
        + segment(0xDC, _SIZE[0].to_bytes(2, "big"))
        + base[-2:],
        "end first": base[:2] + b"\xff\xd9" + base[2:],
        "end before the scan": base[:scan] + b"\xff\xd9" + base[scan:],
        "scan first": base[:2] + base[scan : scan + 14] + base[2:],
        # Frames.
        "two frames": base[:scan] + base[frame : frame + 19] + base[scan:],
        "two frames of two sizes": base[:scan]
        + _replaced(base, frame + 5, b"\0\x20\0\x20")[frame : frame + 19]
        + base[scan:],
        "two frames, the second progressive": base[:scan]
        + b"\xff\xc2"
        + base[frame + 2 : frame + 19]
        + base[scan:],
        "no frame": base[:frame] + base[frame + 19 :],
        "two components": _replaced(base, frame + 9, b"\2"),
        "frame too long": base[:frame]
        + segment(0xC0, base[frame + 4 : frame + 19] + b"\0")
        + base[frame + 19 :],
        "no size": _replaced(base, frame + 5, b"\0\0\0\0"),
        "factor 0": _replaced(base, frame + 11, b"\0"),
        "factor 5": _replaced(base, frame + 11, b"\x51"),
        "rare factors": _replaced(base, frame + 11, b"\x41"),
        "scan of one of three": _replaced(base, scan + 4, b"\1"),
        "scan of four": _replaced(base, scan + 4, b"\4"),
        "scan too short": base[: scan + 2] + b"\0\2" + base[scan + 14 :],
        "scan of a part": _replaced(base, scan + 12, b"\x20"),
        "no tables": base[:tables] + base[frame:],
        "no codes": base[:codes] + base[scan:],
        "tables behind the frame": base[:tables]
        + base[frame : frame + 19]
        + base[tables:frame]
        + base[frame + 19 :],
        "tables cut": base[:tables] + segment(0xDB, base[tables + 4 : tables + 40]) + base[frame:],
        "16-bit tables": base[:tables]
        + segment(
            0xDB,
            b"\x10" + b"".join(b"\0" + base[k : k + 1] for k in range(tables + 5, tables + 69)),
        )
        + base[tables + 69 :],
        "codes too many": base[:codes]
        + segment(0xC4, b"\0" + b"\xff" * 16 + bytes(255 * 16))
        + base[codes:],
        # Cut.
        "no end marker": base[:-2],
        "half of the end marker": base[:-1],
        "half": base[: len(base) // 2],
        "cut behind the scan's header": base[: scan + 14],
        "cut in the scan's header": base[: scan + 7],
        "cut before the scan": base[:scan],
        "cut in the codes": base[: codes + 20],
        "cut behind the frame": base[: frame + 19],
        "cut in the frame": base[: frame + 12],
        "cut before the frame": base[:frame],
        "cut in jfif": base[:9],
        "three bytes": base[:3],
        "two bytes": base[:2],
        "only an end": b"\xff\xd8\xff\xd9",
        "only fill bytes": b"\xff\xd8" + b"\xff" * 40,
        "progressive, cut": progressive[: len(progressive) // 2],
        "arithmetic, cut": arithmetic[:-2],
        "stray bytes in the scan": base[: scan + 300] + b"\xff\x01\x02" + base[scan + 300 :],
        "app in the scan": base[: scan + 300] + segment(0xE5, b"abc") + base[scan + 300 :],
    }


def _named(data: bytes) -> bytes:
    """Its components are called R, G and B."""
    changed = bytearray(data)
    frame, scan = data.index(b"\xff\xc0"), data.index(b"\xff\xda")
    for number, letter in enumerate(b"RGB"):
        changed[frame + 10 + 3 * number] = letter
        changed[scan + 5 + 2 * number] = letter
    return bytes(changed)
