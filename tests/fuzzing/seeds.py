"""Bytes that fuzzing begins with: small files of each kind. Interesting ones that were found later
lie in `corpora`."""

from __future__ import annotations

import io
import json
import random
import struct
import tarfile
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from PIL import Image

from gradiva import fn, types
from gradiva.eager.contexts.json_codec import to_json_value
from gradiva.ops.decoders.audio.audio import wav_file
from tests.capture.serialization.stored import feed
from tests.capture.serialization.stored import pipeline as stored
from tests.ops.decoders.lossless_jpegs import lossless_jpeg
from tests.ops.decoders.tiff_files import tiff
from tests.ops.readers import formats

cv2: Any = pytest.importorskip("cv2")

__all__ = [
    "answers",
    "archives",
    "as_json",
    "as_lines",
    "coco",
    "corpus",
    "datums",
    "edits",
    "images",
    "lines",
    "lists",
    "manifest",
    "mpeg_audio",
    "npy",
    "pipelines",
    "sound_headers",
    "sounds",
    "state",
    "tensors",
]

CORPORA = Path(__file__).parent / "corpora"


def corpus(name: str) -> list[bytes]:
    """What was found before."""
    return [path.read_bytes() for path in sorted((CORPORA / name).glob("*"))]


def _saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def images() -> list[bytes]:
    """All formats, and several flavors of those whose headers are ours."""
    noise = np.random.default_rng(3)
    color = Image.fromarray(noise.integers(0, 255, (11, 14, 3), np.uint8))
    gray = color.convert("L")
    exif = Image.Exif()
    exif[0x0112] = 6
    made = [
        _saved(color, "JPEG"),
        _saved(gray, "JPEG", progressive=True),
        _saved(color, "JPEG", exif=exif.tobytes(), restart_marker_blocks=1),
        _saved(color.convert("CMYK"), "JPEG"),
        _saved(color, "PNG", exif=exif.tobytes()),
        _saved(color.quantize(7), "PNG", transparency=bytes(7), bits=4),
        _saved(color, "BMP"),
        _saved(color.quantize(7), "BMP"),
        _saved(gray.convert("1"), "PPM"),
        _saved(color, "PPM"),
        b"P2 # a comment\n3 2\n99\n1 2 3\n4 5 99\n",
        _saved(color, "WEBP", lossless=True, exif=exif.tobytes()),
        _saved(color.convert("RGBA"), "WEBP"),
        _saved(color, "JPEG2000"),
        _saved(color, "TIFF"),
        _saved(color, "TIFF", compression="tiff_lzw", tiffinfo={274: 3}),
        _saved(color.quantize(7), "TIFF"),
        _saved(color, "GIF"),
    ]
    few = noise.integers(0, 4, (6, 9)).astype(np.uint8)
    floats = noise.random((6, 9, 3)).astype(np.float32)
    made += [
        tiff(few, 0, bits=2, compression=8, tile=(16, 16)),
        tiff(floats, 2, compression=8, predictor=3, order=">", big=True),
        tiff(noise.integers(0, 255, (6, 9, 3)).astype(np.uint8), 6, compression=5),
        tiff(noise.integers(0, 255, (6, 9, 4)).astype(np.uint8), 5, planes=True, rows=4),
        tiff(np.zeros((6, 10, 3), np.uint8), 6, data=[bytes(90)], tags={530: (3, [2, 2])}),
        tiff(few, 3, bits=2, tags={320: (3, [*range(0, 6000, 500)])}, compression=32773),
        lossless_jpeg(noise.integers(0, 255, (6, 9, 3)).astype(np.uint8)),
    ]
    five = noise.integers(0, 255, (5, 4, 5), np.uint8)
    deep = noise.integers(0, 9999, (5, 4, 3)).astype(np.uint16)
    made.append(bytes(cv2.imencode(".tiff", deep)[1]))
    made.append(_tiff(five))
    return made


