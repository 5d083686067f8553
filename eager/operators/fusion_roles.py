"""What operators are inside a fused group, beside `Pixelwise`: the group's runner reads these.

An operator's `fusion_role` says how its work can be split into rows. Operators without one never
fuse.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from gradiva.eager.jit.packed_calls import KernelCall, pack_call, run_calls
from gradiva.eager.jit.work_sharing import FEW, can_share, parallel_for
from gradiva.eager.runtime.chunks import chunks
from gradiva.eager.support import tracing
from gradiva.eager.types.arrays import BoolVector, Int64Array
from gradiva.eager.values.batch import Batch

from .call import Call


class Expression(NamedTuple):
    """Computes element by element, with broadcasting: arithmetic. symbol: as `evaluate` has it. A
    tree of them is one kernel on a GPU."""

    symbol: str


Costs: TypeAlias = Sequence[int] | Int64Array
"""Of each sample, in elements."""


class SourceWindow(NamedTuple):
    """Where the pixels of an output come from, int64 (N,) each: the upper left corner of a window
    in the input, and whether it is mirrored along W and H. The output's shape is the window's."""

    top: Int64Array
    left: Int64Array
    mirror: Int64Array
    upside_down: Int64Array


class DecodeSeveral(NamedTuple):
    """Decodes many samples by few calls of kernels, which leave out those that they cannot decode.

    calls: from `(memory, places, threads)` to the calls, which so many threads make. The memory is
    1-D, or has a row for each thread; places: the element of it at which each sample begins. done:
    (N,), whether each was decoded. laid: for decoders that decode in place, (N, 2), filled in when
    a sample is decoded: the element of its place at which it begins, and the elements from one of
    its rows to the next.
    """

    calls: Callable[[Any, Int64Array, int], list[KernelCall]]
    done: BoolVector
    laid: Int64Array | None = None

    def make(self, memory: Any, places: Int64Array, begin: int, end: int) -> list[bool]:
        """Decode a range of samples in this thread; returns whether each was decoded."""
        run_calls(self.calls(memory, places, 1), begin, end)
        return self.made(begin, end)

    def made(self, begin: int, end: int) -> list[bool]:
        """Whether each sample of a range was decoded."""
        found: list[bool] = self.done[begin:end].tolist()
        return found


class Decode(NamedTuple):
    """Makes whole samples one by one: decoders. A group that starts with one never holds more than
    a chunk for each thread: one sample, or several small ones.

    decode: from a call to `make(sample, out)`, which fills an array, and the cost of each sample;
    None where there is `decode_frames`.
    decode_in_place: from a call to `make(sample, memory)`, which leaves the sample anywhere in 1-D
    memory and returns the element at which it begins and the elements from one row to the next; and
    how many elements each sample needs there. For decoders that make more than they give out.
    decode_frames: of sequences, from a call to `make(sample, out, show)`, which fills an array with
    frame after frame, and each time calls `show(number)` with its place in the sequence, or for
    each of several; all of them are shown once. Nothing is kept but one frame for each thread.
    decode_several: from a call to `DecodeSeveral`, or to None, beside `decode_in_place` where there
    is one, else beside `decode`: what it does not make is left to that.
    decode_several_alone: the same beside `decode` where there is a `decode_in_place`, too.
    rows: is told `(call, firsts, lasts)`, which rows of each sample the rest of the group reads, up
    to the one before the last: `decode` and `decode_several` need fill no others.
    made: from a call to all its samples, if they lie in memory already; else None.
    """

    decode: Callable[[Call], tuple[Callable[[int, Any], None], Costs]] | None
    decode_in_place: (
        Callable[[Call], tuple[Callable[[int, Any], tuple[int, int]], Costs]] | None
    ) = None
    decode_frames: (
        Callable[[Call], tuple[Callable[[int, Any, Callable[[int], None]], None], Costs]] | None
    ) = None
    decode_several: Callable[[Call], DecodeSeveral | None] | None = None
    decode_several_alone: Callable[[Call], DecodeSeveral | None] | None = None
    rows: Callable[[Call, Int64Array, Int64Array], None] | None = None
    made: Callable[[Call], Batch | None] | None = None

    def run(self, call: Call) -> None:
        """The kernel of an operator with `decode`, alone."""
        assert self.decode is not None
        make, costs = self.decode(call)
        find = self.decode_several_alone if self.decode_in_place else self.decode_several
        output, several = call.outputs[0], find and find(call)
        places, made, ranges = output.batch_shape.offsets, functools.cache(output.arrays), None
        ahead: Any = several and functools.partial(several.make, output.data, places)
        if several and tracing.active is None and call.pool.num_threads > 1:
            pool = call.pool
            ranges = chunks(costs, pool.num_threads, dedicated=pool.dedicated)
            if len(ranges) > FEW and can_share():
                threads = min(call.pool.num_threads, len(ranges))
                calls = several.calls(output.data, places, threads)
                parallel_for(call.pool, ranges, [pack_call(*one, threads) for one in calls])
                if several.done.all():
                    return
                ahead = several.made
        call.each_sample(lambda sample: make(sample, made()[sample]), costs, ahead, ranges)

    def several(self, call: Call) -> DecodeSeveral | None:
        """What `decode_several` makes of a call."""
        return None if self.decode_several is None else self.decode_several(call)


class View(NamedTuple):
    """Moves whole pixels: crop, flip. `window` returns None for calls that do more than that.

    commutes_with_pixelwise: whether it may change places with what works pixel by pixel: channels
    stay together. reads_channels: whether it checks, fills or names the channels that it is given,
    so that it cannot pass an operator that makes others. pinned: whether a call with these fixed
    arguments stays where it is all the same. begins: where the parts of 1-D samples begin, (N,);
    None for calls that do more than cut them out.
    """

    window: Callable[[Call], SourceWindow | None]
    commutes_with_pixelwise: bool = True
    reads_channels: bool = True
    pinned: Callable[[dict[str, Any]], bool] | None = None
    begins: Callable[[Call], Int64Array | None] | None = None


class Resample(NamedTuple):
    """Makes rows in float32 out of an image: resize.

    tables: what its kernel reads. calls: from `(data, tables, samples, chain, target, threads)` to
    calls of kernels, which so many threads make; `data` is 1-D, or has a row for each thread.
    rounding: the first steps. may_fuse: from the fixed arguments of a call and its device to
    whether it joins groups; fits: whether the kernels take a call with its types and shapes.
    window: what is kept of the resampled image, by operators that cut and mirror it; None for all.
    launches: for a GPU, from `(data, tables, epilogue, flips)` to launches (`Epilogue` in
    eager/cuda/launch.py; flips: (N, 3), whether the window is mirrored along D, H, W). expect: is
    called with the name of a dtype once it is known that images of this dtype will come, on the
    CPU: it may begin to compile what takes long.
    """

    tables: Callable[..., Any]
    calls: Callable[..., list[KernelCall]]
    rounding: Callable[..., Any]
    may_fuse: Callable[[Mapping[str, Any], str], bool] | None = None
    launches: Callable[..., Any] | None = None
    window: Callable[[Call], SourceWindow] | None = None
    expect: Callable[[str], None] | None = None
    fits: Callable[[Call], bool] | None = None


class ToPlanar(NamedTuple):
    """Makes planes out of interleaved channels: transpose. `fits`: whether a call does that."""

    fits: Callable[[Call], bool]


class PatchGrid(NamedTuple):
    """patch: pixels of a side; merge: the side of the blocks of patches that stand together, in
    patches; temporal: frames of a patch."""

    patch: int
    merge: int
    temporal: int


class ToPatches(NamedTuple):
    """Cuts images into patches, whose values stand together plane by plane; nothing follows it in a
    group. grid: from a call to how it does that."""

    grid: Callable[[Call], PatchGrid]


class SpectralStep(NamedTuple):
    """A step of the pass from audio to spectra, in blocks of frames.

    phase: 1 for a filter of the audio, 2 for frames and their spectra, 3 for bands, 4 for levels;
    they follow one another, and 2 is always there. settings: from a call to what the pass reads of
    the step; None for calls that it does not make. run: of phase 2, the pass: `(call, (data,
    begins, lengths), settings of each phase or None, target)`.
    """

    phase: int
    settings: Callable[[Call], Any]
    run: Callable[..., None] | None = None
