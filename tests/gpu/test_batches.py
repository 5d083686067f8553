"""Batches and tensors on a GPU, on the simulated device: the same bits, order, memory, messages."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.cuda import context
from gradiva.eager.cuda.cupy_runtime import gpu_at
from gradiva.eager.cuda.device_array import DeviceArray
from gradiva.eager.cuda.streams import DeviceStream, Ready

from .shim import COMPILER, NO_COMPILER
from .simulated import SimulatedRuntime, simulated

pytestmark = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)


@pytest.fixture
def runtime() -> Iterator[SimulatedRuntime]:
    with simulated() as made:
        yield made


def ragged(seed: int = 0) -> gradiva.Batch:
    generator = np.random.default_rng(seed)
    shapes = [(5, 7, 3), (40, 30, 3), (0, 4, 3)]
    return gradiva.as_batch(
        [generator.integers(0, 256, shape).astype(np.uint8) for shape in shapes], layout="HWC"
    )


def same(one: gradiva.Batch, other: gradiva.Batch) -> None:
    assert one.shape == other.shape
    assert one.type.with_(device="cpu") == other.type.with_(device="cpu")
    for ours, theirs in zip(one.cpu().arrays(), other.cpu().arrays(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_there_and_back(runtime: SimulatedRuntime) -> None:
    batch = ragged()
    there = batch.gpu()
    assert (there.device, there.type.device) == (gradiva.Device("gpu:0"), "gpu")
    assert there.gpu() is there
    assert there.to_device("gpu:0") is there
    assert there.to_device("gpu", force_copy=True) is not there
    assert batch.cpu() is batch
    same(there, batch)
    same(there.to_device("gpu", force_copy=True), batch)
    tensor = gradiva.as_tensor(np.arange(6).reshape(2, 3), layout="HW")
    moved = tensor.gpu()
    assert (moved.shape, moved.layout, str(moved.device)) == ((2, 3), "HW", "gpu:0")
    np.testing.assert_array_equal(moved.cpu(), tensor)


def test_what_was_sent_may_change_at_once(runtime: SimulatedRuntime) -> None:
    """The device has copied nothing yet when `gpu` returns."""
    values = np.arange(1000)
    there = gradiva.as_tensor(values).gpu()
    values[:] = 0
    np.testing.assert_array_equal(there.cpu(), np.arange(1000))


def test_large_arrays_are_moved_by_threads(
    runtime: SimulatedRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In pieces, the last of which is short; what is given may change at once."""
    monkeypatch.setattr(context, "_PIECE", 1000)
    values = np.arange(9 * 1111, dtype=np.uint16).reshape(9, 1111)
    given = values.copy()
    copies = runtime.copies
    there = gradiva.as_batch(given).gpu()
    given[:] = 0
    assert runtime.copies == copies + 20
    np.testing.assert_array_equal(np.stack(there.cpu().arrays()), values)


def test_calls_give_the_bits_of_the_cpu(runtime: SimulatedRuntime) -> None:
    batch = ragged()
    calls: list[Any] = [
        lambda x, **more: gradiva.flip(x, horizontal=[1, 0, 1], vertical=1, **more),
        lambda x, **more: gradiva.brightness_contrast(x, brightness=[1.2, 0.7, 1.0], **more),
        lambda x, **more: gradiva.crop_mirror_normalize(
            x, crop=(4, 4), out_of_bounds_policy="pad", mean=[1.0, 2.0, 3.0], **more
        ),
        lambda x, **more: gradiva.cast(x, dtype="float16", **more),
    ]
    for call in calls:
        same(call(batch.gpu()), call(batch))
        same(call(batch, device="gpu"), call(batch))
    assert set(runtime.launched) >= {"copy", "pixels", "crop_mirror_normalize"}


