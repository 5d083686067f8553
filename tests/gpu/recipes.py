"""What the tests of graphs on a GPU share: recipes, and ways to run them. Not a test itself."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import gradiva
from gradiva import ExternalSource, Pipeline, fn, random
from gradiva.eager.cuda import cupy_runtime
from tests.garbage import settle

from .simulated import SimulatedRuntime, simulated

__all__ = [
    "BODIES",
    "SIZE",
    "bits",
    "colors",
    "device",
    "in_loop",
    "outputs",
    "pipeline",
    "samples",
]

SIZE = 3


def samples(number: int, count: int = SIZE) -> list[np.ndarray[Any, Any]]:
    noise = np.random.default_rng(number)
    return [noise.integers(0, 255, (9 + 2 * i, 12 + number % 3, 3), np.uint8) for i in range(count)]


@contextmanager
def device(**options: Any) -> Iterator[SimulatedRuntime]:
    """A simulated GPU; at the end nothing of it is in use, and no thread is left."""
    before = threading.active_count()
    with simulated(**options) as runtime:
        yield runtime
        gc.collect()
        settle()
        for gpu in cupy_runtime._gpus.values():
            gpu.memory.tidy()
            if gpu.runtime is runtime:
                assert gpu.memory.in_use == 0
                legacy = 1  # CUDA's own, which is always there
                assert set(runtime.streams) - {legacy} == {gpu.default_stream.handle}
    assert runtime.used == 0
    assert threading.active_count() <= before


def bits(batch: Any) -> list[Any]:
    kept = [(str(a.dtype), a.shape, a.tobytes()) for a in batch.cpu().arrays()]
    return [batch.type.layout, kept]


def outputs(pipe: Pipeline, turns: int) -> list[Any]:
    """The bits of all outputs of some turns."""
    try:
        return [[bits(batch) for batch in pipe.run()] for _ in range(turns)]
    finally:
        pipe.close()


def colors(images: Any) -> Any:
    """Operators of both modes: a chain of pixel-wise steps, windows, mirroring."""
    images = gradiva.flip(images, horizontal=random.coin_flip(batch_size=images.batch_size))
    images = gradiva.brightness_contrast(
        images, brightness=random.uniform(range=(0.5, 1.5), batch_size=images.batch_size)
    )
    images = gradiva.saturation(
        images, saturation=random.uniform(range=(0.0, 2.0), batch_size=images.batch_size)
    )
    images = gradiva.hue(images, hue=30.0)
    return gradiva.crop_mirror_normalize(
        images,
        crop=(6, 7),
        mean=[120.0, 110.0, 100.0],
        std=[60.0, 59.0, 58.0],
        mirror=random.coin_flip(batch_size=images.batch_size),
    )


def resized(images: Any) -> Any:
    """A resize with windows and flips around it and pixel-wise steps behind it."""
    count = images.batch_size
    images = gradiva.crop(images, crop=(8, 11))
    images = gradiva.resize(images, resize_shorter=random.uniform(range=(9, 14), batch_size=count))
    images = gradiva.flip(images, horizontal=random.coin_flip(batch_size=count))
    images = gradiva.crop(images, crop=(7, 8))
    return gradiva.brightness(images, brightness=0.7), gradiva.resize(images, size=(5, 5))


def numbered(number: int) -> list[np.ndarray[Any, Any]]:
    """The batch of this number, for sources, which are called with one argument."""
    return samples(number)


def prepared(images: Any) -> Any:
    images = gradiva.resize(images, size=(11, 12))
    return gradiva.crop_mirror_normalize(
        images,
        crop=(6, 7),
        mean=[120.0, 110.0, 100.0],
        std=[60.0, 59.0, 58.0],
        mirror=random.coin_flip(batch_size=images.batch_size),
        dtype=gradiva.float16,
    )


def drawn(images: Any) -> Any:
    """Random values that are made on the GPU."""
    where = images.device.device_type
    given = {"batch_size": images.batch_size, "device": where, "shape": [5]}
    return random.uniform(range=(0.0, 1.0), **given), random.normal(**given)


def pipeline(body: Callable[[Any], Any], where: str, **options: Any) -> Pipeline:
    given = {"batch_size": SIZE, "num_threads": 2, "seed": 11, "device_id": 0, **options}
    pipe = Pipeline(**given)
    with pipe:
        images = fn.external_source(numbered, layout="HWC", device=where)
        made = body(images)
        pipe.set_outputs(*(made if isinstance(made, list | tuple) else (made,)))
    return pipe


def in_loop(body: Callable[[Any], Any], where: str, turns: int) -> list[Any]:
    """The same in dynamic mode: a loop over a source."""
    random.set_seed(11)
    source = ExternalSource(lambda: samples(len(found)), layout="HWC")
    found: list[Any] = []
    for _ in range(turns):
        images = source(SIZE)
        made = body(images.gpu() if where == "gpu" else images)
        found.append([bits(one) for one in (made if isinstance(made, list | tuple) else (made,))])
    return found


BODIES: dict[str, Callable[[Any], Any]] = {
    "colors": colors,
    "drawn": drawn,
    "resized": resized,
    "prepared": prepared,
    "only a transfer": lambda images: images,
    "back and forth": lambda images: gradiva.flip(gradiva.hue(images, hue=9.0).cpu()),
    "two": lambda images: (gradiva.flip(images), gradiva.flip(gradiva.flip(images)), images),
}
