"""`gradiva reproduce`."""

from __future__ import annotations

import io
import json
import runpy
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gradiva.__main__ import main
from tests.gradiva.test_receipts import write

FILE = """
import gradiva
from gradiva import fn

@gradiva.pipeline_def(batch_size=3, num_threads=1, seed=4)
def training():
    files, labels = fn.readers.file(file_root={root!r}, random_shuffle=True)
    images = fn.resize(fn.decoders.image(files), size=(6, 5))
    return fn.flip(images, horizontal=fn.random.coin_flip()), labels, files
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with data, a pipeline and the receipts of three batches."""
    for number in range(8):
        pixels = np.full((4 + number, 8, 3), 20 * number + 5, np.uint8)
        write(tmp_path / "data" / f"{number % 2}" / f"{number}.ppm", pixels)
    (tmp_path / "pipe.py").write_text(FILE.format(root=str(tmp_path / "data")), "utf-8")
    pipe = runpy.run_path(str(tmp_path / "pipe.py"))["training"](with_receipt=True)
    with (tmp_path / "receipts.jsonl").open("w", encoding="utf-8") as file:
        for _ in range(3):
            pipe.run()
            file.write(pipe.receipt().line() + "\n")
    return tmp_path


def test_all_lines(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    receipts, pipe = str(here / "receipts.jsonl"), str(here / "pipe.py")
    assert main(["reproduce", receipts, "--pipeline", pipe, "--threads", "2"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in said] == ["reproduced"] * 4
    assert said[-1] == "3 of 3 batches reproduced"


def test_one_line_is_saved(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = (here / "receipts.jsonl").read_text("utf-8").splitlines()[1]
    digest = json.loads(line)["digest"]
    pipe, out = str(here / "pipe.py:training"), here / "out"
    order = ["reproduce", str(here / "receipts.jsonl"), "--pipeline", pipe, "--json"]
    assert main([*order, "--only", digest[:12], "--save", str(out)]) == 0
    (said,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert said == {"digest": digest, "reproduced": True, "same_outputs": True, "findings": []}
    (folder,) = out.iterdir()
    assert (folder / "receipt.json").read_text("utf-8") == line + "\n"
    images = np.load(folder / "output_0.npy")
    assert (images.shape, images.dtype) == ((3, 6, 5, 3), np.uint8)
    with Image.open(folder / "output_0_002.png") as picture:
        assert np.asarray(picture).tolist() == images[2].tolist()
    assert np.load(folder / "output_2_001.npy").tobytes().startswith(b"P6 8 ")


def test_from_the_standard_input_and_the_command_line(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (here / "receipts.jsonl").read_text("utf-8")
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["reproduce", "-", "--pipeline", str(here / "pipe.py")]) == 0
    line = text.splitlines()[0]
    assert main(["reproduce", line, "--pipeline", str(here / "pipe.py")]) == 0


def test_what_has_changed_is_printed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    receipts, other = str(here / "receipts.jsonl"), here / "other.py"
    text = (here / "pipe.py").read_text("utf-8")
    other.write_text(text.replace("(6, 5)", "(6, 4)"), "utf-8")
    assert main(["reproduce", receipts, "--pipeline", str(other)]) == 1
    assert "argument: operator 3, `resize`, differs: argument `size`" in capsys.readouterr().out
    other.write_text(
        text.replace("fn.resize(fn.decoders.image(files), size=(6, 5))", "fn.decoders.image(files)")
    )
    assert main(["reproduce", receipts, "--pipeline", str(other)]) == 1
    assert "graph: operator 3 was `resize`, and is `random.coin_flip`" in capsys.readouterr().out
    write(here / "data" / "0" / "2.ppm", np.full((6, 8, 3), 46, np.uint8))
    assert main(["reproduce", receipts, "--pipeline", str(here / "pipe.py")]) == 1
    said = capsys.readouterr().out
    assert "2.ppm, sample" in said
    assert "of 3 batches reproduced" in said


def test_bad_input(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    receipts, pipe = here / "receipts.jsonl", str(here / "pipe.py")
    cut = here / "cut.jsonl"
    cut.write_text(receipts.read_text("utf-8")[:-200], "utf-8")
    assert main(["reproduce", str(cut), "--pipeline", pipe]) == 1
    said = capsys.readouterr().out
    assert f"receipt: {cut}, line 3: this is no receipt: it is truncated" in said
    assert "2 of 3 batches reproduced" in said
    (here / "empty.jsonl").touch()
    (here / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    (here / "none.py").write_text("import gradiva\n", "utf-8")
    for order, text in (
        ([str(here / "missing.jsonl"), "--pipeline", pipe], "a file with receipts"),
        ([str(here), "--pipeline", pipe], "a file with receipts"),
        ([str(here / "empty.jsonl"), "--pipeline", pipe], "which is empty"),
        ([str(here / "binary.jsonl"), "--pipeline", pipe], "a file with receipts"),
        ([str(receipts), "--pipeline", str(here / "none.py")], "has no pipeline"),
        ([str(receipts), "--pipeline", str(here / "missing.py")], "there is no file"),
        ([str(receipts), "--pipeline", f"{pipe}:other"], "has no `other`"),
        ([str(receipts), "--pipeline", pipe, "--only", "zz"], "--only"),
        ([str(receipts), "--pipeline", pipe, "--threads", "0"], "--threads"),
        ([str(receipts), "--pipeline", pipe, "--save", str(receipts)], "--save"),
    ):
        assert main(["reproduce", *order]) == 1
        assert text in capsys.readouterr().err
