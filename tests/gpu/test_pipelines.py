"""Graphs and pipelines on a simulated GPU: the bits of dynamic mode, in order on every stream."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Pipeline, fn, pipeline_def, types
from gradiva.compat.dali.tensors import TensorCPU, TensorGPU, TensorListCPU, TensorListGPU
from gradiva.eager.cuda import cupy_runtime
from gradiva.eager.cuda.streams import DeviceStream
from tests.tiers import few

from . import recipes
from .recipes import BODIES, SIZE, bits, colors, device, in_loop, outputs, pipeline, samples
from .shim import COMPILER
from .simulated import simulated

cv2: Any = pytest.importorskip("cv2")

pytestmark = pytest.mark.skipif(COMPILER is None, reason="g++ is not there")


@pytest.mark.parametrize("name", few(BODIES, "drawn"))
def test_all_modes(name: str) -> None:
    """Eager == pipeline, on the CPU and on the GPU."""
    body = BODIES[name]
    expected = in_loop(body, "cpu", 4)
    with device():
        assert in_loop(body, "gpu", 4) == expected
        assert outputs(pipeline(body, "gpu"), 4) == expected
    assert outputs(pipeline(body, "cpu"), 4) == expected


@pytest.mark.parametrize(
    "options",
    [
        {"prefetch_queue_depth": 1},
        {"prefetch_queue_depth": 5},
        {"prefetch_queue_depth": {"cpu_size": 3, "gpu_size": 1}},
        {"num_threads": 1},
        {"exec_async": False},
        {"max_streams": 1},
        {"default_cuda_stream_priority": -1},
    ],
    ids=str,
)
def test_depths(options: dict[str, Any]) -> None:
    expected = in_loop(colors, "cpu", 5)
    with device():
        assert outputs(pipeline(colors, "gpu", **options), 5) == expected


def test_a_prompt_device() -> None:
    expected = in_loop(colors, "cpu", 5)
    with device(prompt=True):
        assert outputs(pipeline(colors, "gpu"), 5) == expected


def test_a_chain_is_one_launch() -> None:
    def chain(images: Any) -> Any:
        for amount in (0.5, 1.5, 0.9):
            images = fn.brightness(images, brightness=amount)
        return fn.cast(images, dtype=types.FLOAT)

    with device() as runtime:
        pipe = pipeline(chain, "gpu", prefetch_queue_depth=1, exec_async=False)
        pipe.build()
        assert str(pipe.graph).count("fused") == 1
        for turn in range(3):
            pipe.run()
            assert len(runtime.launched) == turn + 1
        pipe.close()
    assert runtime.launched == ["pixels"] * 3


def test_chains_keep_to_one_device() -> None:
    def mixed(images: Any) -> Any:
        images = fn.brightness(fn.flip(images), brightness=0.7)
        images = fn.saturation(images, saturation=0.5, device="gpu")
        return fn.crop(fn.hue(images, hue=5.0), crop=(5, 5))

    expected = in_loop(
        lambda images: gradiva.crop(
            gradiva.hue(
                gradiva.saturation(
                    gradiva.brightness(gradiva.flip(images), brightness=0.7), saturation=0.5
                ),
                hue=5.0,
            ),
            crop=(5, 5),
        ),
        "cpu",
        3,
    )
    with device():
        pipe = pipeline(mixed, "cpu")
        pipe.build()
        for node in pipe.graph.nodes:
            for member in node.members:
                assert member.device == node.device
        assert outputs(pipe, 3) == expected


def test_a_slow_consumer() -> None:
    """Work that a consumer gives to a stream of its own comes after its batch, and not after those
    that were made ahead; memory that it still reads is not used again."""
    expected = in_loop(colors, "cpu", 6)
    with device():
        gpu = cupy_runtime.gpu_at(0)
        stream = DeviceStream(gpu)
        pipe = pipeline(colors, "gpu", prefetch_queue_depth=3)
        copies = []
        with gpu.on(stream):
            for _ in range(6):
                (batch,) = pipe.run()
                copies.append(batch.to_device("gpu", force_copy=True))
                del batch  # while the copy waits
        pipe.close()
        assert [[bits(copy)] for copy in copies] == expected
        del copies, stream


def test_two_pipelines_at_once() -> None:
    expected = in_loop(colors, "cpu", 4)
    with device():
        pipes = [pipeline(colors, "gpu", prefetch_queue_depth=depth) for depth in (1, 3)]
        found: list[list[Any]] = [[], []]
        for _ in range(4):
            for number, pipe in enumerate(pipes):
                found[number].append([bits(batch) for batch in pipe.run()])
        for pipe in pipes:
            pipe.close()
        assert found == [expected, expected]
        del pipes, pipe


def test_conditionals() -> None:
    @pipeline_def(batch_size=SIZE, num_threads=2, seed=5, device_id=0, enable_conditionals=True)
    def define(where: str) -> Any:
        images = fn.external_source(recipes.numbered, layout="HWC", device=where)
        tossed = fn.random.coin_flip(dtype=types.BOOL)
        if tossed:
            images = fn.brightness(images, brightness=0.5)
        elif fn.random.coin_flip(dtype=types.BOOL):
            images = fn.flip(images)
        small = fn.crop(images, crop=(4, 4))
        if tossed:
            small = fn.hue(small, hue=40.0)
        else:
            small = fn.crop(
                fn.flip(images), crop=(4, 4), crop_pos_x=fn.random.uniform(range=(0.0, 1.0))
            )
        return images, small, tossed

    expected = outputs(define("cpu"), 5)
    with device():
        assert outputs(define("gpu"), 5) == expected


def test_conditions_are_decided_on_the_cpu() -> None:
    @pipeline_def(batch_size=SIZE, device_id=0, enable_conditionals=True)
    def define() -> Any:
        if fn.random.coin_flip(dtype=types.BOOL, device="gpu"):
            return types.Constant(1)
        return types.Constant(2)

    with pytest.raises(TypeError, match=r"decided on the CPU.*take `.cpu\(\)`"):
        define()


def test_arguments_per_frame() -> None:
    def define(where: str) -> Pipeline:
        pipe = Pipeline(2, 2, 0, seed=3)
        with pipe:
            video = fn.external_source(
                lambda number: [np.stack(samples(number + i, 1) * 4) for i in range(2)],
                layout="FHWC",
                device=where,
            )
            angles = fn.external_source(
                lambda number: [np.arange(4, dtype=np.float32) / (number + 1)] * 2
            )
            pipe.set_outputs(fn.brightness(video, brightness=fn.per_frame(angles)))
        return pipe

    expected = outputs(define("cpu"), 3)
    with device():
        assert outputs(define("gpu"), 3) == expected


def test_transfers_and_properties() -> None:
    def define(images: Any) -> Any:
        assert images.device == gradiva.Device("gpu")
        assert images.gpu() is images
        assert images.cpu().cpu().device == gradiva.Device("cpu")
        constant = types.Constant(np.arange(4, dtype=np.int32), device="gpu")
        sizes = images.shape(), images.shape(device="gpu"), images.cpu().shape()
        return *sizes, images.property("layout"), constant, images.cpu()

    with device():
        pipe = pipeline(define, "gpu")
        made = pipe.run()
        where = [batch.device.device_type for batch in made]
        assert where == ["cpu", "gpu", "cpu", "cpu", "gpu", "cpu"]
        shapes = [list(a.shape) for a in samples(0)]
        for batch in made[:3]:
            assert [a.tolist() for a in batch.cpu().arrays()] == shapes
        assert bits(made[3]) == bits(gradiva.as_batch([np.frombuffer(b"HWC", np.uint8)] * SIZE))
        assert [a.tolist() for a in made[4].cpu().arrays()] == [[0, 1, 2, 3]] * SIZE
        assert [a.tobytes() for a in made[5].arrays()] == [a.tobytes() for a in samples(0)]
        pipe.close()
        del made, batch


def test_outputs_answer_as_on_the_cpu() -> None:
    def define(images: Any) -> Any:
        return fn.crop(images, crop=(4, 5)), images

    with device():
        pipe, plain = pipeline(define, "gpu"), pipeline(define, "cpu")
        dense, ragged = pipe.run()
        other, _ = plain.run()
        assert isinstance(dense, TensorListGPU)
        assert isinstance(other, TensorListCPU)
        assert dense.shape() == dense.shape == other.shape()
        assert (dense.layout(), dense.ndim(), len(dense)) == ("HWC", 3, SIZE)
        assert isinstance(dense[1], TensorGPU)
        assert (dense[1].shape(), dense[-1].layout()) == ([4, 5, 3], "HWC")
        back = dense.as_cpu()
        assert isinstance(back, TensorListCPU)
        np.testing.assert_array_equal(back.as_array(), other.as_array())
        assert isinstance(dense[1].as_cpu(), TensorCPU)
        np.testing.assert_array_equal(dense[1].as_cpu(), other[1])
        whole = dense.as_tensor()
        assert isinstance(whole, TensorGPU)
        assert (whole.shape(), whole.layout()) == ([SIZE, 4, 5, 3], "NHWC")
        assert whole.data_ptr() == dense.data_ptr() == dense[0].data_ptr()
        interface = dense.__cuda_array_interface__
        assert interface["data"][0] == dense.data_ptr()
        assert (interface["shape"], interface["typestr"]) == ((SIZE, 4, 5, 3), "|u1")
        assert dense.__dlpack_device__() == (2, 0)
        target = TensorListGPU(np.zeros((SIZE, 4, 5, 3), np.uint8), "HWC")
        dense.copy_to_external(target.data_ptr())
        assert bits(target) == bits(dense)
        assert dense.as_reshaped_tensor([SIZE, 60]).shape() == [SIZE, 60]
        with pytest.raises(ValueError, match=r"TensorListGPU\.as_tensor"):
            ragged.as_tensor()
        again = TensorListGPU(dense, "HWC")
        assert again.data_ptr() == dense.data_ptr()
        pipe.close()
        plain.close()
        del dense, ragged, whole, target, again, interface


def test_a_stream_of_the_caller() -> None:
    """`run(stream)`: what is given to the stream afterwards finds the outputs ready."""
    expected = in_loop(colors, "cpu", 2)
    with device() as runtime:
        pipe = pipeline(colors, "gpu")
        stream = runtime.create_stream()
        for turn in range(2):
            (batch,) = pipe.run(stream)
            place = runtime.allocate_pinned(batch.data.nbytes)
            runtime.copy(place, batch.data_ptr(), batch.data.nbytes, stream)
            runtime.synchronize(stream)
            assert [bits(batch)] == expected[turn]
            runtime.free_pinned(place)
        with pytest.raises(TypeError, match="a CUDA stream or None"):
            pipe.run(object())
        pipe.close()
        del batch
        cupy_runtime.gpu_at(0).memory.tidy()
        runtime.destroy_stream(stream)


def test_nothing_waits_for_the_gpu() -> None:
    """Batches are returned while the GPU has done nothing at all of them. (The executor, which may
    be far ahead by then, waits before more batches are in flight than it may have.)"""
    with device() as runtime:
        waits: list[int] = []
        wait, user = runtime.wait, threading.current_thread()

        def waited(event: int) -> None:
            if threading.current_thread() is user:
                waits.append(event)
            wait(event)

        runtime.wait = waited  # type: ignore[method-assign]
        pipe = pipeline(colors, "gpu", prefetch_queue_depth=4)
        made = [pipe.run() for _ in range(2)]
        assert waits == []
        found = [[bits(batch) for batch in batches] for batches in made]
        assert waits
        del made, runtime.wait
        pipe.close()
    assert found == in_loop(colors, "cpu", 2)


def test_few_batches_are_in_flight() -> None:
    with device() as runtime:
        pipe = pipeline(fn.flip, "gpu", prefetch_queue_depth=2)
        for _ in range(30):
            pipe.run()
        most = 8 * 3 * 4096 * 2
        assert runtime.used < most  # what was taken once is kept, so this is the most there was
        pipe.close()


def test_no_gpu_is_touched_without_need() -> None:
    with device() as runtime:
        assert outputs(pipeline(colors, "cpu"), 2) == in_loop(colors, "cpu", 2)
        assert not cupy_runtime._gpus
        cupy_runtime.gpu_at(0)
    assert not runtime.launched


def test_out_of_memory() -> None:
    large = np.zeros((200, 200, 3), np.uint8)

    with device(capacity=1_200_000):
        pipe = Pipeline(SIZE, 2, 0, prefetch_queue_depth=1, exec_async=False)
        count = [1, 1, SIZE * 4, 1, 1]
        with pipe:
            images = fn.external_source(
                lambda number: [np.tile(large, (count[number], 1, 1))], layout="HWC", device="gpu"
            )
            pipe.set_outputs(fn.paste(images, ratio=1.0, fill_value=0))
        pipe.run()
        pipe.run()
        with pytest.raises(RuntimeError, match="not enough memory for the outputs") as caught:
            pipe.run()
        assert "test_pipelines.py" in str(caught.value)
        (batch,) = pipe.run()
        assert batch.shape == [(200, 200, 3)]
        np.testing.assert_array_equal(batch.as_cpu().at(0), large)
        pipe.close()
        del batch


def test_mistakes() -> None:
    with pytest.raises(RuntimeError, match=r"(?s)'gpu:0' is not available.*images = fn.external"):
        pipeline(colors, "gpu").build()
    for name in ("flip", "crop"):
        pipe = Pipeline(2, 1, 0)
        with pipe:
            images = fn.external_source(lambda: samples(0), layout="HWC", device="gpu")
        with pipe, pytest.raises(TypeError, match=rf"(?s)^{name}: .*take `.cpu\(\)` of it"):
            getattr(fn, name)(images, device="cpu")
    with pipe, pytest.raises(TypeError, match=r"`angle`|`brightness`.*host memory"):
        fn.brightness(images, brightness=fn.random.uniform(range=(0.0, 1.0), device="gpu"))
    with pipe, pytest.raises(RuntimeError, match="does not run on a GPU"):
        fn.python_function(images, function=lambda image: image)
    with pipe, pytest.raises(RuntimeError, match="does not run on a GPU"):
        fn.readers.file(files=["a"], device="gpu")
    with pipe, pytest.raises(ValueError, match="that of its `device_id`"):
        fn.flip(images, device="gpu:1")
    with device(), pytest.raises(RuntimeError, match="there are 1 GPUs, and this is number 3"):
        pipeline(colors, "gpu", device_id=3).build()


@pytest.mark.parametrize(
    ("reader", "options"),
    [(gradiva.readers.File, {"files": ["a"]}), (gradiva.readers.Numpy, {"files": ["a"]})],
)
@pytest.mark.parametrize("where", ["gpu", "mixed"])
def test_readers_that_deliver_in_host_memory_say_so(
    reader: Any, options: dict[str, Any], where: str
) -> None:
    with device(), pytest.raises(RuntimeError, match="does not run on a GPU: leave out `device`"):
        reader(**options, device=where)


def test_several_gpus() -> None:
    expected = in_loop(colors, "cpu", 2)
    with simulated(count=2):
        pipes = [pipeline(colors, "gpu", device_id=number) for number in (0, 1)]
        for turn in range(2):
            for number, pipe in enumerate(pipes):
                (batch,) = pipe.run()
                assert batch.device == gradiva.Device("gpu", number)
                assert [bits(batch)] == expected[turn]
        for pipe in pipes:
            pipe.close()
        del pipes, pipe, batch


@pytest.mark.filterwarnings("ignore:samples that cannot be read")
def test_samples_that_leave_a_step() -> None:
    def define(where: str) -> Pipeline:
        pipe = Pipeline(SIZE, 2, 0, seed=1)
        with pipe:
            images = fn.external_source(recipes.numbered, layout="HWC", device=where)
            damaged = fn.external_source(
                lambda number: [np.full(9, 7, np.uint8), *map(encoded, (number, number + 1))]
            )
            decoded = fn.decoders.image(damaged, on_error="skip")
            pipe.set_outputs(fn.hue(images, hue=4.0), decoded)
        return pipe

    expected = outputs(define("cpu"), 3)
    assert len(expected[0][0][1]) == SIZE - 1
    with device():
        assert outputs(define("gpu"), 3) == expected


def encoded(number: int) -> np.ndarray[Any, Any]:
    return np.asarray(cv2.imencode(".png", samples(number, 1)[0])[1]).reshape(-1)


def test_fed_batches_on_the_gpu() -> None:
    """What is fed on the GPU stays there."""
    with device() as runtime:
        pipe = Pipeline(SIZE, 2, 0)
        with pipe:
            pipe.set_outputs(fn.flip(fn.external_source(name="x", layout="HWC", device="gpu")))
        pipe.build()
        for number in range(4):
            given = gradiva.as_batch(samples(number), layout="HWC")
            sent = given.gpu()
            pipe.feed_input("x", sent)
            del sent
            (made,) = pipe.run()
            assert bits(made) == bits(gradiva.flip(given))
        pipe.close()
        del made, given
    assert not runtime.violations


@pytest.mark.full
def test_a_resize_and_what_follows_is_fused() -> None:
    with device() as runtime:
        pipe = pipeline(BODIES["prepared"], "gpu", exec_async=False)
        pipe.run()
        assert runtime.launched == ["resample_tables", "resample", "resample"]
        pipe.close()


def test_memory_hints_and_statistics() -> None:
    with device() as runtime:
        pipe = pipeline(
            fn.flip, "gpu", bytes_per_sample=500, enable_memory_stats=True, exec_async=False
        )
        pipe.build()
        before = runtime.used
        assert before >= 6 * 1500
        (batch,) = pipe.run()
        assert runtime.used - before <= 1024  # the tables
        found = pipe.executor_statistics()["GPU_flip"]
        assert found["real_memory_size"] == [batch.nbytes]
        assert found["reserved_memory_size"][0] >= 1500
        pipe.close()
        del batch


def test_iterators_of_frameworks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch gets tensors on the GPU, by DLPack on its stream; NumPy arrays are fetched."""
    torch = pytest.importorskip("torch")
    plugin = pytest.importorskip("gradiva.plugin.pytorch")
    numpy_plugin = pytest.importorskip("gradiva.plugin.numpy")
    asked: list[Any] = []

    def from_dlpack(exported: Any) -> Any:
        asked.append(exported.__dlpack_device__())
        capsule = exported.__dlpack__(stream=1)
        runtime.synchronize(1)  # as a copy to the host would
        return torch.utils.dlpack.from_dlpack(capsule)

    def define(images: Any) -> Any:
        return fn.crop(images, crop=(4, 5))

    expected = [sample.tobytes() for (batch,) in in_batches(define) for sample in batch]
    with device() as runtime:
        monkeypatch.setattr(torch, "from_dlpack", from_dlpack)
        loop = plugin.DALIGenericIterator(pipeline(define, "gpu"), ["x"], size=2 * SIZE)
        found = [sample.numpy().tobytes() for (made,) in loop for sample in made["x"]]
        assert found == expected
        assert asked == [(2, 0)] * 2
        del loop
        ragged = plugin.DALIRaggedIterator(pipeline(lambda x: x, "gpu"), ["x"], size=SIZE)
        (made,) = next(ragged)
        assert [tuple(one.shape) for one in made["x"]] == [a.shape for a in samples(0)]
        del ragged, made
        plain = numpy_plugin.DALIGenericIterator(pipeline(define, "gpu"), ["x"], size=2 * SIZE)
        assert [sample.tobytes() for (made,) in plain for sample in made["x"]] == expected
        del plain


def in_batches(define: Any) -> Any:
    pipe = pipeline(define, "cpu")
    for _ in range(2):
        yield [batch.as_array() for batch in pipe.run()]
    pipe.close()
