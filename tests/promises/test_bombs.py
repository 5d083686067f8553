"""Promise: files of a few bytes that promise gigabytes are refused, without the memory for them."""

from __future__ import annotations

import io
import resource
import struct
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.fuzzing import seeds
from tests.fuzzing.parsers import PARSERS, survives
from tests.ops.readers import formats
from tests.soaking import Figures

ROOT = Path(__file__).parents[2]
MEBIBYTES = 64
"""How much more memory all of them may take together."""


def image(start: bytes, place: int, sizes: bytes) -> bytes:
    """The first seed that begins so, with other extents."""
    data = bytearray(next(one for one in seeds.images() if one.startswith(start)))
    place = place if place >= 0 else data.index(b"\xff\xc0") + 5
    data[place : place + len(sizes)] = sizes
    return bytes(data)


def png() -> bytes:
    """16384 x 16384, and a checksum that is right."""
    head = b"IHDR" + struct.pack(">IIBBBBB", 1 << 14, 1 << 14, 8, 2, 0, 0, 0)
    data = b"IDAT" + zlib.compress(bytes(1 << 20), 9)
    parts = (head, data, b"IEND")
    chunks = (
        struct.pack(">I", len(part) - 4) + part + struct.pack(">I", zlib.crc32(part))
        for part in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def tiff() -> bytes:
    """The tags of width and height say 2**31 - 1."""
    data = bytearray(seeds.images()[-1])
    (place,) = struct.unpack_from("<I", data, 4)
    for entry in range(2):
        struct.pack_into("<HHII", data, place + 2 + 12 * entry, 256 + entry, 4, 1, 2**31 - 1)
    return bytes(data)


def npy(shape: str) -> bytes:
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}".encode().ljust(117)
    return b"\x93NUMPY\1\0" + struct.pack("<H", 118) + text + b"\n"


def npz() -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, images=np.zeros((4, 1 << 21)), labels=np.zeros(4))
    return stream.getvalue()


def tar() -> bytes:
    member = tarfile.TarInfo("a/0.jpg")
    member.size = 1 << 40
    return member.tobuf(tarfile.GNU_FORMAT) + bytes(1024)


def fits() -> bytes:
    return formats.unit(None, 1) + formats.unit(np.zeros((2, 3), "i2"), NAXIS1=10**9)


def coco(**size: int) -> bytes:
    content = seeds.coco()
    content["images"][1].update(size)
    content["annotations"][1]["segmentation"] = {"size": [1 << 20] * 2, "counts": [1 << 40]}
    return seeds.as_json(content)


DEEP = b"[" * 100_000
BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "jpeg": ("image", lambda: image(b"\xff\xd8", -1, b"\x40\0\x40\0")),
    "png": ("image", png),
    "bmp": ("image", lambda: image(b"BM", 18, struct.pack("<ii", 1 << 15, 1 << 15))),
    "gif": ("image", lambda: image(b"GIF", 6, b"\xff\xff\xff\xff")),
    "tiff": ("image", tiff),
    "pnm": ("image", lambda: b"P6 16384 16384 255\n" + bytes(99)),
    "npy": ("npy", lambda: npy("(1099511627776,)")),
    "npy without values": ("npy", lambda: npy("(4611686018427387904, 0, 4)")),
    "npz": ("npz", npz),
    "tfrecord": ("tfrecord", lambda: struct.pack("<QI", 1 << 60, 0) + bytes(16)),
    "recordio": ("recordio", lambda: struct.pack("<II", 0xCED7230A, (1 << 29) - 1) + bytes(64)),
    "recordio of labels": (
        "recordio",
        lambda: formats.chunks(struct.pack("<IfQQ", 1 << 30, 0.0, 0, 0) + bytes(64)),
    ),
    "tar": ("tar", tar),
    "caffe": ("caffe_value", lambda: b"\x22\xff\xff\xff\xff\x0f" + bytes(9)),
    "caffe2": (
        "caffe2_value",
        lambda: formats.tensors(formats.tensor(3, b"x", [1 << 30, 1 << 30, 3])),
    ),
    "fits": ("fits", fits),
    "coco": ("coco", lambda: coco(height=1 << 20, width=1 << 20)),
    "runs": ("coco", coco),
    "deep annotations": ("coco", lambda: DEEP),
    "deep lines": ("jsonl", lambda: DEEP),
    "deep manifest": ("manifest", lambda: DEEP),
    "deep checkpoint": ("checkpoint", lambda: DEEP),
    "stored annotations": ("coco_preprocessed", lambda: b"\0" + b"\xff" * 8),
}


def main() -> None:
    """All of them in this process; what memory they took, in MiB."""
    for name in {parser for parser, _ in BOMBS.values()}:
        survives(PARSERS[name], PARSERS[name].seeds()[0])  # what is made once
    made = {name: (PARSERS[parser], make()) for name, (parser, make) in BOMBS.items()}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for name, (parser, data) in made.items():
        assert len(data) < 1 << 20, name
        try:
            parser.read(data)
        except parser.allowed as error:
            assert "not enough memory" not in str(error), (name, str(error))  # noqa: PT017
        else:
            raise AssertionError(f"{name} was taken")
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "darwin", reason="ru_maxrss has another unit")
def test_bombs(figures: Figures) -> None:
    command = [sys.executable, "-W", "ignore", "-m", "tests.promises.test_bombs"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert int(ran.stdout) < MEBIBYTES
    figures(files=len(BOMBS), mebibytes=int(ran.stdout))


if __name__ == "__main__":
    main()
