"""`gradiva convert`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gradiva.__main__ import main

SCRIPT = """
from torchvision import transforms

resized = transforms.Compose([transforms.Resize(20), transforms.ToTensor()])
number = 3
if __name__ == "__main__":
    raise SystemExit("this does not run")
"""


def run(*arguments: object) -> int:
    return main(["convert", *map(str, arguments)])


@pytest.fixture
def images(tmp_path: Path) -> Path:
    folder = tmp_path / "images"
    folder.mkdir()
    draws = np.random.default_rng(1)
    for number in range(3):
        pixels = draws.integers(0, 256, (30 + number, 40, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    return folder


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_code_and_report(tmp_path: Path, images: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torchvision")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    assert run(script) == 0
    code = capsys.readouterr().out
    assert "gradiva.resize(images, resize_shorter=20, compat=" in code
    exec(code, {})
    out = tmp_path / "out.html"
    assert run(f"{script}:resized", "--images", images, "--out", out, "--decode") == 0
    text = capsys.readouterr().out
    assert "on 3 images" in text
    assert f"report: {out}" in text
    assert "<table>" in out.read_text("utf-8")
    script.write_text(SCRIPT + "other = transforms.Resize(3)\n")
    assert run(script) == 1
    assert "got other, resized" in capsys.readouterr().err
    given = ["--images", images / "0.png", "--limit", 1, "--out", out]
    assert run(f"{script}:other", "--backend", "tensor", *given) == 0
    assert 'compat="torchvision"' in capsys.readouterr().out
    assert run(f"{script}:number") == 1
    assert run(f"{script}:zork") == 1


def test_bad_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("raise KeyError('zork')\n")
    nothing = tmp_path / "nothing.py"
    nothing.write_text("x = 3\n")
    cut = tmp_path / "cut.json"
    cut.write_text("{")
    for file, words in (
        (tmp_path / "absent.py", "a file that exists"),
        (broken, "KeyError: 'zork'"),
        (nothing, "one transform or image processor"),
        (tmp_path, "preprocessor_config.json"),
        (tmp_path / "absent.json", "a .py, .json or .yaml file"),
        (cut, "cannot be read"),
    ):
        assert run(file) == 1
        said = capsys.readouterr().err
        assert said.startswith("gradiva: convert: ")
        assert words in said


def test_bad_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torchvision")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    assert run(script, "--images", tmp_path / "absent") == 1
    assert "`--images`" in capsys.readouterr().err
    assert run(script, "--images", tmp_path, "--out", tmp_path / "absent" / "x.html") == 1
    assert "`--out`" in capsys.readouterr().err
