"""The compiled reader of plain JPEG frames says what the other one does."""

from __future__ import annotations

import numpy as np
import pytest

import gradiva
from gradiva.eager.jit.background_kernel import BackgroundKernel
from gradiva.ops.decoders.formats.image_info import ImageInfo
from gradiva.ops.decoders.formats.probe import probe
from gradiva.ops.decoders.nvjpeg.frame import read_frame
from gradiva.ops.decoders.nvjpeg.plain_frames import plain_frames
from tests.oracle import flavors

JPEGS = flavors.jpegs()
BASE = flavors.pil(flavors.ASTRONAUT, "JPEG", quality=90)


def test_plain_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a batch at once: what `read_frame` finds, or nothing; whatever the bytes are."""
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
    found = plain_frames(batch, infos)
    wanted = [
        read_frame(np.frombuffer(one, np.uint8), info)
        for one, info in zip(known, infos, strict=True)
    ]
    assert all(one is None or one == other for one, other in zip(found, wanted, strict=True))
    plain = {name for name, one in zip(JPEGS, found, strict=False) if one is not None}
    assert {"jpeg_420", "jpeg_444", "jpeg_gray", "jpeg_rgb", "jpeg_restart"} <= plain
    assert not {"jpeg_progressive", "jpeg_cmyk", "jpeg_arithmetic"} & plain


def _info(data: bytes) -> ImageInfo | None:
    try:
        return probe(np.frombuffer(data, np.uint8))
    except ValueError:
        return None
