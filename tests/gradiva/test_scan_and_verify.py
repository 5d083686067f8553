"""The commands that look at a data set before a training does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

import gradiva
from gradiva.__main__ import main
from gradiva.ops.readers.plan import ShardedPlan

PROGRAM = """
from gradiva import fn, pipeline_def

@pipeline_def(batch_size=4, num_threads=1, device_id=None)
def train():
    files, labels = fn.readers.file(file_root={root!r}, random_shuffle=True, name="photos")
    return files, labels, fn.external_source(source=lambda: 0, batch=False)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Images of all kinds in two folders; `labels` as `readers.file` gives them."""
    root = tmp_path / "images"
    for name in ("a", "b"):
        (root / name).mkdir(parents=True)
    pixels = np.arange(90 * 70 * 3).astype(np.uint8).reshape(90, 70, 3)
    picture = PIL.Image.fromarray(pixels)
    picture.save(root / "a" / "good.jpg")
    picture.convert("CMYK").save(root / "a" / "inks.jpg")
    (root / "b" / "again.jpg").write_bytes((root / "a" / "good.jpg").read_bytes())
    turned = PIL.Image.Exif()
    turned[0x0112] = 6
    picture.resize((300, 200)).save(root / "b" / "turned.jpg", exif=turned)
    picture.save(root / "b" / "fine.png")
    (root / "b" / "text.txt").write_text("no image")
    return root


def test_scan(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = tmp_path / "table.csv", tmp_path / "list.txt"
    options = ["--decode", "--table", str(files[0]), "--list", str(files[1])]
    assert main(["scan", str(folder), *options]) == 0
    found = capsys.readouterr().out
    for text in (
        "5 images",
        "4 different",
        "1 CMYK:\n  a/inks.jpg",
        "1 turned by EXIF:\n  b/turned",
    ):
        assert text in found
    assert "1 of the content of another file:\n  b/again.jpg" in found
    assert "64 to 127             4 ####" in found
    reader = gradiva.readers.File(file_list=str(files[1]))
    (outputs,) = reader.next_epoch(batch_size=9)
    names = [Path(name).stem for name in outputs[0].source_info()]
    assert names == ["good", "inks", "fine", "turned"]
    assert outputs[1].as_array().ravel().tolist() == [0, 0, 1, 1]
    columns: dict[str, Any] = {"columns": ["width", "mode"], "dtypes": ["int32", "uint8"]}
    (rows,) = gradiva.readers.CSV(paths=str(files[0]), **columns).next_epoch(batch_size=9)
    assert rows[0].as_array().tolist() == [70, 70, 70, 70, 300]


def test_scan_finds_damage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, cut in (("a/good.jpg", 100), ("b/fine.png", 30), ("b/turned.jpg", -90)):
        (folder / name).write_bytes((folder / name).read_bytes()[:-cut])
    whole = bytearray((folder / "b" / "again.jpg").read_bytes())
    whole[300:500] = bytes(200)
    (folder / "b" / "again.jpg").write_bytes(whole)
    assert main(["scan", str(folder), "--decode"]) == 1
    found = capsys.readouterr().out
    assert "4 damaged or cut:" in found
    assert "a/good.jpg: ends early" in found
    for name in ("b/fine.png", "b/turned.jpg", "b/again.jpg"):
        assert f"{name}: damaged: " in found
    assert main(["scan", str(folder / "none")]) == 1
    assert "a folder with images" in capsys.readouterr().err


def test_verify(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in range(20):
        (folder / "a" / f"{number}.jpg").write_bytes(b"x")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(root=str(folder)))
    assert main(["verify", str(program), "--world", "4", "--batch-size", "6"]) == 0
    found = capsys.readouterr().out
    assert "photos: 25 samples, 4 processes" in found
    assert found.count("each sample once; 6 to 7 samples a process") == 3
    assert found.count("1 to 2 batches: pad_last_batch=True") == 3
    assert "external_source: its samples have no numbers" in found
    whole = ShardedPlan.bounds
    monkeypatch.setattr(ShardedPlan, "bounds", lambda plan, epoch: (whole(plan, epoch)[0], 25))
    assert main(["verify", str(program), "--world", "2", "--epochs", "1"]) == 1
    assert "13 samples more than once (" in capsys.readouterr().out
    for option in ("--world", "--epochs", "--batch-size"):
        assert main(["verify", str(program), option, "0"]) == 1
