"""`noise.salt_and_pepper`: set some pixels to a high or a low value."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.rows.convert import convert_array
from gradiva.eager.types.arrays import Draws, I64Table, Slabs, U64Vector, Vector

from .words import NOISY, STRIP, random_words

_KERNEL: Final = op.CudaKernel(
    "scatter", ("philox.cuh", Path(__file__).with_name("salt_and_pepper.cuh"))
)


@op.operator("noise.salt_and_pepper", schema="noise__SaltAndPepper", random=True, same_shapes=True)
def salt_and_pepper(
    input: op.SampleType,
    /,
    *,
    prob: op.FloatArg = 0.05,
    salt_vs_pepper: op.FloatArg = 0.5,
    salt_val: op.FloatArg | None = None,
    pepper_val: op.FloatArg | None = None,
    per_channel: bool = False,
    **common: op.Unpack[op.Sampled],
) -> op.SampleType:
    """Add salt-and-pepper noise: set random pixels to `salt_val` or `pepper_val`.

    A pixel is salt if its random 32-bit word is below prob * salt_vs_pepper * 2**32, else pepper if
    it is below prob * 2**32. The words are those of `random.coin_flip` for samples of one element
    per pixel.

    Args:
        input: any dtype but bool, any rank; layouts with or without C. Without a layout the last
            axis holds the channels.
        prob: the probability that a pixel is changed, 0 to 1; may differ per sample.
        salt_vs_pepper: the probability that a changed pixel is salt, 0 to 1; may differ per sample.
        salt_val, pepper_val: the values of changed pixels; may differ per sample. For integers
            their fractions are dropped, and they saturate. By default the highest and the lowest
            value of an integer dtype, 1 and -1 for floats.
        per_channel: whether each channel of a pixel is drawn for itself; else all are changed
            alike.

    Returns:
        Samples of the same shapes, dtype and layout.

    Raises:
        OperatorTypeError: for bool.
        OperatorValueError: for probabilities outside 0..1.

    Example:
        image = gradiva.noise.salt_and_pepper(gradiva.imread("cat.jpg"), prob=0.05)
    """
    op.require_dtype(input, NOISY)
    return input


@op.jit
def _scatter(
    slabs: Slabs,
    extents: I64Table,
    draws: Draws,
    columns: tuple[U64Vector, U64Vector, Vector, Vector],
    begin: int,
    end: int,
) -> None:
    """extents: (before the channels, channels, behind them), of each sample."""
    src, src_offsets, out, offsets = slabs
    positions, seed, number = draws
    salted, changed, salt, pepper = columns
    words = np.empty(STRIP, np.uint32)
    for i in range(begin, end):
        position = np.uint64(positions[i])
        outer, channels, inner = extents[i, 0], extents[i, 1], extents[i, 2]
        volume = outer * channels * inner
        s, d = src_offsets[i], offsets[i]
        source, target = src[s : s + volume], out[d : d + volume]
        for k in range(volume):  # an assignment to a slice takes 2 s to compile
            target[k] = source[k]
        low, high, white, black = salted[i], changed[i], salt[i], pepper[i]
        if volume == 0:
            continue
        pixels = outer * inner
        for first in range(0, pixels, STRIP):
            count = min(STRIP, pixels - first)
            random_words(first, number, position, seed, words[: (count + 3) // 4 * 4])
            for k in range(count):
                word = np.uint64(words[k])
                if word < high:
                    value = white if word < low else black
                    frame, place = divmod(first + k, inner)
                    at = frame * channels * inner + place
                    for c in range(channels):
                        target[at + c * inner] = value


def _values(given: Any, dtype: np.dtype[Any], default: Any, count: int) -> Any:
    """(N,) values of the samples' dtype."""
    if given is None:
        return np.full(count, default, dtype)
    if dtype.kind == "f":
        return convert_array(given, dtype)
    # float64 holds the limits of all narrower integers; those of 64 bits saturate.
    return convert_array(np.trunc(given.astype(np.float64)), dtype)


class _SaltAndPepperPlan(NamedTuple):
    """thresholds: of random words, (N, 2) uint64, for salt and for any change; values: (N, 2), salt
    and pepper as unsigned bits; extents: (N, 3), before the channels, channels, behind them."""

    thresholds: Any
    values: Any
    extents: Any


