"""The command line, as a person uses it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

import gradiva
from gradiva.__main__ import main
from gradiva.commands import warmup
from gradiva.eager.jit.jit import compiled_kernels


@pytest.mark.full
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


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"gradiva {gradiva.__version__}\n"


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


PIPELINES = """
import numpy as np
from gradiva import fn, pipeline_def

@pipeline_def(batch_size=2, num_threads=1)
def first():
    return fn.external_source(lambda: called("first"))

@pipeline_def
def second():
    return fn.external_source(lambda: called("second"))

def called(name):
    open(f"{__file__}.{name}", "w").close()
    return np.zeros((1, 2))

def other(images):
    return images
"""


def test_warmup_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first batch of the pipeline that is named, or of all."""
    file = tmp_path / "pipelines.py"
    file.write_text(PIPELINES)
    ran = [tmp_path / "pipelines.py.first", tmp_path / "pipelines.py.second"]
    assert main(["warmup", f"{file}:second"]) == 0
    assert [path.exists() for path in ran] == [False, True]
    assert main(["warmup", str(file)]) == 0
    assert [path.exists() for path in ran] == [True, True]
    printed = capsys.readouterr()
    assert printed.out.count(" kernels compiled in ") == 2
    assert "warming up first: " in printed.err
    for place, words in (
        (f"{file}:other", "warmup: `other` is no pipeline"),
        (f"{file}:third", "warmup: .*no `third`; its pipelines: first, second"),
        (f"{tmp_path}/none.py", "warmup: there is no file"),
    ):
        assert main(["warmup", place]) == 1
        assert re.search(words, capsys.readouterr().err)


def test_warmup_counts_kernels(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warmup, "_OFTEN", 0.001)
    with warmup._counter("this"):
        compiled_kernels.extend([("one", 1.0), ("two", 1.0)])
    del compiled_kernels[-2:]
    assert "warming up this: 2 kernels" in capsys.readouterr().err