def test_chained_calls_wait_for_nothing(runtime: SimulatedRuntime) -> None:
    """Work is queued, and the host waits once, at the end."""
    batch = ragged().gpu()
    runtime.log.clear()
    result = gradiva.flip(gradiva.brightness(gradiva.flip(batch), brightness=0.5))
    assert not [entry for entry in runtime.log if entry[0] == "wait"]
    same(result, gradiva.flip(gradiva.brightness(gradiva.flip(ragged()), brightness=0.5)))
    assert len([entry for entry in runtime.log if entry[0] == "wait"]) == 1


def test_random_values_are_those_of_the_cpu(runtime: SimulatedRuntime) -> None:
    for make in (gradiva.random.uniform, gradiva.random.normal, gradiva.random.coin_flip):
        made = [make(batch_size=3, shape=[5], seed=7, device=where) for where in ("cpu", "gpu")]
        same(*made)


def test_an_empty_batch(runtime: SimulatedRuntime) -> None:
    none = gradiva.as_batch(np.zeros((0, 4, 4, 3), np.uint8), layout="HWC")
    same(gradiva.flip(none.gpu()), none)
    assert runtime.launched == []


def test_values_per_frame(runtime: SimulatedRuntime) -> None:
    video = gradiva.as_batch(np.arange(2 * 3 * 4 * 4 * 3, dtype=np.uint8).reshape(2, 3, 4, 4, 3))
    video = gradiva.as_batch(video, layout="FHWC")
    each = gradiva.per_frame(gradiva.as_batch(np.array([[1, 0, 1], [0, 1, 0.5]], np.float32)))
    same(
        gradiva.brightness(video.gpu(), brightness=each), gradiva.brightness(video, brightness=each)
    )


def test_numbers_and_pictures(runtime: SimulatedRuntime) -> None:
    """Looking at a value brings it to the host; NumPy is told to."""
    one = gradiva.as_tensor(np.float32(2.5)).gpu()
    assert (float(one), int(one), bool(one), one.item()) == (2.5, 2, True, 2.5)
    assert "device='gpu:0'" in repr(one)
    batch = ragged().gpu()
    assert "device='gpu:0'" in repr(batch)
    assert "img" in batch._repr_html_()
    for value in (batch, one):
        with pytest.raises(gradiva.OperatorTypeError, match=r"is on gpu:0.*take \.cpu\(\)"):
            np.asarray(value)


def test_other_libraries(runtime: SimulatedRuntime) -> None:
    """`__cuda_array_interface__` and DLPack out, `__cuda_array_interface__` in, without copies."""
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    batch = gradiva.as_batch(values).gpu()
    interface = batch.__cuda_array_interface__
    assert interface["shape"] == (2, 3, 4)
    assert interface["typestr"] == "<f4"
    assert interface["stream"] == gpu_at(0).default_stream.handle
    assert not hasattr(batch.cpu(), "__cuda_array_interface__")
    assert batch.__dlpack_device__() == batch.tensors[0].__dlpack_device__() == (2, 0)
    assert "dltensor" in repr(batch.__dlpack__(stream=1))
    with pytest.raises(BufferError, match="is on gpu:0"):
        batch.__dlpack__(dl_device=(1, 0))

    class Theirs:
        """An array of another library, made on a stream of its own."""

        __cuda_array_interface__ = interface

    theirs: Any = Theirs()
    taken = gradiva.as_batch(theirs, layout="HW")
    assert isinstance(taken.data, DeviceArray)
    assert taken.data.address == batch.data.address
    same(gradiva.flip(taken), gradiva.flip(gradiva.as_batch(values, layout="HW")))
    same(gradiva.batch([batch.tensors[1], batch.tensors[0]]), gradiva.as_batch(values[::-1]))


