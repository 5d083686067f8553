"""`to_decibels`: powers as decibels."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op

from .spectra import require_floats


@op.operator("to_decibels", schema="ToDecibels", same_shapes=True)
def to_decibels(
    input: op.SampleType,
    /,
    *,
    multiplier: float = 10.0,
    reference: float | None = None,
    cutoff_db: float = -200.0,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Compute multiplier * log10(x / reference), but no less than `cutoff_db`.

    Args:
        input: float32 powers (or magnitudes), of any rank and layout. NaN counts as silence.
        multiplier: 10 for powers, 20 for magnitudes.
        reference: what is 0 dB; by default the largest value of each sample, or 1 if that is 0.
        cutoff_db: the lowest result.

    Returns:
        Float32 samples of the same shapes and layout.

    Raises:
        OperatorTypeError: for other dtypes.
        OperatorValueError: for 0 as `reference` or `multiplier`, and for no finite numbers.
    """
    require_floats(input)
    for name, value in (("multiplier", multiplier), ("reference", reference)):
        if value is not None and (value == 0 or not math.isfinite(value)):
            raise op.wrong_value(name, "a number other than 0", value)
    if not math.isfinite(cutoff_db):
        raise op.wrong_value("cutoff_db", "a number", cutoff_db)
    return input


_STRIP: Final = 256
_SQUARE_ROOT: Final = np.float32(math.sqrt(2.0))
_PER_OCTAVE: Final = np.float32(math.log10(2.0))
_PER_E: Final = np.float32(2.0 / math.log(10.0))
_SMALLEST: Final = np.float32(np.finfo(np.float32).tiny)
_LARGEST: Final = np.float32(np.finfo(np.float32).max)
_LAST_PLACE: Final = np.float32(2.0**-23)
_LIFT: Final = np.float32(2.0**24)


@op.jit
def decibels(
    values: Any, reference: Any, floor: Any, multiplier: Any, lifted: Any, out: Any
) -> None:
    """multiplier * log10(values / reference) of a strip.

    The logarithm is that of the exponent's bits plus 2 artanh((m - 1) / (m + 1)) of the mantissa m,
    as a series: arithmetic alone, so that loops are wide and bits are those of every machine.
    floor: the least ratio, and its result; lifted: memory, float32, as long as the strip.
    """
    least, lowest = floor
    for j in range(values.size):
        ratio = values[j] / reference
        # Numbers below the smallest normal one are lifted above it.
        lifted[j] = ratio * _LIFT if ratio < _SMALLEST else ratio
    bits = lifted.view(np.int32)
    for j in range(values.size):
        ratio = values[j] / reference
        exponent = (bits[j] >> np.int32(23)) - np.int32(127)
        exponent -= np.int32(24) if ratio < _SMALLEST else np.int32(0)
        mantissa = np.float32(1) + np.float32(bits[j] & np.int32(0x7FFFFF)) * _LAST_PLACE
        high = mantissa > _SQUARE_ROOT
        mantissa = mantissa * np.float32(0.5) if high else mantissa
        octaves = np.float32(exponent + np.int32(high))
        s = (mantissa - np.float32(1)) / (mantissa + np.float32(1))
        square = s * s
        series = np.float32(1 / 9) * square + np.float32(1 / 7)
        series = series * square + np.float32(1 / 5)
        series = series * square + np.float32(1 / 3)
        series = series * square * s + s
        logarithm = octaves * _PER_OCTAVE + series * _PER_E
        logarithm = ratio if ratio > _LARGEST else logarithm
        # Neither what is negative nor NaN is more than the least.
        out[j] = multiplier * logarithm if ratio > least else lowest


@op.jit
def _convert(
    slabs: Any, sizes: Any, given: Any, floor: Any, multiplier: Any, begin: int, end: int
) -> None:
    """given: what is 0 dB; 0 stands for the largest value of the sample."""
    src, src_offsets, dst, dst_offsets = slabs
    lifted = np.empty(_STRIP, np.float32)
    for i in range(begin, end):
        values = src[src_offsets[i] : src_offsets[i] + sizes[i]]
        out = dst[dst_offsets[i] : dst_offsets[i] + sizes[i]]
        reference = given
        if reference == np.float32(0):
            for k in range(values.size):
                reference = values[k] if values[k] > reference else reference
            if reference == np.float32(0):
                reference = np.float32(1)
        for first in range(0, values.size, _STRIP):
            last = min(first + _STRIP, values.size)
            strip = lifted[: last - first]
            decibels(values[first:last], reference, floor, multiplier, strip, out[first:last])


@to_decibels.cpu
def _cpu(call: op.Call) -> None:
    multiplier = np.float32(call["multiplier"])
    with np.errstate(over="ignore", under="ignore"):
        least = np.float32(np.float64(10.0) ** (call["cutoff_db"] / call["multiplier"]))
    given, floor = np.float32(call["reference"] or 0), (least, np.float32(call["cutoff_db"]))
    sizes = call.inputs[0].batch_shape.volumes
    call.for_samples(_convert, call.slabs, sizes, given, floor, multiplier)


@to_decibels.cases
def _cases() -> list[op.Case]:
    powers = op.samples((9, 70), (5, 300), (1, 1), dtype=op.float32, layout="ft", high=1e6)
    odd = np.array([0, 1e-3, 5e-39, 1e-45, 3.4e38, -1, 0.5, 1 - 1e-7], np.float32)
    lost = op.batch([np.array([np.nan, 1, 10], np.float32)])

    def expected(values: Any) -> Any:
        ratio = values.astype(np.float64) / values.max()
        return (10 * np.log10(np.maximum(ratio, 1e-20))).astype(np.float32)

    return [
        op.case("default", powers),
        op.case("magnitudes", powers, multiplier=20.0, cutoff_db=-60.0),
        op.case("reference", powers, reference=3.0),
        op.case("cut off", powers, cutoff_db=-3.0),
        op.case("odd values", op.batch([odd]), reference=1.0),
        op.case("silence", op.batch([np.zeros(9, np.float32)])),
        op.case("not a number", lost, cutoff_db=-30.0).equals(
            [np.array([-30, -10, 0], np.float32)]
        ),
        op.case("scalars", op.samples((), (), dtype=op.float32, layout="")),
        op.case("no values", op.samples((0, 3), dtype=op.float32, layout="")),
        op.case("empty", op.samples(dtype=op.float32, layout="ft")).equals([]),
        op.case("zero", powers, reference=0.0).value_error("`reference`"),
        op.case("no factor", powers, multiplier=0.0).value_error("`multiplier`"),
        op.case("no floor", powers, cutoff_db=float("-inf")).value_error("`cutoff_db`"),
        op.case("integers", op.samples((5,), layout="t", dtype=op.int32)).type_error("cast"),
    ]
