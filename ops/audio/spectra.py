"""What spectra have in common: checks of arguments, and transforms of rows of odd lengths.

`fourier.py` transforms rows of usual lengths. Long ones, and those with large prime factors, are
left to NumPy, between two kernels, in blocks of rows. A block is as long as fits the cache, for any
batch and number of threads, and each row is transformed by itself: so bits depend on the row alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array, F32Vector, Float32Array, Table

LONGEST_FFT: Final = 1 << 24
"""Transforms that are longer are taken for a mistake."""
ONE_CHANNEL: Final = (
    "decoders.audio(downmix=True) mixes channels into one; `slice(audio, 0, 1, axes=[1])` takes "
    "the first"
)
"""What to do with audio of several channels, for errors."""
_BLOCK_VALUES: Final = 16384


def check_floats(input: op.SampleType) -> None:
    """Refuse all but float32, with a hint. Raises OperatorTypeError."""
    if input.dtype is not None and input.dtype is not op.float32:
        raise op.OperatorTypeError(
            "the input has a dtype this operator does not take: `cast` converts it",
            expected="float32",
            got=input.dtype.name,
        )


def check_power(power: int) -> None:
    """Raises OperatorValueError for powers other than 1 and 2."""
    if power not in (1, 2):
        raise op.wrong_value("power", "1 (magnitude) or 2 (power)", power)


def check_fft(nfft: int | None) -> None:
    """Raises OperatorValueError for a length of the transform that is out of range."""
    if nfft is not None and not 1 <= nfft <= LONGEST_FFT:
        raise op.wrong_value("nfft", f"an integer from 1 to {LONGEST_FFT}", nfft)


def one_axis(shapes: op.Int64Array) -> op.Int64Array:
    """(N,): how long samples with one extent other than 1 are. Raises OperatorValueError."""
    sizes = np.asarray(shapes.prod(axis=1), np.int64)
    longest = shapes.max(axis=1, initial=1)
    # An extent of 0 beside another one is no audio of one channel either.
    op.refuse_samples(
        (sizes != longest) & (sizes != 0),
        "",
        "one channel",
        shapes,
        f"samples have several axes, as audio of several channels has: {ONE_CHANNEL}",
    )
    return sizes


@op.jit
def _write_power(spectrum: Table, first: int, power: int, inner: int, target: F32Vector) -> None:
    """The power, or magnitude, of rows `first`, `first + 1`, ... of a spectrum, of which each is a
    column of a block of `inner` ones.

    spectrum: complex, (rows, bins); first: the number of its first row; power: 1 or 2; target:
    float32, flat, in the order (block, bin, inner).
    """
    rows, bins = spectrum.shape
    if inner == 1:
        for k in range(rows):
            to = (first + k) * bins
            for b in range(bins):
                real, imaginary = spectrum[k, b].real, spectrum[k, b].imag
                value = real * real + imaginary * imaginary
                target[to + b] = np.sqrt(value) if power == 1 else value
        return
    for b in range(bins):
        for k in range(rows):
            row = first + k
            to = (row // inner * bins + b) * inner + row % inner
            real, imaginary = spectrum[k, b].real, spectrum[k, b].imag
            value = real * real + imaginary * imaginary
            target[to] = np.sqrt(value) if power == 1 else value


def long_spectra(
    fill: Callable[[int, Float32Array], None],
    rows: int,
    nfft: int,
    power: int,
    inner: int,
    target: Array,
) -> None:
    """The spectra of `rows` rows of `nfft` values, into `target`, flat.

    fill: `fill(first, block)` writes rows `first`, `first + 1`, ... into a block (rows, nfft);
    inner: how many spectra lie side by side, in columns; 1: one after another.
    """
    count = max(1, _BLOCK_VALUES // nfft)
    block = np.empty((min(count, rows), nfft), np.float32)
    for first in range(0, rows, count):
        part = block[: min(count, rows - first)]
        fill(first, part)
        # NumPy 2 stays in float32; 1.26 computes in float64.
        _write_power(np.fft.rfft(part, axis=1), first, power, inner, target)
