"""`random.normal`: normally distributed values."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.random.philox import normal_from_word, philox
from gradiva.eager.types.arrays import Draws, F32Vector, I64Vector

from .shapes import drawn_shapes, drawn_type, fill, launch_draws


@op.maker(
    "random.normal",
    schema="random__Normal",
    formerly=("normal_distribution",),
    inputs=(0, 1),
    random=True,
)
def normal(
    shape_like: op.SampleType | op.Value | None = None,
    /,
    *,
    mean: op.FloatArg = 0.0,
    stddev: op.FloatArg = 1.0,
    shape: op.IntsArg | None = None,
    dtype: op.DTypeLike | None = None,
    **common: op.Unpack[op.Sampled],
) -> op.SampleType:
    """Draw normally distributed values, mean + stddev * z.

    z is the normal quantile of a random 32-bit word (`eager.rng.normal_from_word`), computed in
    float64 by multiplications and additions only, so that every machine gets the same bits.

    Args:
        mean, stddev: the mean and the standard deviation; may differ per sample.
        shape_like, shape: as in `uniform`.
        dtype: float32 by default; values are rounded half away from zero for integers, and
            saturate.

    Returns:
        Samples of the drawn shape.

    Raises:
        OperatorTypeError: for parameters that are not numbers.

    Example:
        gradiva.random.normal(mean=1.0, stddev=0.1, shape=(2, 3)).shape  # (2, 3)
    """
    return drawn_type(shape_like, shape, dtype, op.float32)


normal.shapes(drawn_shapes)


@op.jit
def _drawn(word: np.uint32, mean: np.float32, stddev: np.float32) -> np.float32:
    """A normal variable, from a random word."""
    return np.float32(np.float64(mean) + np.float64(stddev) * normal_from_word(word))


@op.jit
def _normal(
    places: tuple[F32Vector, I64Vector, I64Vector],
    draws: Draws,
    mean: F32Vector,
    stddev: F32Vector,
    begin: int,
    end: int,
) -> None:
    """Fill samples with normal variables.

    places: the data, and the offset and the number of elements of each sample; draws: what random
    values depend on; mean, stddev: of each sample.
    """
    out, offsets, counts = places
    positions, seed, number = draws
    for i in range(begin, end):
        position = np.uint64(positions[i])
        for first in range(0, counts[i], 4):
            words = philox(np.uint32(first // 4), number, position, seed)
            for k in range(min(4, counts[i] - first)):
                out[offsets[i] + first + k] = _drawn(words[k], mean[i], stddev[i])


normal.cpu(lambda call: fill(call, _normal, np.float32, call["mean"], call["stddev"]))


@normal.gpu
def _gpu(call: op.Call) -> op.Launch:
    moments = np.stack([call["mean"], call["stddev"]], axis=1).astype(np.float32)
    file = Path(__file__).with_name("normal.cuh")
    return launch_draws(call, file, moments, _drawn)


@normal.cases
def _cases() -> list[op.Case]:
    like = op.samples((4, 5, 3), (1, 7, 3))
    return [
        op.case("scalars", batch_size=5, seed=1).no_oracle(),
        op.case(
            "per sample", batch_size=2, mean=[0, 5], stddev=[1, 0], shape=(7,), seed=2
        ).no_oracle(),
        op.case("like, uint8", like, mean=128, stddev=90, dtype=op.uint8, seed=3).no_oracle(),
        op.case("empty", batch_size=0).equals([]).no_oracle(),
        op.case("not a number", mean="high").type_error("`mean`"),
    ]
