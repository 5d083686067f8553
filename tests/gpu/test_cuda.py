"""Launching, over a recorded fake of CuPy: the order of calls, and how long buffers are held."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager import cuda
from gradiva.eager.cuda import Held, Launcher, require_gpu
from gradiva.eager.errors import OperatorRuntimeError
from gradiva.eager.gpu import presence
from gradiva.eager.gpu.launch import Launch, Out, Unit
from gradiva.eager.gpu.nvrtc import Cubin

UNIT = Unit("kernel", "source", 32)


class FakeEvent:
    def __init__(self, log: list[Any], disable_timing: bool) -> None:
        self.log, self.done = log, False

    def record(self, stream: Any) -> None:
        self.log.append(("record", stream))

    def synchronize(self) -> None:
        self.log.append("synchronize")
        self.done = True


class FakeMemory:
    """Host memory in the place of a GPU's."""

    def __init__(self, log: list[Any], size: int) -> None:
        self.log, self.bytes = log, np.zeros(size, np.uint8)
        self.ptr = self.bytes.ctypes.data

    def copy_from_host_async(self, address: int, size: int, stream: Any) -> None:
        self.log.append(("copy", size, stream))
        ctypes.memmove(self.ptr, address, size)


class FakeArray:
    """A CuPy array: `data.ptr` is its address."""

    def __init__(self, values: Any) -> None:
        self.values = np.array(values)

    @property
    def data(self) -> Any:
        return type("Pointer", (), {"ptr": self.values.ctypes.data})

    def get(self) -> Any:
        return self.values.copy()


class FakeCupy:
    """The names of CuPy that eager/cuda.py uses. `log` has the calls, `events` the events."""

    def __init__(self, count: int = 1) -> None:
        self.log: list[Any] = []
        self.events: list[FakeEvent] = []
        self.words: list[tuple[Any, ...]] = []
        log, fake = self.log, self

        class Device:
            compute_capability = "90"

            def __init__(self, number: int) -> None:
                self.number = number

            def __enter__(self) -> None:
                log.append(("enter", self.number))

            def __exit__(self, *error: object) -> None:
                log.append("leave")

        class Module:
            def load(self, cubin: bytes) -> None:
                log.append(("load", cubin))

            def get_function(self, name: str) -> Any:
                def function(
                    blocks: Any, threads: Any, words: tuple[Any, ...], stream: Any
                ) -> None:
                    log.append(("launch", name, blocks, threads, stream))
                    fake.words.append(words)

                return function

        class Runtime:
            def getDeviceCount(self) -> int:  # noqa: N802
                if not count:
                    raise RuntimeError("cudaErrorInsufficientDriver: too old\nmore")
                return count

        class Function:
            pass

        class Cuda:
            pass

        def event(disable_timing: bool = False) -> FakeEvent:
            self.events.append(FakeEvent(log, disable_timing))
            return self.events[-1]

        Function.Module = Module  # type: ignore[attr-defined]
        names: dict[str, Any] = {
            "Device": Device,
            "Event": event,
            "runtime": Runtime(),
            "function": Function,
            "alloc": lambda size: FakeMemory(log, size),
            "alloc_pinned_memory": PinnedMemory,
            "get_current_stream": lambda: "stream",
        }
        for name, value in names.items():
            setattr(Cuda, name, staticmethod(value) if callable(value) else value)
        self.cuda = Cuda

    def asarray(self, values: Any) -> FakeArray:
        self.log.append("upload")
        return FakeArray(values)


class PinnedMemory(bytearray):
    """Memory with an address, which NumPy can see."""

    @property
    def ptr(self) -> int:
        return int(np.frombuffer(self, np.uint8).ctypes.data)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeCupy:
    made = FakeCupy()
    monkeypatch.setattr(cuda, "_cupy", made)
    monkeypatch.setattr(cuda, "missing", lambda: None)
    monkeypatch.setattr(cuda, "compile_unit", lambda unit, architecture: Cubin(b"code", 1, 0))
    return made


def values_at(address: Any, dtype: Any, count: int) -> list[Any]:
    size = np.dtype(dtype).itemsize * count
    found = np.frombuffer(ctypes.string_at(int(address), size), dtype)
    return found.tolist()  # type: ignore[no-any-return]


def test_one_launch(fake: FakeCupy) -> None:
    """Tables travel in one copy; the module is loaded once; the event comes last."""
    launcher = Launcher()
    source, target = FakeArray([1, 2]), FakeArray([0, 0])
    table, more = np.arange(6, dtype=np.int64).reshape(3, 2), np.array([0.5], np.float32)
    arguments = (source, Out(target), table, more, np.int64(7))
    launch = Launch(UNIT, 3, arguments)
    launcher.run([launch])
    one = [("copy", 512, "stream"), ("launch", "kernel", (3,), (256,), "stream")]
    end = [("record", "stream"), "leave"]
    assert fake.log == [("enter", 0), one[0], ("load", b"code"), one[1], *end]
    words = fake.words[0]
    assert [int(words[0]), int(words[1])] == [source.data.ptr, target.data.ptr]
    assert values_at(words[2], np.int64, 6) == [0, 1, 2, 3, 4, 5]
    assert values_at(words[3], np.float32, 1) == [0.5]
    assert words[4] == 7
    assert [word.dtype.name for word in words] == ["uint64"] * 4 + ["int64"]
    fake.log.clear()
    launcher.run([launch])
    assert fake.log == [("enter", 0), *one, *end]


