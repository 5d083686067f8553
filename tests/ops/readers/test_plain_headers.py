"""The compiled walk over headers of tar archives: what it knows it sees as `tarfile` does."""

from __future__ import annotations

import io
import os
import random
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.ops.readers.records import tar_archive as archive
from gradiva.ops.readers.records import tar_headers as plain_headers

NAMES = ("a.jpg", "folder/" * 20 + "a.jpg", "d/" * 60 + "f" * 90, "ü.txt", ".hidden")
FORMATS = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_headers._background, "_seen", 1 << 20)


def write(path: Path, members: list[tuple[str, int, float, bytes]], kind: int) -> None:
    with tarfile.open(path, "w", format=kind) as made:
        for name, size, time, type in members:
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.type = size, time, type
            made.addfile(member, io.BytesIO(bytes(size)))


def both(path: Path) -> tuple[Any, Any]:
    """What the kernel says, and `tarfile`: None for what each does not understand."""
    handle, size = os.open(path, os.O_RDONLY), path.stat().st_size
    try:
        known = plain_headers.plain_scan(handle, size)
        try:
            return known, archive._scan_any(handle, size)
        except gradiva.GradivaError:
            return known, None
    finally:
        os.close(handle)


def agree(path: Path) -> bool:
    """Whether the kernel knows the archive; then both say the same."""
    known, expected = both(path)
    if known is not None:
        np.testing.assert_array_equal(known[0][0], expected[0][0])
        assert (known[0][1], known[1]) == (expected[0][1], expected[1])
    return known is not None


@pytest.mark.parametrize("kind", FORMATS)
def test_what_it_knows(kind: int, tmp_path: Path) -> None:
    """Folders, names before a slash, times with fractions; not names of other kinds, nor links."""
    path = tmp_path / "data.tar"
    plain = [
        *((name, size, 0, tarfile.REGTYPE) for name in NAMES[:1] for size in (0, 1, 512, 513)),
        ("folder", 0, 0, tarfile.DIRTYPE),
        (NAMES[4], 3, 1.5 if kind == tarfile.PAX_FORMAT else 7, tarfile.REGTYPE),
        (NAMES[1], 3, 0, tarfile.REGTYPE),
    ]
    write(path, plain if kind == tarfile.USTAR_FORMAT else plain[:-1], kind)
    assert agree(path)
    path.write_bytes(path.read_bytes().rstrip(b"\0").ljust(512, b"\0"))
    agree(path)
    write(path, [*plain, ("link", 0, 0, tarfile.SYMTYPE)], kind)
    assert not agree(path)
    if kind != tarfile.USTAR_FORMAT:
        write(path, [(NAMES[2], 3, 0, tarfile.REGTYPE)], kind)
        assert not agree(path)


@pytest.mark.full
def test_more_members_than_one_call_takes(tmp_path: Path) -> None:
    path = tmp_path / "data.tar"
    write(path, [(f"{n}.a", n % 3, 0.5, tarfile.REGTYPE) for n in range(4100)], FORMATS[2])
    assert agree(path)
    samples = archive.scanned(str(path))
    assert [sample[0].name for sample in samples] == [f"{number}.a" for number in range(4100)]


@pytest.mark.full
@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_headers(kind: int, tmp_path: Path) -> None:
    """Bytes that were changed, with a checksum that is right in spite of it; and cut files."""
    path = tmp_path / "data.tar"
    drawn = random.Random(kind)
    write(path, [(name, 40, 0.5, tarfile.REGTYPE) for name in NAMES[:1] * 3 + NAMES[4:]], kind)
    whole = path.read_bytes()[:8192]
    for _ in range(150):
        bad = bytearray(whole)
        place = drawn.randrange(6) * 512
        bad[place + drawn.randrange(512)] = drawn.choice((0, 32, 48, 55, 57, 128, 255))
        block = bad[place : place + 512]
        block[148:156] = b" " * 8
        bad[place + 148 : place + 156] = b"%06o\0 " % sum(block)
        path.write_bytes(bad[: drawn.choice((len(bad), drawn.randrange(len(bad))))])
        agree(path)
