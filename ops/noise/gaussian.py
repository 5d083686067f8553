"""`noise.gaussian`: add normally distributed noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.rows.convert import convert_sat
from gradiva.eager.types.arrays import Draws, F32Vector, I64Vector, Slabs

from .words import NOISY, STRIP, disturb, launch_noise, normal_values, random_words


@op.operator("noise.gaussian", schema="noise__Gaussian", random=True, same_shapes=True)
def gaussian(
    input: op.SampleType,
    /,
    *,
    mean: op.FloatArg = 0.0,
    stddev: op.FloatArg = 1.0,
    **common: op.Unpack[op.Sampled],
) -> op.SampleType:
    """Add Gaussian noise: each element x becomes x + mean + stddev * z.

    z is the value that `random.normal` draws for the same key, sample and element. The sum is
    float64; for integers it is rounded half away from zero, and saturates.

    Args:
        input: any dtype but bool, any rank and layout.
        mean, stddev: the mean and the standard deviation of the noise, in the units of the input;
            may differ per sample.

    Returns:
        Samples of the same shapes, dtype and layout.

    Raises:
        OperatorTypeError: for bool.

    Example:
        image = gradiva.noise.gaussian(gradiva.imread("cat.jpg"), stddev=20.0)
    """
    op.require_dtype(input, NOISY)
    return input


@op.jit
def _add_noise(
    slabs: Slabs,
    counts: I64Vector,
    draws: Draws,
    mean: F32Vector,
    stddev: F32Vector,
    begin: int,
    end: int,
) -> None:
    """Add normal noise to samples.

    counts: the elements of each; draws: what random values depend on; mean, stddev: of each sample,
    in units of its values.
    """
    src, src_offsets, out, offsets = slabs
    positions, seed, number = draws
    words, values = np.empty(STRIP, np.uint32), np.empty(STRIP, np.float64)
    for i in range(begin, end):
        position = np.uint64(positions[i])
        shift, scale = np.float64(mean[i]), np.float64(stddev[i])
        for first in range(0, counts[i], STRIP):
            count = min(STRIP, counts[i] - first)
            random_words(first, number, position, seed, words[: (count + 3) // 4 * 4])
            normal_values(words[:count], values[:count])
            s, d = src_offsets[i] + first, offsets[i] + first
            source, target = src[s : s + count], out[d : d + count]
            for k in range(count):
                target[k] = convert_sat(np.float64(source[k]) + (shift + scale * values[k]), out)


gaussian.cpu(lambda call: disturb(call, _add_noise, call["mean"], call["stddev"]))


@gaussian.gpu
def _gpu(call: op.Call) -> op.Launch:
    return launch_noise(
        call, Path(__file__).with_name("gaussian.cuh"), call["mean"], call["stddev"]
    )


@gaussian.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (40, 31, 3))
    whole = op.samples((3, 4), dtype=op.int32, layout="HW")
    half = op.samples((5, 6), layout="HW", dtype=op.float16)
    return [
        op.case("default", images, seed=1).no_oracle(),
        op.case("no noise", images, stddev=0).equals(images.arrays()),
        op.case("shifted", whole, stddev=0.0, mean=0.5).equals(
            [np.where(whole.at(0) < 0, whole.at(0), whole.at(0) + 1)]
        ),
        op.case("per sample", images, mean=[0, 5, -200], stddev=[1, 0, 20], seed=2).no_oracle(),
        op.case(
            "floats", op.samples((7, 300), dtype=op.float32, layout=""), stddev=0.1, seed=3
        ).no_oracle(),
        op.case("half", half, stddev=0.1, seed=3).no_oracle(),
        op.case("planes", op.samples((3, 4, 5), layout="CHW"), stddev=9, seed=4).no_oracle(),
        op.case("empty", op.samples()).equals([]),
        op.case("bool", op.samples((2, 2), dtype=op.bool_, layout="HW")).type_error("bool"),
        op.case("not a number", images, mean="high").type_error("`mean`"),
        op.case("wrong length", images, stddev=[1.0]).value_error("`stddev`"),
    ]
