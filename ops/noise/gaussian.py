"""`noise.gaussian`: add normally distributed noise."""

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
from gradiva.eager.types.dtypes import bool_, float16, float32, int32
from gradiva.eager.types.sample_type import SampleType

from .words import NOISY, STRIP, disturb, launch_noise, normal_values, random_words

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Sampled

__all__ = ["gaussian"]


@operator("noise.gaussian", random=True)
def gaussian(
    input: SampleType, /, *, mean: FloatArg = 0.0, stddev: FloatArg = 1.0, **common: Unpack[Sampled]
) -> SampleType:
    """Add normally distributed values, x + mean + stddev * z, to each element.

    input: any dtype but bool, any rank and layout.
    mean, stddev: in the units of the input; may differ per sample.
    rng, seed: see `gradiva.random`.

    z is the value that `random.normal` draws for the same key, sample and element. The sum is
    float64; for integers it is rounded half away from zero, and saturates.

    Returns samples of the same shapes, dtype and layout. Raises OperatorTypeError for bool.
    """
    require_dtype(input, NOISY)
    return input


@gaussian.shapes
def _shapes(call: Call) -> Geometry:
    return call.inputs[0].geometry


@jit
def _add_noise(
    src: Any,
    src_offsets: Any,
    out: Any,
    offsets: Any,
    counts: Any,
    positions: Any,
    seed: Any,
    number: Any,
    mean: Any,
    stddev: Any,
    begin: int,
    end: int,
) -> None:
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


@gaussian.cpu
def _cpu(call: Call) -> None:
    disturb(call, _add_noise, call["mean"], call["stddev"])


@gaussian.gpu
def _gpu(call: Call) -> Launch:
    return launch_noise(
        call, Path(__file__).with_name("gaussian.cuh"), call["mean"], call["stddev"]
    )


@gaussian.cases
def _cases() -> list[Case]:
    images = samples((4, 5, 3), (1, 7, 3), (40, 31, 3))
    whole = samples((3, 4), dtype=int32, layout="HW")
    half = samples((5, 6), layout="HW", dtype=float16)
    return [
        case("default", images, seed=1).no_oracle(),
        case("no noise", images, stddev=0).equals([images.at(i) for i in range(3)]),
        case("shifted", whole, stddev=0.0, mean=0.5).equals(
            [np.where(whole.at(0) < 0, whole.at(0), whole.at(0) + 1)]
        ),
        case("per sample", images, mean=[0, 5, -200], stddev=[1, 0, 20], seed=2).no_oracle(),
        case("floats", samples((7, 300), dtype=float32, layout=""), stddev=0.1, seed=3).no_oracle(),
        case("half", half, stddev=0.1, seed=3).no_oracle(),
        case("planes", samples((3, 4, 5), layout="CHW"), stddev=9, seed=4).no_oracle(),
        case("empty", samples()).equals([]),
        case("bool", samples((2, 2), dtype=bool_, layout="HW")).type_error("bool"),
        case("not a number", images, mean="high").type_error("`mean`"),
        case("wrong length", images, stddev=[1.0]).value_error("`stddev`"),
    ]
