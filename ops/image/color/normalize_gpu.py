"""`normalize` on a GPU: statistics by the kernels of reductions, then one expression."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array
from gradiva.ops.math.expression import Spread, spread_launch
from gradiva.ops.reductions.cpu import DEVIATIONS, MEAN, PLAIN, SUM
from gradiva.ops.reductions.gpu import reduction_launches
from gradiva.ops.reductions.reduce import reduced_shapes

from .normalize_statistics import Numbers, counts_of, given, normalized_axes, places_of

_FLOAT32: Final = np.dtype(np.float32)
_FLOAT64: Final = np.dtype(np.float64)
_HERE: Final = Path(__file__).parent
_SCALES: Final = op.CudaKernel("scales", (None, _HERE / "normalize_scales.cuh"))


class _Statistics(NamedTuple):
    """Means or scales: in memory of the device, or given, and so on the host."""

    data: Any
    offsets: op.Int64Array
    counts: op.Int64Array
    shapes: op.Int64Array


@lru_cache(maxsize=1)
def _functions() -> str:
    return (_HERE / "normalize.cuh").read_text("utf-8")


def normalize_launches(call: op.Call) -> list[op.Launch]:
    """The launches of one call: up to five, one if means and deviations are given."""
    source, target = call.inputs[0], call.outputs[0]
    taken = normalized_axes(call)
    launches: list[op.Launch] = []
    numbers = given(call, "mean", taken)
    if numbers is not None:
        means = _on_host(call, taken, numbers)
    else:
        means = _measured_means(call, taken, launches)
    numbers = given(call, "stddev", taken)
    if numbers is not None:
        with np.errstate(all="ignore"):
            scales = call["scale"] / np.sqrt(numbers.values**2 + call["epsilon"])
            scaled = _on_host(call, taken, numbers._replace(values=scales))
            scaled = scaled._replace(data=scaled.data.astype(np.float32))
    else:
        scaled = _measured_scales(call, taken, means, launches)
    nowhere = np.zeros(call.size, np.int64)
    operands = [
        Spread(source.data, source.batch_shape.offsets, source.batch_shape.shapes),
        Spread(means.data, means.offsets, means.shapes),
        Spread(scaled.data, scaled.offsets, scaled.shapes),
        Spread(np.array([call["shift"]], np.float32), nowhere, _no_axes(call)),
    ]
    text = "normalized(operand0[at[0]], f32(operand1[at[1]]), operand2[at[2]], operand3[at[3]])"
    launches.append(spread_launch(operands, target.data, target.batch_shape, text, _functions()))
    return launches


def _no_axes(call: op.Call) -> op.Int64Array:
    return np.empty((call.size, 0), np.int64)


def _on_host(call: op.Call, taken: tuple[int, ...], numbers: Numbers) -> _Statistics:
    """Numbers that were given: one for a sample, or as many as there are results."""
    offsets, several = np.ascontiguousarray(numbers.steps[:, 0]), numbers.steps[:, 1].any()
    shapes = reduced_shapes(call.inputs[0].batch_shape.shapes, taken, True)
    return _Statistics(
        numbers.values, offsets, numbers.counts, shapes if several else _no_axes(call)
    )


def _measured_means(
    call: op.Call, taken: tuple[int, ...], launches: list[op.Launch]
) -> _Statistics:
    places, shared = places_of(call, taken), bool(call["batch"])
    means = op.Scratch(places.size, _FLOAT64)
    ending = PLAIN if shared else MEAN
    launches += reduction_launches(call.inputs[0], SUM, ending, taken, means, places)
    if shared:
        total = counts_of(call, places).sum()
        sums, means = means, op.Scratch(int(places.volumes[:1].sum()), _FLOAT64)
        launches.append(_scales_launch(call, places, sums, means, np.array([total])))
    return _placed(means, places, shared)


def _measured_scales(
    call: op.Call, taken: tuple[int, ...], means: _Statistics, launches: list[op.Launch]
) -> _Statistics:
    places, shared = places_of(call, taken), bool(call["batch"])
    sums, scales = op.Scratch(places.size, _FLOAT64), op.Scratch(places.size, _FLOAT32)
    centers = means.data, means.offsets, means.counts
    launches += reduction_launches(call.inputs[0], DEVIATIONS, PLAIN, taken, sums, places, centers)
    left = counts_of(call, places)
    if shared:
        factors = np.array([left.sum() - call["ddof"]])
    else:
        left = left - call["ddof"]
        factors = np.where(left > 0, 1 / np.where(left > 0, left, 1), 0.0)
    launches.append(_scales_launch(call, places, sums, scales, factors))
    return _placed(scales, places, shared)


def _placed(data: op.Scratch, places: op.BatchShape, shared: bool) -> _Statistics:
    offsets = np.zeros_like(places.offsets) if shared else places.offsets
    return _Statistics(data, offsets, places.volumes, places.shapes)


def _scales_launch(
    call: op.Call, places: op.BatchShape, sums: op.Scratch, made: op.Scratch, factors: Array
) -> op.Launch:
    """From sums to means, which are float64, or to scales. factors: one per sample, or a divisor
    for the batch."""
    shared, means = bool(call["batch"]), made.dtype == np.float64
    rows = 1 if shared else call.size
    table = np.empty((min(rows, call.size), 3), np.int64)
    table[:, 0], table[:, 1] = places.offsets[:rows], places.volumes[:rows]
    table[:, 2] = factors[: len(table)].astype(np.float64).view(np.int64)
    words = {
        name: "true" if value else "false" for name, value in (("MEANS", means), ("SHARED", shared))
    }
    generated = "".join(f"constexpr bool {name} = {word};\n" for name, word in words.items())
    unit = _SCALES.unit({"Made": "f64" if means else "f32"}, generated)
    blocks = op.blocks_of(table[:, 1])
    scale, epsilon = np.float64(call["scale"]), np.float64(call["epsilon"])
    together = np.int64(call.size if shared else 1)
    return op.Launch(
        unit,
        blocks.total,
        (sums, op.OutputArg(made), table, blocks.table, together, scale, epsilon),
    )
