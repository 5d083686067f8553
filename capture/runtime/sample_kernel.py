"""What runs the samples of a fused group, and what is put around it where they need more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from gradiva.eager.jit.jit import jit
from gradiva.eager.jit.packed_calls import KernelCall, run_calls
from gradiva.eager.operators.fusion_roles import SourceWindow
from gradiva.eager.runtime.host_memory import allocate
from gradiva.eager.types.arrays import Array, Int64Array, Vector
from gradiva.eager.values.batch import Batch

from .decode_loop import SourceOffsets


class SampleKernel(NamedTuple):
    """calls: from the source, and a number of threads, to the calls that run its samples; the
    source has a row for each thread, or is one slab. set_origin: tell the tables where a sample
    begins, and the elements from one of its rows to the next; set_frame: tell them that of a sample
    one frame is in memory, and which. source_offsets: for loops in compiled code, which set the
    origins themselves; None where the calls take Python."""

    calls: Callable[[Array, int], list[KernelCall]]
    set_origin: Callable[[int, int, int], None]
    set_frame: Callable[[int, int], None]
    source_offsets: SourceOffsets | None = None


def by_channels(runs: Mapping[int, SampleKernel], channels: Sequence[int]) -> SampleKernel:
    """One run for samples with different numbers of channels, from one for each number."""
    if len(runs) == 1:
        return runs[channels[0]]

    def calls(data: Array, _threads: int) -> list[KernelCall]:
        made: dict[int, list[KernelCall]] = {}

        def run(begin: int, end: int) -> None:
            for first, last in _alike(channels, begin, end):
                count = channels[first]
                if count not in made:
                    made[count] = runs[count].calls(data, 1)
                run_calls(made[count], first, last)

        return [(run, ())]

    def set_origin(sample: int, first: int, pitch: int) -> None:
        runs[channels[sample]].set_origin(sample, first, pitch)

    def set_frame(sample: int, frame: int) -> None:
        runs[channels[sample]].set_frame(sample, frame)

    return SampleKernel(calls, set_origin, set_frame)


def _alike(values: Sequence[int], begin: int, end: int) -> Iterator[tuple[int, int]]:
    """The longest ranges of equal values, in their order."""
    first = begin
    for k in range(begin + 1, end + 1):
        if k == end or values[k] != values[first]:
            yield first, k
            first = k


def mirrored(
    run: SampleKernel,
    view: SourceWindow,
    windows: Int64Array,
    channels: Int64Array,
    source: Batch,
    at: int,
    decoded: bool,
    framewise: bool = False,
) -> SampleKernel:
    """The run of a resize, after the samples that the view mirrors were mirrored in memory.

    A resize cannot read its rows from right to left itself: its sums are rounded, and in the other
    order they would have other bits. windows: (N, 2), height and width of what is resized; at:
    where H is among the axes; decoded: whether samples lie in memory of a thread, where a decoder
    has left them. Those of the user are copied first. framewise: one frame at a time.
    """
    shapes = source.batch_shape.shapes
    frames, frame_pitch = shapes[:, :at].prod(axis=1), shapes[:, at] * shapes[:, at + 1] * channels
    if framewise:
        frames = np.ones_like(frames)
    facts = np.stack([frames, frame_pitch, view.top, view.left, *windows.T, channels], axis=1)
    wanted = {int(k): facts[k].tolist() for k in np.flatnonzero(view.mirror)}
    pitches = (shapes[:, at + 1] * channels).tolist()
    offsets = source.batch_shape.offsets.tolist() if decoded else [0] * len(pitches)
    places = list(zip(offsets, pitches, strict=True))

    def set_origin(sample: int, first: int, pitch: int) -> None:
        places[sample] = first, pitch
        run.set_origin(sample, first, pitch)

    def mirror(data: Array, sample: int) -> None:
        (frames, frame_pitch, top, left, height, width, channels), (first, pitch) = (
            wanted[sample],
            places[sample],
        )
        words, first = data.view(f"u{data.itemsize}"), first + top * pitch + left * channels
        _mirror_rows(words, first, frames, frame_pitch, height, pitch, width, channels)

    def calls(data: Array, _threads: int) -> list[KernelCall]:
        memory = data
        if not decoded:
            volumes = source.batch_shape.volumes
            memory = allocate(int(volumes[list(wanted)].max()), data.dtype)
        plain, turned = run.calls(data, 1), run.calls(memory, 1)

        def run_mirrored(begin: int, end: int) -> None:
            for sample in range(begin, end):
                if sample in wanted:
                    if not decoded:
                        whole = source.array(sample).reshape(-1)
                        memory[: len(whole)] = whole
                    mirror(memory, sample)
                run_calls(turned if sample in wanted else plain, sample, sample + 1)

        return [(run_mirrored, ())]

    if not decoded:
        for sample in wanted:
            run.set_origin(sample, 0, pitches[sample])
    return SampleKernel(calls, set_origin, run.set_frame)


@jit
def _mirror_rows(
    data: Vector,
    first: int,
    frames: int,
    frame_pitch: int,
    rows: int,
    pitch: int,
    width: int,
    channels: int,
) -> None:
    """Mirror rows of pixels in place."""
    for frame in range(frames):
        for y in range(rows):
            low = first + frame * frame_pitch + y * pitch
            high = low + (width - 1) * channels
            if channels == 3:
                while low < high:
                    a, b, c = data[low], data[low + 1], data[low + 2]
                    data[low], data[low + 1] = data[high], data[high + 1]
                    data[low + 2] = data[high + 2]
                    data[high], data[high + 1], data[high + 2] = a, b, c
                    low += 3
                    high -= 3
                continue
            while low < high:
                for channel in range(channels):
                    value = data[low + channel]
                    data[low + channel] = data[high + channel]
                    data[high + channel] = value
                low += channels
                high -= channels
