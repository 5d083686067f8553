"""Headers that a kernel reads for a whole batch: what it says is what `probe` says."""

from __future__ import annotations

import numpy as np
import pytest

import gradiva
from gradiva.ops.decoders.formats.probe import plain_headers, probe
from gradiva.ops.decoders.jpeg import plain_headers as module
from tests.oracle import flavors
from tests.tiers import few

FILES = {**flavors.jpegs(), **flavors.others()}


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module._background, "is_worth_compiling", lambda *_: True)


def check(files: list[bytes]) -> int:
    """How many the kernel knew."""
    batch = gradiva.batch([np.frombuffer(data, np.uint8) for data in files])
    found = plain_headers(batch)
    for data, info in zip(files, found, strict=True):
        if info is not None:
            assert info == probe(np.frombuffer(data, np.uint8))
    return sum(info is not None for info in found)


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
    data = np.frombuffer(flavors.pil(flavors.ASTRONAUT, "JPEG", quality=90), np.uint8)
    first, second = plain_headers(gradiva.batch([data, data.copy()]))
    assert first is second is not None
