"""`preemphasis_filter`: high frequencies of a signal made louder."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.fusion_roles import SpectralStep
from gradiva.eager.rows.convert import convert_sat
from gradiva.eager.types.arrays import I64Vector, Slabs, Vector

from .audio_types import INTEGERS
from .spectra import one_axis
from .spectral_pass import Emphasis

_BEFORE: Final = {"clamp": 0, "zero": -1, "reflect": 1}
"""The number of the sample that stands before the first; -1 for none."""
_DTYPES: Final = (*INTEGERS, op.float32, op.float64)


@op.operator("preemphasis_filter", schema="PreemphasisFilter")
def preemphasis_filter(
    input: op.SampleType,
    /,
    *,
    preemph_coeff: op.FloatArg = 0.97,
    border: str = "clamp",
    dtype: op.DTypeLike = op.float32,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Emphasize high frequencies: y[t] = x[t] - preemph_coeff * x[t - 1].

    The arithmetic is float32, and float64 for float64 inputs. Where nothing is subtracted values
    are converted, and not computed with.

    Args:
        input: integers, float32 or float64, one channel: (n,), (n, 1) or (1, n); any layout.
        preemph_coeff: the factor of the sample before; may differ per sample.
        border: the sample x[-1] before the first: "clamp", x[0]; "zero", 0; "reflect", x[1].
        dtype: the element type of the output, float32 by default. Values become integers by
            rounding half away from zero and saturating.

    Returns:
        Samples of the same shapes and layout.

    Raises:
        OperatorTypeError: for other dtypes.
        OperatorValueError: for several channels and other borders.

    Example:
        gradiva.preemphasis_filter(np.float32([1, 1, 2]), preemph_coeff=0.5)  # [0.5, 0.5, 1.5]
    """
    op.require_dtype(input, _DTYPES)
    if dtype not in _DTYPES:
        raise op.wrong_type("dtype", ", ".join(one.name for one in _DTYPES), dtype)
    if border not in _BEFORE:
        raise op.wrong_value("border", "'clamp', 'zero' or 'reflect'", repr(border))
    return input.with_(dtype=dtype)


@preemphasis_filter.shapes
def _shapes(call: op.Call) -> op.BatchShape:
    one_axis(call.inputs[0].batch_shape.shapes)
    return call.inputs[0].batch_shape


@op.jit
def _filter(
    slabs: Slabs,
    sizes: I64Vector,
    coefficients: Vector,
    border: int,
    real: Vector,
    begin: int,
    end: int,
) -> None:
    """border: the number of the sample before the first; -1 for none. real: an array of the type
    that is computed in.

    slabs: with offsets in elements; sizes: (N,), elements of each sample; coefficients: (N,), of
    the sample before; begin, end: the range of samples.
    """
    src, src_offsets, dst, dst_offsets = slabs
    for i in range(begin, end):
        size = sizes[i]
        if size == 0:
            continue
        sound = src[src_offsets[i] : src_offsets[i] + size]
        out = dst[dst_offsets[i] : dst_offsets[i] + size]
        share = coefficients[i]
        if share == 0:  # integers keep all of their digits
            for t in range(size):
                out[t] = convert_sat(sound[t], dst)
            continue
        if border < 0:
            out[0] = convert_sat(sound[0], dst)
        else:
            before = real.dtype.type(sound[min(border, size - 1)])
            out[0] = convert_sat(real.dtype.type(sound[0]) - share * before, dst)
        for t in range(1, size):
            value = real.dtype.type(sound[t]) - share * real.dtype.type(sound[t - 1])
            out[t] = convert_sat(value, dst)


def _emphasis(call: op.Call) -> Emphasis | None:
    """The arguments of a call that filters float32 audio."""
    if call.types[0].dtype is not op.float32 or call.inputs[0].dtype is not op.float32:
        return None
    return Emphasis(call["preemph_coeff"].astype(np.float32), _BEFORE[call["border"]])


preemphasis_filter.fusion_role = SpectralStep(1, _emphasis)


@preemphasis_filter.cpu
def _cpu(call: op.Call) -> None:
    source = call.inputs[0]
    real = np.empty(0, np.float64 if source.dtype is op.float64 else np.float32)
    border, coefficients = _BEFORE[call["border"]], call["preemph_coeff"].astype(real.dtype)
    call.for_samples(_filter, call.slabs, source.batch_shape.volumes, coefficients, border, real)


_KERNEL = op.CudaKernel("preemphasis_filter", (Path(__file__).with_suffix(".cuh"),))


@preemphasis_filter.gpu
def _gpu(call: op.Call) -> op.Launch:
    data, before, result, after = call.slabs
    volumes = call.inputs[0].batch_shape.volumes
    real = np.dtype(np.float64 if data.dtype == np.float64 else np.float32)
    shares = call["preemph_coeff"].astype(real).astype(np.float64).view(np.int64)
    rows = op.struct_rows([before, after, shares], [volumes, _BEFORE[call["border"]]])
    types = {"Source": data.dtype, "Target": result.dtype, "Real": real}
    unit = _KERNEL.unit({name: op.type_name(dtype) for name, dtype in types.items()})
    return op.launch_over(unit, data, result, rows, volumes)


@preemphasis_filter.cases
def _cases() -> list[op.Case]:
    audio = op.samples((9,), (1000,), (2,), dtype=op.float32, layout="t", low=-1.0)
    waves = op.samples((50,), (7,), dtype=op.int16, layout="")
    columns = op.samples((5, 1), (1, 1), dtype=op.float32, layout="tC")

    def filtered(sound: Any, before: Any) -> Any:
        shifted = np.concatenate([before(sound), sound[:-1]])
        return sound - np.float32(0.97) * shifted

    return [
        op.case("default", audio).each(lambda one: filtered(one, lambda x: x[:1])),
        op.case("zero", audio, border="zero").each(lambda one: filtered(one, lambda x: 0 * x[:1])),
        op.case("reflect", audio, border="reflect").each(
            lambda one: filtered(one, lambda x: x[1:2])
        ),
        op.case("per sample", audio, preemph_coeff=[0.0, 0.5, 2.0]),
        op.case("integers", waves),
        op.case("to integers", waves, dtype=op.int16),
        op.case("saturated", waves, dtype=op.uint8, preemph_coeff=-1.0),
        op.case("float64", op.samples((9,), dtype=op.float64, layout="")),
        op.case("a column", columns),
        op.case("one value", op.samples((1,), dtype=op.float32, layout=""), border="reflect")
        .each(lambda one: one - np.float32(0.97) * one)
        .no_oracle(),
        op.case("no value", op.samples((0,), (3,), dtype=op.float32, layout="")).no_oracle(),
        op.case("empty", op.samples(dtype=op.float32, layout="t")).equals([]),
        op.case("channels", op.samples((9, 2), dtype=op.float32, layout="")).value_error(
            "samples have several axes, as audio of several channels has: decoders.audio(downmix=T"
        ),
        op.case("border", audio, border="wrap").value_error("`border`"),
        op.case("half", op.samples((9,), dtype=op.float16, layout="")).type_error("dtype"),
        op.case("to half", audio, dtype=op.float16).type_error("`dtype`"),
        op.case("wrong length", audio, preemph_coeff=[1.0]).value_error("`preemph_coeff`"),
    ]
