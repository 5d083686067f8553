"""The command line, as a person uses it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import PIL.Image
import pytest

from gradiva.__main__ import main


def test_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "sheet.png"
    assert main(["demo", "--samples", "60", "--batch-size", "8", "--out", str(out)]) == 0
    printed = capsys.readouterr()
    assert "same bits: all 63 samples are identical in both modes" in printed.out
    assert "eager" in printed.out
    assert "63/63" in printed.err
    with PIL.Image.open(out) as opened:
        sheet = np.asarray(opened)
    assert sheet.shape[0] > 1000
    assert len(np.unique(sheet.reshape(-1, 3), axis=0)) > 10000


@pytest.mark.full
def test_demo_on_a_folder(
    tmp_path: Path, photographs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(23):
        name = ("space/rocket.jpg", "things/coffee.jpg")[number % 2]
        (tmp_path / f"{number}.jpg").write_bytes((photographs / name).read_bytes())
    out = str(tmp_path / "sheet.png")
    assert main(["demo", "--data", str(tmp_path), "--samples", "23", "--out", out]) == 0
    assert "all 23 samples are identical" in capsys.readouterr().out
    with PIL.Image.open(out) as sheet:
        assert sheet.height < 2200


def test_demo_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ["--out", str(tmp_path / "sheet.png")]
    assert main(["demo", "--data", str(tmp_path / "nowhere"), *out]) == 1
    assert "a folder that exists" in capsys.readouterr().err
    assert main(["demo", "--data", str(tmp_path), *out]) == 1
    assert "a folder with images" in capsys.readouterr().err
    (tmp_path / "bad.jpg").write_bytes(b"no image")
    assert main(["demo", "--data", str(tmp_path), *out]) == 1
    errors = capsys.readouterr().err
    assert "unknown image format" in errors
    assert "bad.jpg" in errors


def test_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops"]) == 0
    printed = capsys.readouterr().out
    assert "resize " in printed
    assert "random.coin_flip" in printed
    assert main(["info"]) == 0
    assert "gradiva" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["nonsense"])


@pytest.mark.full
def test_warmup(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warmup"]) == 0
    assert "kernels compiled in" in capsys.readouterr().out
