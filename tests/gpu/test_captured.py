"""Deferred calls, compiled functions and captured loops on a simulated GPU."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import EvalMode, ExternalSource, Pipeline, capture, fn, random
from gradiva.eager.cuda import cupy_runtime
from gradiva.eager.cuda.streams import DeviceStream
from gradiva.ops.decoders.image.image import encode
from tests.tiers import few

from .nvjpeg import decoding
from .recipes import BODIES, SIZE, bits, colors, device, in_loop, outputs, pipeline, samples
from .shim import COMPILER
from .simulated import simulated

pytestmark = pytest.mark.skipif(COMPILER is None, reason="g++ is not there")


def all_of(made: Any) -> list[Any]:
    return [bits(one) for one in (made if isinstance(made, tuple) else (made,))]


def captured(body: Callable[[Any], Any], turns: int, least: int) -> list[Any]:
    """A captured loop; `least`: how many calls must have been computed ahead."""
    random.set_seed(11)
    count = [-1]

    def read() -> Any:
        count[0] += 1
        return samples(count[0])

    loop = ExternalSource(read, layout="HWC").captured(batch_size=SIZE)
    found: list[Any] = []
    for images in loop:
        if len(found) == turns:
            break
        found.append(all_of(body(images.gpu())))
    assert loop.explain().served >= least, loop.explain()
    loop.close()
    return found


@pytest.mark.parametrize("name", few(BODIES, "colors", "two"))
def test_all_modes(name: str) -> None:
    """Eager on the CPU == deferred == compiled == captured on the GPU."""
    body = BODIES[name]
    expected = in_loop(body, "cpu", 5)
    with device():
        compiled = capture.compile(body)
        assert in_loop(compiled, "gpu", 5) == expected
        del compiled
        with EvalMode.deferred:
            assert in_loop(body, "gpu", 5) == expected
        assert captured(body, 5, 4) == expected


def test_devices_are_known_without_computing() -> None:
    with device() as runtime:
        images = gradiva.as_batch(samples(0), layout="HWC").gpu()
        copies = runtime.copies
        with EvalMode.deferred:
            lazy = gradiva.flip(images)
            back = lazy.cpu()
            again = gradiva.hue(back, hue=3.0, device="gpu")
            single = gradiva.brightness(
                gradiva.as_tensor(samples(0)[0], layout="HWC"), device="gpu"
            )
            where = [one.device.device_type for one in (lazy, back, again, single, single.cpu())]
        assert where == ["gpu", "cpu", "gpu", "gpu", "cpu"]
        assert [one.type.device for one in (lazy, back, again)] == ["gpu", "cpu", "gpu"]
        assert runtime.launched == []
        assert runtime.copies == copies
        expected = gradiva.hue(gradiva.flip(gradiva.as_batch(samples(0), layout="HWC")), hue=3.0)
        assert bits(again) == bits(expected)
        assert isinstance(back.evaluate().data, np.ndarray)
        del lazy, back, again, single, images


def test_deferred_calls_fuse() -> None:
    with device() as runtime:
        images = gradiva.as_batch(samples(0), layout="HWC").gpu()
        with EvalMode.deferred:
            made = gradiva.hue(gradiva.brightness(images, brightness=0.5), hue=9.0)
            made = gradiva.saturation(made, saturation=1.3)
            made.evaluate()
        assert runtime.launched == ["pixels"]
        del made, images


def test_a_loop_runs_ahead_on_streams_of_its_own() -> None:
    with device() as runtime:
        made: list[int] = []
        create = runtime.create_stream
        runtime.create_stream = lambda p=0: (made.append(p), create(p))[1]  # type: ignore
        found = captured(colors, 6, 20)
        assert found == in_loop(colors, "cpu", 6)
        assert len(made) == 3
        del runtime.create_stream


def test_several_gpus() -> None:
    """One program works on one GPU; calls on others are made one by one."""
    images = gradiva.as_batch(samples(0), layout="HWC")
    with simulated(count=2):
        with EvalMode.deferred:
            one = gradiva.flip(images, device="gpu:0")
            two = gradiva.hue(gradiva.flip(one, device="gpu:1"), hue=5.0)
            assert (one.device, two.device) == (gradiva.Device("gpu:0"), gradiva.Device("gpu:1"))
            assert str(two.evaluate().data.device) == "gpu:1"
        assert bits(two) == bits(gradiva.hue(images, hue=5.0))
        del one, two


def test_mistakes() -> None:
    with device():
        images = gradiva.as_batch(samples(0), layout="HWC").gpu()
        values = gradiva.as_batch([np.float32(1)] * SIZE).gpu()
        with EvalMode.deferred:
            with pytest.raises(TypeError, match=r"`brightness`.*take `.cpu\(\)` of them"):
                gradiva.brightness(images, brightness=values)
            lazy = gradiva.cast(values, dtype=gradiva.float32)
            with pytest.raises(TypeError, match=r"`brightness`.*take `.cpu\(\)` of them"):
                gradiva.brightness(images, brightness=lazy)
            assert bits(gradiva.brightness(images, brightness=lazy.cpu())) == bits(images)
        del lazy, images, values


def test_traced() -> None:
    with device():
        images = gradiva.as_batch(samples(0), layout="HWC").gpu()
        graph = capture.trace(
            lambda x: gradiva.flip(x) if x.device.device_type == "gpu" else x, images
        )
        assert [str(node.type[0]) for node in graph.nodes] == ["uint8 HWC gpu"] * 2
        del images
    assert not cupy_runtime._gpus


def jpegs(number: int) -> list[np.ndarray[Any, Any]]:
    return [encode(image, "JPEG") for image in samples(number, SIZE)]


def recipe(files: Any, where: str) -> Any:
    """The recipe of training, with a decoder that takes its files on the host."""
    images = fn.decoders.image(files, device="mixed" if where == "gpu" else "cpu")
    images = fn.resize(images, size=(9, 10))
    return fn.crop_mirror_normalize(
        images, crop=(6, 7), mirror=fn.random.coin_flip(), mean=[120.0], std=[60.0]
    )


def decoded(where: str, known: Any = None) -> list[Any]:
    """The recipe as a pipeline. known: told of each file first."""
    pipe = Pipeline(SIZE, 2, 0, seed=4)

    def read(number: int) -> Any:
        files = jpegs(number)
        if known is not None:
            known.update({file.tobytes(): index for index, file in enumerate(files)})
        return files

    with pipe:
        pipe.set_outputs(recipe(fn.external_source(read), where))
    return outputs(pipe, 4)


def cuda_launches() -> list[str]:
    runtime: Any = cupy_runtime.gpu_at(0).runtime
    return list(runtime.launched)


@pytest.mark.full
def test_a_mixed_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decoded on the GPU, and the rest is one group of launches."""
    expected = decoded("cpu")
    with decoding(monkeypatch) as fake:
        assert decoded("gpu", fake.numbers) == expected
        assert any(name.startswith("nvjpegDecode") for name, _ in fake.calls)
        launched = {name for name in cuda_launches() if "resample" in name}
        assert launched == {"resample_tables", "resample"}


