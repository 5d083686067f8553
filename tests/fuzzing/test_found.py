"""Bytes that fuzzing has found: each ended in a warning or an error of Python, NumPy or the system,
or in an error without the name of the file, or in what is not true."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import GradivaError
from tests.ops.readers import formats

from . import seeds
from .parsers import PARSERS, survives


def fits(card: bytes, value: bytes) -> bytes:
    """A seed with another value of a card."""
    data = bytearray(PARSERS["fits"].seeds()[0])
    place = data.index(card.ljust(8) + b"= ", 2880)
    data[place + 10 : place + 30] = value.rjust(20)
    return bytes(data)


def npy(header: str) -> bytes:
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text + bytes(16)


def manifest(**entry: Any) -> bytes:
    return json.dumps({"audio_filepath": "x.wav", **entry}).encode()


def gif(width: int, height: int, disposal: int, screen: tuple[int, int] = (14, 11)) -> bytes:
    """The first image has this size."""
    head = b"GIF89a" + struct.pack("<HHBBB", *screen, 0x80, 0, 0) + bytes(6)
    control = b"!\xf9\x04" + bytes([disposal]) + bytes(4)
    return head + control + b"," + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\x02\0;"


def far_apart(*times: int) -> bytes:
    """A video of intra frames, from one end of what 64 bits hold to the other."""
    return b"\4\0" + b"".join(bytes([129, 17, time, time, 1, 0]) for time in times)


def highest_kind() -> bytes:
    """A kind in the last number that a record can say."""
    data = bytearray(PARSERS["cache_files"].seeds()[2])
    data[1 + 36 : 1 + 38] = b"\xff\xff"
    return bytes(data)


FOUND: dict[str, tuple[str, bytes]] = {
    "a label of many digits": ("file_list", b"a.jpg " + b"9" * 5000),
    "a name that is no text": ("file_list", b"\xff\xfe 1"),
    "a size of many digits": ("http_answer", b"206\nContent-Range: bytes 0-9/" + b"9" * 5000),
    "two signs": ("fits", fits(b"NAXIS1", b"--2")),
    "signs alone": ("fits", fits(b"BITPIX", b"+-")),
    "a number beyond float32": ("jsonl", seeds.as_lines([{"text": 1e300, "number": 1, "box": 1}])),
    "a duration beyond floats": ("manifest", manifest(duration=10**400)),
    "an endless duration": ("manifest", manifest(duration=1e308, offset=1e308)),
    "half a character in a name": ("manifest", manifest(audio_filepath="/\ud800.wav")),
    "a zero in a name": ("manifest", manifest(audio_filepath="/x\0.wav")),
    "a manifest of nothing": ("manifest", b"{}\n"),
    "an old name of a type": (
        "npy",
        npy("{'descr': '<a4', 'fortran_order': False, 'shape': (4,)}"),
    ),
    "a number and a letter": (
        "npy",
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4or 4,)}"),
    ),
    "an empty tensor of large extents": (
        "caffe2_value",
        formats.tensors(formats.tensor(3, b"", [0, 1 << 20, 1 << 20]), formats.tensor(2, [7])),
    ),
    "a tensor of many axes": (
        "caffe2_value",
        formats.tensors(formats.tensor(3, b"a", [1] * 70), formats.tensor(2, [7])),
    ),
    "a GIF whose first image leaves its screen": ("image_header", gif(12000, 9000, 8)),
    "a GIF larger than Pillow likes": ("image_header", gif(12000, 9000, 8, screen=(12000, 9000))),
    "a video of one packet that is corrupt": ("video_index", b"\0\0\x04data\x08"),
    "times that are too far apart": ("video_index", far_apart(0, 250, 0, 255)),
    "an escape": ("npy", npy(r"{'descr': '\d', 'fortran_order': False, 'shape': (4,)}")),
    "a kind of the highest number": ("cache_files", highest_kind()),
}
TAKEN = {"a kind of the highest number", "half a character in a name", "a zero in a name"}
TAKEN |= {"a name that is no text", "times that are too far apart"}
"""These are passed over, or left out where `on_error` says so."""


@pytest.mark.parametrize("name", FOUND)
def test_found(name: str) -> None:
    parser, data = FOUND[name]
    assert survives(PARSERS[parser], data) == (name in TAKEN)


@pytest.mark.parametrize("path", ["/\ud800.jpg", "file:///\ud800.jpg"])
def test_a_name_that_no_file_has(path: str) -> None:
    good = str(Path(gradiva.__file__).parent / "photographs" / "people" / "camera.jpg")
    with pytest.raises(GradivaError, match="no file has such a name") as caught:
        gradiva.imread([good, path])
    assert str(caught.value).encode()
    reader = gradiva.readers.File(files=[good, path], on_error="skip")
    with pytest.warns(UserWarning, match="no file"), gradiva.Quarantine() as quarantine:
        assert [len(files) for files, _ in reader.next_epoch(batch_size=2)] == [1]
    assert ["no file has such a name" in one.reason for one in quarantine] == [True]


@pytest.mark.parametrize("kind", ["numpy", "fits"])
def test_shapes_that_no_sample_has_fail_alone(kind: str, tmp_path: Path) -> None:
    given = formats.FORMATS[kind].write(tmp_path, 2)
    path = sorted(tmp_path.iterdir())[1]
    if kind == "numpy":
        path.write_bytes(npy("{'descr': '<i2', 'fortran_order': False, 'shape': (0, 9999999999)}"))
    else:
        image = formats.unit(np.zeros((2, 0), np.int16))
        head = image.replace(b"NAXIS2  = %20d" % 2, b"NAXIS2  = %20d" % 9999999999)
        assert head != image
        path.write_bytes(formats.unit(None, 1) + head + formats.unit(np.zeros(3, np.float32)))
    reader = formats.FORMATS[kind].reader(**given, on_error="skip")
    with gradiva.Quarantine(warns=False) as quarantine:
        for _ in reader.next_epoch(batch_size=2):
            pass
    assert [(Path(str(one.file)).name, "large extents" in one.reason) for one in quarantine] == [
        (path.name, True)
    ]
