"""Files of the cache: read as they were written, or not at all."""

from __future__ import annotations

import errno
import os
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradiva.eager.support.checked_file import read_checked, write_checked

CONTENT = bytes(range(256)) * 3


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with CONTENT under the meaning "kernel"; nothing is left where it was written."""
    path, unfinished = tmp_path / "file", tmp_path / "unfinished"
    unfinished.mkdir()
    write_checked(path, "kernel", CONTENT, unfinished)
    assert list(unfinished.iterdir()) == []
    return path


def test_what_was_written_is_read(file: Path) -> None:
    assert read_checked(file, "kernel") == CONTENT
    assert read_checked(file.with_name("none"), "kernel") is None
    assert file.stat().st_mode & 0o777 == 0o600
    write_checked(file, "kernel", b"", file.parent / "unfinished")
    assert read_checked(file, "kernel") == b""


def test_a_file_under_the_name_of_another_is_not_read(file: Path) -> None:
    """As after a repair of the file system."""
    assert read_checked(file, "kerne") is None
    assert not file.exists()


def damages(whole: bytes) -> list[bytes]:
    """Cut at every byte, one bit changed in every byte, more at the end, nothing but zeros."""
    chosen = random.Random(1)
    found = [whole[:size] for size in range(len(whole))]
    for place in range(len(whole)):
        data = bytearray(whole)
        data[place] ^= 1 << chosen.randrange(8)
        found.append(bytes(data))
    for first in range(0, len(whole), 100):
        found.append(whole[:first] + bytes(len(whole) - first))
        found.append(whole[:first] + whole[first + 1 :])
    return [*found, whole + b"\0", whole + whole, b"\0" * 4096]


@pytest.mark.full
def test_damaged_files_are_removed(file: Path) -> None:
    for data in damages(file.read_bytes()):
        file.write_bytes(data)
        assert read_checked(file, "kernel") is None
        assert not file.exists()


def test_what_is_no_file_is_not_read(file: Path) -> None:
    folder = file.with_name("folder")
    folder.mkdir()
    assert read_checked(folder, "kernel") is None
    assert read_checked(file / "below", "kernel") is None


def failing(code: int) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(code, os.strerror(code))

    return fail


@pytest.mark.parametrize("name", ["open", "write", "fsync", "close", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_a_failed_write_leaves_what_was_there(
    file: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: int
) -> None:
    """And nothing else, however far it came."""
    with monkeypatch.context() as patch:
        if name == "close":
            close = os.close

            def closed(descriptor: int) -> None:
                close(descriptor)
                failing(code)()

            patch.setattr(os, name, closed)
        else:
            patch.setattr(os, name, failing(code))
        with pytest.raises(OSError, match=os.strerror(code)):
            write_checked(file, "kernel", b"other", file.parent / "unfinished")
    assert read_checked(file, "kernel") == CONTENT
    assert list((file.parent / "unfinished").iterdir()) == []


def test_a_write_may_take_several_calls(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system may write less than it is asked to; a disk may be full in the middle."""
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:7]))
        write_checked(file, "kernel", CONTENT[1:], file.parent / "unfinished")
    assert read_checked(file, "kernel") == CONTENT[1:]
    done = []

    def half(descriptor: int, data: Any) -> int:
        done.append(len(data))
        return failing(errno.ENOSPC)() if len(done) > 1 else write(descriptor, data[:100])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half)
        with pytest.raises(OSError, match="No space"):
            write_checked(file, "kernel", CONTENT, file.parent / "unfinished")
    assert len(done) == 2
    assert read_checked(file, "kernel") == CONTENT[1:]


def test_it_is_on_the_disk_before_it_has_its_name(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    for name in ("write", "fsync", "replace"):
        real = getattr(os, name)

        def noted(*words: Any, name: str = name, real: Any = real) -> Any:
            calls.append(name)
            return real(*words)

        monkeypatch.setattr(os, name, noted)
    write_checked(file, "kernel", CONTENT, file.parent / "unfinished")
    assert calls == ["write", "fsync", "replace"]


def test_writers_and_readers_at_once(file: Path) -> None:
    """Whoever reads finds what one of the writers wrote, whole."""
    contents = [bytes([number]) * (1000 + number) for number in range(4)]
    write_checked(file, "kernel", contents[0], file.parent / "unfinished")
    start = threading.Barrier(len(contents))

    def write(content: bytes) -> None:
        start.wait()
        for _ in range(30):
            write_checked(file, "kernel", content, file.parent / "unfinished")

    writers = [threading.Thread(target=write, args=(content,)) for content in contents]
    for writer in writers:
        writer.start()
    found = set()
    while any(writer.is_alive() for writer in writers):
        found.add(read_checked(file, "kernel"))
    for writer in writers:
        writer.join()
    found.add(read_checked(file, "kernel"))
    assert found <= set(contents)
    assert list((file.parent / "unfinished").iterdir()) == []
