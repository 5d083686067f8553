"""`to_decibels`: powers as decibels."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.fusion_roles import SpectralStep
from gradiva.eager.types.arrays import I64Vector, Slabs

from .levels import levels
from .spectra import check_floats
from .spectral_pass import Levels


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
    """Convert powers or magnitudes to decibels.

    The result is multiplier * log10(x / reference), but no less than `cutoff_db`.

    Args:
        input: float32 powers (or magnitudes), of any rank and layout. NaN counts as silence.
        multiplier: 10 for powers, 20 for magnitudes.
        reference: what is 0 dB; by default the largest value of each sample, or 1 if that is 0.
        cutoff_db: the lowest result, in decibels.

    Returns:
        Float32 samples of the same shapes and layout.

    Raises:
        OperatorTypeError: for other dtypes.
        OperatorValueError: for 0 as `reference` or `multiplier`, and for numbers that are not
            finite.

    Example:
        gradiva.to_decibels(np.float32([1.0, 0.1, 0.001]), cutoff_db=-80)  # [0.0, -10.0, -30.0]
    """
    check_floats(input)
    for name, value in (("multiplier", multiplier), ("reference", reference)):
        if value is not None and (value == 0 or not math.isfinite(value)):
            raise op.wrong_value(name, "a number other than 0", value)
    if not math.isfinite(cutoff_db):
        raise op.wrong_value("cutoff_db", "a number", cutoff_db)
    return input


@op.jit
def _convert(
    slabs: Slabs,
    sizes: I64Vector,
    given: np.float32,
    floor: tuple[np.float32, np.float32],
    multiplier: np.float32,
    begin: int,
    end: int,
) -> None:
    """Apply `levels` to a range of samples; sizes: the elements of each.

    slabs: with offsets in elements; given, floor, multiplier: as in `levels`; begin, end: the range
    of samples.
    """
    src, src_offsets, dst, dst_offsets = slabs
    for i in range(begin, end):
        values = src[src_offsets[i] : src_offsets[i] + sizes[i]]
        out = dst[dst_offsets[i] : dst_offsets[i] + sizes[i]]
        levels(values, given, floor, multiplier, out)


def _levels(call: op.Call) -> Levels:
    """The arguments, as the kernel takes them."""
    with np.errstate(over="ignore", under="ignore"):
        least = np.float32(np.float64(10.0) ** (call["cutoff_db"] / call["multiplier"]))
    floor = least, np.float32(call["cutoff_db"])
    return Levels(np.float32(call["reference"] or 0), floor, np.float32(call["multiplier"]))


to_decibels.fusion_role = SpectralStep(4, _levels)


@to_decibels.cpu
def _cpu(call: op.Call) -> None:
    given, floor, multiplier = _levels(call)
    sizes = call.inputs[0].batch_shape.volumes
    call.for_samples(_convert, call.slabs, sizes, given, floor, multiplier)


_LOUDEST = op.CudaKernel("loudest", (Path(__file__).with_name("loudest.cuh"),))
_KERNEL = op.CudaKernel("to_decibels", (Path(__file__).with_suffix(".cuh"),))


@to_decibels.gpu
def _gpu(call: op.Call) -> list[op.Launch]:
    data, before, result, after = call.slabs
    given, (least, lowest), multiplier = _levels(call)
    volumes = call.inputs[0].batch_shape.volumes
    blocks = op.blocks_of(volumes)
    table = np.stack([before, after, volumes], axis=1)
    loudest = op.Scratch(max(call.size, 1), np.dtype(np.float32))
    launches = []
    if given == 0:
        audio = np.stack([before, volumes], axis=1)
        kept = (data, op.OutputArg(loudest), audio)
        launches.append(op.Launch(_LOUDEST.unit({}), call.size, kept))
    references = loudest if given == 0 else np.ones(1, np.float32)
    numbers = given, least, lowest, multiplier
    places = data, op.OutputArg(result), table, blocks.table, references
    return [*launches, op.Launch(_KERNEL.unit({}), blocks.total, (*places, *numbers))]


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
