"""`mel_filter_bank`: spectra on the mel scale."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.fusion_roles import SpectralStep
from gradiva.eager.types.arrays import Float64Array

from .matrices import BandMatrix, along_axis, launch_along_axis
from .spectra import check_floats

# Mel scales, and the triangular filters of a filter bank.
#
# Formulas: M. Slaney, "Auditory Toolbox, version 2", Interval Research technical report 1998-010;
# S. Young et al., "The HTK Book". Both scales are those of `librosa.filters.mel`.

_LINEAR_TO: Final = 1000.0
_HERTZ_PER_MEL: Final = 200.0 / 3.0
_LOG_STEP: Final = math.log(6.4) / 27.0
_MELS_BELOW: Final = _LINEAR_TO / _HERTZ_PER_MEL


def slaney_mel(hertz: Any) -> Any:
    """Linear below 1000 Hz, logarithmic above."""
    above = _MELS_BELOW + np.log(np.maximum(hertz, _LINEAR_TO) / _LINEAR_TO) / _LOG_STEP
    return np.where(hertz < _LINEAR_TO, hertz / _HERTZ_PER_MEL, above)


def slaney_hertz(mel: Any) -> Any:
    """The inverse of `slaney_mel`."""
    above = _LINEAR_TO * np.exp((np.maximum(mel, _MELS_BELOW) - _MELS_BELOW) * _LOG_STEP)
    return np.where(mel < _MELS_BELOW, mel * _HERTZ_PER_MEL, above)


def htk_mel(hertz: Any) -> Any:
    """1127 ln(1 + f / 700)."""
    return 1127.0 * np.log1p(np.asarray(hertz) / 700.0)


def htk_hertz(mel: Any) -> Any:
    """The inverse of `htk_mel`."""
    return 700.0 * np.expm1(np.asarray(mel) / 1127.0)


SCALES: Final = {"slaney": (slaney_mel, slaney_hertz), "htk": (htk_mel, htk_hertz)}


def mel_weights(
    bins: int, count: int, rate: float, low: float, high: float, formula: str, normalize: bool
) -> Float64Array:
    """(count, bins): filters whose centers are equally far apart in mel, from `low` to `high` Hz,
    over the bins of a spectrum from 0 Hz to half of `rate`."""
    to_mel, to_hertz = SCALES[formula]
    edges = to_hertz(np.linspace(to_mel(low), to_mel(high), count + 2))
    left, center, right = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    if bins < 2:
        return np.zeros((count, bins))
    places = np.arange(bins) * (rate / (2 * (bins - 1)))
    rising = (places - left) / (center - left)
    falling = (right - places) / (right - center)
    weights = np.maximum(np.minimum(rising, falling), 0.0)
    weights[:, (places < low) | (places > high)] = 0.0
    if normalize:
        weights *= 2.0 / (right - left)
    return np.asarray(weights)


@lru_cache(maxsize=64)
def mel_matrix(
    bins: int, count: int, rate: float, low: float, high: float, formula: str, normalize: bool
) -> BandMatrix:
    """`mel_weights`, ready to multiply by."""
    return BandMatrix.of(mel_weights(bins, count, rate, low, high, formula, normalize))


@op.operator("mel_filter_bank", schema="MelFilterBank")
def mel_filter_bank(
    input: op.SampleType,
    /,
    *,
    nfilter: int = 128,
    sample_rate: float = 44100.0,
    freq_low: float = 0.0,
    freq_high: float = 0.0,
    normalize: bool = True,
    mel_formula: str = "slaney",
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Sum spectra over triangular filters that are equally spaced on the mel scale.

    Filters rise and fall linearly in Hz, from the center of the one before to that of the next.

    Args:
        input: float32 spectra, from 0 Hz to half of `sample_rate`, along the axis f; without a
            layout along the last axis but one, or the only one.
        nfilter: the number of filters.
        sample_rate: the sampling rate of the audio, in Hz.
        freq_low, freq_high: where the first filter begins and the last ends, in Hz; 0 as
            `freq_high` is half of `sample_rate`.
        normalize: divide filters by half of their width in Hz, so that each has an area of 1.
        mel_formula: "slaney", linear below 1000 Hz and logarithmic above; "htk", 1127 ln(1 + f /
            700).

    Returns:
        Float32 samples with `nfilter` values along the axis.

    Raises:
        OperatorTypeError: for other dtypes and ranks, and for a layout without f.
        OperatorValueError: for arguments out of range.

    Example:
        audio, rate = gradiva.decoders.audio(np.fromfile("speech.wav", np.uint8), downmix=True)
        spectra = gradiva.spectrogram(audio, window_length=400, window_step=160)
        gradiva.mel_filter_bank(spectra, nfilter=80, sample_rate=16000).shape  # (80, 101)
    """
    check_floats(input)
    if nfilter < 1:
        raise op.wrong_value("nfilter", "an integer from 1 on", nfilter)
    if not 0 < sample_rate < math.inf:
        raise op.wrong_value("sample_rate", "a positive number", sample_rate)
    if not 0 <= freq_low <= sample_rate:
        raise op.wrong_value("freq_low", f"from 0 to {sample_rate:g} (`sample_rate`)", freq_low)
    if not freq_low < (freq_high or sample_rate / 2) <= sample_rate:
        expected = f"more than `freq_low`, at most {sample_rate:g} (`sample_rate`)"
        raise op.wrong_value("freq_high", expected, freq_high)
    if mel_formula not in SCALES:
        raise op.wrong_value("mel_formula", "'slaney' or 'htk'", repr(mel_formula))
    if input.ndim is not None and input.layout is not None:
        _axis(input.ndim, input.layout)
    return input