def _plan(call: op.Call) -> _SaltAndPepperPlan:
    source = call.inputs[0]
    for name in ("prob", "salt_vs_pepper"):
        op.refuse_samples(
            ~((call[name] >= 0) & (call[name] <= 1)), name, "a probability, 0 to 1", call[name]
        )
    changed = call["prob"].astype(np.float64)
    salted = changed * call["salt_vs_pepper"].astype(np.float64)
    thresholds = (np.stack([salted, changed], axis=1) * 2.0**32).astype(np.uint64)
    dtype = source.data.dtype
    limits = (-1, 1) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    salt = _values(call["salt_val"], dtype, limits[1], call.size)
    pepper = _values(call["pepper_val"], dtype, limits[0], call.size)
    shapes = source.batch_shape.shapes
    extents = np.ones((call.size, 3), np.int64)
    axis = source.layout.find("C") if source.layout else shapes.shape[1] - 1
    if call["per_channel"] or axis < 0:
        extents[:, 0] = source.batch_shape.volumes
    else:
        extents[:, 0] = shapes[:, :axis].prod(axis=1)
        extents[:, 1] = shapes[:, axis]
        extents[:, 2] = shapes[:, axis + 1 :].prod(axis=1)
    # Values are moved, not computed with: their bits serve, of float16 too.
    values = np.stack([salt, pepper], axis=1).view(f"u{dtype.itemsize}")
    return _SaltAndPepperPlan(thresholds, values, extents)


@salt_and_pepper.cpu
def _cpu(call: op.Call) -> None:
    plan = _plan(call)
    columns = tuple(map(np.ascontiguousarray, (*plan.thresholds.T, *plan.values.T)))
    call.for_samples(_scatter, call.words, plan.extents, call.draws, columns)


@salt_and_pepper.gpu
def _gpu(call: op.Call) -> op.Launch:
    source, target = call.inputs[0], call.outputs[0]
    plan = _plan(call)
    outer, channels, inner = plan.extents.T
    pixels = np.where(channels > 0, outer * inner, 0)
    offsets = source.batch_shape.offsets, target.batch_shape.offsets
    places: Any = (*offsets, pixels, channels, inner, call.positions)
    bits = plan.values.dtype
    table, more = np.stack(places, axis=1), (plan.thresholds, plan.values)
    given = source.data.view(bits), target.data.view(bits), table, -(-pixels // 4)
    unit = _KERNEL.unit({"Target": op.type_name(bits)})
    return op.launch_over(unit, *given, *call.seed_and_number, *more)


@salt_and_pepper.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (40, 31, 3))
    floats = op.samples((3, 9, 11), dtype=op.float32, layout="CHW")
    wide = op.samples((6, 7, 2), dtype=op.int16)

    def full(value: float) -> list[np.ndarray[Any, Any]]:
        return [np.full_like(images.at(i), value) for i in range(3)]

    return [
        op.case("default", images, seed=1).no_oracle(),
        op.case("never", images, prob=0).equals(images.arrays()),
        op.case("all salt", images, prob=1, salt_vs_pepper=1).equals(full(255)),
        op.case("all pepper", images, prob=1, salt_vs_pepper=0).equals(full(0)),
        op.case("values", images, prob=1, salt_vs_pepper=0, pepper_val=7.9).equals(full(7)),
        op.case("saturates", images, prob=1, salt_vs_pepper=1, salt_val=300.0)
        .equals(full(255))
        .no_oracle(),
        op.case("floats", floats, prob=1, salt_vs_pepper=0).equals(
            [np.full((3, 9, 11), -1, np.float32)]
        ),
        op.case(
            "per sample",
            images,
            prob=[0.0, 0.5, 1.0],
            salt_vs_pepper=[0.1, 0.5, 0.2],
            salt_val=[9, 8, 7],
            seed=3,
        ).no_oracle(),
        op.case("per channel", wide, prob=0.5, per_channel=True, seed=4).no_oracle(),
        op.case("frames", op.samples((2, 3, 5, 4), layout="FCHW"), prob=0.5, seed=5).no_oracle(),
        op.case("scalars", op.samples((), layout=""), prob=0.5, seed=5).no_oracle(),
        op.case("empty", op.samples()).equals([]),
        op.case("bool", op.samples((2, 2), dtype=op.bool_, layout="HW")).type_error("bool"),
        op.case("high", images, prob=1.5).value_error("`prob`"),
        op.case("not a number", images, salt_vs_pepper=float("nan")).value_error(
            "`salt_vs_pepper`"
        ),
        op.case("wrong length", images, salt_val=[1.0]).value_error("`salt_val`"),
    ]
