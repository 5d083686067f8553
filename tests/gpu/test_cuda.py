"""`CupyRuntime` over a recorded fake of CuPy: which functions are called with what; messages."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.cuda import cupy_runtime
from gradiva.eager.cuda.cupy_runtime import CupyRuntime, check_gpu
from gradiva.eager.cuda.launch import KernelSource
from gradiva.eager.cuda.nvrtc import Cubin
from gradiva.eager.cuda.protocol import Runtime
from gradiva.eager.support.errors import OperatorRuntimeError, OperatorTypeError

UNIT = KernelSource("kernel", "source", 32)


class CudaError(RuntimeError):
    """As CuPy's: a text, and the number of the error."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Recorded:
    """A module whose functions note their calls, and return what `answers` says."""

    def __init__(self, log: list[Any], answers: dict[str, Any]) -> None:
        self._log, self._answers = log, answers

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> Any:
            self._log.append((name, *arguments))
            answer = self._answers.get(name)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call


class FakeCupy:
    """The names of CuPy that eager/cuda/cupy_runtime.py uses. `log` has the calls."""

    def __init__(self, count: int = 1) -> None:
        self.log: list[Any] = []
        self.answers: dict[str, Any] = {"getDeviceCount": count, "memGetInfo": (3, 4)}
        for name in ("streamCreateWithPriority", "eventCreateWithFlags", "malloc", "hostAlloc"):
            self.answers[name] = 4096
        if not count:
            self.answers["getDeviceCount"] = CudaError(35, "cudaErrorInsufficientDriver: old\nmore")
        log = self.log

        class Device:
            compute_capability = "90"

            def __init__(self, number: int) -> None:
                self.number = number

        class Module:
            def load(self, code: bytes) -> None:
                log.append(("load", code))

            def get_function(self, name: str) -> Any:
                return type("Function", (), {"ptr": 77, "name": name})()

        function = type("function", (), {"Module": Module})
        runtime, driver = Recorded(log, self.answers), Recorded(log, self.answers)
        names = {"Device": Device, "function": function, "runtime": runtime, "driver": driver}
        self.cuda = type("cuda", (), names)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeCupy:
    made = FakeCupy()
    monkeypatch.setattr(cupy_runtime, "_cupy", made)
    monkeypatch.setattr(cupy_runtime, "missing", lambda: None)
    monkeypatch.setattr(
        cupy_runtime, "compile_unit", lambda unit, architecture: Cubin(b"code", 1, 0)
    )
    return made


def test_each_function_is_called_with_what_it_takes(fake: FakeCupy) -> None:
    runtime: Runtime = CupyRuntime(0)
    assert (runtime.number, runtime.architecture) == (0, 90)
    fake.log.clear()
    runtime.activate()
    assert runtime.create_stream(-1) == runtime.create_event() == 4096
    assert runtime.allocate(10) == runtime.allocate_pinned(20) == 4096
    runtime.record(5, 6)
    runtime.wait(5)
    runtime.stream_wait(6, 5)
    runtime.synchronize(6)
    runtime.copy(1, 2, 3, 6)
    runtime.free(1)
    runtime.free_pinned(2)
    runtime.destroy_event(5)
    runtime.destroy_stream(6)
    assert runtime.memory() == (3, 4)
    assert fake.log == [
        ("setDevice", 0),
        ("streamCreateWithPriority", 1, -1),
        ("eventCreateWithFlags", 2),
        ("malloc", 10),
        ("hostAlloc", 20, 1),
        ("eventRecord", 5, 6),
        ("eventSynchronize", 5),
        ("streamWaitEvent", 6, 5),
        ("streamSynchronize", 6),
        ("memcpyAsync", 1, 2, 3, 4, 6),
        ("free", 1),
        ("freeHost", 2),
        ("eventDestroy", 5),
        ("streamDestroy", 6),
        ("memGetInfo",),
    ]


def test_an_event_is_past_or_not(fake: FakeCupy) -> None:
    runtime = CupyRuntime(0)
    for status, past in ((0, True), (600, False)):
        fake.answers["eventQuery"] = status
        assert runtime.is_past(5) is past


def test_a_launch(fake: FakeCupy) -> None:
    """The driver gets pointers to the arguments, each of which has 8 bytes to itself."""
    runtime = CupyRuntime(0)
    kernel = runtime.load(UNIT)
    assert fake.log[-1] == ("load", b"code")
    words: list[np.generic] = [np.uint64(1 << 40), np.int32(-7), np.float32(0.5), np.float64(2.5)]
    seen: list[Any] = []

    class Driver:
        def launchKernel(self, *given: Any) -> None:  # noqa: N802
            pointers = (ctypes.c_uint64 * 4).from_address(given[9])
            kinds: Any = (ctypes.c_uint64, ctypes.c_int32, ctypes.c_float, ctypes.c_double)
            values = [k.from_address(p).value for k, p in zip(kinds, pointers, strict=True)]
            seen.append((given[:9], values, given[10]))

    runtime._driver = Driver()
    runtime.launch(kernel, 3, words, 6)
    assert seen == [((77, 3, 1, 1, 256, 1, 1, 0, 6), [1 << 40, -7, 0.5, 2.5], 0)]


