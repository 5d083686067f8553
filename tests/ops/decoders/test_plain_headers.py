"""Headers that a kernel reads for a whole batch: what it says is what `probe` says."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import gradiva
from gradiva.ops.decoders.formats.decode import codec_color, is_direct, output_shape
from gradiva.ops.decoders.formats.probe import probe
from gradiva.ops.decoders.image.plan import COLOR_NAMES, Headers
from gradiva.ops.decoders.image_info import MAX_PIXELS, UINT8, ImageInfo
from gradiva.ops.decoders.jpeg import plain_headers as module
from tests.oracle import flavors
from tests.tiers import few

FILES = {**flavors.jpegs(), **flavors.others()}


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module._background, "is_worth_compiling", lambda *_: True)


def check(files: list[bytes]) -> int:
    """How many the kernel knew."""
    batch = gradiva.as_batch([np.frombuffer(data, np.uint8) for data in files])
    rows = module.header_rows(batch, MAX_PIXELS)
    assert rows is not None
    known = (rows[:, module.PLAIN_CHANNELS] > 0) & (rows[:, module.PLAIN_HAS_EXIF] == 0)
    of_known = Headers(rows[known, :3]).infos
    for number, info in zip(np.flatnonzero(known).tolist(), of_known, strict=True):
        assert info == probe(np.frombuffer(files[number], np.uint8))
    return len(of_known)


def test_all_kinds() -> None:
    assert check([make() for make in FILES.values()]) > 2


def test_most_files_are_known() -> None:
    assert check([flavors.pil(flavors.ASTRONAUT, "JPEG", quality=q) for q in (50, 90)]) == 2


@pytest.mark.parametrize("name", few(list(flavors.jpegs()), *list(flavors.jpegs())[::9]))
def test_cut_and_damaged(name: str) -> None:
    data = FILES[name]()
    draw = np.random.default_rng(len(name))
    files = [data[:size] for size in range(1, min(len(data), 700), 3)]
    for _ in range(200):
        damaged = bytearray(data)
        for place in draw.integers(0, min(len(data), 700), 3):
            damaged[place] = draw.integers(256)
        files.append(bytes(damaged))
    known = check(files)
    assert known < len(files)


def test_too_large() -> None:
    data = bytearray(flavors.pil(flavors.ASTRONAUT, "JPEG", quality=90))
    place = data.index(b"\xff\xc0")
    data[place + 5 : place + 9] = b"\xff\xff\xff\xff"
    assert check([bytes(data)]) == 0
    with pytest.raises(ValueError, match="larger than the limit"):
        probe(np.frombuffer(bytes(data), np.uint8))


def test_files_of_one_kind_share_what_is_said_of_them() -> None:
    first, second = Headers(np.array([[9, 7, 3]] * 2)).infos
    assert first is second
    assert first == ImageInfo("jpeg", 9, 7, 3, color="ycbcr", coding="baseline")


@pytest.mark.parametrize("turn", [False, True])
@pytest.mark.parametrize("color", few(["RGB", "BGR", "GRAY", "YCbCr", "ANY_DATA"], "RGB"))
def test_all_headers_say_what_each_says(color: str, turn: bool) -> None:
    """What is found for all files of a batch at once is what is found for each of them."""
    infos = list[ImageInfo]()
    for make in FILES.values():
        with contextlib.suppress(ValueError):  # of a kind that cannot be decoded
            infos.append(probe(np.frombuffer(make(), np.uint8)))
    assert len(infos) > 40
    headers = Headers.of(infos)
    assert headers.infos == infos
    shapes = [output_shape(info, color, turn) for info in infos]
    assert headers.shapes(color, turn).tolist() == [list(shape) for shape in shapes]
    direct = [is_direct(info, UINT8, color, turn) for info in infos]
    found = headers.direct_colors(color, turn)
    assert (found != 0).tolist() == direct
    for info, number in zip(infos, found.tolist(), strict=True):
        if number:
            assert COLOR_NAMES[number] == codec_color(info, color)
