"""`noise.shot`: the noise of counting single events, such as photons."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.rows.convert import convert_sat
from gradiva.eager.types.arrays import Draws, F32Vector, I64Vector, Slabs

from .poisson import LONGEST, SUMMED, falling, fill_sums, poisson_from_sums, poisson_from_word
from .words import NOISY, STRIP, disturb, launch_noise, random_words

_MANY: Final = 1 << 13
"""So many bytes of a sample pay for the tables."""


@op.operator("noise.shot", schema="noise__Shot", random=True, same_shapes=True)
def shot(
    input: op.SampleType, /, *, factor: op.FloatArg = 12.0, **common: op.Unpack[op.Sampled]
) -> op.SampleType:
    """Add shot noise: draw each element from a Poisson distribution around its value.

    An element x becomes factor * k, with k from a Poisson distribution of mean x / factor. k is the
    Poisson quantile of the element's random 32-bit word (`ops/noise/poisson.py`); the words are
    those of `random.normal`. The product is rounded half away from zero for integers, and
    saturates.

    Args:
        input: any dtype but bool, any rank and layout: the expected values. Where x / factor is not
            positive, or NaN, the result is 0.
        factor: what one event adds; 0 leaves the sample as it is; may differ per sample. By default
            12, as in DALI, whose documentation says 20.

    Returns:
        Samples of the same shapes, dtype and layout.

    Raises:
        OperatorTypeError: for bool.
        OperatorValueError: for a factor that is not finite.

    Example:
        image = gradiva.noise.shot(gradiva.imread("cat.jpg"), factor=10.0)
    """
    op.require_dtype(input, NOISY)
    return input


@op.jit
def _count_events(
    slabs: Slabs, counts: I64Vector, draws: Draws, factors: F32Vector, begin: int, end: int
) -> None:
    """Replace values by Poisson variables of the same mean, in units of `factors`.

    counts: the elements of each sample; draws: what random values depend on.
    """
    src, src_offsets, out, offsets = slabs
    positions, seed, number = draws
    words = np.empty(STRIP, np.uint32)
    for i in range(begin, end):
        position, factor = np.uint64(positions[i]), np.float64(factors[i])
        before, none = 0.0, 1.0
        for first in range(0, counts[i], STRIP):
            count = min(STRIP, counts[i] - first)
            s, d = src_offsets[i] + first, offsets[i] + first
            source, target = src[s : s + count], out[d : d + count]
            if factor == 0.0:
                target[:] = source
                continue
            random_words(first, number, position, seed, words[: (count + 3) // 4 * 4])
            for k in range(count):
                mean = np.float64(source[k]) / factor
                # Neighbors are often alike: the exponential is kept.
                if mean != before and mean > 0.0 and mean <= SUMMED:
                    before, none = mean, falling(mean)
                target[k] = convert_sat(poisson_from_word(mean, none, words[k]) * factor, out)


@op.jit
def _count_of_bytes(
    slabs: Slabs, counts: I64Vector, draws: Draws, factors: F32Vector, begin: int, end: int
) -> None:
    """The same for bytes, of which there are so few that all quantiles are put down beforehand."""
    src, src_offsets, out, offsets = slabs
    positions, seed, number = draws
    words = np.empty(STRIP, np.uint32)
    sums, starts = np.empty((256, LONGEST), np.float64), np.empty((256, 256), np.uint8)
    before, known = 0.0, 0
    for i in range(begin, end):
        position, factor = np.uint64(positions[i]), np.float64(factors[i])
        if counts[i] < _MANY or not factor > 0.0:
            _count_events(slabs, counts, draws, factors, i, i + 1)
            continue
        if factor != before:
            before, known = factor, fill_sums(factor, sums, starts)
        for first in range(0, counts[i], STRIP):
            count = min(STRIP, counts[i] - first)
            s, d = src_offsets[i] + first, offsets[i] + first
            source, target = src[s : s + count], out[d : d + count]
            random_words(first, number, position, seed, words[: (count + 3) // 4 * 4])
            for k in range(count):
                if source[k] < known:
                    events = poisson_from_sums(source[k], words[k], sums, starts)
                else:
                    events = poisson_from_word(np.float64(source[k]) / factor, 1.0, words[k])
                target[k] = convert_sat(events * factor, out)


def _cpu(call: op.Call) -> None:
    of_bytes = call.inputs[0].dtype is op.uint8
    disturb(call, _count_of_bytes if of_bytes else _count_events, _factor(call))


def _factor(call: op.Call) -> Any:
    """(N,) float32. Raises OperatorValueError."""
    factor, most = call["factor"], float(np.finfo(np.float32).max)
    op.refuse_samples(~((factor >= -most) & (factor <= most)), "factor", "a finite number", factor)
    return factor


shot.cpu(_cpu)


@shot.gpu
def _gpu(call: op.Call) -> op.Launch:
    file, calls = Path(__file__).with_name("shot.cuh"), (falling, poisson_from_word)
    return launch_noise(call, file, _factor(call), calls=calls)


@shot.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (40, 31, 3))
    floats = op.samples((7, 300), dtype=op.float32, layout="", high=2000)
    half = op.samples((5, 6), layout="HW", dtype=op.float16, high=9)
    nothing = op.samples((3, 4), dtype=op.int16, layout="HW", low=-5, high=0)
    return [
        op.case("default", images, seed=1).no_oracle(),
        op.case("no noise", images, factor=0).equals(images.arrays()).no_oracle(),
        op.case("nothing", nothing, factor=3.0).equals([np.zeros((3, 4), np.int16)]),
        op.case("no chance", images, factor=1e20).each(np.zeros_like),
        op.case("per sample", images, factor=[1.0, 0.0, 2.5], seed=2).no_oracle(),
        op.case("floats", floats, factor=0.7, seed=3).no_oracle(),
        op.case(
            "doubles", op.samples((9, 9), layout="", dtype=op.float64), factor=1e-9, seed=3
        ).no_oracle(),
        op.case("half", half, factor=0.1, seed=3).no_oracle(),
        op.case("planes", op.samples((3, 4, 5), layout="CHW"), seed=4).no_oracle(),
        op.case("empty", op.samples()).equals([]),
        op.case("bool", op.samples((2, 2), dtype=op.bool_, layout="HW")).type_error("bool"),
        op.case("infinite", images, factor=float("inf")).value_error("`factor`"),
        op.case("wrong length", images, factor=[1.0]).value_error("`factor`"),
    ]
