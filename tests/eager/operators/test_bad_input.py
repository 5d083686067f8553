"""Promise: bad input gets a clear error, in both modes, and loses nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, readers

ROOT = Path(__file__).parents[3]


@pytest.fixture
def damaged(tmp_path: Path, photographs: Path) -> tuple[list[str], dict[str, str]]:
    """Files of which four are bad, and the reason that must be given for each."""
    good = (photographs / "space/rocket.jpg").read_bytes()
    huge = bytearray(b"BM" + bytes(52))
    huge[14:18] = (40).to_bytes(4, "little")
    huge[18:22] = huge[22:26] = (60000).to_bytes(4, "little")
    huge[26:30] = (1 + (24 << 16)).to_bytes(4, "little")
    contents = {
        "a_good.jpg": (good, ""),
        "b_empty.jpg": (b"", "empty file"),
        "c_cut.jpg": (good[: len(good) // 2], "ends early"),
        "d_good.jpg": (good, ""),
        "e_text.jpg": (b"this is no photograph", "unknown image format"),
        "f_huge.bmp": (bytes(huge), "larger than the limit"),
        "g_good.jpg": (good, ""),
    }
    for name, (data, _reason) in contents.items():
        (tmp_path / name).write_bytes(data)
    paths = [str(tmp_path / name) for name in contents]
    return paths, {str(tmp_path / name): reason for name, (_, reason) in contents.items()}


def test_damaged_files_eagerly(damaged: tuple[list[str], dict[str, str]]) -> None:
    paths, reasons = damaged
    decoded = 0
    for files, _labels in readers.File(files=paths).next_epoch(batch_size=1):
        path = files.source_info()[0]
        if not reasons[path]:
            decoded += gradiva.decoders.image(files).batch_size
            continue
        with pytest.raises(RuntimeError) as caught:
            gradiva.decoders.image(files)
        text = str(caught.value)
        assert text.startswith("decoders.image: ")
        assert reasons[path] in text
        assert f"sample 0, file {path}" in text
        assert "test_bad_input.py" in text
        assert "gradiva.decoders.image(files)" in text
    assert decoded == 3


@pytest.mark.parametrize("threads", [1, 3])
def test_damaged_files_in_a_pipeline(
    damaged: tuple[list[str], dict[str, str]], threads: int
) -> None:
    paths, reasons = damaged

    @gradiva.pipeline_def(batch_size=1, num_threads=threads)
    def pipeline() -> Any:
        files, labels = fn.readers.file(files=paths)
        return gradiva.decoders.image(files), labels

    pipe = pipeline()
    for _ in range(2):
        for index, path in enumerate(paths):
            if not reasons[path]:
                _images, labels = pipe.run()
                assert labels.at(0)[0] == index
                continue
            with pytest.raises(gradiva.OperatorRuntimeError) as caught:
                pipe.run()
            text = str(caught.value)
            assert text.startswith("decoders.image: ")
            assert reasons[path] in text
            assert path in text
            assert "return gradiva.decoders.image(files), labels" in text
    pipe.close()


def test_several_bad_samples_name_the_first(damaged: tuple[list[str], dict[str, str]]) -> None:
    """Which error is raised does not depend on timing."""
    paths, _reasons = damaged
    for threads in (1, 2, 8) * 3:
        gradiva.set_num_threads(threads)
        (files, _labels) = next(iter(readers.File(files=paths).next_epoch(batch_size=7)))
        with pytest.raises(RuntimeError, match=r"sample 1, file .*b_empty"):
            gradiva.decoders.image(files)
    gradiva.set_num_threads(None)


def test_missing_file(tmp_path: Path, photographs: Path) -> None:
    good = str(photographs / "space/rocket.jpg")
    gone = str(tmp_path / "gone.jpg")

    @gradiva.pipeline_def(batch_size=2, num_threads=2)
    def pipeline() -> Any:
        return fn.readers.file(files=[good, gone, good, good])

    pipe = pipeline()
    with pytest.raises(RuntimeError, match=r"(?s)readers.file: .*No such file.*sample 1.*gone.jpg"):
        pipe.run()
    assert pipe.run()[0].batch_size == 2
    with pytest.raises(RuntimeError, match=r"gone.jpg"):
        pipe.run()
    with pytest.raises(RuntimeError, match=r"gone.jpg"):
        gradiva.imread([good, gone])
    assert gradiva.imread(good).layout == "HWC"


def test_folders(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"`file_root`: .*, got '.*nowhere': No such file"):
        readers.File(file_root=str(tmp_path / "nowhere"))
    with pytest.raises(
        RuntimeError, match=r"Is a directory; `readers.file\(file_root=...\)` reads"
    ):
        gradiva.imread(str(tmp_path))
    with pytest.raises(RuntimeError, match=r"No such file or directory; a pattern names no file"):
        gradiva.imread(str(tmp_path / "*.jpg"))
    with pytest.raises(ValueError, match="with 0 folders and no such file"):
        readers.File(file_root=str(tmp_path))
    (tmp_path / "loose.jpg").write_bytes(b"x")
    with pytest.raises(ValueError, match="pass them as `files`"):
        readers.File(file_root=str(tmp_path))

    @gradiva.pipeline_def(batch_size=1)
    def pipeline() -> Any:
        return fn.readers.file(file_root=str(tmp_path / "nowhere"))

    with pytest.raises(ValueError, match=r"(?s)`file_root`.*return fn.readers.file"):
        pipeline().build()


def test_callable_that_raises() -> None:
    def source(info: Any) -> Any:
        if info.idx_in_epoch == 5:
            raise KeyError("no such record")
        return np.full((2, 2, 3), info.idx_in_epoch, np.uint8)

    @gradiva.pipeline_def(batch_size=4, num_threads=2)
    def pipeline() -> Any:
        return fn.external_source(source=source, batch=False, layout="HWC")

    pipe = pipeline()
    assert pipe.run()[0].at(3).max() == 3
    with pytest.raises(RuntimeError) as caught:
        pipe.run()
    text = str(caught.value)
    assert "KeyError: 'no such record'" in text
    assert 'raise KeyError("no such record")' in text
    assert "sample 1" in text
    assert isinstance(caught.value.__cause__, KeyError)
    assert pipe.run()[0].at(0).max() == 8
    pipe.close()


def test_wrong_things_from_a_source() -> None:
    def run(source: Any, **options: Any) -> Any:
        @gradiva.pipeline_def(batch_size=2, num_threads=1)
        def pipeline() -> Any:
            return fn.external_source(source=source, **options)

        pipe = pipeline()
        return [pipe.run() for _ in range(2)]

    with pytest.raises(TypeError, match="expected a batch: an array with a leading axis"):
        run(lambda: 3)
    with pytest.raises(TypeError, match=r"a tuple of 2 \(num_outputs\)"):
        run(lambda: [np.zeros((2, 2))], num_outputs=2)
    with pytest.raises(ValueError, match="too large"):
        run(lambda: np.zeros((3, 2)))
    with pytest.raises(TypeError, match=r"(?s)another dtype.*float32, as declared"):
        run(lambda: np.zeros((2, 2), np.int32), dtype=gradiva.float32)
    changing = iter([np.zeros((2, 2), np.int32), np.zeros((2, 2), np.float32)])
    with pytest.raises(TypeError, match="as in the first batch"):
        run(changing)
    with pytest.raises(TypeError, match="sample 1"):
        run(lambda: [np.zeros((2, 2)), np.zeros(3)])


def test_first_error_of_the_program_is_raised_at_its_own_step() -> None:
    """Prefetching meets an error early; the user meets it at the batch it belongs to."""
    calls = []

    def source(info: Any) -> Any:
        calls.append(info)
        if info.iteration == 2:
            raise OSError("disk")
        return np.zeros(3, np.uint8)

    @gradiva.pipeline_def(batch_size=1, prefetch_queue_depth=4)
    def pipeline() -> Any:
        return fn.external_source(source=source, batch=False)

    pipe = pipeline()
    pipe.run()
    time.sleep(0.2)
    assert len(calls) > 2
    pipe.run()
    with pytest.raises(RuntimeError, match="disk"):
        pipe.run()
    pipe.run()
    pipe.close()


SCRIPT = """
import sys, time
import numpy as np
import gradiva
from gradiva import fn

