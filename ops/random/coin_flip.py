"""`random.coin_flip`: 1 with a given probability, else 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.random.philox import philox

from .shapes import drawn_shapes, drawn_type, fill, launch_draws


@op.maker(
    "random.coin_flip",
    schema="random__CoinFlip",
    formerly=("coin_flip",),
    inputs=(0, 1),
    random=True,
)
def coin_flip(
    shape_like: op.SampleType | op.Value | None = None,
    /,
    *,
    probability: op.FloatArg = 0.5,
    shape: op.IntsArg | None = None,
    dtype: op.DTypeLike | None = None,
    **common: op.Unpack[op.Sampled],
) -> op.SampleType:
    """Draw 1 with `probability`, else 0.

    probability: from 0 to 1; may differ per sample.
    shape_like, shape: as in `uniform`. dtype: int32 by default.
    batch_size, rng, seed: see `gradiva.random`.

    A value is 1 if its random 32-bit word is below probability * 2**32. Raises OperatorValueError
    for a probability outside 0..1.
    """
    return drawn_type(shape_like, shape, dtype, op.int32)


coin_flip.shapes(drawn_shapes)


@op.jit
def _flip_coins(
    out: Any,
    offsets: Any,
    counts: Any,
    positions: Any,
    seed: Any,
    number: Any,
    thresholds: Any,
    begin: int,
    end: int,
) -> None:
    for i in range(begin, end):
        position = np.uint64(positions[i])
        for first in range(0, counts[i], 4):
            words = philox(np.uint32(first // 4), number, position, seed)
            for k in range(min(4, counts[i] - first)):
                out[offsets[i] + first + k] = np.int32(np.uint64(words[k]) < thresholds[i])


def _thresholds(call: op.Call) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """(N,): words below these give 1."""
    probability = call["probability"]
    bad = ~((probability >= 0) & (probability <= 1))
    op.refuse_samples(bad, "probability", "a number from 0 to 1", probability)
    thresholds: np.ndarray[Any, np.dtype[np.uint64]]
    thresholds = (probability.astype(np.float64) * 2.0**32).astype(np.uint64)
    return thresholds


@coin_flip.cpu
def _cpu(call: op.Call) -> None:
    fill(call, _flip_coins, np.int32, _thresholds(call))


@coin_flip.gpu
def _gpu(call: op.Call) -> op.Launch:
    file = Path(__file__).with_name("coin_flip.cuh")
    return launch_draws(call, file, _thresholds(call).reshape(-1, 1))


@coin_flip.cases
def _cases() -> list[op.Case]:
    like = op.samples((4, 5, 3), (1, 7, 3))
    zeros = [np.zeros((), np.int32)] * 3
    return [
        op.case("scalars", batch_size=5, seed=1).no_oracle(),
        op.case("never", batch_size=3, probability=0, seed=1).equals(zeros).no_oracle(),
        op.case("always", batch_size=3, probability=1, seed=1)
        .equals([np.ones((), np.int32)] * 3)
        .no_oracle(),
        op.case("per sample", batch_size=2, probability=[0.0, 1.0], seed=1)
        .equals([np.array(0, np.int32), np.array(1, np.int32)])
        .no_oracle(),
        op.case("like, bool", like, dtype=op.bool_, seed=2).no_oracle(),
        op.case("empty", batch_size=0).equals([]).no_oracle(),
        op.case("bad probability", batch_size=2, probability=1.5).value_error("`probability`"),
    ]