def _tiff(pixels: Any) -> bytes:
    """Channels that are read sample by sample, without a library that writes them."""
    height, width, channels = pixels.shape
    tags = {256: width, 257: height, 258: 8, 259: 1, 262: 1, 277: channels, 278: height, 284: 1}
    tags |= {273: 8, 279: pixels.size, 338: 0}
    body = pixels.tobytes() + bytes(-pixels.size % 2)
    entries = b"".join(
        struct.pack("<HHII", tag, 4 if tag in (273, 279) else 3, 1, value)
        for tag, value in sorted(tags.items())
    )
    head: bytes = b"II*\0" + struct.pack("<I", 8 + len(body)) + body
    return head + struct.pack("<H", len(tags)) + entries + bytes(4)


def npy() -> list[bytes]:
    made = []
    for array in (
        np.arange(6).reshape(2, 3),
        np.asfortranarray(np.ones((2, 2), ">f4")),
        np.bool_(),
    ):
        stream = io.BytesIO()
        np.save(stream, array)
        made.append(stream.getvalue())
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.arange(3.0), version=(2, 0))
    return [*made, stream.getvalue()]


def sounds() -> list[bytes]:
    stereo = np.arange(40, dtype=np.int16).reshape(-1, 2)
    plain = wav_file(stereo, 8000).tobytes()
    wide = plain.replace(struct.pack("<HH", 4, 16), struct.pack("<HH", 6, 24))
    return [plain, wide, plain[:36] + b"LIST\4\0\0\0abcd" + plain[36:]]


def mpeg_audio() -> list[bytes]:
    """Frames of silence of layers III and II, with a tag among them, and tags around."""
    frame = b"\xff\xfb\x12\xc4" + bytes(100)
    named = bytearray(frame)
    named[21:37] = b"Info" + struct.pack(">II", 1, 4) + b"LAME"
    checked = b"\xff\xfa\x12\xc4" + bytes(100)
    other = b"\xff\xfd\x14\xc4" + bytes(100)
    tag = b"ID3\4\0\0\0\0\0\x05hello"
    return [
        tag + bytes(named) + 4 * frame + b"TAG" + bytes(125),
        3 * frame + b"junk" + 3 * frame + bytes(named) + frame * 4,
        4 * checked + b"APETAGEX" + struct.pack("<IIII", 2000, 32, 0, 1 << 31) + bytes(8),
        3 * frame + 3 * other,
    ]


def sound_headers() -> list[bytes]:
    """Of unknown length; and two Ogg streams of empty pages."""
    plain = sounds()[0]
    pages = [
        b"OggS\0" + bytes([flag]) + struct.pack("<QIII", at, 1, 0, 0) + b"\1\2ab"
        for flag, at in ((2, 0), (0, 48), (4, 96), (2, 0), (4, 48))
    ]
    return [
        plain[:40] + bytes(4) + plain[44:],
        b".snd" + struct.pack(">IIIII", 24, 0, 3, 8000, 1) + bytes(20),
        b"caff\0\1\0\0desc" + struct.pack(">Q", 4) + b"abcddata" + b"\xff" * 8 + bytes(30),
        b"FORM\0\0\0\0AIFFCOMM\0\0\0\2ab" + b"SSND" + bytes(4) + b"\1" * 30,
        b"riff" + bytes(20) + b"wave" + bytes(12) + b"data" + bytes(12) + b"\xff" * 8 + bytes(9),
        b"".join(pages),
    ]


def archives() -> list[bytes]:
    made = []
    for kind in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w", format=kind) as archive:
            for name in ("a/1.jpg", "a/1.cls", "d/" * 60 + "2.jpg", ".hidden"):
                member = tarfile.TarInfo(name)
                member.size, member.mtime = 9, 0.5 if kind == tarfile.PAX_FORMAT else 7
                archive.addfile(member, io.BytesIO(b"123456789"))
        made.append(stream.getvalue().rstrip(b"\0") + bytes(1024))
    return made