@pytest.mark.parametrize("capturing", [False, True])
def test_a_source_on_the_gpu(capturing: bool) -> None:
    expected = in_loop(colors, "cpu", 4)
    with device():
        random.set_seed(11)
        items = [samples(number) for number in range(4)]
        source = ExternalSource(items, layout="HWC", device="gpu")
        found = []
        loop = source.captured(batch_size=SIZE) if capturing else None
        for images in loop or (source(SIZE) for _ in items):
            assert images.device == gradiva.Device("gpu")
            found.append(all_of(colors(images)))
        assert found == expected
        del source, loop, images


@pytest.mark.full
@pytest.mark.parametrize("seed", range(12))
def test_many_at_once(seed: int) -> None:
    """Pipelines of any depth in threads of their own, which take their time on their own streams,
    beside a captured loop."""
    rng = np.random.default_rng(seed)
    names = rng.choice(list(BODIES), 3)
    depths = rng.integers(1, 6, 3).tolist()
    expected = {name: in_loop(BODIES[name], "cpu", 8) for name in names}
    wrong: list[str] = []

    def consume(name: str, depth: int) -> None:
        gpu, delays = cupy_runtime.gpu_at(0), np.random.default_rng(depth)
        pipe = pipeline(BODIES[name], "gpu", prefetch_queue_depth=depth)
        stream, kept = DeviceStream(gpu), []
        with gpu.on(stream):
            for _ in range(8):
                made = pipe.run()
                kept.append([one.to_device(one.device, force_copy=True) for one in made])
                time.sleep(float(delays.uniform(0, 0.01)))
            found = [[bits(one) for one in copies] for copies in kept]
        pipe.close()
        if found != expected[name]:
            wrong.append(name)

    with device(prompt=bool(seed % 2)):
        threads = [
            threading.Thread(target=consume, args=pair) for pair in zip(names, depths, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        random.set_seed(11)
        assert captured(colors, 8, 20) == in_loop(colors, "cpu", 8)
        assert not wrong
        del threads, thread
