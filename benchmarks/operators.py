"""Every operator on a batch of 64, ours against DALI's dynamic mode, two threads each.

`python benchmarks/operators.py [name ...]`: all calls of `operator_calls.py`, or those whose name
begins so (then nothing is written).
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import nvidia.dali.experimental.dynamic as ndd
from nvidia.dali import types as dali_types
from operator_calls import CALLS, VIEWS, inputs_for
from side_by_side import Row, in_turns, row, save
from tqdm import tqdm

import gradiva
from gradiva import types

ROUNDS = 5
SECONDS = 0.15
"""What one measurement takes at least, unless a single call takes longer."""
MANY_BATCHES = 70
"""Before decoders of images are measured."""


def wait(outputs: Any) -> None:
    """Until DALI has computed them: its calls return before."""
    for one in outputs if isinstance(outputs, (tuple, list)) else (outputs,):
        one.evaluate()


def repeats(call: Callable[[], Any]) -> int:
    call()
    started = time.perf_counter()
    call()
    return max(1, int(SECONDS / (time.perf_counter() - started)))


def milliseconds(call: Callable[[], Any], count: int) -> float:
    started = time.perf_counter()
    for _ in range(count):
        call()
    return 1e3 * (time.perf_counter() - started) / count


def main() -> None:
    chosen = {
        name: call
        for name, call in CALLS.items()
        if not sys.argv[1:] or name.startswith(tuple(sys.argv[1:]))
    }
    gradiva.set_num_threads(2)
    ndd.set_num_threads(2)
    mine, other = inputs_for(gradiva.as_batch), inputs_for(ndd.as_batch)
    rows: list[Row] = []
    for name, call in tqdm(chosen.items(), desc="operators"):
        left = lambda call=call: call(gradiva, types, mine)  # noqa: E731
        right = lambda call=call: wait(call(ndd, dali_types, other))  # noqa: E731
        try:
            there = repeats(right)
        except Exception as error:  # noqa: BLE001
            reason = (str(error) or repr(error)).strip().splitlines()[0]
            print(f"{name:44} not in the reference on the CPU: {reason[:90]}")
            left()
            continue
        if name.startswith("decoders.image"):  # the first 4,096 images go another way
            for _ in range(MANY_BATCHES):
                left()
                right()
        here = repeats(left)
        ours, theirs = in_turns(
            lambda left=left, here=here: milliseconds(left, here),
            lambda right=right, there=there: milliseconds(right, there),
            ROUNDS,
        )
        rows.append(row(name, ours, theirs, "ms", bigger=False))
    speedups = {one["name"]: 1 / one["ratio"] for one in rows if one["name"] not in VIEWS}
    print(f"geometric mean of theirs / ours: {statistics.geometric_mean(speedups.values()):.2f}")
    print("slower than 0.8:", {k: round(v, 2) for k, v in speedups.items() if v < 0.8} or "none")
    if chosen == CALLS:
        save("operators", rows)


if __name__ == "__main__":
    main()