@gradiva.pipeline_def(batch_size=8, num_threads=4, prefetch_queue_depth=3)
def pipeline():
    images = fn.external_source(source=lambda: np.zeros((8, 64, 64, 3), np.uint8), layout="HWC")
    return gradiva.resize(images, size=(48, 48))

pipe = pipeline()
pipe.run()
print("running", flush=True)
"""


def start(tail: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT + tail],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        # A shell starts its background jobs with the signal ignored.
        preexec_fn=lambda: signal.signal(  # noqa: PLW1509
            signal.SIGINT, signal.default_int_handler
        ),
    )


@pytest.mark.full
def test_control_c_ends_a_running_pipeline() -> None:
    process = start("while True: pipe.run()")
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in errors
    assert process.returncode in (1, -signal.SIGINT)


@pytest.mark.full
def test_an_undisposed_pipeline_lets_the_interpreter_exit() -> None:
    process = start("other = pipeline(); other.run()")
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 0
    assert errors == ""


@pytest.mark.full
def test_a_waiting_source_does_not_hold_up_the_exit() -> None:
    process = start(
        "sleeper = gradiva.pipeline_def(batch_size=1)(lambda: fn.external_source("
        "source=lambda: time.sleep(600)))(); import threading; "
        "threading.Thread(target=sleeper.run, daemon=True).start(); time.sleep(0.3)"
    )
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Fatal" not in errors


@pytest.mark.parametrize(
    ("operator", "given", "right"),
    [
        ("random_resized_crop", {"size": (4, 4), "scale": (0.1, 1)}, "random_area"),
        ("rotate", {"angle": 5.0, "fill": 0}, "fill_value"),
        ("rotate", {"degrees": 5.0}, "angle"),
        ("rotate", {"angle": 5.0, "expand": True}, "keep_size"),
        ("gaussian_blur", {"kernel_size": 5}, "window_size"),
        ("pad", {"padding": 4}, "before"),
        ("pad", {"before": 4, "padding_mode": "edge"}, "mode"),
        ("sharpness", {"sharpness_factor": 2.0}, "sharpness"),
        ("random.coin_flip", {"p": 0.5}, "probability"),
        ("flip", {"scale": 2}, None),
    ],
)
def test_names_of_torchvision(operator: str, given: dict[str, Any], right: str | None) -> None:
    image = gradiva.tensor(np.zeros((8, 8, 3), np.uint8), layout="HWC")
    call: Any = attrgetter(operator)(gradiva)
    with pytest.raises(TypeError) as error:
        call(*[image] * ("random." not in operator), **given)
    assert (f"did you mean `{right}`?" in str(error.value)) == (right is not None)