def test_what_cuda_reports(fake: FakeCupy) -> None:
    """A want of memory is a MemoryError; all else names the function, in one line."""
    runtime = CupyRuntime(0)
    fake.answers["malloc"] = CudaError(2, "cudaErrorMemoryAllocation: out of memory")
    with pytest.raises(MemoryError):
        runtime.allocate(1 << 40)
    fake.answers["streamSynchronize"] = CudaError(700, "cudaErrorIllegalAddress: illegal\nmore")
    with pytest.raises(OperatorRuntimeError, match="cudaStreamSynchronize: cudaErrorIllegal") as e:
        runtime.synchronize(6)
    assert "\n" not in str(e.value)


def test_what_is_no_array_of_a_gpu(fake: FakeCupy) -> None:
    runtime = CupyRuntime(0)
    with pytest.raises(OperatorTypeError, match="an array on a GPU"):
        runtime.external(object(), 6)


def test_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line each: the driver is missing, with CuPy or without; CuPy is; no GPU is found, too few
    are."""
    find = "gradiva.eager.cuda.requirements.importlib.util.find_spec"
    library = "gradiva.eager.cuda.requirements.ctypes.CDLL"

    def no_library(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(library, no_library)
    for cupy in (None, object()):
        monkeypatch.setattr(find, lambda name, cupy=cupy: cupy)
        with pytest.raises(OperatorRuntimeError) as raised:
            check_gpu(0)
        assert str(raised.value) == (
            "this machine has no NVIDIA GPU, or no driver for it (libcuda.so.1)"
        )
    monkeypatch.setattr(library, lambda name: object())
    monkeypatch.setattr(find, lambda name: None)
    with pytest.raises(OperatorRuntimeError) as raised:
        check_gpu(0)
    assert str(raised.value) == (
        "CuPy is not installed (pip install 'gradiva[cuda12]' or 'gradiva[cuda13]')"
    )
    monkeypatch.setattr(cupy_runtime, "missing", lambda: None)
    monkeypatch.setattr(cupy_runtime, "_cupy", FakeCupy(count=0))
    with pytest.raises(OperatorRuntimeError, match="finds no GPU: cudaErrorInsufficientDriver"):
        check_gpu(0)
    monkeypatch.setattr(cupy_runtime, "_cupy", FakeCupy(count=2))
    check_gpu(1)
    with pytest.raises(OperatorRuntimeError, match="there are 2 GPUs, and this is number 2"):
        check_gpu(2)


def test_no_gpu_is_seen_in_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine that has one: CuPy and the driver are there, and no GPU is found, unless the
    test is marked `gpu`."""
    monkeypatch.setattr(cupy_runtime, "missing", lambda: None)
    monkeypatch.setitem(cupy_runtime._gpus, (CupyRuntime, 0), object())  # another test has used it
    with pytest.raises(OperatorRuntimeError, match="there are 0 GPUs, and this is number 0"):
        cupy_runtime.gpu_at(0)
    assert (cupy_runtime.count_gpus(), cupy_runtime.known_gpus()) == (0, [])


def test_every_refusal_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """One clear error, wherever a GPU is asked for; and everything else works."""
    monkeypatch.setattr(cupy_runtime, "missing", lambda: "there is no NVIDIA driver (libcuda.so.1)")
    text = r"'gpu:0' is not available: there is no NVIDIA driver \(libcuda\.so\.1\)"
    images = np.zeros((2, 2, 3), np.uint8)
    for ask in (
        lambda: gradiva.flip(images, device="gpu"),
        lambda: gradiva.random.uniform(device="gpu"),
        lambda: gradiva.as_batch([images]).gpu(),
        lambda: gradiva.tensor(images, device="gpu"),
        lambda: gradiva.Device.default_device_id("gpu"),
        gradiva.stream,
        lambda: gradiva.EvalContext(device_id=0),
        lambda: gradiva.ThreadPool(2, device_id=0),
        lambda: gradiva.backend.PreallocateDeviceMemory(1, 0),
    ):
        with pytest.raises(gradiva.OperatorRuntimeError, match=text):
            ask()
    assert gradiva.backend.GetCUDADeviceCount() == 0
    assert gradiva.flip(images, device="cpu").shape == (2, 2, 3)


def test_cupy_has_these_names() -> None:
    """The fake has no name that CuPy lacks."""
    cupy = pytest.importorskip("cupy")
    runtime = "getDeviceCount setDevice streamCreateWithPriority streamDestroy streamSynchronize "
    runtime += "eventCreateWithFlags eventDestroy eventRecord eventQuery eventSynchronize "
    runtime += "streamWaitEvent malloc free hostAlloc freeHost memcpyAsync memGetInfo"
    for name in runtime.split():
        assert callable(getattr(cupy.cuda.runtime, name))
    assert callable(cupy.cuda.driver.launchKernel)
    assert {"load", "get_function"} <= set(dir(cupy.cuda.function.Module))
    assert "ptr" in dir(cupy.cuda.function.Function)
    assert callable(getattr(cupy.cuda.Stream, "from_external", cupy.cuda.ExternalStream))
    assert callable(cupy.from_dlpack)
    assert callable(cupy.cuda.UnownedMemory)
    assert callable(cupy.cuda.MemoryPointer)
