"""`gradiva cache info | verify | clear`."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradiva.__main__ import main
from gradiva.ops.cache.disk_store import DiskStore
from tests.ops.cache.samples import digest, fill, images, indices, opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two shards."""
    store = opened(tmp_path)
    fill(store, images(3))
    store.close()
    store.put(digest("float"), np.zeros((4, 5), np.float32), "HW", 0.1)
    store.put_failure(digest("failed"), {"problem": "cut"})
    store.close()
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / f"gradiva-{'0' * 32}.data").write_text("somebody else's")
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status = main(["cache", *arguments])
    return status, capsys.readouterr().out


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(said(capsys, *arguments, "--json")[1])


def test_info(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = indices(folder)
    os.utime(one, (1e9, 1e9))
    found = as_json(capsys, "info", str(folder))
    assert (found["entries"], found["shards"]) == (5, 2)
    assert found["kinds"] == {"uint8 HWC": 3, "float32 HW": 1, "uint8": 1}
    assert found["bytes"] == sum(path.stat().st_size for path in folder.glob("gradiva-*"))
    assert found["oldest_use"] == 1e9
    assert abs(found["newest_use"] - time.time()) < 3600
    assert found["damaged_indices"] == found["other_versions"] == []
    status, text = said(capsys, "info", str(folder))
    assert status == 0
    assert "entries  5" in text
    assert "in 2 shards" in text
    content = bytearray(other.read_bytes())
    content[-1] ^= 1
    other.write_bytes(content)
    found = as_json(capsys, "info", str(folder))
    assert found["damaged_indices"] == [other.name]
    assert "is damaged" in said(capsys, "info", str(folder))[1]


def test_verify(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "verify", str(folder)) == (0, "5 entries, 0 damaged\n")
    store = DiskStore(folder, 1 << 30)
    (entry,) = store.find([digest(("", 1))])
    assert entry is not None
    for path in indices(folder, ".data"):
        with path.open("r+b") as file:
            file.seek(entry.offset)
            byte = file.read(1)
            file.seek(entry.offset)
            if entry.shard.data == path and byte:  # type: ignore[attr-defined]
                file.write(bytes([byte[0] ^ 1]))
    assert said(capsys, "verify", str(folder)) == (1, "5 entries, 1 damaged\n")
    assert as_json(capsys, "verify", str(folder)) == {"entries": 5, "damaged": 1}


def test_clear(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = indices(folder)
    days = time.time() - 5 * 86400
    os.utime(one, (days, days))
    size = one.stat().st_size + one.with_suffix(".data").stat().st_size
    assert as_json(capsys, "clear", str(folder), "--older-than", "6") == {"files": 0, "bytes": 0}
    found = as_json(capsys, "clear", str(folder), "--older-than", "4")
    assert found == {"files": 2, "bytes": size}
    assert indices(folder) == [other]
    assert said(capsys, "clear", str(folder))[1].startswith("2 files removed, ")
    left = sorted(path.name for path in folder.iterdir())
    assert left == [f"gradiva-{'0' * 32}.data", "notes.txt"]


@pytest.mark.parametrize("action", ["info", "verify", "clear"])
def test_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str], action: str) -> None:
    assert main(["cache", action, str(tmp_path / "none")]) == 1
    assert "expected a folder" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
    empty = tmp_path / "empty"
    empty.mkdir()
    assert main(["cache", action, str(empty)]) == 0
