"""The compiled reader of plain JPEG frames says what the other one does."""

from __future__ import annotations

import numpy as np
import pytest

import gradiva
from gradiva.eager.jit.background_kernel import BackgroundKernel
from gradiva.ops.decoders.formats.probe import probe
from gradiva.ops.decoders.image_info import ImageInfo
from gradiva.ops.decoders.jpeg.gpu.frame import read_frame, read_frames
from gradiva.ops.decoders.jpeg.plain_headers import PlainHeader, header_rows
from tests.oracle import flavors

JPEGS = flavors.jpegs()
BASE = flavors.pil(flavors.ASTRONAUT, "JPEG", quality=90)


def test_plain_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a batch at once: what `read_frame` finds, whatever the bytes are."""
    monkeypatch.setattr(BackgroundKernel, "is_worth_compiling", lambda *_: True)
    generator = np.random.default_rng(0)
    files = [make() for make in JPEGS.values()] + [
        BASE + b"\0",
        BASE[:-2],
        BASE[:600] + b"\xff\xd9",
    ]
    for _ in range(300):
        changed = bytearray(files[int(generator.integers(0, len(JPEGS)))])
        for _ in range(int(generator.integers(1, 4))):
            changed[int(generator.integers(2, min(700, len(changed))))] = generator.integers(0, 256)
        files.append(bytes(changed))
    read = [(one, info) for one in files if (info := _info(one)) is not None]
    known, infos = [one for one, _ in read], [info for _, info in read]
    batch = gradiva.as_batch([np.frombuffer(one, np.uint8).copy() for one in known])
    arrays = [np.frombuffer(one, np.uint8) for one in known]
    wanted = [read_frame(one, info) for one, info in zip(arrays, infos, strict=True)]
    assert read_frames(arrays, infos, batch) == wanted
    rows = header_rows(batch, 1 << 30)
    assert rows is not None
    plain = {
        name for name, row in zip(JPEGS, rows, strict=False) if PlainHeader._make(row).is_whole
    }
    assert {"jpeg_420", "jpeg_444", "jpeg_gray", "jpeg_rgb", "jpeg_restart"} <= plain
    assert not {"jpeg_progressive", "jpeg_cmyk", "jpeg_arithmetic"} & plain


def _info(data: bytes) -> ImageInfo | None:
    try:
        return probe(np.frombuffer(data, np.uint8))
    except ValueError:
        return None