def _axis(ndim: int, layout: str) -> int:
    """That of frequencies. Raises OperatorTypeError."""
    if ndim == 0:
        raise op.wrong_type("", "spectra of 1 axis or more", "scalars")
    if layout and "f" not in layout:
        raise op.wrong_type("", "an axis f", repr(layout), "the layout has no axis of frequencies")
    return layout.index("f") if layout else max(ndim - 2, 0)


@mel_filter_bank.shapes
def _shapes(call: op.Call) -> op.Int64Array:
    shapes = call.inputs[0].batch_shape.shapes.copy()
    shapes[:, _axis(shapes.shape[1], call.inputs[0].layout)] = call["nfilter"]
    return shapes


def _filters(call: op.Call, axis: int) -> list[BandMatrix]:
    """The filters of each sample."""
    rate = call["sample_rate"]
    high = call["freq_high"] or rate / 2
    scale = call["freq_low"], high, call["mel_formula"], call["normalize"]
    bins = call.inputs[0].batch_shape.shapes[:, axis].tolist()
    return [mel_matrix(count, call["nfilter"], rate, *scale) for count in bins]


def _bands(call: op.Call) -> BandMatrix | None:
    """The filters of spectra of frames, which are equal for all samples."""
    source = call.inputs[0]
    if source.layout not in ("ft", "tf"):
        return None
    return _filters(call, source.layout.index("f"))[0]


mel_filter_bank.fusion_role = SpectralStep(3, _bands)


@mel_filter_bank.cpu
def _cpu(call: op.Call) -> None:
    source = call.inputs[0]
    axis = _axis(source.batch_shape.shapes.shape[1], source.layout)
    along_axis(call, axis, _filters(call, axis))


@mel_filter_bank.gpu
def _gpu(call: op.Call) -> op.Launch:
    source = call.inputs[0]
    axis = _axis(source.batch_shape.shapes.shape[1], source.layout)
    return launch_along_axis(call, axis, _filters(call, axis))


@mel_filter_bank.cases
def _cases() -> list[op.Case]:
    spectra = op.samples((257, 5), (257, 300), (129, 1), dtype=op.float32, layout="ft")
    turned = op.samples((7, 257), (3, 129), dtype=op.float32, layout="tf")
    few = {"nfilter": 20, "sample_rate": 16000.0}

    def expected(spectrum: Any) -> Any:
        weights = mel_weights(len(spectrum), 20, 16000.0, 0.0, 8000.0, "slaney", True)
        return weights.astype(np.float32).astype(np.float64) @ spectrum

    return [
        op.case("default", spectra),
        op.case("few", spectra, **few).each(lambda one: expected(one).astype(np.float32)),
        op.case("htk", spectra, mel_formula="htk", **few),
        op.case("not normalized", spectra, normalize=False, **few),
        op.case("a band", spectra, freq_low=300.0, freq_high=3400.0, **few),
        op.case("beyond half of the rate", spectra, freq_high=12000.0, **few).no_oracle(),
        op.case("frames first", turned, **few),
        op.case("no layout", op.samples((2, 65, 3), dtype=op.float32, layout=""), **few),
        op.case("one axis", op.samples((65,), (33,), dtype=op.float32, layout=""), **few),
        op.case("one bin", op.samples((1, 3), (2, 3), dtype=op.float32, layout=""), **few),
        op.case("no frame", op.samples((65, 0), dtype=op.float32, layout="ft"), **few),
        op.case("empty", op.samples(dtype=op.float32, layout="ft")).equals([]),
        op.case("layout", op.samples((5, 5), dtype=op.float32, layout="xt")).type_error("axis f"),
        op.case("integers", op.samples((5, 5), layout="ft", dtype=op.int32)).type_error("cast"),
        op.case("scalars", op.samples((), dtype=op.float32, layout="")).type_error("scalars"),
        op.case("no filter", spectra, nfilter=0).value_error("`nfilter`"),
        op.case("rate", spectra, sample_rate=0.0).value_error("`sample_rate`"),
        op.case("negative", spectra, freq_low=-1.0).value_error("`freq_low`"),
        op.case("too high", spectra, freq_high=44101.0).value_error("`freq_high`"),
        op.case("no band", spectra, freq_low=5000.0, freq_high=4000.0).value_error("`freq_high`"),
        op.case("formula", spectra, mel_formula="HTK").value_error("`mel_formula`"),
    ]