def test_lent_memory_is_kept_until_the_stream_is_past(runtime: SimulatedRuntime) -> None:
    """Whoever lends us memory may drop it as soon as the call returns."""
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

    class Theirs:
        def __init__(self) -> None:
            self.batch = gradiva.as_batch(values).gpu()
            self.__cuda_array_interface__ = self.batch.__cuda_array_interface__

    theirs: Any = Theirs()
    lent = weakref.ref(theirs)
    flipped = gradiva.flip(gradiva.as_batch(theirs, layout="HW"))
    del theirs
    gc.collect()
    gpu_at(0).drop_foreign()
    assert lent() is not None
    same(flipped, gradiva.flip(gradiva.as_batch(values, layout="HW")))
    gpu_at(0).drop_foreign()
    gc.collect()
    assert lent() is None


def test_an_exported_array_is_kept(runtime: SimulatedRuntime) -> None:
    """The memory of a capsule's array is not handed out again while somebody has it."""
    values = np.arange(1000, dtype=np.float32)

    class Taker:
        """What NumPy asks for DLPack: it takes the simulated device for the CPU."""

        def __init__(self, batch: gradiva.Batch) -> None:
            self.batch = batch

        def __dlpack__(self, **options: Any) -> Any:
            return self.batch.__dlpack__(stream=1)

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    batch = gradiva.as_batch([values]).gpu()
    taken = np.from_dlpack(Taker(batch))
    runtime.synchronize(1)
    del batch
    gc.collect()
    others = [gradiva.as_batch([values * 0]).gpu() for _ in range(4)]
    gpu_at(0).stream.synchronize()
    np.testing.assert_array_equal(taken[0], values)
    del others


def test_mistakes(runtime: SimulatedRuntime) -> None:
    batch = ragged().gpu()
    with pytest.raises(gradiva.OperatorRuntimeError, match="bbox_paste: this operator does not"):
        gradiva.bbox_paste(np.zeros((1, 4), np.float32), ratio=2.0, device="gpu")
    with pytest.raises(gradiva.OperatorTypeError, match=r"`horizontal`: expected.*\.cpu"):
        gradiva.flip(batch, horizontal=gradiva.as_batch([1, 0, 1]).gpu())
    with pytest.raises(gradiva.OperatorRuntimeError, match="there are 1 GPUs, and this is number"):
        batch.gpu(3)
    with pytest.raises(gradiva.OperatorValueError, match="samples on one device"):
        gradiva.as_batch([np.zeros(2), gradiva.tensor(np.zeros(2)).gpu()])
    with pytest.raises(gradiva.OperatorTypeError, match="`dtype`: expected the array's own"):
        gradiva.as_batch(batch, dtype="float32")
    with pytest.raises(gradiva.OperatorValueError, match="different shapes"):
        batch.__dlpack__()
    with pytest.raises(gradiva.OperatorTypeError, match="host memory"):
        batch.padded()


def test_two_gpus() -> None:
    with simulated(count=2):
        batch = ragged().gpu(1)
        assert str(batch.device) == "gpu:1"
        assert str(gradiva.flip(batch).device) == "gpu:1"
        other = batch.gpu(0)
        assert str(other.device) == "gpu:0"
        same(other, ragged())
        with gradiva.Device("gpu:1"):
            assert str(ragged().gpu().device) == "gpu:1"
        assert gradiva.backend.GetCUDADeviceCount() == 2


def test_streams(runtime: SimulatedRuntime) -> None:
    """A result of one stream is read by another: it waits for it, and memory is held for it."""
    first, second = gradiva.Stream(), gradiva.Stream()
    assert first != second
    with gradiva.EvalContext(cuda_stream=first) as context:
        assert gradiva.get_current_stream() == first == context.cuda_stream
        batch = ragged().gpu()
        with gradiva.EvalContext(cuda_stream=second):
            flipped = gradiva.flip(batch)
        assert gradiva.get_current_stream() == first
        del batch
        gc.collect()
        again = gradiva.flip(ragged(1))  # nothing of this may land where `second` still reads
        more = gradiva.flip(ragged(1), device="gpu")
    same(flipped, gradiva.flip(ragged()))
    same(again, more)
    assert gradiva.get_current_stream() == gradiva.get_default_stream()
    gradiva.set_current_stream(second)
    assert gradiva.get_current_stream() == second
    gradiva.set_current_stream(None)
    second.synchronize()


