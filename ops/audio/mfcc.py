"""`mfcc`: mel-frequency cepstral coefficients, a cosine transform of log-mel spectra.

Formulas: K. R. Rao, P. Yip, "Discrete Cosine Transform", 1990, chapter 2. Without `normalize`
values are half of those of `scipy.fft.dct`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Float64Array

from .matrices import BandMatrix, along_axis, launch_along_axis
from .spectra import check_floats


@op.operator("mfcc", schema="MFCC")
def mfcc(
    input: op.SampleType,
    /,
    *,
    n_mfcc: int = 20,
    dct_type: int = 2,
    normalize: bool = False,
    axis: int = 0,
    lifter: float = 0.0,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Compute the first coefficients of a discrete cosine transform (DCT), such as MFCCs.

    Of log-mel spectra (`mel_filter_bank`, `to_decibels`) they are mel-frequency cepstral
    coefficients. Type 2 is sum_n x[n] cos(pi (2 n + 1) k / (2 N)).

    Args:
        input: float32, of 2 to 4 axes, any layout.
        n_mfcc: the number of coefficients, at most the extent of the axis.
        dct_type: the type of the DCT, 1 to 4.
        normalize: make the transform orthonormal; not for type 1.
        axis: the axis of the mel bands, counted from 0.
        lifter: L, to multiply coefficient k by 1 + L / 2 * sin(pi (k + 1) / L); 0 for none.

    Returns:
        Float32 samples with the coefficients along the axis.

    Raises:
        OperatorTypeError: for other dtypes and ranks.
        OperatorValueError: for arguments out of range, and for type 1 along one value.

    Example:
        audio, rate = gradiva.decoders.audio(np.fromfile("speech.wav", np.uint8), downmix=True)
        spectra = gradiva.spectrogram(audio, window_length=400, window_step=160)
        bands = gradiva.mel_filter_bank(spectra, nfilter=80, sample_rate=16000)
        gradiva.mfcc(gradiva.to_decibels(bands), n_mfcc=13).shape  # (13, 101)
    """
    check_floats(input)
    op.require_ndim(input, (2, 3, 4))
    if not 1 <= dct_type <= 4:
        raise op.wrong_value("dct_type", "an integer from 1 to 4", dct_type)
    if n_mfcc < 1:
        raise op.wrong_value("n_mfcc", "an integer from 1 on", n_mfcc)
    if dct_type == 1 and normalize:
        raise op.OperatorValueError("a DCT of type 1 cannot be normalized", argument="normalize")
    if not math.isfinite(lifter):
        raise op.wrong_value("lifter", "a number", lifter)
    if axis < 0 or (input.ndim is not None and axis >= input.ndim):
        last = "on" if input.ndim is None else f"to {input.ndim - 1}"
        raise op.wrong_value("axis", f"an axis from 0 {last}", axis)
    return input


@mfcc.shapes
def _shapes(call: op.Call) -> op.Int64Array:
    shapes, axis = call.inputs[0].batch_shape.shapes.copy(), call["axis"]
    if axis >= shapes.shape[1]:
        raise op.wrong_value("axis", f"an axis from 0 to {shapes.shape[1] - 1}", axis)
    extents = shapes[:, axis]
    if call["dct_type"] == 1:
        expected = "2 values or more along the axis"
        op.refuse_samples(extents < 2, "", expected, extents, "a DCT of type 1 of one value")
    shapes[:, axis] = np.minimum(extents, call["n_mfcc"])
    return shapes


def cosines(count: int, size: int, kind: int, normalize: bool) -> Float64Array:
    """(count, size): the first rows of the matrix of a DCT of this type."""
    k, n = np.arange(count)[:, None], np.arange(size)[None, :]
    if kind == 1:
        table = np.cos(np.pi * n * k / max(size - 1, 1))
        table[:, [0, -1]] *= 0.5
        return np.asarray(table)
    if kind == 2:
        table = np.cos(np.pi * (2 * n + 1) * k / (2 * size))
    elif kind == 3:
        table = np.cos(np.pi * n * (2 * k + 1) / (2 * size))
        table[:, 0] *= np.sqrt(0.5) if normalize else 0.5
    else:
        table = np.cos(np.pi * (2 * n + 1) * (2 * k + 1) / (4 * size))
    if normalize:
        table *= np.sqrt(2.0 / size)
        if kind == 2:
            table[0] *= np.sqrt(0.5)
    return np.asarray(table)


@lru_cache(maxsize=64)
def _matrix(count: int, size: int, kind: int, normalize: bool, lifter: float) -> BandMatrix:
    table = cosines(count, size, kind, normalize) if size else np.zeros((0, 0))
    if lifter:
        angles = np.pi * (np.arange(count)[:, None] + 1) / lifter
        table = table * (1.0 + lifter / 2 * np.sin(angles))
    return BandMatrix.of(table)


def _tables(call: op.Call) -> list[BandMatrix]:
    """The transform of each sample."""
    axis = call["axis"]
    options = call["dct_type"], call["normalize"], call["lifter"]
    made = call.outputs[0].batch_shape.shapes[:, axis].tolist()
    extents = call.inputs[0].batch_shape.shapes[:, axis].tolist()
    return [_matrix(count, size, *options) for count, size in zip(made, extents, strict=True)]


@mfcc.cpu
def _cpu(call: op.Call) -> None:
    along_axis(call, call["axis"], _tables(call))


@mfcc.gpu
def _gpu(call: op.Call) -> op.Launch:
    return launch_along_axis(call, call["axis"], _tables(call))


@mfcc.cases
def _cases() -> list[op.Case]:
    spectra = op.samples((80, 5), (40, 300), (7, 1), dtype=op.float32, layout="ft")
    cubes = op.samples((3, 20, 2), (2, 30, 1), dtype=op.float32, layout="")

    def second(one: Any) -> Any:
        table = cosines(min(20, len(one)), len(one), 2, False).astype(np.float32)
        return (table.astype(np.float64) @ one).astype(np.float32)

    return [
        op.case("default", spectra).each(second),
        op.case("type 1", spectra, dct_type=1, n_mfcc=13),
        op.case("type 3", spectra, dct_type=3, n_mfcc=13),
        op.case("type 4", spectra, dct_type=4, n_mfcc=13),
        *(
            op.case(f"orthonormal {kind}", spectra, dct_type=kind, normalize=True)
            for kind in (2, 3, 4)
        ),
        op.case("lifter", spectra, lifter=22.0),
        op.case("last axis", spectra, axis=1),
        op.case("middle axis", cubes, axis=1, n_mfcc=6),
        op.case("no values", op.samples((0, 5), (4, 0), dtype=op.float32, layout="")),
        op.case("empty", op.samples(dtype=op.float32, layout="ft")).equals([]),
        op.case("type 5", spectra, dct_type=5).value_error("`dct_type`"),
        op.case("type 1 of one", spectra, dct_type=1, axis=1).value_error("sample 2"),
        op.case("type 1 orthonormal", spectra, dct_type=1, normalize=True).value_error("type 1"),
        op.case("none", spectra, n_mfcc=0).value_error("`n_mfcc`"),
        op.case("negative axis", spectra, axis=-1).value_error("`axis`"),
        op.case("no such axis", spectra, axis=2).value_error("`axis`"),
        op.case("lines", op.samples((9,), dtype=op.float32, layout="")).type_error("axes"),
        op.case("integers", op.samples((5, 5), layout="ft", dtype=op.int32)).type_error("cast"),
    ]
