"""Damaged and malicious files: an error that names the file, and nothing worse."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

import gradiva

from .formats import FORMATS, Format, values

SIZE = 3


@pytest.fixture(params=sorted(name for name, kind in FORMATS.items() if kind.checked))
def kind(request: pytest.FixtureRequest) -> Format:
    return FORMATS[request.param]


def outcome(kind: Format, data: dict[str, Any], limit: int) -> str | int:
    """The text of the error, or how many samples were read. No output is larger than the files."""
    try:
        read = 0
        for outputs in kind.reader(**data).next_epoch(batch_size=2):
            assert all(batch.nbytes <= 2 * limit for batch in values(outputs))
            read += len(values(outputs)[0])
        return read
    except gradiva.GradivaError as error:
        return str(error)


def variants(kind: Format, data: dict[str, Any]) -> list[dict[str, Any]]:
    """The arguments with the index, and without it where it is not needed."""
    if kind.indexed is None:
        return [data]
    return [data, {name: value for name, value in data.items() if name != kind.indexed}]


@pytest.mark.parametrize("every", [pytest.param(True, marks=pytest.mark.full), False])
@pytest.mark.parametrize("scanned", [False, True])
def test_cut_at_each_byte(kind: Format, scanned: bool, every: bool, tmp_path: Path) -> None:
    """Of a large file, without `every`: around the ends of blocks, and some in between."""
    data = variants(kind, kind.write(tmp_path, SIZE))
    if scanned and len(data) == 1:
        return
    path = max(tmp_path.glob(kind.files))
    whole = path.read_bytes()
    for size in reversed(range(len(whole))):
        if not every and len(whole) > 1000 and 2 < size % 512 < 510 and size % 61:
            continue
        os.truncate(path, size)  # a file that is written anew costs several times as much
        found = outcome(kind, data[scanned], len(whole))
        if isinstance(found, int):
            # What is cut off was padding, or whole records that no index tells of.
            assert found == SIZE or (scanned and 0 < found < SIZE), size
        else:
            assert path.name in found, (size, found)


@pytest.mark.parametrize("scanned", [False, True])
def test_flipped_bytes(kind: Format, scanned: bool, tmp_path: Path) -> None:
    data = variants(kind, kind.write(tmp_path, SIZE))
    if scanned and len(data) == 1:
        return
    path = max(tmp_path.glob(kind.files))
    whole = path.read_bytes()
    drawn = random.Random(5)
    refused = 0
    for _ in range(150):
        bad = bytearray(whole)
        for _ in range(drawn.choice((1, 1, 2, 5))):
            bad[drawn.randrange(len(bad))] = drawn.choice(
                (0, 1, 127, 128, 255, drawn.randrange(256))
            )
        path.write_bytes(bad)
        found = outcome(kind, data[scanned], len(whole))
        if isinstance(found, str):
            assert path.name in found
            refused += 1
    # Of an archive with an index no header is read.
    assert refused or (kind.files == "*.tar" and not scanned)


def test_flipped_index(kind: Format, tmp_path: Path) -> None:
    data = kind.write(tmp_path, SIZE)
    if kind.indexed is None:
        return
    path = Path(data[kind.indexed])
    whole = path.read_bytes()
    files = sum(file.stat().st_size for file in tmp_path.glob(kind.files))
    drawn = random.Random(6)
    for _ in range(120):
        bad = bytearray(whole)
        bad[drawn.randrange(len(bad))] = drawn.choice(b"0123456789 -\n\tx\xff\0")
        path.write_bytes(bad)
        found = outcome(kind, data, files)
        assert isinstance(found, int) or str(tmp_path) in found


def test_cut_index(kind: Format, tmp_path: Path) -> None:
    data = kind.write(tmp_path, SIZE)
    if kind.indexed is None:
        return
    path = Path(data[kind.indexed])
    whole = path.read_bytes()
    files = sum(file.stat().st_size for file in tmp_path.glob(kind.files))
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        found = outcome(kind, data, files)
        assert isinstance(found, int) or str(tmp_path) in found, size
