"""Mel scales, and the triangular filters of a filter bank.

Formulas: M. Slaney, "Auditory Toolbox, version 2", Interval Research technical report 1998-010;
S. Young et al., "The HTK Book". Both scales are those of `librosa.filters.mel`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Final

import numpy as np

from gradiva.eager.types.arrays import Float64Array

from .matrices import BandMatrix

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
