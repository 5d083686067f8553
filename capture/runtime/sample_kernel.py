"""What runs the samples of a fused group, and what is put around it where they need more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager.jit.jit import jit
from gradiva.eager.jit.packed_calls import PackedCall
from gradiva.eager.operators.fusion_roles import SourceWindow
from gradiva.eager.runtime.host_memory import allocate
from gradiva.eager.types.arrays import Array, Int64Array, Vector
from gradiva.eager.values.batch import Batch

from .decode_loop import SourceOffsets

__all__ = ["SampleKernel", "by_channels", "mirrored"]


class SampleKernel(NamedTuple):
    """kernel: called with the source, `arguments`, begin and end; bind: from `arguments` to the
    same for one thread; set_origin: tell the tables where a sample begins, and the elements from
    one of its rows to the next; set_frame: tell them that of a sample one frame is in memory, and
    which; flat:
    from the source, `arguments` and a number of threads to the same as calls from a loop, which
    tells the `source_offsets` itself; None where it takes Python."""

    kernel: Callable[..., Any]
    bind: Callable[..., Callable[[Array, int, int], None]]
    set_origin: Callable[[int, int, int], None]
    set_frame: Callable[[int, int], None]
    arguments: tuple[Any, ...]
    packed: Callable[..., list[PackedCall]] | None = None
    source_offsets: SourceOffsets | None = None


def by_channels(runs: Mapping[int, SampleKernel], channels: Sequence[int]) -> SampleKernel:
    """One run for samples with different numbers of channels, from one for each number."""
    if len(runs) == 1:
        return runs[channels[0]]

    def kernel(data: Array, begin: int, end: int) -> None:
        for first, last in _alike(channels, begin, end):
            run = runs[channels[first]]
            run.kernel(data, *run.arguments, first, last)

    def bind() -> Callable[[Array, int, int], None]:
        bound: dict[int, Callable[[Array, int, int], None]] = {}

        def run(data: Array, begin: int, end: int) -> None:
            for first, last in _alike(channels, begin, end):
                count = channels[first]
                if count not in bound:
                    bound[count] = runs[count].bind(*runs[count].arguments)
                bound[count](data, first, last)

        return run

    def set_origin(sample: int, first: int, pitch: int) -> None:
        runs[channels[sample]].set_origin(sample, first, pitch)

    def set_frame(sample: int, frame: int) -> None:
        runs[channels[sample]].set_frame(sample, frame)

    return SampleKernel(kernel, bind, set_origin, set_frame, ())


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

    def bind() -> Callable[[Array, int, int], None]:
        bound = run.bind(*run.arguments)

        def mirrored(data: Array, begin: int, end: int) -> None:
            for sample in range(begin, end):
                if sample in wanted:
                    mirror(data, sample)
                bound(data, sample, sample + 1)

        return mirrored

    def kernel(data: Array, begin: int, end: int) -> None:
        bound, memory = run.bind(*run.arguments), np.empty(0, data.dtype)
        for sample in range(begin, end):
            if sample not in wanted:
                bound(data, sample, sample + 1)
                continue
            whole = source.array(sample).reshape(-1)
            if len(memory) < len(whole):
                memory = allocate(len(whole), data.dtype)
            memory[: len(whole)] = whole
            mirror(memory, sample)
            bound(memory, sample, sample + 1)

    if not decoded:
        for sample in wanted:
            run.set_origin(sample, 0, pitches[sample])
    return SampleKernel(kernel, bind, set_origin, run.set_frame, ())


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
