"""The measuring functions of benchmarks/gpu.py at tiny sizes, on the simulated GPU: that they run,
and what they return. Nothing is said of speed, which a simulated GPU has none of."""

from __future__ import annotations

import importlib
import json
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.cuda import cupy_runtime
from gradiva.eager.cuda.cupy_runtime import gpu_at
from gradiva.eager.support.errors import OperatorRuntimeError
from gradiva.ops.decoders.jpeg.gpu.library import Library
from tests.ops.decoders.nvjpeg_fake import FakeNvjpeg

from .nvjpeg import SimulatedNvjpeg, decoding
from .shim import COMPILER, NO_COMPILER
from .simulated import SimulatedRuntime, simulated

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

needs_compiler = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)


class Anywhere(dict[int, int]):
    """Memory for pixels of which the stand-in for nvJPEG need not be told."""

    def __missing__(self, address: int) -> int:
        return 1 << 40


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    calls = importlib.import_module("operator_calls")
    for name, value in (("BATCH", 2), ("HEIGHT", 24), ("WIDTH", 32)):
        monkeypatch.setattr(calls, name, value)
    return importlib.import_module("gpu")


@pytest.fixture
def parts(script: ModuleType) -> ModuleType:
    return importlib.import_module("gpu_parts")


@pytest.fixture
def device() -> Iterator[SimulatedRuntime]:
    with simulated() as runtime:
        yield runtime


@pytest.fixture
def files(script: ModuleType) -> list[np.ndarray[Any, Any]]:
    made = importlib.import_module("photographs").encoded_photographs(3)
    return [np.frombuffer(one, np.uint8) for one in made]


@pytest.fixture
def decoder(monkeypatch: pytest.MonkeyPatch, files: list[Any]) -> Iterator[SimulatedNvjpeg]:
    with decoding(monkeypatch) as fake:
        fake.batch([data.tobytes() for data in files])  # which tells it what they are
        yield fake


def quick(parts: ModuleType) -> Any:
    return parts.Clock(gpu_at(0).stream.synchronize, rounds=2, seconds=1e-4)


def require_positive(rows: list[dict[str, Any]], key: str) -> None:
    assert rows
    for row in rows:
        assert row["name"]
        assert row[key] > 0
    json.dumps(rows)


@needs_compiler
def test_copies(parts: ModuleType, device: SimulatedRuntime) -> None:
    rows = parts.copies(gpu_at(0), quick(parts), 1 << 12)
    assert [row["name"] for row in rows][2] == "device to device"
    require_positive(rows, "gigabytes_per_second")
    assert device.copies > 10


@needs_compiler
def test_operators(parts: ModuleType, device: SimulatedRuntime) -> None:
    """Calls on the GPU are measured; those that fail, or use none, are not."""
    calls = importlib.import_module("operator_calls")
    names = ["flip", "brightness_contrast", "cast", "random.uniform", "random.beta"]
    chosen = {name: calls.CALLS[name] for name in names}
    chosen["wrong"] = lambda m, t, d: m.flip(d.images, horizontal="no")
    inputs = parts.Used(calls.inputs_for(gradiva.as_batch))
    rows = {row["name"]: row for row in parts.operators(quick(parts), chosen, inputs, 2.0)}
    assert list(rows) == ["flip", "brightness_contrast", "cast", "wrong"]
    assert "horizontal" in rows.pop("wrong")["skipped"]
    require_positive(list(rows.values()), "microseconds")
    for row in rows.values():
        assert row["share_of_copy"] == row["gigabytes_per_second"] / 2.0
    # One byte in, four out.
    moved = rows["cast"]["gigabytes_per_second"] * rows["cast"]["microseconds"] * 1e3
    assert round(moved) == 2 * 24 * 32 * 3 * 5
    assert {"pixels", "copy"} <= set(device.launched)


@needs_compiler
def test_nvjpeg_alone(
    script: ModuleType, parts: ModuleType, device: SimulatedRuntime, files: list[Any]
) -> None:
    fake = FakeNvjpeg(device)
    fake.memory = Anywhere()
    for number, data in enumerate(files):
        fake.watch(number, data)
    fake.fail["nvjpegDecodeBatchedSupportedEx", 1] = 1
    rate = importlib.import_module("gpu_nvjpeg").batched_rate
    row = rate(Library(fake), gpu_at(0), files, quick(parts))
    assert row["images"] == 2
    assert row["images_per_second"] > 0
    assert fake.live == {}
    fake.engines = 0
    with pytest.raises(OperatorRuntimeError, match="no JPEG engine"):
        rate(Library(fake), gpu_at(0), files, quick(parts))


@needs_compiler
def test_decoding(parts: ModuleType, decoder: SimulatedNvjpeg, files: list[Any]) -> None:
    rows = list(parts.decoding(quick(parts), files, [0.0, 0.65]))
    assert rows[0]["name"] == "decoders.image, hw_decoder_load=0"
    require_positive(rows, "images_per_second")


def test_what_is_not_installed_is_said(parts: ModuleType, files: list[Any]) -> None:
    assert parts.lacking("numpy") is None
    assert parts.lacking("numpy", "nonsense.part") == "nonsense.part is not installed"
    row = parts.torchvision_decoding(files, 1)
    assert row["name"] == "torchvision.io.decode_jpeg"
    assert "skipped" in row or row["images_per_second"] > 0


@needs_compiler
def test_pipelines(
    parts: ModuleType, decoder: SimulatedNvjpeg, files: list[Any], tmp_path: Path
) -> None:
    for number, data in enumerate(files):
        (tmp_path / "0").mkdir(exist_ok=True)
        (tmp_path / "0" / f"{number}.jpg").write_bytes(data.tobytes())
    options = Namespace(batch_size=3, threads=2, images=3, rounds=1)
    programs = importlib.import_module("programs")
    rate = parts.pipeline_rate(programs.PIPELINES["decode"], str(tmp_path), options, 0.0)
    assert rate > 0


def test_without_a_gpu(script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One clear error, and no file of results."""

    def refuse(number: int) -> None:
        raise OperatorRuntimeError("there is no NVIDIA driver (libcuda.so.1)")

    monkeypatch.setattr(script, "check_gpu", refuse)
    monkeypatch.setattr("sys.argv", ["gpu.py"])
    monkeypatch.setattr(importlib.import_module("side_by_side"), "RESULTS", tmp_path)
    with pytest.raises(SystemExit, match="needs a GPU: there is no NVIDIA driver"):
        script.main()
    assert not list(tmp_path.iterdir())
    assert len(cupy_runtime.runtimes) == 1