def datums() -> list[bytes]:
    return [
        formats.datum(b"an image", 3, 1, 2, 3),
        formats.datum(bytes(6), 3, 3, 1, 2, encoded=0),
        formats.datum(b"x", None, encoded=1),
    ]


def tensors() -> list[bytes]:
    one = formats.tensors(formats.tensor(4, b"an image"), formats.tensor(2, [7]))
    two = formats.tensors(formats.tensor(3, bytes(12), [2, 2, 3]), formats.tensor(2, [-1]))
    return [one, two]


def lists() -> list[bytes]:
    return [
        b"people/camera.jpg 3\nthings/coffee.jpg 1\n",
        b"\xef\xbb\xbfspace/a name.jpg\t0\r\n\n  \nspace/rocket.jpg 00007",
        "ü\u2028\x0c.jpg 9\n".encode(),
        b"x.jpg " + b"9" * 30,
    ]


def answers() -> list[bytes]:
    return [
        b'206\nContent-Range: bytes 0-9/100\nETag: "a"\nContent-Length: 10',
        b"100\nContent-Length: 100\nContent-Encoding: identity",
    ]


def pipelines() -> list[bytes]:
    def build() -> Any:
        images = fn.crop(feed(ndim=3, dtype=types.UINT8), crop=(2, 2), name="window")
        return images * 3, images[1:, 0], images + np.array([1, 2, 3], np.int16)

    return [stored(build).serialize(), stored(fn.random.coin_flip).serialize()]


# Data in JSON, and bytes that say what to replace in them (`parsers.edited`).


def edits() -> list[bytes]:
    drawn = random.Random(2)
    return [b"", *(drawn.randbytes(2 * count) for count in (1, 1, 1, 2, 4))]


def as_json(content: Any) -> bytes:
    return json.dumps(content).encode()


def as_lines(content: Any) -> bytes:
    return b"".join(as_json(line) + b"\n" for line in content)


COCO_MASKS: Final = {
    "pixelwise_masks": True,
    "extra": ["keypoints", "object_masks", "captions", "area", "iscrowd", "annotation_ids"],
}
"""What the reader draws, and gives besides."""


def coco() -> Any:
    """Two images, with polygons and runs of both kinds."""
    runs = {"size": [4, 5], "counts": [3, 5, 12]}
    common = {"category_id": 2, "bbox": [1, 1, 2, 2.5], "iscrowd": 0, "area": 4.5}
    return {
        "images": [
            {"id": k, "file_name": f"data{k}.jpg", "height": 4, "width": 5} for k in range(2)
        ],
        "categories": [{"id": 2, "name": "two"}],
        "annotations": [
            {
                "id": 1,
                "image_id": 0,
                **common,
                "segmentation": [[1, 1, 3, 1, 3, 3.5]],
                "keypoints": [1, 2, 2, 0, 0, 0],
            },
            {"id": 2, "image_id": 1, **common, "iscrowd": 1, "segmentation": runs},
            {"id": 3, "image_id": 1, **common, "segmentation": {"size": [4, 5], "counts": "35<"}},
            {"id": 4, "image_id": 0, "caption": "two"},
        ],
    }


def lines() -> Any:
    return [
        {"text": "one", "number": 1, "box": [0.5, 1.5]},
        {"text": "ü", "number": -2, "box": []},
        {"text": "", "number": 3, "box": [1.0]},
    ]


def manifest(path: str) -> Any:
    return [
        {"audio_filepath": path, "text": "one", "duration": 0.004, "offset": 0.001},
        {"audio_filepath": path, "text": "two"},
    ]


def state() -> Any:
    arrays = {"a": np.arange(4, dtype="<i2").reshape(2, 2), "b": np.float32(2), "c": b"xyz"}
    return to_json_value({**arrays, "d": (1, [2, {3: 4}]), "e": np.array("2020", "M8[D]")})
