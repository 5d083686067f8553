"""Devices, streams, threads, contexts and modes of dynamic mode."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import numpy as np
import pytest

import gradiva
import gradiva.eager.runtime.worker_pool
from gradiva import Device, EvalContext, EvalMode, Stream, ThreadPool, device


@pytest.mark.tiny
def test_names_of_devices() -> None:
    assert Device("cpu") == Device.CPU == device("cpu")
    assert device(Device.CPU) is Device.CPU
    assert (Device.CPU.device_type, Device.CPU.device_id) == ("cpu", None)
    for same in (device("gpu"), Device("gpu", 0), Device("cuda:0"), device("cuda", np.int64(0))):
        assert same == Device("gpu:0") != Device("gpu:1")
        assert hash(same) == hash(Device("gpu:0"))
        assert (same.device_type, same.device_id) == ("gpu", 0)
    assert (str(Device("gpu", 3)), str(Device.CPU)) == ("gpu:3", "cpu")
    assert eval(repr(Device("gpu", 3))) == Device("gpu:3")
    assert pickle.loads(pickle.dumps(Device("gpu:3"))) == Device("gpu:3")
    with pytest.raises(AttributeError):
        Device.CPU.device_id = 3  # type: ignore[misc]


@pytest.mark.tiny
@pytest.mark.parametrize("name", ["", "tpu", "CPU", " cpu", "cpu:0", "gpu:", "gpu:-1", "gpu:x"])
def test_other_names_of_devices(name: str) -> None:
    for make in (device, Device):
        with pytest.raises(gradiva.OperatorValueError, match="a device such as 'cpu'"):
            make(name)


@pytest.mark.tiny
def test_wrong_devices() -> None:
    wrong: Any
    for wrong in (None, 0, 1.5, ["cpu"]):
        with pytest.raises(gradiva.OperatorTypeError, match="a device such as 'cpu'"):
            device(wrong)
    for name, number in (("gpu:0", 0), ("cpu", 0), ("gpu", -1), ("gpu", True)):
        with pytest.raises(gradiva.OperatorValueError):
            device(name, number)
    with pytest.raises(gradiva.OperatorTypeError, match="device_id"):
        device("gpu", "x")  # type: ignore[arg-type]
    with pytest.raises(gradiva.OperatorValueError, match="number of cpu"):
        device(Device.CPU, 1)
    image = gradiva.tensor(np.zeros((2, 2, 3), np.uint8), layout="HWC")
    with pytest.raises(gradiva.OperatorTypeError, match=r"flip: argument `device`.*got 5"):
        gradiva.flip(image, device=5)  # type: ignore[call-overload]


def test_devices_of_torch() -> None:
    torch = pytest.importorskip("torch")
    assert device(torch.device("cpu")) == device(torch.device("cpu:0")) == Device.CPU
    assert device(torch.device("cuda:1")) == Device("gpu:1")
    assert Device.from_dlpack(torch.zeros(2)) == Device.CPU


@pytest.mark.tiny
def test_devices_of_dlpack() -> None:
    assert Device.from_dlpack(np.zeros(3)) == Device.CPU
    assert Device.from_dlpack((2, 1)) == Device("gpu:1")
    assert [Device.type_from_dlpack(kind) for kind in (1, 2)] == ["cpu", "gpu"]
    with pytest.raises(gradiva.OperatorValueError, match="dev_type"):
        Device.type_from_dlpack(7)
    for make in (Device.type_from_dlpack, Device.from_dlpack):
        with pytest.raises(gradiva.OperatorTypeError):
            make("x")


@pytest.mark.tiny
def test_the_current_device() -> None:
    assert Device.current() == Device.CPU
    with Device("cpu") as entered:
        assert Device.current() is entered
    assert Device.default_device_id("cpu") is None
    with pytest.raises(gradiva.OperatorRuntimeError, match="is not available: "):
        Device.default_device_id("gpu")
    with pytest.raises(gradiva.OperatorRuntimeError, match="is not available: "), Device("gpu:0"):
        pass
    assert Device.current() == Device.CPU
    with pytest.raises(gradiva.OperatorValueError):
        Device.default_device_id("tpu")


@pytest.mark.tiny
def test_streams_say_what_is_missing() -> None:
    assert gradiva.stream(stream=None) is None
    assert gradiva.get_current_stream() is gradiva.get_default_stream() is None
    gradiva.set_current_stream(None)
    gradiva.set_default_stream(None)
    for make in (
        gradiva.stream,
        Stream,
        lambda: gradiva.stream(stream=Stream.create_new, device_id=0),
        lambda: gradiva.stream(stream=140_000_000),
        lambda: gradiva.set_current_stream(7),
        lambda: gradiva.set_default_stream(7),
        lambda: EvalContext(cuda_stream=7),
    ):
        with pytest.raises(gradiva.OperatorRuntimeError, match=r"needs a GPU.*is not available: "):
            make()
    with pytest.raises(gradiva.OperatorTypeError, match="a CUDA stream or None, got 'x'"):
        gradiva.stream(stream="x")
    assert {"device_id", "handle", "synchronize"} <= set(dir(Stream))


@pytest.mark.tiny
def test_thread_pools() -> None:
    pool = ThreadPool(3)
    assert (pool.num_threads, pool.device_id) == (3, None)
    assert ThreadPool().num_threads == gradiva.eager.runtime.worker_pool.default_num_threads()
    assert ThreadPool(2, device_id=-1).device_id is None
    before = gradiva.get_num_threads()
    with pool as entered, ThreadPool(4):
        assert entered is pool
        assert gradiva.get_num_threads() == 4
    with pool, EvalContext() as inner:
        assert (inner.num_threads, inner.thread_pool) == (3, pool)
    assert gradiva.get_num_threads() == before
    context = EvalContext(thread_pool=pool)
    assert context.thread_pool is pool
    with context, context:
        assert gradiva.get_num_threads() == EvalContext.current().num_threads == 3
    assert gradiva.get_num_threads() == before
    with pytest.raises(ZeroDivisionError), pool:
        _ = 1 // 0
    assert gradiva.get_num_threads() == before


@pytest.mark.tiny
@pytest.mark.parametrize("make", [ThreadPool, EvalContext, gradiva.set_num_threads])
def test_numbers_of_threads(make: Any) -> None:
    before = gradiva.get_num_threads()

    def call(count: Any) -> Any:
        return EvalContext(num_threads=count) if make is EvalContext else make(count)

    for wrong in (0, -1, 10**6):
        with pytest.raises(gradiva.OperatorValueError, match="at least 1 and at most"):
            call(wrong)
    for no_number in (1.5, "2", True):
        with pytest.raises(gradiva.OperatorTypeError, match="a positive integer"):
            call(no_number)
    assert gradiva.get_num_threads() == before
    call(np.int64(2))
    gradiva.set_num_threads(None)


@pytest.mark.tiny
def test_set_num_threads() -> None:
    try:
        gradiva.set_num_threads(3)
        assert gradiva.get_num_threads() == EvalContext.default().num_threads == 3
        with EvalContext(num_threads=2):
            assert gradiva.get_num_threads() == 2
    finally:
        gradiva.set_num_threads(None)
    assert gradiva.get_num_threads() == gradiva.eager.runtime.worker_pool.default_num_threads()


@pytest.mark.tiny
def test_what_a_context_refuses() -> None:
    with pytest.raises(gradiva.OperatorValueError, match="thread_pool or num_threads, not both"):
        EvalContext(num_threads=2, thread_pool=ThreadPool(2))
    with pytest.raises(gradiva.OperatorTypeError, match="a ThreadPool, got 5"):
        EvalContext(thread_pool=5)  # type: ignore[arg-type]
    for make in (EvalContext, ThreadPool):
        with pytest.raises(gradiva.OperatorRuntimeError, match="is not available: "):
            make(device_id=0)
    with pytest.raises(gradiva.OperatorTypeError, match="a key with a hash"):
        EvalContext().cache_results([], 1)
    context = EvalContext(device_id=None, device="cpu", cuda_stream=None)
    assert (context.device_id, context.cuda_stream) == (None, None)


def test_a_context_in_several_threads() -> None:
    context, seen = EvalContext(num_threads=2), []

    def user() -> None:
        for _ in range(50):
            with context:
                seen.append(EvalContext.current() is context and gradiva.get_num_threads() == 2)
            seen.append(EvalContext.current() is EvalContext.default())

    users = [threading.Thread(target=user) for _ in range(4)]
    for thread in users:
        thread.start()
    for thread in users:
        thread.join()
    assert seen == [True] * 400


@pytest.mark.tiny
def test_modes_are_an_enumeration() -> None:
    names = ["deferred", "eager", "sync_cpu", "sync_full"]
    assert [mode.name for mode in EvalMode] == names
    assert [mode.value for mode in EvalMode] == [1, 2, 3, 4]
    assert len(EvalMode) == 4
    assert [EvalMode[name] for name in names] == list(EvalMode)
    assert EvalMode(2) is EvalMode["default"] is EvalMode.eager is EvalMode.current()
    with pytest.raises(KeyError):
        EvalMode["late"]
