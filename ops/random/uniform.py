"""Values that are all as likely: `random.uniform`, and `random.coin_flip`, of two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.random.philox import philox
from gradiva.eager.types.arrays import Draws, F32Table, F32Vector, I32Vector, I64Vector, U64Vector

from .shapes import drawn_shapes, drawn_type, fill, launch_draws


@op.maker(
    "random.uniform", schema="random__Uniform", formerly=("uniform",), inputs=(0, 1), random=True
)
def uniform(
    shape_like: op.SampleType | op.Value | None = None,
    /,
    *,
    range: op.FloatsArg | None = None,
    values: op.FloatsArg | None = None,
    shape: op.IntsArg | None = None,
    dtype: op.DTypeLike | None = None,
    **common: op.Unpack[op.Sampled],
) -> op.SampleType:
    """Draw uniformly distributed values.

    Values are multiples of (high - low) / 2**24, computed as low + u * (high - low) in float32.

    Args:
        shape_like: a batch whose samples' shapes are taken.
        shape: the shape of a sample, which may differ per sample. Without it and `shape_like`, a
            sample is a scalar.
        range: (low, high), low included and high not; (-1, 1) by default.
        values: draw one of these instead, all with the same probability. Both may differ per
            sample.
        dtype: float32 by default; values are rounded half away from zero for integers.

    Returns:
        Samples of the drawn shape.

    Raises:
        OperatorValueError: for a range that is empty, or if both `range` and `values` are given.

    Example:
        angles = gradiva.random.uniform(range=(-10.0, 10.0), batch_size=2)
        images = gradiva.rotate(gradiva.imread(["cat.jpg", "coffee.jpg"]), angle=angles)
        gradiva.random.uniform(range=(0.0, 1.0), shape=(2, 3)).shape  # (2, 3)
    """
    if range is not None and values is not None:
        raise op.OperatorValueError("`range` and `values` exclude each other")
    return drawn_type(shape_like, shape, dtype, op.float32)


uniform.shapes(drawn_shapes)


_UNIT = np.float32(2.0**-24)


@op.jit
def _between(word: np.uint32, low: np.float32, extent: np.float32, top: np.float32) -> np.float32:
    """A value from a random word; top: the largest one below high."""
    return min(low + np.float32(word >> np.uint32(8)) * _UNIT * extent, top)


@op.jit
def _uniform(
    places: tuple[F32Vector, I64Vector, I64Vector],
    draws: Draws,
    low: F32Vector,
    extent: F32Vector,
    top: F32Vector,
    begin: int,
    end: int,
) -> None:
    """Fill samples with values from `low` on, at most `top`.

    places: the data, and the offset and the number of elements of each sample; draws: what random
    values depend on; extent: the length of the interval of each sample.
    """
    out, offsets, counts = places
    positions, seed, number = draws
    for i in range(begin, end):
        position = np.uint64(positions[i])
        for first in range(0, counts[i], 4):
            words = philox(np.uint32(first // 4), number, position, seed)
            for k in range(min(4, counts[i] - first)):
                out[offsets[i] + first + k] = _between(words[k], low[i], extent[i], top[i])


@op.jit
def _choose(
    places: tuple[F32Vector, I64Vector, I64Vector],
    draws: Draws,
    values: F32Table,
    begin: int,
    end: int,
) -> None:
    """Fill samples with elements of their row of `values`; places, draws: as in `_uniform`."""
    out, offsets, counts = places
    positions, seed, number = draws
    size = np.uint64(values.shape[1])
    for i in range(begin, end):
        position = np.uint64(positions[i])
        for first in range(0, counts[i], 4):
            words = philox(np.uint32(first // 4), number, position, seed)
            for k in range(min(4, counts[i] - first)):
                chosen = (np.uint64(words[k]) * size) >> np.uint64(32)
                out[offsets[i] + first + k] = values[i, np.int64(chosen)]


def _values(call: op.Call) -> Any:
    """(N, P): the values to choose from, if there are some; None otherwise."""
    values = call["values"]
    if values is not None and values.shape[1] == 0:
        raise op.wrong_value("values", "at least one", "none")
    return values


def _bounds(call: op.Call) -> tuple[Any, Any, Any]:
    """(N,) each: low, high - low, the largest value below high."""
    bounds = call["range"]
    if bounds is None:
        bounds = np.full((call.size, 2), (-1.0, 1.0), np.float32)
    if bounds.shape[1] != 2:
        raise op.wrong_value("range", "(low, high)", f"{bounds.shape[1]} values")
    low, high = np.ascontiguousarray(bounds[:, 0]), np.ascontiguousarray(bounds[:, 1])
    bad = ~((low < high) & np.isfinite(low) & np.isfinite(high))
    op.refuse_samples(bad, "range", "(low, high) with low < high", bounds)
    return low, high - low, np.nextafter(high, low)


@uniform.cpu
def _uniform_cpu(call: op.Call) -> None:
    values = _values(call)
    if values is not None:
        fill(call, _choose, np.float32, values)
    else:
        fill(call, _uniform, np.float32, *_bounds(call))


@uniform.gpu
def _uniform_gpu(call: op.Call) -> op.Launch:
    values, file = _values(call), Path(__file__)
    if values is not None:
        return launch_draws(call, file.with_name("chosen.cuh"), values)
    bounds = np.stack(_bounds(call), axis=1)
    return launch_draws(call, file.with_name("uniform.cuh"), bounds, _between)


@uniform.cases
def _uniform_cases() -> list[op.Case]:
    like = op.samples((4, 5, 3), (1, 7, 3))
    return [
        op.case("scalars", batch_size=5, seed=1).no_oracle(),
        op.case("range", batch_size=3, range=(0, 10), shape=(2, 3), seed=2).no_oracle(),
        op.case("like", like, range=[3.0, 4.0], seed=3).no_oracle(),
        op.case(
            "values", batch_size=4, values=[1, 5, 9], shape=6, dtype=op.int32, seed=4
        ).no_oracle(),
        op.case(
            "per sample", batch_size=2, range=[[0, 1], [10, 11]], seed=5, dtype=op.float64
        ).no_oracle(),
        op.case("empty", batch_size=0, seed=1).equals([]).no_oracle(),
        op.case("no range", batch_size=2, range=(1, 1)).value_error("`range`"),
        op.case("both", range=(0, 1), values=[1]).value_error("`values`"),
        op.case("negative shape", batch_size=2, shape=(-1,)).value_error("`shape`"),
    ]


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

    A value is 1 if its random 32-bit word is below probability * 2**32.

    Args:
        probability: the probability of 1, from 0 to 1; may differ per sample.
        shape_like, shape: as in `uniform`.
        dtype: int32 by default.

    Returns:
        Samples of the drawn shape.

    Raises:
        OperatorValueError: for a probability outside 0..1.

    Example:
        mirror = gradiva.random.coin_flip(probability=0.5, batch_size=2)
        images = gradiva.flip(gradiva.imread(["cat.jpg", "coffee.jpg"]), horizontal=mirror)
    """
    return drawn_type(shape_like, shape, dtype, op.int32)


coin_flip.shapes(drawn_shapes)


@op.jit
def _flip_coins(
    places: tuple[I32Vector, I64Vector, I64Vector],
    draws: Draws,
    thresholds: U64Vector,
    begin: int,
    end: int,
) -> None:
    """Fill samples with 1 where a random word is below a threshold, else with 0; places, draws: as
    in `_uniform`."""
    out, offsets, counts = places
    positions, seed, number = draws
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


coin_flip.cpu(lambda call: fill(call, _flip_coins, np.int32, _thresholds(call)))


@coin_flip.gpu
def _coin_flip_gpu(call: op.Call) -> op.Launch:
    file = Path(__file__).with_name("coin_flip.cuh")
    return launch_draws(call, file, _thresholds(call).reshape(-1, 1))


@coin_flip.cases
def _coin_flip_cases() -> list[op.Case]:
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
