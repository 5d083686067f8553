"""`random.beta`: values from 0 to 1 with a beta distribution."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.random.philox import natural_log, normal_from_word, philox
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.arrays import Draws, F32Vector, I64Vector, Vector

from .beta_blocks import BLOCK, ROOM, blocks_of_words, log_gammas, ratios
from .shapes import drawn_shapes, drawn_type, fill

# Few calls need it, and `import gradiva` must stay fast.
_translate: Any = lazy_module("gradiva.eager.execution.cuda_translate")
_KERNEL: Final = op.CudaKernel(
    "beta", ("philox.cuh", "arithmetic.cuh", None, Path(__file__).with_name("beta.cuh")), 128
)


@op.maker("random.beta", schema="random__Beta", inputs=(0, 1), random=True)
def beta(
    shape_like: op.SampleType | op.Value | None = None,
    /,
    *,
    alpha: op.FloatArg = 1.0,
    beta: op.FloatArg = 1.0,
    shape: op.IntsArg | None = None,
    dtype: op.DTypeLike | None = None,
    **common: op.Unpack[op.Sampled],
) -> op.SampleType:
    """Draw values from a beta distribution.

    The density is x**(alpha - 1) * (1 - x)**(beta - 1) / B(alpha, beta). A value is X / (X + Y) of
    two gamma variables, each drawn by rejection (Marsaglia and Tsang: "A simple method for
    generating gamma variables", ACM TOMS 26, 2000), by multiplications, additions and square roots
    only, so that every machine gets the same bits. Values may round to 0 and 1.

    Args:
        alpha, beta: the parameters of the distribution, positive and finite; may differ per sample.
        shape_like, shape: as in `uniform`.
        dtype: float32 (default) or float64.

    Returns:
        Samples of the drawn shape.

    Raises:
        OperatorTypeError: for another dtype.
        OperatorValueError: for other parameters.

    Example:
        images = gradiva.resize(gradiva.imread(["cat.jpg", "coffee.jpg"]), size=(224, 224))
        share = gradiva.random.beta(alpha=0.2, beta=0.2, batch_size=2)
        mixed = share * images + (1.0 - share) * gradiva.permute_batch(images, indices=[1, 0])
    """
    if dtype is not None and dtype not in (op.float32, op.float64):
        raise op.wrong_type("dtype", "float32 or float64", dtype)
    return drawn_type(shape_like, shape, dtype, op.float32)


beta.shapes(drawn_shapes)


@op.jit
def _fraction(high: np.uint32, low: np.uint32) -> float:
    """A number between 0 and 1, both excluded, from 53 random bits."""
    word = (np.uint64(high) << np.uint64(32)) | np.uint64(low)
    return (np.float64(word >> np.uint64(11)) + 0.5) * 2.0**-53


@op.jit
def _log_gamma(
    shape: float, which: int, number: np.uint32, position: np.uint64, seed: np.uint64
) -> float:
    """The logarithm of a gamma variable. Of attempt k the words of block k are used, the first two
    or the last two; for a shape below 1, those of the last block too."""
    larger = shape + 1.0 if shape < 1.0 else shape
    d = larger - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    result = natural_log(d)
    # Of a million attempts one is accepted: each is with a probability above 0.95.
    for attempt in range(1000000):
        words = philox(np.uint32(attempt), number, position, seed)
        x = normal_from_word(words[0] if which == 0 else words[2])
        u: float = (np.float64(words[1] if which == 0 else words[3]) + 0.5) * 2.0**-32
        root = 1.0 + c * x
        if root <= 0.0:
            continue
        v = root * root * root
        log_v = natural_log(v)
        square = x * x
        # For huge shapes the difference below is rounding alone, and rejection next to never.
        if (
            u < 1.0 - 0.0331 * square * square
            or d > 1e10
            or natural_log(u) < 0.5 * square + d * (1.0 - v + log_v)
        ):
            result += log_v
            break
    if shape < 1.0:
        words = philox(np.uint32(0xFFFFFFFF), number, position, seed)
        u = _fraction(words[0], words[1]) if which == 0 else _fraction(words[2], words[3])
        result += natural_log(u) / shape
    return result


@op.jit
def beta_kernel(
    slots: tuple[Vector, I64Vector, I64Vector],
    draws: Draws,
    alphas: F32Vector,
    betas: F32Vector,
    begin: int,
    end: int,
) -> None:
    """Fill samples with values of a beta distribution.

    slots: the data, and the offset and the number of elements of each sample; draws: what random
    values depend on; alphas, betas: the parameters of each sample.
    """
    out, offsets, counts = slots
    positions, seed, number = draws
    shift = np.uint64(32)
    room = np.empty((ROOM, BLOCK))
    words, more = np.empty((4, BLOCK), np.uint64), np.empty((4, BLOCK), np.uint64)
    counters, places = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    seeds = np.empty(BLOCK, np.uint64)
    x, y, values = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    no_x, no_y = np.empty(BLOCK, np.bool_), np.empty(BLOCK, np.bool_)
    for i in range(begin, end):
        alpha, beta = np.float64(alphas[i]), np.float64(betas[i])
        for first in range(0, counts[i], BLOCK):
            n = min(BLOCK, counts[i] - first)
            # Rejection takes any number of words: each value has a stream of its own.
            for k in range(n):
                counters[k] = np.uint64(np.uint32(first + k))
                places[k] = np.uint64(positions[i])
                seeds[k] = seed
            blocks_of_words(counters[:n], places[:n], seeds[:n], number, words[:, :n])
            for k in range(n):
                counters[k] = np.uint64(0)
                seeds[k] = (words[0, k] << shift) | words[1, k]
                places[k] = (words[2, k] << shift) | words[3, k]
            blocks_of_words(counters[:n], places[:n], seeds[:n], number, words[:, :n])
            if alpha < 1.0 or beta < 1.0:
                for k in range(n):
                    counters[k] = np.uint64(0xFFFFFFFF)
                blocks_of_words(counters[:n], places[:n], seeds[:n], number, more[:, :n])
            log_gammas(alpha, words[0, :n], words[1, :n], more[0, :n], more[1, :n], x, no_x, room)
            log_gammas(beta, words[2, :n], words[3, :n], more[2, :n], more[3, :n], y, no_y, room)
            for k in range(n):
                if no_x[k]:
                    x[k] = _log_gamma(alpha, 0, number, places[k], seeds[k])
                if no_y[k]:
                    y[k] = _log_gamma(beta, 1, number, places[k], seeds[k])
            ratios(x[:n], y[:n], values, room)
            target = out[offsets[i] + first : offsets[i] + first + n]
            for k in range(n):
                target[k] = values[k]


def _checked(call: op.Call) -> None:
    """Raises OperatorValueError for parameters that give no distribution."""
    for name in ("alpha", "beta"):
        values = call[name]
        bad = ~((values > 0) & np.isfinite(values))
        op.refuse_samples(bad, name, "a positive number", values)


@beta.cpu
def _cpu(call: op.Call) -> None:
    _checked(call)
    native = call.outputs[0].data.dtype.type
    fill(call, beta_kernel, native, call["alpha"], call["beta"])


@beta.gpu
def _gpu(call: op.Call) -> op.Launch:
    _checked(call)
    target = call.outputs[0]
    volumes = target.batch_shape.volumes
    places: Any = target.batch_shape.offsets, volumes, call.positions
    shapes = np.stack([call["alpha"], call["beta"]], axis=1).astype(np.float64)
    unit = _KERNEL.unit(
        {"Target": op.type_name(target.data.dtype)}, _translate.translation_of(normal_from_word)
    )
    blocks = op.blocks_of(volumes)
    key = call.seed_and_number
    arguments = op.OutputArg(target.data), np.stack(places, axis=1), blocks.table, *key, shapes
    return op.Launch(unit, blocks.total, arguments)


@beta.cases
def _cases() -> list[op.Case]:
    like = op.samples((4, 5, 3), (1, 7, 3))
    return [
        op.case("scalars", batch_size=5, seed=1).no_oracle(),
        op.case(
            "per sample", batch_size=2, alpha=[0.1, 5], beta=[7, 0.5], shape=(7,), seed=2
        ).no_oracle(),
        op.case("like, float64", like, alpha=2, beta=3, dtype=op.float64, seed=3).no_oracle(),
        op.case(
            "tiny and huge",
            batch_size=3,
            alpha=[1e-30, 1e30, 3e38],
            beta=[1e30, 1e-30, 3e38],
            seed=4,
        )
        .equals([np.array(v, np.float32) for v in (0, 1, 0.5)])
        .no_oracle(),
        op.case("empty", batch_size=0).equals([]).no_oracle(),
        op.case("zero", batch_size=2, alpha=[1, 0]).value_error("`alpha`"),
        op.case("infinite", beta=float("inf")).value_error("`beta`"),
        op.case("dtype", dtype=op.uint8).type_error("`dtype`"),
    ]
