"""On a GPU: decoding, operators against the bandwidth of copies, recipes end to end.

`python benchmarks/gpu.py [--only part ...]`. Rates that nvJPEG, torchvision and DALI reach on the
same files stand beside ours, where these are installed. Without a GPU it ends with an error and
writes nothing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import operator_calls
from gpu_nvjpeg import batched_rate
from gpu_parts import (
    EXTRA,
    Clock,
    Row,
    Used,
    copies,
    decoding,
    lacking,
    operators,
    pipeline_rate,
    reference,
    skipped,
    torchvision_decoding,
)
from operator_calls import CALLS, inputs_for
from photographs import encoded_photographs, make_data
from programs import PIPELINES
from side_by_side import save, versions

import gradiva
from gradiva.eager.cuda.context import Gpu
from gradiva.eager.cuda.cupy_runtime import check_gpu, gpu_at
from gradiva.eager.support.errors import GradivaError, OperatorRuntimeError
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.ops.decoders.jpeg.gpu.library import load

cupy: Any = lazy_module("cupy")

LOADS = (0.0, 0.65, 1.0)
COPIED = 1 << 28
FILES = 1024
"""Files of the recipes, which are read again until there were as many images as were asked for."""
RECIPES = ("decode", "val", "train: ", "train with")
"""How the names of the pipelines begin that are run."""


def machine(gpu: Gpu) -> dict[str, Any]:
    """The GPU, its driver, and the versions of what takes part."""
    runtime = cupy.cuda.runtime
    facts = runtime.getDeviceProperties(gpu.runtime.number)
    driver = Path("/proc/driver/nvidia/version")
    return {
        "gpu": facts["name"].decode(),
        "compute_capability": gpu.runtime.architecture,
        "memory": gpu.runtime.memory()[1],
        "cuda_driver": runtime.driverGetVersion(),
        "cuda_runtime": runtime.runtimeGetVersion(),
        "driver": driver.read_text().splitlines()[0] if driver.exists() else "unknown",
        "packages": versions(
            "numpy",
            "cupy-cuda12x",
            "cupy-cuda13x",
            "nvidia-nvjpeg-cu12",
            "nvidia-nvjpeg",
            "nvidia-cuda-nvrtc-cu12",
            "nvidia-cuda-nvrtc",
            "torch",
            "torchvision",
            "nvidia-dali-cuda120",
            "nvidia-dali-cuda130",
        ),
    }


def nvjpeg(gpu: Gpu, clock: Clock, files: list[Any]) -> Row:
    name = "nvjpegDecodeBatched alone"
    try:
        return {"name": name, **batched_rate(load(), gpu, files, clock)}
    except OperatorRuntimeError as error:
        return skipped(name, error)


def decode_rows(gpu: Gpu, clock: Clock, options: Any) -> Iterator[Row]:
    files = [np.frombuffer(one, np.uint8) for one in encoded_photographs(options.batch_size)]
    yield nvjpeg(gpu, clock, files)
    yield torchvision_decoding(files, options.rounds)
    try:
        yield from decoding(clock, files, LOADS)
    except GradivaError as error:
        yield skipped("decoders.image", error)


def recipe_rows(folder: str, options: Any) -> Iterator[Row]:
    """Each recipe by both libraries; decoding at every load."""
    names = [name for name in PIPELINES if name.startswith(RECIPES)]
    wanted = [("decode", load) for load in LOADS]
    wanted += [(name, None) for name in names if name != "decode"]  # type: ignore[misc]
    theirs = reference()
    for name, share in wanted:
        label = f"pipeline, {name}" + ("" if share is None else f", hw_decoder_load={share:g}")
        for who, library in (("ours", None), ("the reference's", theirs)):
            if library is None and who != "ours":
                yield skipped(f"{label}, {who}", lacking("nvidia.dali"))
                continue
            try:
                rate = pipeline_rate(PIPELINES[name], folder, options, share, library)
            except Exception as error:  # noqa: BLE001  a recipe that fails is a row of the table
                yield skipped(f"{label}, {who}", error)
                continue
            yield {"name": f"{label}, {who}", "images_per_second": rate}
    for name in names:
        rate = pipeline_rate(PIPELINES[name], folder, options, on_gpu=False)
        yield {"name": f"pipeline, {name}, ours on the CPU", "images_per_second": rate}


def printed(rows: Iterable[Row]) -> list[Row]:
    """The rows, each printed as soon as it is there."""
    found = []
    for row in rows:
        figures = [
            f"{value:12,.2f} {key.replace('_', ' ')}"
            for key, value in row.items()
            if isinstance(value, float)
        ]
        print(
            f"{row['name']:58}", "skipped: " + row["skipped"] if "skipped" in row else "", *figures
        )
        found.append(row)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=4096)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--samples", type=int, default=256, help="of the operators' batches")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.2, help="of a round, at least")
    parts = ("copies", "operators", "decoding", "recipes")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    options = parser.parse_args()
    try:
        check_gpu(0)
    except OperatorRuntimeError as error:
        sys.exit(f"benchmarks/gpu.py needs a GPU: {error.problem}")
    gpu = gpu_at(0)
    gradiva.set_num_threads(options.threads)
    operator_calls.BATCH = options.samples
    clock = Clock(gpu.stream.synchronize, options.rounds, options.seconds)
    rows = {"copies": printed(copies(gpu, clock, COPIED))}
    copy = next(r for r in rows["copies"] if r["name"] == "device to device")
    with tempfile.TemporaryDirectory() as folder:
        make_data(Path(folder), min(options.images, FILES) if "recipes" in options.only else 0)
        work: dict[str, Callable[[], Iterable[Row]]] = {
            "operators": lambda: operators(
                clock,
                EXTRA | CALLS,
                Used(inputs_for(gradiva.as_batch)),
                copy["gigabytes_per_second"],
            ),
            "decoding": lambda: decode_rows(gpu, clock, options),
            "recipes": lambda: recipe_rows(folder, options),
        }
        for part, make in work.items():
            if part in options.only:
                rows[part] = printed(make())
    if options.only == parts:
        flat = [{"part": part, **row} for part, found in rows.items() for row in found]
        save("gpu", flat, machine_with_gpu=machine(gpu), options=vars(options))


if __name__ == "__main__":
    main()
