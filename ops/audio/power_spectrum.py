"""`power_spectrum`: the power of the frequencies along an axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.simd.vectors import LANES
from gradiva.eager.types.arrays import F32Table, F32Vector, Float32Array

from .fourier import FourierPlan, fourier_plan, place_of, power_of_lanes, work_size
from .spectra import check_fft, check_floats, check_power, long_spectra


@op.operator("power_spectrum", schema="PowerSpectrum")
def power_spectrum(
    input: op.SampleType,
    /,
    *,
    nfft: int | None = None,
    axis: int = -1,
    power: int = 2,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Compute the power spectrum |FFT(x)| ** power along an axis.

    Args:
        input: float32, of 1 to 3 axes, any layout.
        nfft: length of the transform, the extent of the axis by default. Values are put in the
            middle of that many, zeros elsewhere.
        axis: the axis of time; negative numbers count from the last.
        power: 2 for the power, 1 for the magnitude.

    Returns:
        Float32 samples whose extent along the axis is nfft // 2 + 1.

    Raises:
        OperatorTypeError: for other dtypes and ranks.
        OperatorValueError: for an axis that is not there, a transform shorter than the axis, and
            samples without a value along it.

    Example:
        gradiva.power_spectrum(np.float32([1, 0, -1, 0]))  # [0.0, 4.0, 0.0]
    """
    check_floats(input)
    op.require_ndim(input, (1, 2, 3))
    check_fft(nfft)
    check_power(power)
    if input.ndim is not None:
        _axis(axis, input.ndim)
    return input


def _axis(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise op.wrong_value("axis", f"an axis from {-ndim} to {ndim - 1}", axis)
    return axis % ndim


@dataclass(frozen=True)
class _PowerSpectrumPlan(op.Plan):
    """axis: from 0 on; sizes: of the transforms, (N,)."""

    axis: int
    sizes: op.Int64Array


@power_spectrum.shapes
def _shapes(call: op.Call) -> _PowerSpectrumPlan:
    shapes = call.inputs[0].batch_shape.shapes
    axis, nfft = _axis(call["axis"], shapes.shape[1]), call["nfft"]
    extents = shapes[:, axis]
    sizes = extents if nfft is None else np.full(call.size, nfft, np.int64)
    op.refuse_samples(
        extents < 1, "", "one value or more", shapes, "there are no values along the axis"
    )
    op.refuse_samples(
        extents > sizes, "nfft", lambda k: f"{extents[k]} or more, as the axis has", sizes
    )
    made = shapes.copy()
    made[:, axis] = sizes // 2 + 1
    return _PowerSpectrumPlan(made, axis, sizes)


@op.jit
def _fill_rows(source: F32Vector, first: int, inner: int, extent: int, block: F32Table) -> None:
    """Put rows of the source into the middle of rows of zeros.

    first: the number of the first row; inner: how many rows lie side by side; extent: the values of
    a row; block: (rows, nfft).
    """
    rows, nfft = block.shape
    margin = (nfft - extent) // 2
    block[:] = np.float32(0)
    for k in range(rows):
        row = first + k
        at = row // inner * extent * inner + row % inner
        for t in range(extent):
            block[k, margin + t] = source[at + t * inner]


@op.jit
def _transform_rows(
    source: F32Vector,
    rows: int,
    inner: int,
    extent: int,
    plan: FourierPlan,
    power: int,
    target: F32Vector,
) -> None:
    """The spectra of all rows of a sample, eight at a time.

    source: (rows, extent), where `inner` rows lie side by side, in elements; power: 1 for the
    magnitude, 2 for the power; target: flat, in the order (block, bin, inner).
    """
    nfft = plan[0]
    bins, margin = nfft // 2 + 1, (nfft - extent) // 2
    work = np.empty(work_size(nfft), np.float32)
    spectra = np.empty(bins * LANES, np.float32)
    for first in range(0, rows, LANES):
        work[: 2 * LANES * nfft] = np.float32(0)
        there = min(LANES, rows - first)
        for k in range(there):
            at = (first + k) // inner * extent * inner + (first + k) % inner
            for t in range(extent):
                work[place_of(nfft, margin + t) + k] = source[at + t * inner]
        power_of_lanes(plan, power, work, spectra)
        for k in range(there):
            to = (first + k) // inner * bins * inner + (first + k) % inner
            for b in range(bins):
                target[to + b * inner] = spectra[b * LANES + k]


@power_spectrum.cpu
def _cpu(call: op.Call, plan: _PowerSpectrumPlan) -> None:
    source, target, axis = call.inputs[0], call.outputs[0], plan.axis
    shapes, sizes = source.batch_shape.shapes, plan.sizes.tolist()

    def compute(sample: int) -> None:
        extent, nfft = int(shapes[sample, axis]), sizes[sample]
        inner = int(shapes[sample, axis + 1 :].prod())
        rows = int(shapes[sample, :axis].prod()) * inner
        values, out = source.array(sample).reshape(-1), target.array(sample).reshape(-1)
        fourier = fourier_plan(nfft)
        if fourier is not None:
            plan: Any = tuple(fourier)
            _transform_rows(values, rows, inner, extent, plan, call["power"], out)
            return

        def fill(first: int, block: Float32Array) -> None:
            _fill_rows(values, first, inner, extent, block)

        long_spectra(fill, rows, nfft, call["power"], inner, out)

    call.each_sample(compute, source.batch_shape.volumes.tolist())


def _power_of(values: Any) -> Any:
    """By NumPy: the same bits, for few whole numbers along an axis of 4 or 2."""
    spectrum = np.fft.rfft(values, axis=1)
    return (spectrum.real**2 + spectrum.imag**2).astype(np.float32)


@power_spectrum.cases
def _cases() -> list[op.Case]:
    lines = op.samples((16,), (33,), (3,), dtype=op.float32, layout="", low=-1.0)
    planes = op.samples((6, 8), (5, 40), dtype=op.float32, layout="AB", low=-1.0)
    whole = op.batch([np.arange(2 * n * 3, dtype=np.float32).reshape(2, n, 3) % 7 for n in (4, 2)])
    cubes = op.samples((3, 4, 5), (2, 9, 3), dtype=op.float32, layout="", low=-1.0)
    return [
        op.case("default", lines),
        op.case("padded", lines, nfft=37),
        op.case("magnitude", planes, power=1),
        op.case("first axis", planes, axis=0, nfft=16),
        op.case("middle axis", cubes, axis=1),
        op.case("last but one", whole, axis=-2).each(_power_of).no_oracle(),
        op.case("one value", op.samples((1,), dtype=op.float32, layout=""))
        .each(np.square)
        .no_oracle(),
        op.case("no rows", op.samples((0, 5), dtype=op.float32, layout="")),
        op.case("empty", op.samples(dtype=op.float32, layout="t")).equals([]),
        op.case("short transform", lines, nfft=20).value_error("sample 1"),
        op.case("no values", op.samples((0,), dtype=op.float32, layout="")).value_error("sample 0"),
        op.case("no such axis", planes, axis=2).value_error("`axis`"),
        op.case("power", lines, power=0).value_error("`power`"),
        op.case("no transform", lines, nfft=0).value_error("`nfft`"),
        op.case("four axes", op.samples((1, 2, 3, 4), dtype=op.float32, layout="")).type_error(
            "axes"
        ),
        op.case("integers", op.samples((9,), dtype=op.uint8, layout="")).type_error("cast"),
    ]
