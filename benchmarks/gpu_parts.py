"""What benchmarks/gpu.py measures, as functions; each returns rows of its table."""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from programs import MEAN, STD

import gradiva
from gradiva import fn, types
from gradiva.eager.cuda.context import Gpu
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.values.batch import Batch

__all__ = [
    "AHEAD", "EXTRA", "Clock", "Used", "copies", "decoding", "lacking", "operators",
    "pipeline_rate", "reference", "skipped", "torchvision_decoding",
]  # fmt: skip

Row = dict[str, Any]
Array = np.ndarray[Any, Any]

torch: Any = lazy_module("torch")
torchvision_io: Any = lazy_module("torchvision.io", "torchvision")
dali: Any = lazy_module("nvidia.dali", "nvidia-dali-cuda120")
dali_fn: Any = lazy_module("nvidia.dali.fn", "nvidia-dali-cuda120")
dali_types: Any = lazy_module("nvidia.dali.types", "nvidia-dali-cuda120")

AHEAD = 2
"""Batches that a pipeline has ready before the clock starts."""

_MOVED = (
    "images",
    "others",
    "gray",
    "floats",
    "planes",
    "mosaic",
    "video",
    "classes",
    "numbers",
    "points",
)
"""Inputs that go to the GPU; the others are arguments, which are planned with on the host."""

EXTRA: dict[str, Callable[[Any, Any, Any], Any]] = {
    "resize, normalize": lambda m, t, d: m.crop_mirror_normalize(
        m.resize(d.images, size=(224, 224)), mean=MEAN, std=STD, dtype=t.FLOAT16
    ),
    "crop_mirror_normalize, to float16": lambda m, t, d: m.crop_mirror_normalize(
        d.images, crop=(224, 224), mirror=1, mean=MEAN, std=STD, dtype=t.FLOAT16
    ),
}


class Clock:
    """Seconds per call, by the host's clock around batches of calls that the GPU has finished.

    wait: holds the host until the GPU is done. Several rounds of at least `seconds`; the median.
    """

    def __init__(self, wait: Callable[[], None], rounds: int = 5, seconds: float = 0.2) -> None:
        self._wait = wait
        self._rounds = rounds
        self._seconds = seconds

    def __call__(self, work: Callable[[], Any]) -> float:
        self.batch(work, 1)  # compiles kernels, takes memory
        calls = max(1, int(self._seconds / self.batch(work, 2)))
        return statistics.median(self.batch(work, calls) for _ in range(self._rounds))

    def queueing(self, work: Callable[[], Any], calls: int = 16) -> float:
        """Seconds of the host per call: until a call returns, whatever the GPU does meanwhile."""
        self._wait()
        started = time.perf_counter()
        for _ in range(calls):
            work()
        seconds = (time.perf_counter() - started) / calls
        self._wait()
        return seconds

    def batch(self, work: Callable[[], Any], calls: int) -> float:
        self._wait()
        started = time.perf_counter()
        for _ in range(calls):
            work()
        self._wait()
        return (time.perf_counter() - started) / calls


def lacking(*modules: str) -> str | None:
    """Which of these modules is not installed, in words; None if all are."""
    for name in modules:
        try:
            found = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            found = None
        if found is None:
            return f"{name} is not installed"
    return None


def skipped(name: str, reason: object) -> Row:
    """A row that says why there is no number."""
    return {"name": name, "skipped": (str(reason) or repr(reason)).strip().splitlines()[0]}


