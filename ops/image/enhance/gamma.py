"""`gamma`: each value raised to a power."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array, I64Vector, Slabs, U8Table

from .compat import DTYPES, check_compat

_BELOW_256 = 255.0 + 1.0 - 1e-3


@op.operator("gamma", same_shapes=True)
def gamma(
    input: op.SampleType,
    /,
    *,
    gamma: op.DoubleArg,
    gain: op.DoubleArg = 1.0,
    compat: str = "torchvision",
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Raise the values of each image, from 0 to 1, to a power.

    out = gain * in ** gamma, where 1 is white.

    Args:
        input: uint8, with "torchvision" also float32; any rank and layout.
        gamma: the exponent, from 0 on: below 1 dark images get brighter, above 1 darker; may differ
            per sample.
        gain: the factor, from 0 on; may differ per sample. With another gain than 1 floats are
            limited to 0 to 1.
        compat: whose values: "torchvision" those of its adjust_gamma of tensors, "pil" those of its
            adjust_gamma of Pillow's images (docs/compat.md).

    Returns:
        Samples of the same shapes and dtype.

    Raises:
        OperatorTypeError: for other dtypes.
        OperatorValueError: for negative numbers.

    Example:
        gradiva.gamma(np.uint8([0, 64, 255]), gamma=0.5)  # [0, 128, 255]
    """
    check_compat(compat, input.with_(layout=""))
    op.require_dtype(input, DTYPES[compat])
    return input


def _power(values: Array, exponent: Any) -> Array:
    """values ** exponent in float32; some exponents as torch has them, as products and roots."""
    single = np.float32(exponent)
    if single == 2:
        return np.asarray(values * values)
    if single == 3:
        return np.asarray(values * values * values)
    if single == 0.5:
        return np.asarray(np.sqrt(values))
    return np.asarray((values.astype(np.float64) ** np.float64(single)).astype(np.float32))


def _floats(values: Array, exponent: float, gain: float) -> Array:
    """The result for float32."""
    with np.errstate(all="ignore"):
        made = _power(values, exponent)
        return made if gain == 1.0 else np.clip(made * np.float32(gain), 0, 1).astype(np.float32)


@functools.lru_cache(maxsize=256)
def _table(exponent: float, gain: float, compat: str) -> Array:
    """(256,), uint8: the new value of each value."""
    if compat == "pil":
        exact = [_BELOW_256 * gain * pow(value / 255.0, exponent) for value in range(256)]
        return np.array([min(int(min(value, 256.0)), 255) for value in exact], np.uint8)
    values = np.arange(256, dtype=np.float32) * np.float32(1.0 / 255.0)
    made = _floats(values, exponent, gain) * np.float32(_BELOW_256)
    return np.asarray(made.astype(np.uint8))


@op.jit
def look_up_samples(
    slabs: Slabs, volumes: I64Vector, tables: U8Table, begin: int, end: int
) -> None:
    """tables: (N, 256), uint8, the new value of each value of a sample."""
    source, sources, target, targets = slabs
    for i in range(begin, end):
        table = tables[i]
        first, to = sources[i], targets[i]
        for k in range(volumes[i]):
            target[to + k] = table[source[first + k]]


@gamma.cpu
def _cpu(call: op.Call) -> None:
    exponents, gains = call["gamma"], call["gain"]
    for name, values in (("gamma", exponents), ("gain", gains)):
        bad = ~((values >= 0) & (values < np.inf))
        op.refuse_samples(bad, name, "a number from 0 on", values)
    source, target = call.inputs[0], call.outputs[0]
    volumes = source.batch_shape.volumes
    pairs = list(zip(exponents.tolist(), gains.tolist(), strict=True))
    if source.dtype is op.uint8:
        tables = np.zeros((call.size, 256), np.uint8)
        for sample, pair in enumerate(pairs):
            tables[sample] = _table(*pair, call["compat"])
        call.for_slabs(look_up_samples, volumes, tables)
        return

    def make(sample: int) -> None:
        target.array(sample)[...] = _floats(source.array(sample), *pairs[sample])

    call.each_sample(make, volumes.tolist())


@gamma.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3))
    arrays = images.arrays()
    floats = op.samples((3, 4, 3), dtype=op.float32)
    squared = [
        ((one.astype(np.float32) * np.float32(1 / 255)) ** 2 * np.float32(_BELOW_256)).astype(
            np.uint8
        )
        for one in arrays
    ]
    return [
        op.case("one", images, gamma=1.0).equals(arrays).no_oracle(),
        op.case("two", images, gamma=2.0).equals(squared).no_oracle(),
        op.case("per sample", images, gamma=[0.0, 0.45, 2.2], gain=[1.0, 0.5, 2.0]).no_oracle(),
        op.case("floats", floats, gamma=2).equals([floats.at(0) ** 2]).no_oracle(),
        op.case("floats, gain", floats, gamma=0.7, gain=3.0).no_oracle(),
        op.case("of Pillow", images, gamma=0.7, compat="pil").no_oracle(),
        op.case("empty", op.samples(), gamma=2.0).equals([]).no_oracle(),
        op.case("negative", images, gamma=-1.0).value_error("`gamma`"),
        op.case("negative gain", images, gamma=1.0, gain=[1, 1, -1]).value_error("`gain`"),
        op.case("unknown", images, gamma=1.0, compat="zork").value_error("`compat`"),
        op.case("dtype", op.samples((2, 2, 3), dtype=op.int16), gamma=1.0).type_error("int16"),
        op.case("none", images).type_error("`gamma`"),
    ]