def test_a_ready_point(runtime: SimulatedRuntime) -> None:
    """Who reads a batch that has a point at which it is ready waits for that, not for more."""
    gpu = gpu_at(0)
    stream = DeviceStream(gpu)
    with gpu.on(stream):
        batch = gradiva.flip(ragged().gpu())
        batch.data.block.ready = Ready(stream)  # type: ignore[attr-defined]
        done = len(runtime._queues[stream.handle])
        gradiva.flip(batch)
    same(batch, gradiva.flip(ragged()))
    assert runtime._done[stream.handle] == done < len(runtime._queues[stream.handle])


def test_full_synchronization(runtime: SimulatedRuntime) -> None:
    stream = gpu_at(0).default_stream.handle
    batch = ragged().gpu()
    with gradiva.EvalMode.sync_full:
        gradiva.flip(batch)
        assert runtime._done[stream] == len(runtime._queues[stream])
    gradiva.flip(batch)
    assert runtime._done[stream] < len(runtime._queues[stream])


def test_memory_is_used_again(runtime: SimulatedRuntime) -> None:
    batch = ragged().gpu()
    for _ in range(20):
        gradiva.flip(batch)
    assert runtime.used < 10 * batch.data.nbytes + (1 << 16)
    gradiva.backend.ReleaseUnusedMemory()
    gc.collect()
    assert runtime.used < 2 * batch.data.nbytes + (1 << 13)


def test_out_of_memory_is_an_error_and_no_more() -> None:
    with simulated(capacity=1 << 16) as runtime:
        small, large = ragged().gpu(), np.zeros(1 << 17, np.uint8)
        with pytest.raises(gradiva.OperatorRuntimeError, match=r"flip: .*the GPU has no .* bytes"):
            gradiva.flip(large.reshape(256, 512, 1), device="gpu")
        with pytest.raises((MemoryError, gradiva.OperatorRuntimeError)):
            gradiva.as_batch([large]).gpu()
        same(gradiva.flip(small), gradiva.flip(ragged()))
        assert runtime.used <= 1 << 16


def test_threads(runtime: SimulatedRuntime) -> None:
    """Several threads share the default stream, or have streams of their own."""
    wanted = [gradiva.flip(gradiva.brightness(ragged(n), brightness=0.5)) for n in range(4)]

    def work(number: int) -> None:
        if number % 2:
            gradiva.set_current_stream(gradiva.Stream())
        for _ in range(10):
            made = gradiva.flip(gradiva.brightness(ragged(number).gpu(), brightness=0.5))
            same(made, wanted[number])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


def test_a_prompt_device() -> None:
    """A device that is done at once gives the same."""
    with simulated(prompt=True):
        same(gradiva.flip(ragged().gpu()), gradiva.flip(ragged()))


def test_the_simulated_device_sees_mistakes() -> None:
    """A stream that does not wait reads what is not there yet, and is reported."""
    with simulated() as runtime:
        gpu = gpu_at(0)
        batch = ragged().gpu()
        stream = DeviceStream(gpu)
        staging = gpu.pinned.allocate(8)
        runtime.copy(staging.address, batch.data.address, 8, stream.handle)  # type: ignore[attr-defined]
        runtime.synchronize(stream.handle)
        assert staging.array.tolist() == [0xA5] * 8
        assert "copy touches" in runtime.violations.pop()


def test_files_are_written_by_the_host(
    runtime: SimulatedRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`dump_image` brings the images, writes them, and hands them on where they were."""
    monkeypatch.chdir(tmp_path)
    images = gradiva.as_batch([np.full((2, 3, 3), n, np.uint8) for n in (7, 8)], layout="HWC")
    there = gradiva.dump_image(images.gpu(), suffix="gpu")
    assert str(there.device) == "gpu:0"
    same(there, images)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0-gpu-0.ppm", "1-gpu-0.ppm"]
