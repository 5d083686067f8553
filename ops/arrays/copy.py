"""`copy`, and copies of pieces of samples."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradiva.eager import extension as op
from gradiva.eager.execution.gpu_copies import sample_launches
from gradiva.eager.simd.streaming import (
    copy_nontemporal,
    finish_lines,
    move_nontemporal,
    use_nontemporal,
)
from gradiva.eager.types.arrays import I64Table, I64Vector, U8Vector


@op.jit
def _copy(
    source: U8Vector,
    target: U8Vector,
    pieces: I64Table,
    firsts: I64Vector,
    past: bool,
    begin: int,
    end: int,
) -> None:
    """Copy bytes of samples.

    pieces: of each piece, where it begins in the source and in the target, and how many bytes it
    has; firsts: the first piece of each sample, and their number; past: whether stores go past the
    caches; begin, end: the range of samples.
    """
    for piece in range(firsts[begin], firsts[end]):
        here, there, size = pieces[piece]
        if past:
            copy_nontemporal(source, here, target, there, size)
            continue
        part, room = source[here : here + size], target[there : there + size]
        for k in range(size):
            room[k] = part[k]
    if past:
        finish_lines()


def _job(
    output: op.Batch,
    source: NDArray[Any],
    starts: op.Int64Array,
    begins: op.Int64Array,
    sizes: op.Int64Array,
    firsts: op.Int64Array,
) -> tuple[Any, Any, op.Int64Array, op.Int64Array, bool]:
    """What `_copy` takes but for the samples, to copy pieces of so many bytes into an output."""
    assert not len(starts) or (starts.min() >= 0 and (starts + sizes).max() <= source.nbytes)
    past = use_nontemporal(output.data, sizes // output.data.itemsize)
    pieces = np.stack([starts, begins, sizes], axis=1).astype(np.int64)
    return source.view(np.uint8), output.data.view(np.uint8), pieces, firsts, past


def _places(output: op.Batch) -> tuple[op.Int64Array, op.Int64Array]:
    """Where each sample begins, and how many bytes it has."""
    size = output.data.dtype.itemsize
    return output.batch_shape.offsets * size, output.batch_shape.volumes * size


def copy_samples(call: op.Call, source: NDArray[Any], starts: Sequence[op.Int64Array]) -> None:
    """Fill each output with a piece of `source` for each sample, in C order, from the bytes that
    `starts` has for it on: all outputs while threads are at it."""
    firsts = np.arange(call.size + 1)
    jobs = [
        _job(output, source, begins, *_places(output), firsts)
        for output, begins in zip(call.outputs, starts, strict=True)
    ]
    call.for_calls(lambda _: [(_copy, job) for job in jobs])


def copy_pieces(
    call: op.Call,
    source: NDArray[Any],
    starts: op.Int64Array,
    number: int = 0,
    counts: op.Int64Array | None = None,
) -> None:
    """Fill output `number` with pieces of `source`, in C order, from the bytes `starts` on.

    Without counts there is one piece for each sample, of as many bytes as it has; else so many of
    equal size, one after the other.
    """
    target = call.outputs[number]
    begins, sizes = _places(target)
    firsts = np.arange(call.size + 1)
    if counts is not None:
        firsts[1:] = counts.cumsum()
        owners = np.repeat(np.arange(call.size), counts)
        sizes = (sizes // np.maximum(counts, 1))[owners]
        begins = begins[owners] + (np.arange(len(owners)) - firsts[owners]) * sizes
    job = _job(target, source, starts, begins, sizes, firsts)
    here_bytes, there_bytes, past = job[0], job[1], job[-1]
    if (np.diff(starts) == sizes[:-1]).all() and (np.diff(begins) == sizes[:-1]).all():
        here, there = source.ctypes.data, target.data.ctypes.data

        def move(begin: int, end: int) -> None:
            first, last = int(firsts[begin]), int(firsts[end])
            if first < last:
                whole = int(sizes[first:last].sum())
                if past:
                    at = int(starts[first]), int(begins[first])
                    move_nontemporal(here_bytes, at[0], there_bytes, at[1], whole)
                else:
                    ctypes.memmove(there + int(begins[first]), here + int(starts[first]), whole)

        call.for_samples(move, work=target)
        return
    call.for_samples(_copy, *job, work=target)


@op.operator("copy", schema="Copy", bfloat16=True, same_shapes=True)
def copy(input: op.SampleType, /, **common: op.Unpack[op.Common]) -> op.SampleType:
    """Copy samples into memory of their own.

    The outputs of `reshape`, `squeeze` and `permute_batch` share the memory of their input; a copy
    is independent of it.

    Args:
        input: any dtype, rank and layout.

    Returns:
        The same samples.

    Raises:
        OperatorTypeError: for another number of inputs than one.

    Example:
        rows = gradiva.reshape(np.arange(6), shape=(2, 3))  # in the memory of its input
        gradiva.copy(rows)  # [[0, 1, 2], [3, 4, 5]]
    """
    return input


copy.transfers = True


@copy.cpu
def _cpu(call: op.Call) -> None:
    source = call.inputs[0]
    copy_pieces(call, source.data, source.batch_shape.offsets * source.dtype.itemsize)


@copy.gpu
def _gpu(call: op.Call) -> list[op.Launch]:
    source = call.inputs[0]
    return sample_launches(source.data, source.batch_shape.offsets, call)


@copy.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 2, 3))
    halves = op.samples((4, 2), (4, 2), dtype=op.float16, layout="HW")
    numbers = op.samples((), (), dtype=op.int64, layout="")
    masks = op.samples((2, 0), (1, 3), dtype=op.bool_, layout="")
    return [
        op.case("ragged", images).equals(images.arrays()),
        op.case("uniform", halves).equals(halves.arrays()),
        op.case("scalars", numbers).equals(numbers.arrays()),
        op.case("no elements", masks).equals(masks.arrays()),
        op.case("empty", op.samples()).equals([]),
        op.case("two inputs", images, images).type_error("1 input"),
    ]
