"""How long it takes to resume in the middle of an epoch of 10 million samples, and how large the
state is: with iterators, by other numbers of processes.

The data set is a table whose rows cost nothing, shuffled, so that what is timed is finding the
place: the order of the epoch is computed once. A second part counts what a batch costs more with
`sharding="interleaved"` than with contiguous shards.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Any

import numpy as np
from side_by_side import RESULTS

from gradiva import fn, pipeline_def
from gradiva.capture.iterators.iterator import LastBatchPolicy, PipelineIterator

SIZE = 10_000_000


class Rows:
    """So many rows, of a number each."""

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> Any:
        return {"row": np.int64(index)}


@pipeline_def(batch_size=64, num_threads=2, seed=7)
def training(rank: int, world: int, sharding: str) -> Any:
    return fn.readers.table(
        source=Rows(),
        columns=["row"],
        random_shuffle=True,
        name="reader",
        shard_id=rank,
        num_shards=world,
        sharding=sharding,
    )


def loop(rank: int, world: int, sharding: str = "interleaved") -> PipelineIterator:
    """The iterator of a process, over its pipeline."""
    return PipelineIterator(
        training(rank, world, sharding),
        ["row"],
        reader_name="reader",
        last_batch_policy=LastBatchPolicy.PARTIAL,
        prepare_first_batch=False,
    )


def resumed(state: dict[str, Any], rank: int, world: int) -> tuple[float, float]:
    """Seconds from a state to the first batch: of the clock, and of all CPUs."""
    made = loop(rank, world)
    began, used = time.perf_counter(), time.process_time()
    made.load_state_dict(state)
    next(made)
    return time.perf_counter() - began, time.process_time() - used


def turn(sharding: str, batches: int) -> float:
    """Microseconds of a batch."""
    made = loop(0, 8, sharding)
    next(made)
    began = time.perf_counter()
    for _ in range(batches):
        next(made)
    return (time.perf_counter() - began) / batches * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=300)
    options = parser.parse_args()
    begun = loop(3, 8)
    begun._done = 9_000  # as if so many batches had been taken
    state = begun.state_dict()
    size = len(json.dumps(state))
    print(f"the state: {size} bytes, {state}")
    resumed(state, 0, 1)  # compiles
    found = [resumed(state, 1, 3) for _ in range(options.rounds)]
    clock, used = (statistics.median(column) for column in zip(*found, strict=True))
    print(f"resuming: {clock:.3f} s, of all CPUs {used:.3f} s")
    turns: dict[str, list[float]] = {"interleaved": [], "contiguous": []}
    for _ in range(options.rounds):
        for name, taken in turns.items():
            taken.append(turn(name, options.batches))
    for name, taken in turns.items():
        print(f"a batch, {name}: {statistics.median(taken):.0f} us")
    facts = {"samples": SIZE, "state_bytes": size, "seconds": found, "batch_us": turns}
    (RESULTS / "resuming.json").write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
