"""What it costs to get a batch into an array of a framework, side by side.

The pipelines make a batch of 64x224x224x3 uint8 that costs nothing: the same array again and again,
not copied on its way in. What is timed is a turn of the iterators, that of DALI with its
usual executor and with `exec_dynamic`, which saves it a copy.

A second part takes batches that a pipeline has made, holds some of them, and compares the pointers
of the framework with those of the pipeline: as many are different as batches were copied.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from nvidia.dali import Pipeline as DALIPipeline
from nvidia.dali import fn as dali_fn
from side_by_side import Row, row, save, versions

import gradiva
from gradiva import fn

SHAPE = (64, 224, 224, 3)
SIZE = int(np.prod(SHAPE))
_SPACE = np.random.default_rng(0).integers(0, 256, SIZE + 64, np.uint8)
# JAX takes memory as it is if its address divides by 64, as that of batches of pipelines does.
DATA = _SPACE[-_SPACE.ctypes.data % 64 :][:SIZE].reshape(SHAPE)
OPTIONS: Any = {"batch_size": SHAPE[0], "num_threads": 1, "prefetch_queue_depth": 1}
STILL: Any = {"exec_async": False, "exec_pipelined": False}
POINTERS = {"pytorch": lambda one: one.data_ptr(), "jax": lambda one: one.unsafe_buffer_pointer()}
KINDS: Any = {"usual executor": STILL, "theirs exec_dynamic": {"exec_dynamic": True}}
HELD = 8


def iterator(root: str, name: str) -> Any:
    """The iterator of a framework: ours, or that of DALI."""
    return importlib.import_module(f"{root}.plugin.{name}").DALIGenericIterator


def mine() -> Any:
    pipe = gradiva.Pipeline(**OPTIONS, **STILL)
    with pipe:
        pipe.set_outputs(fn.external_source(lambda: DATA, no_copy=True))
    return pipe


def other(**more: Any) -> Any:
    pipe = DALIPipeline(device_id=None, **OPTIONS, **more)
    with pipe:
        pipe.set_outputs(dali_fn.external_source(lambda: DATA, no_copy=True))
    return pipe


def times(turn: Callable[[], Any], calls: int) -> tuple[float, float]:
    """Milliseconds of a turn: of the clock, and of all CPUs."""
    began, used = time.perf_counter(), time.process_time()
    for _ in range(calls):
        turn()
    return ((time.perf_counter() - began) / calls * 1e3, (time.process_time() - used) / calls * 1e3)


def compared(name: str, ours: Any, theirs: Any, rounds: int, calls: int) -> list[Row]:
    """Rows of two rivals that are timed in turns, after some calls that are not counted."""
    times(ours, calls), times(theirs, calls)
    pairs = [(times(ours, calls), times(theirs, calls)) for _ in range(rounds)]
    rows = []
    for number, unit in enumerate(("ms", "ms CPU")):
        left, right = ([pair[side][number] for pair in pairs] for side in (0, 1))
        rows.append(row(name, left, right, unit, bigger=False))
    return rows


def hand_over(name: str, rounds: int, calls: int) -> list[Row]:
    """The iterators of a framework."""
    rows = []
    ours = iterator("gradiva", name)(mine(), ["data"])
    for kind, more in KINDS.items():
        theirs = iterator("nvidia.dali", name)(other(**more), ["data"])
        rows += compared(f"{name}, {kind}", ours.__next__, theirs.__next__, rounds, calls)
    return rows


def without(rounds: int, calls: int) -> list[Row]:
    """The pipelines alone, to be subtracted."""
    rows, ours = [], mine()
    for kind, more in KINDS.items():
        rows += compared(f"pipeline alone, {kind}", ours.run, other(**more).run, rounds, calls)
    return rows


def copies(name: str) -> dict[str, Any]:
    """How many of some held batches do not lie where the pipeline has made them."""
    pointers = []

    class Noting(iterator("gradiva", name)):  # type: ignore[misc]
        def _convert(self, output: Any, batch: Any) -> Any:
            pointers.append(batch.as_array().ctypes.data)
            return super()._convert(output, batch)

    @gradiva.pipeline_def(**OPTIONS)
    def flipped() -> Any:
        return fn.flip(fn.external_source(lambda: DATA, no_copy=True))

    loop = Noting(flipped(), ["data"])
    turns = [next(loop) for _ in range(HELD)]
    arrays = [(turn[0] if isinstance(turn, list) else turn)["data"] for turn in turns]
    got = [POINTERS[name](one) for one in arrays]
    return {
        "batches": HELD,
        "copies": sum(one != made for one, made in zip(got, pointers, strict=True)),
        "buffers": len(set(got)),
        "aligned_to_64_bytes": all(one % 64 == 0 for one in got),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--only", choices=list(POINTERS))
    options = parser.parse_args()
    rows: list[Row] = []
    facts = {}
    if options.only is None:
        rows = without(options.rounds, options.calls)
    for name in POINTERS if options.only is None else [options.only]:
        rows += hand_over(name, options.rounds, options.calls)
        facts[name] = copies(name)
        print(name, facts[name])
    if options.only is None:
        more = versions("torch", "jax", "jaxlib", "nvidia-dali-cuda120")
        save("frameworks", rows, pointers=facts, packages=more)


if __name__ == "__main__":
    main()