def test_nothing_to_do(fake: FakeCupy) -> None:
    """A launch of no blocks would be an error of CUDA."""
    launcher = Launcher()
    launcher.run([Launch(UNIT, 0, (np.zeros(0), Out(FakeArray([]))))])
    assert fake.log == [("enter", 0), "leave"]
    assert len(launcher.held) == 0


def test_buffers_are_held_until_the_event(fake: FakeCupy) -> None:
    """The memory of tables, and the arrays, outlive the launch for as long as the GPU may read."""
    launcher = Launcher()
    launch = Launch(UNIT, 1, (np.zeros(1), Out(FakeArray([0]))))
    launcher.run([launch])
    launcher.run([launch])
    assert len(launcher.held) == 2
    fake.events[0].done = True
    launcher.run([launch])
    assert len(launcher.held) == 2
    assert "synchronize" not in fake.log
    launcher.held.drain()
    assert len(launcher.held) == 0
    assert fake.log.count("synchronize") == 2


def test_held_keeps_objects_alive() -> None:
    held, gone = Held(), []

    class Thing:
        def __del__(self) -> None:
            gone.append(True)

    event = FakeEvent([], True)
    held.hold(event, Thing())
    held.sweep()
    assert gone == []
    event.done = True
    held.sweep()
    assert gone == [True]


def test_arrays_in_host_memory(fake: FakeCupy) -> None:
    """They are copied there, and results back, when the GPU is done."""
    target = np.array([1, 2, 3])
    Launcher().run_here([Launch(UNIT, 1, (np.zeros(2), Out(target)))])
    assert fake.log[0:2] == [("enter", 0), "upload"]
    assert fake.log[-2:] == ["synchronize", "leave"]
    assert target.tolist() == [1, 2, 3]


def test_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line each: CuPy is missing, the driver is, no GPU is found, too few are."""
    monkeypatch.setattr("gradiva.eager.gpu.presence.importlib.util.find_spec", lambda name: None)
    with pytest.raises(OperatorRuntimeError) as raised:
        require_gpu(0)
    assert str(raised.value) == (
        "a GPU was asked for, and CuPy is not installed "
        "(pip install 'gradiva[cuda12]' or 'gradiva[cuda13]')"
    )
    monkeypatch.setattr(
        "gradiva.eager.gpu.presence.importlib.util.find_spec", lambda name: object()
    )

    def no_library(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr("gradiva.eager.gpu.presence.ctypes.CDLL", no_library)
    with pytest.raises(OperatorRuntimeError, match=r"no NVIDIA driver \(libcuda\.so\.1\)$"):
        require_gpu(0)
    monkeypatch.setattr(cuda, "missing", lambda: None)
    monkeypatch.setattr(cuda, "_cupy", FakeCupy(count=0))
    with pytest.raises(OperatorRuntimeError, match="finds none: cudaErrorInsufficientDriver: too"):
        require_gpu(0)
    monkeypatch.setattr(cuda, "_cupy", FakeCupy(count=2))
    require_gpu(1)
    with pytest.raises(OperatorRuntimeError, match="GPU 2 was asked for, and there are 2 GPUs"):
        require_gpu(2)


def test_every_refusal_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "missing", lambda: "there is no NVIDIA driver (libcuda.so.1)")
    text = r"no GPU backend yet, and there is no NVIDIA driver \(libcuda\.so\.1\)"
    images = np.zeros((2, 2, 3), np.uint8)
    for ask in (
        lambda: gradiva.flip(images, device="gpu"),
        lambda: gradiva.Device.default_device_id("gpu"),
        gradiva.stream,
        lambda: gradiva.EvalContext(device_id=0),
    ):
        with pytest.raises((gradiva.OperatorRuntimeError, gradiva.OperatorValueError), match=text):
            ask()
    monkeypatch.setattr(presence, "missing", lambda: None)
    assert presence.no_gpu().endswith("no GPU backend yet")


def test_cupy_has_these_names() -> None:
    """The fake has no name that CuPy lacks."""
    cupy = pytest.importorskip("cupy")
    for name in ("Device", "Event", "alloc", "alloc_pinned_memory", "get_current_stream"):
        assert callable(getattr(cupy.cuda, name))
    assert callable(cupy.cuda.runtime.getDeviceCount)
    assert {"load", "get_function"} <= set(dir(cupy.cuda.function.Module))
    assert {"record", "synchronize", "done"} <= set(dir(cupy.cuda.Event))
    assert {"copy_from_host_async", "ptr"} <= set(dir(cupy.cuda.MemoryPointer))
    assert {"ptr"} <= set(dir(cupy.cuda.PinnedMemoryPointer))
