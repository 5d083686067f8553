"""`batch_permutation`: random numbers of samples, for `permute_batch`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradiva.eager import extension as op
from gradiva.eager.random.philox import philox


@op.maker("batch_permutation", random=True)
def batch_permutation(
    *,
    allow_repetitions: bool = False,
    no_fixed_points: bool = False,
    **common: op.Unpack[op.Sampled],
) -> op.SampleType:
    """The numbers of the samples of a batch, 0 to N - 1, in random order.

    allow_repetitions: draw each number for itself; some then come several times, others not at all.
    no_fixed_points: no sample gets its own number (where there are at least two).
    batch_size, rng, seed: see `gradiva.random`. Without `batch_size` dynamic mode makes the only
    permutation of one sample, 0.

    Returns int32 scalars. Each permutation, or each without fixed points, is as likely as the
    others: Fisher and Yates' shuffle ("Statistical tables", 1938), repeated until no point is
    fixed. The result is about the whole batch: it depends on the position of the batch's first
    sample, and on the batch size.
    """
    return op.SampleType(op.int32, 0, "")


@batch_permutation.shapes
def _shapes(call: op.Call) -> op.Geometry:
    return op.Geometry.equal(call.size, ())


@op.jit
def below(number: int, block: int, call: Any, position: Any, seed: Any) -> int:
    """A random integer from 0 to number - 1: the high half of number times a random word."""
    words = philox(np.uint32(block // 4), call, position, seed)
    word = words[0]
    for k in range(1, 4):
        if block % 4 == k:
            word = words[k]
    return int((np.uint64(word) * np.uint64(number)) >> np.uint64(32))


@op.jit
def permute(
    out: NDArray[np.int32], repeat: bool, move: bool, call: Any, position: Any, seed: Any
) -> None:
    """Fill `out` with numbers of samples."""
    count = out.size
    block = 0
    if repeat:
        for i in range(count):
            if move and count > 1:
                drawn = below(count - 1, i, call, position, seed)
                out[i] = drawn + (1 if drawn >= i else 0)
            else:
                out[i] = below(count, i, call, position, seed)
        return
    # A permutation is free of fixed points with probability 1/e: 99 attempts fail in 1e-20.
    for attempt in range(100):
        # The last resort leaves the own place out at each draw, which gives a single cycle.
        away = 1 if move and attempt == 99 and count > 1 else 0
        for i in range(count):
            out[i] = i
        for i in range(count - 1, 0, -1):
            other = below(i + 1 - away, block, call, position, seed)
            block += 1
            out[i], out[other] = out[other], out[i]
        fixed = False
        for i in range(count):
            fixed = fixed or out[i] == i
        if not (move and fixed and count > 1):
            return


@batch_permutation.cpu
def _cpu(call: op.Call) -> None:
    assert call.key is not None
    assert call.positions is not None
    permute(
        call.outputs[0].data[: call.size],
        call["allow_repetitions"],
        call["no_fixed_points"],
        np.uint32(call.key.number),
        np.uint64(call.positions[0]),
        np.uint64(call.key.seed),
    )


@batch_permutation.cases
def _cases() -> list[op.Case]:
    swapped = [np.array(1, np.int32), np.array(0, np.int32)]
    return [
        op.case("some", batch_size=9, seed=1).no_oracle(),
        op.case("one", batch_size=1, seed=1).equals([np.array(0, np.int32)]).no_oracle(),
        op.case("two, moved", batch_size=2, no_fixed_points=True, seed=1)
        .equals(swapped)
        .no_oracle(),
        op.case(
            "two, drawn elsewhere",
            batch_size=2,
            no_fixed_points=True,
            allow_repetitions=True,
            seed=1,
        )
        .equals(swapped)
        .no_oracle(),
        op.case("repetitions", batch_size=5, allow_repetitions=True, seed=1).no_oracle(),
        op.case("empty", batch_size=0).equals([]).no_oracle(),
        op.case("not a flag", batch_size=2, no_fixed_points=3).type_error("`no_fixed_points`"),
    ]
