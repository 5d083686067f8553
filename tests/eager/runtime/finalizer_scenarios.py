"""Programs whose objects go at the collector's whim: `python -m
tests.eager.runtime.finalizer_scenarios NAME ...`

Loops, pipelines and other things are left in cycles, and the collector runs at random moments in
random threads, so that their finalizers run there. Each scenario checks its bits. A hang ends with
the stacks of all threads, and exit status 1.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import gradiva
from gradiva import capture, fn, pipeline_def, random, readers

__all__ = ["SCENARIOS"]

HANGS_AFTER = 60
PHOTOS = sorted(str(file) for file in (Path(gradiva.__file__).parent / "photographs").glob("*/*"))
FILES = [name for name in PHOTOS if name.endswith(".jpg")] * 2


class Cycle:
    """Keeps something until the collector comes."""

    def __init__(self, *kept: Any) -> None:
        self.kept = kept
        self.itself = self


def small(files: Any) -> Any:
    """What the loops compute."""
    return gradiva.resize(gradiva.decoders.image(files), size=(24, 28))


def noisy(files: Any) -> Any:
    images = small(files)
    return images + gradiva.random.uniform(batch_size=len(images), range=(0.0, 9.0))


def bits(batch: Any) -> bytes:
    return b"".join(np.asarray(sample).tobytes() for sample in batch)


@contextmanager
def collecting(seed: int = 1) -> Iterator[None]:
    """The collector runs at random moments in the threads that are started in this block, seldom in
    this one: at each call and return of a Python function it may be time."""
    moments = Random(seed)
    own = threading.get_ident()

    def call_or_return(frame: Any, event: str, argument: Any) -> None:
        if moments.random() < (0.0005 if threading.get_ident() == own else 0.02):
            gc.collect()

    gc.collect()
    gc.freeze()  # what is there already would make each collection slow
    gc.disable()
    threading.setprofile(call_or_return)
    sys.setprofile(call_or_return)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        gc.enable()
        gc.unfreeze()


def loops() -> None:
    """The plainest captured loop, epoch by epoch; with `break`, and in cycles."""
    random.set_seed(3)
    plain = readers.File(files=FILES, random_shuffle=True)
    expected = [[bits(noisy(files)) for files, _ in plain.next_epoch(4)] for _ in range(12)]
    random.set_seed(3)
    reader = readers.File(files=FILES, random_shuffle=True)
    with collecting():
        for epoch in range(12):
            loop = reader.next_epoch(batch_size=4, capture=True)
            Cycle(loop)
            found = []
            for files, _ in loop:
                found.append(bits(noisy(files)))
                if epoch % 3 == 2 and len(found) == 2:
                    break
            if epoch % 3 == 2:
                found += [bits(noisy(files)) for files, _ in reader.next_epoch(4, capture=True)]
            assert found == expected[epoch], epoch


def external() -> None:
    """Captured loops over external sources that refer to what is made of them."""
    items = [np.full((3, 4, 5), k, np.uint8) for k in range(6)]
    for turn in range(8):
        made: list[Any] = []
        source = gradiva.ExternalSource(iter([[*items[:3]], [*items[3:]]]))
        made.append(source)
        with collecting():
            loop: Any = source.captured(3)
            Cycle(loop, source, made)
            found = [(x + 1).as_array().max() for x in loop]
        assert found == [3, 6], turn


@pipeline_def(batch_size=4, num_threads=2, prefetch_queue_depth=2)
def recorded() -> Any:
    files, labels = fn.readers.file(files=FILES, random_shuffle=True, seed=5)
    images = fn.resize(fn.decoders.image(files), size=(24, 28))
    return images + fn.random.uniform(range=(0.0, 9.0)), labels


def pipelines() -> None:
    """Pipelines that are dropped unclosed, in cycles, while others run."""
    pipe = recorded(seed=9)
    expected = [bits(pipe.run()[0]) for _ in range(6)]
    pipe.close()
    with collecting():
        for _ in range(8):
            again = recorded(seed=9)
            Cycle(again)
            assert [bits(again.run()[0]) for _ in range(6)] == expected


def sources() -> None:
    """Pipelines whose sources hold them."""
    with collecting():
        for _ in range(8):
            kept: list[Any] = []
            pipe = gradiva.Pipeline(batch_size=2, num_threads=2)
            with pipe:
                given = fn.external_source(
                    source=partial(lambda kept: np.full((2, 3), len(kept), np.uint8), kept)
                )
                pipe.set_outputs(given + 1)
            kept.append(pipe)
            assert pipe.run()[0].as_array().tolist() == [[2] * 3] * 2


def deferred() -> None:
    """Pending calls that nobody wants any more."""
    x = gradiva.as_batch(np.arange(60, dtype=np.uint8).reshape(5, 3, 4, 1), layout="HWC")
    expected = bits(gradiva.flip(x) * 2.5)
    with collecting():
        for _ in range(60):
            with gradiva.EvalMode.deferred:
                unwanted = gradiva.flip(x, vertical=1) + 1
                Cycle(unwanted)
                made = gradiva.flip(x) * 2.5
            assert bits(made) == expected


def compiled() -> None:
    """Functions that are compiled and dropped."""
    x = gradiva.as_batch(np.arange(60, dtype=np.uint8).reshape(5, 3, 4, 1), layout="HWC")
    expected = bits(gradiva.flip(x) * 2.5)
    with collecting():
        for _ in range(40):
            function = capture.compile(lambda v: gradiva.flip(v) * 2.5)
            Cycle(function)
            assert bits(function(x)) == expected
            assert bits(function(x)) == expected


def pools() -> None:
    """Pools of threads that are replaced while they work."""
    x = gradiva.as_batch(np.arange(6000, dtype=np.uint8).reshape(20, 10, 10, 3), layout="HWC")
    expected = bits(gradiva.flip(x))
    with collecting():
        for turn in range(60):
            context = gradiva.EvalContext(num_threads=1 + turn % 4)
            Cycle(context)
            with context:
                assert bits(gradiva.flip(x)) == expected
            gradiva.set_num_threads(1 + turn % 3)
        gradiva.set_num_threads(None)


def _numbers(info: Any) -> Any:
    return np.full((2, 2), info.idx_in_epoch % 200, np.uint8)


def processes() -> None:
    """Worker processes of pipelines that are dropped unclosed."""
    with collecting():
        for _ in range(4):
            pipe = gradiva.Pipeline(
                batch_size=3, num_threads=2, py_num_workers=2, py_start_method="fork"
            )
            with pipe:
                pipe.set_outputs(fn.external_source(source=_numbers, parallel=True, batch=False))
            Cycle(pipe)
            found = [int(pipe.run()[0].as_array()[0, 0, 0]) for _ in range(3)]
            assert found == [0, 3, 6]


def plain_loop() -> None:
    """The plainest loop, with nothing done to provoke anything; EPOCHS in the environment."""
    epochs = int(os.environ.get("EPOCHS", "12"))
    files = (PHOTOS_OF_REPORT * 6)[:41]
    reader = readers.File(files=files, random_shuffle=True)
    for _ in range(epochs):
        for images, _ in reader.next_epoch(batch_size=4, capture=True):
            gradiva.resize(gradiva.decoders.image(images), size=(24, 28))
        faulthandler.dump_traceback_later(HANGS_AFTER, exit=True)


PHOTOS_OF_REPORT = [name for name in PHOTOS if name.endswith(".jpg")]

SCENARIOS: dict[str, Callable[[], None]] = {
    scenario.__name__: scenario
    for scenario in (
        loops,
        external,
        pipelines,
        sources,
        deferred,
        compiled,
        pools,
        processes,
        plain_loop,
    )
}

if __name__ == "__main__":
    faulthandler.dump_traceback_later(5 * HANGS_AFTER, exit=True)  # compiling takes long
    encoded = gradiva.batch([np.fromfile(name, np.uint8) for name in FILES[:2]])
    _ = noisy(encoded), gradiva.flip(small(encoded), vertical=1) * 2.5
    for name in sys.argv[1:]:
        faulthandler.dump_traceback_later(HANGS_AFTER, exit=True)
        SCENARIOS[name]()
        print(name, "done", flush=True)
    faulthandler.cancel_dump_traceback_later()
