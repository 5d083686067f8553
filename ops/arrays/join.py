"""What `cat` and `stack` share: the kernel that lays samples beside each other along an axis."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.execution.gpu_copies import SLABS, in_eights, piece_launches
from gradiva.eager.simd.pixel_vectors import move_three
from gradiva.eager.simd.streaming import copy_nontemporal, finish_lines, use_nontemporal
from gradiva.eager.types.arrays import Slabs

_KERNEL: Final = op.CudaKernel("join", ("slabs.cuh", Path(__file__).with_name("join.cuh")))
_NEAR_BYTES: Final = 1 << 18
"""Of the output, what is filled from all inputs before the next samples are begun."""


def same_shapes(call: op.Call, but: int | None = None) -> None:
    """Refuse inputs whose shapes differ in an axis other than `but`. Raises OperatorValueError."""
    first = call.inputs[0].batch_shape
    beside = "" if but is None else f", except for axis {but}"
    for number, batch in enumerate(call.inputs[1:], 1):
        if batch.batch_shape is first:
            continue
        differs = batch.batch_shape.shapes != first.shapes
        if but is not None:
            differs[:, but] = False
        op.refuse_samples(
            differs.any(axis=1),
            "",
            lambda sample: f"{first.shape(sample)}{beside}",
            batch.batch_shape.shape,
            f"input {number} has another shape than input 0",
        )


@op.jit
def join_kernel(
    slabs: Slabs,
    outer: op.Int64Array,
    runs: op.Int64Array,
    pitches: op.Int64Array,
    starts: op.Int64Array,
    past: bool,
    begin: int,
    end: int,
) -> None:
    """Copy the runs of one input to their places in the output, for a range of samples."""
    source, source_offsets, target, target_offsets = slabs
    for i in range(begin, end):
        run = runs[i]
        here, there = source_offsets[i], target_offsets[i] + starts[i]
        if run <= 8:
            # Channels: a slice for each pixel would cost more than its elements.
            pitch, last = pitches[i], outer[i] - 1
            if run == 3 and starts[i] + run < pitch and last > 0:
                # An element more is copied of each pixel, whose place is that of a later input.
                for pixel in range(last):
                    move_three(source, here + pixel * run, target, there + pixel * pitch)
                for k in range(run):
                    target[there + last * pitch + k] = source[here + last * run + k]
                continue
            for k in range(run):
                part = source[here + k : here + run * outer[i]]
                place = target[there + k : there + pitch * outer[i] - starts[i]]
                for pixel in range(outer[i]):
                    place[pixel * pitch] = part[pixel * run]
            continue
        for _ in range(outer[i]):
            part = source[here : here + run]
            place = target[there : there + run]
            if past:
                copy_nontemporal(source, here, target, there, run)
            else:
                for k in range(run):
                    place[k] = part[k]
            here += run
            there += pitches[i]
    if past:
        finish_lines()


def join(call: op.Call, axis: int) -> None:
    """Fill the output with the inputs, one after the other along `axis` (of the inputs)."""
    target = call.outputs[0]
    # Bytes move whatever they mean: one compiled kernel per element size.
    unsigned = f"u{target.dtype.itemsize}"
    outer = call.inputs[0].batch_shape.shapes[:, :axis].prod(axis=1)
    runs = [batch.batch_shape.shapes[:, axis:].prod(axis=1) for batch in call.inputs]
    pitches = np.sum(runs, axis=0)
    starts = np.zeros(call.size, np.int64)
    places = target.data.view(unsigned), target.batch_shape.offsets
    past = use_nontemporal(target.data, *runs)
    tables = []
    for batch, run in zip(call.inputs, runs, strict=True):
        slabs = batch.data.view(unsigned), batch.batch_shape.offsets, *places
        tables.append((slabs, outer, run, pitches, starts, past))
        starts = starts + run

    # What one input leaves in the cache, the next one finds there.
    step = max(1, _NEAR_BYTES * call.size // max(target.data.nbytes, 1))

    def work(begin: int, end: int) -> None:
        for first in range(begin, end, step):
            for table in tables:
                join_kernel(*table, first, min(first + step, end))

    call.for_samples(work)


def join_launches(call: op.Call, axis: int) -> list[op.Launch]:
    """The launches that do what `join` does, one for each eight inputs."""
    target = call.outputs[0]
    size = target.dtype.itemsize
    outer = call.inputs[0].batch_shape.shapes[:, :axis].prod(axis=1)
    runs = np.stack([batch.batch_shape.shapes[:, axis:].prod(axis=1) for batch in call.inputs])
    sources = np.stack([batch.batch_shape.offsets for batch in call.inputs])
    starts = runs.cumsum(axis=0) - runs
    slabs = [batch.data for batch in call.inputs]
    if (outer <= 1).all():
        # Each sample of each input moves as it lies.
        numbers, there = np.arange(len(slabs))[:, None], target.batch_shape.offsets + starts
        pieces = numbers, sources * size, there * size, runs * outer * size
        return piece_launches(slabs, target.data, pieces)
    pitch, unsigned = runs.sum(axis=0), f"u{size}"
    result = target.data.view(unsigned)
    launches = []
    for first, group in in_eights([slab.view(unsigned) for slab in slabs]):
        own = runs[first : first + SLABS]
        ends, begins = (np.zeros((SLABS, call.size), np.int64) for _ in range(2))
        ends[:] = own.sum(axis=0)
        ends[: len(own)] = own.cumsum(axis=0)
        begins[: len(own)] = sources[first : first + SLABS]
        volumes = outer * ends[-1]
        long = np.stack([target.batch_shape.offsets + starts[first], pitch], axis=1)
        counts = np.stack([ends[-1], volumes], axis=1).astype(np.int32).view(np.int64)
        short = np.ascontiguousarray(ends.T).astype(np.int32).view(np.int64)
        table = np.concatenate([long, counts, begins.T, short], axis=1)
        blocks = op.blocks_of(volumes)
        kinds = {"Source": op.type_name(result.dtype)}
        arguments = (*group, op.OutputArg(result), table, blocks.table)
        launches.append(op.Launch(_KERNEL.unit(kinds), blocks.total, arguments))
    return launches