def copies(gpu: Gpu, clock: Clock, nbytes: int) -> list[Row]:
    """GB/s between pinned memory and the device, and within it, where a byte is read and written.

    The last two rows are what `.gpu()` and `.cpu()` make of that.
    """
    pinned = gpu.pinned.allocate(nbytes)
    one, other = (gpu.empty(nbytes, np.dtype(np.uint8)) for _ in range(2))
    stream = gpu.stream.handle

    def between(target: Any, source: Any) -> Callable[[], None]:
        return lambda: gpu.runtime.copy(target.address, source.address, nbytes, stream)

    batch = gradiva.as_batch(np.ones((8, nbytes // 8), np.uint8))
    there = batch.gpu()
    rows = []
    for name, work, factor in (
        ("host to device, pinned", between(one, pinned), 1),
        ("device to host, pinned", between(pinned, one), 1),
        ("device to device", between(other, one), 2),
        ("batch.gpu()", batch.gpu, 1),
        ("batch.cpu()", there.cpu, 1),
    ):
        rows.append({"name": name, "gigabytes_per_second": factor * nbytes / clock(work) / 1e9})
    return rows


class Used:
    """Inputs of calls, some of them on the GPU; notes how many bytes there a call has asked for."""

    def __init__(self, inputs: Any) -> None:
        self._inputs = vars(inputs) | {name: getattr(inputs, name).gpu() for name in _MOVED}
        self.nbytes: dict[str, int] = {}

    def __getattr__(self, name: str) -> Any:
        found = self._inputs[name]
        if name in _MOVED:
            self.nbytes[name] = found.data.nbytes
        return found


def operators(
    clock: Clock, calls: Mapping[str, Callable[[Any, Any, Any], Any]], inputs: Used, copy: float
) -> Iterator[Row]:
    """Bytes of inputs and outputs per second, alone and as a share of `copy`, the GB/s of a copy
    within the device in the same run. Calls without an input on the GPU are left out."""
    for name, call in calls.items():
        inputs.nbytes.clear()
        try:
            made = call(gradiva, types, inputs)
            outputs = made if isinstance(made, tuple | list) else (made,)
            moved = sum(inputs.nbytes.values())
            if not moved:
                continue
            moved += sum(one.data.nbytes for one in outputs if isinstance(one, Batch))
            work = partial(call, gradiva, types, inputs)
            seconds, host = clock(work), clock.queueing(work)
        except Exception as error:  # noqa: BLE001  a call that fails is a row of the table
            yield skipped(name, error)
            continue
        rate = moved / seconds / 1e9
        yield {
            "name": name,
            "microseconds": 1e6 * seconds,
            "microseconds_of_the_host": 1e6 * host,
            "gigabytes_per_second": rate,
            "share_of_copy": rate / copy,
        }


def decoding(
    clock: Clock, files: Sequence[Array], loads: Sequence[float], **options: Any
) -> Iterator[Row]:
    """Images per second of `decoders.image`, in dynamic mode, by the load of the engine."""
    batch = gradiva.as_batch(list(files))
    for load in loads:
        seconds = clock(
            lambda load=load: gradiva.decoders.image(
                batch, device="mixed", hw_decoder_load=load, **options
            )
        )
        name = f"decoders.image, hw_decoder_load={load:g}"
        yield {"name": name, "images_per_second": len(files) / seconds}


def torchvision_decoding(files: Sequence[Array], rounds: int) -> Row:
    """The same of torchvision's `decode_jpeg`."""
    name = "torchvision.io.decode_jpeg"
    lack = lacking("torch", "torchvision")
    if lack is not None:
        return skipped(name, lack)
    if not torch.cuda.is_available():
        return skipped(name, "torch finds no GPU")
    tensors = [torch.from_numpy(np.array(data)) for data in files]
    mode = torchvision_io.ImageReadMode.RGB
    clock = Clock(torch.cuda.synchronize, rounds)
    seconds = clock(lambda: torchvision_io.decode_jpeg(tensors, mode=mode, device="cuda"))
    return {"name": name, "images_per_second": len(files) / seconds}


def reference() -> tuple[Any, Any, Any] | None:
    """`pipeline_def`, operators and types of DALI, if it is installed."""
    if lacking("nvidia.dali") is not None:
        return None
    return dali.pipeline_def, dali_fn, dali_types


def pipeline_rate(
    recipe: Callable[..., Any],
    folder: str,
    options: Any,
    load: float | None = None,
    library: tuple[Any, Any, Any] | None = None,
    *,
    on_gpu: bool = True,
) -> float:
    """Images per second of a pipeline on the GPU, or on the CPU beside it; the last batch is copied
    to the host. One epoch is not counted, then the median of several."""
    make, f, t = library or (gradiva.pipeline_def, fn, types)
    where: dict[str, Any] = {"device": "mixed" if on_gpu else "cpu"}
    if load is not None:
        where["hw_decoder_load"] = load

    @make(
        batch_size=options.batch_size,
        num_threads=options.threads,
        device_id=0 if on_gpu else None,
        seed=1,
        prefetch_queue_depth=AHEAD,
    )
    def program() -> Any:
        files, labels = f.readers.file(file_root=folder)
        return recipe(f, t, files, **where), labels

    pipe = program()
    pipe.build()
    batches = max(1, options.images // options.batch_size)

    def rate() -> float:
        for _ in range(AHEAD):
            outputs = pipe.run()
        started = time.perf_counter()
        for _ in range(batches):
            outputs = pipe.run()
        outputs[0].as_cpu()
        return batches * options.batch_size / (time.perf_counter() - started)

    try:
        rate()
        return statistics.median(rate() for _ in range(options.rounds))
    finally:
        if library is None:
            pipe.close()  # what it makes ahead would go on beside the next measurement
