"""`noise.shot`: the noise of counting single events, such as photons."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.cuda.launch import Launch
from gradiva.eager.jit.convert import convert_sat
from gradiva.eager.jit.jit import jit
from gradiva.eager.operators.arguments import FloatArg
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.operators.type_rules import require_dtype
from gradiva.eager.types.batch_shape import Geometry
from gradiva.eager.types.dtypes import bool_, float16, float32, float64, int16
from gradiva.eager.types.sample_type import SampleType

from .poisson import SUMMED, falling, poisson_from_word
from .words import NOISY, STRIP, disturb, launch_noise, random_words, require_range

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Sampled

__all__ = ["shot"]


@operator("noise.shot", random=True)
def shot(input: SampleType, /, *, factor: FloatArg = 12.0, **common: Unpack[Sampled]) -> SampleType:
    """Replace each element x by factor * k, with k from a Poisson distribution of mean x / factor.

    input: any dtype but bool, any rank and layout: the expected values. Where x / factor is not
        positive, or NaN, the result is 0.
    factor: what one event adds; 0 leaves the sample as it is; may differ per sample. By default 12,
        which is what the reference does; its documents say 20.
    rng, seed: see `gradiva.random`.

    k is the Poisson quantile of the element's random 32-bit word (`ops/noise/poisson.py`); the
    words are those of `random.normal`. The product is rounded half away from zero for integers, and
    saturates.

    Returns samples of the same shapes, dtype and layout. Raises OperatorTypeError for bool,
    OperatorValueError for a factor that is not finite.
    """
    require_dtype(input, NOISY)
    return input


@shot.shapes
def _shapes(call: Call) -> Geometry:
    return call.inputs[0].geometry


@jit
def _count_events(
    src: Any,
    src_offsets: Any,
    out: Any,
    offsets: Any,
    counts: Any,
    positions: Any,
    seed: Any,
    number: Any,
    factors: Any,
    begin: int,
    end: int,
) -> None:
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
                # Neighbours are often alike: the exponential is kept.
                if mean != before and mean > 0.0 and mean <= SUMMED:
                    before, none = mean, falling(mean)
                target[k] = convert_sat(poisson_from_word(mean, none, words[k]) * factor, out)


def _factor(call: Call) -> Any:
    """(N,) float32. Raises OperatorValueError."""
    factor, most = call["factor"], float(np.finfo(np.float32).max)
    require_range(call, "factor", factor, -most, most, "a finite number")
    return factor


@shot.cpu
def _cpu(call: Call) -> None:
    disturb(call, _count_events, _factor(call))


@shot.gpu
def _gpu(call: Call) -> Launch:
    return launch_noise(call, Path(__file__).with_name("shot.cuh"), _factor(call))


@shot.cases
def _cases() -> list[Case]:
    images = samples((4, 5, 3), (1, 7, 3), (40, 31, 3))
    floats = samples((7, 300), dtype=float32, layout="", high=2000)
    half = samples((5, 6), layout="HW", dtype=float16, high=9)
    nothing = samples((3, 4), dtype=int16, layout="HW", low=-5, high=0)
    return [
        case("default", images, seed=1).no_oracle(),
        case("no noise", images, factor=0).equals([images.at(i) for i in range(3)]).no_oracle(),
        case("nothing", nothing, factor=3.0).equals([np.zeros((3, 4), np.int16)]),
        case("no chance", images, factor=1e20).equals(
            [np.zeros_like(images.at(i)) for i in range(3)]
        ),
        case("per sample", images, factor=[1.0, 0.0, 2.5], seed=2).no_oracle(),
        case("floats", floats, factor=0.7, seed=3).no_oracle(),
        case("doubles", samples((9, 9), layout="", dtype=float64), factor=1e-9, seed=3).no_oracle(),
        case("half", half, factor=0.1, seed=3).no_oracle(),
        case("planes", samples((3, 4, 5), layout="CHW"), seed=4).no_oracle(),
        case("empty", samples()).equals([]),
        case("bool", samples((2, 2), dtype=bool_, layout="HW")).type_error("bool"),
        case("infinite", images, factor=float("inf")).value_error("`factor`"),
        case("wrong length", images, factor=[1.0]).value_error("`factor`"),
    ]
