"""The commands that write indices."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradiva.__main__ import main
from tests.ops.readers.formats import feature, image_record, write_recordio, write_tfrecord


def test_rec2idx(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, index = write_recordio(tmp_path, "a", [image_record(b"abc" * i, [0.0]) for i in range(4)])
    written = tmp_path / "new.idx"
    assert main(["rec2idx", path, str(written)]) == 0
    assert written.read_text() == Path(index).read_text()
    assert "4 lines" in capsys.readouterr().out
    Path(path).write_bytes(Path(path).read_bytes()[:-5])
    assert main(["rec2idx", path, str(written)]) == 1
    assert "record 3" in capsys.readouterr().err
    assert main(["rec2idx", str(tmp_path / "none"), str(written)]) == 1
    assert main(["rec2idx", index, str(tmp_path / "none" / "x")]) == 1


def test_tfrecord2idx(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, index = write_tfrecord(tmp_path, "a", [feature([1] * i) for i in range(1, 5)])
    written = tmp_path / "new.idx"
    assert main(["tfrecord2idx", path, str(written)]) == 0
    assert written.read_text() == Path(index).read_text()
    Path(path).write_bytes(Path(path).read_bytes()[:-5])
    assert main(["tfrecord2idx", path, str(written)]) == 1
    assert "record 3" in capsys.readouterr().err
