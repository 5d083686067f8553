"""One loop over the samples of a fused group: the tables for its kernels, and running them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gradiva.eager.operators.call import Call
from gradiva.eager.operators.fusion_roles import (
    Decode,
    PatchGrid,
    Resample,
    SourceWindow,
    ToPatches,
    ToPlanar,
    View,
)
from gradiva.eager.operators.pixelwise import Pixelwise, step_of
from gradiva.eager.rows.half_row import half_step
from gradiva.eager.rows.row_chain import (
    FRAMES,
    LAST,
    MIRROR,
    PIECE,
    PIXELS,
    ROWS,
    SOURCE,
    SOURCE_FRAME,
    SOURCE_ROW,
    TARGET,
    TARGET_FRAME,
    TARGET_PLANE,
    TARGET_ROW,
    UPSIDE_DOWN,
    Chain,
    RowStep,
    patch_columns,
    strip_calls,
    table,
)
from gradiva.eager.support.errors import GradivaError
from gradiva.eager.types.arrays import Int64Array
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.types.dtypes import float16
from gradiva.eager.values.batch import Batch

from .decode_loop import SourceOffsets
from .fused_decoder import FusedDecoder
from .fusion_report import NotFusableError, Reason
from .sample_kernel import SampleKernel, by_channels, mirrored
from .source_views import composed, first_pixels, first_rows


class FusedLoop:
    """The calls of a group sorted by what they do, and then the tables for the kernels."""

    def __init__(
        self,
        source: Batch,
        calls: list[Call],
        target: Batch,
        locate_error: Callable[[GradivaError], GradivaError],
    ) -> None:
        self.source, self.calls, self.target = source, calls, target
        self.locate_error = locate_error
        self.decoder: Call | None = None
        self.decoded: FusedDecoder | None = None
        self.decodes_in_place = self.framewise = False
        self.before: list[Call] = []
        self.rows: Call | None = None
        self.after: list[Call] = []
        self.pixels: list[Call] = []
        self.planes = False
        self.grid: PatchGrid | None = None
        self.mixed = False
        for call in calls:
            self._sort(call)

    def _sort(self, call: Call) -> None:
        role = call.operator.fusion_role
        if isinstance(role, Decode) and call is self.calls[0]:
            given, provenance = call.batch_shapes[0], self.source.provenance
            data, made = np.empty(0, _dtype(call)), None if role.made is None else role.made(call)
            if made is None:
                self.decoder, self.decodes_in_place = call, role.decode_in_place is not None
                self.framewise = role.decode_frames is not None
            else:
                data, given = made.data, made.batch_shape
            self.source = Batch.over(data, given, call.types[0], provenance)
        elif self.grid is not None:
            raise NotFusableError(Reason.ORDER, "", call)
        elif isinstance(role, ToPatches):
            if self.framewise or "C" in self.layout[: self.layout.find("H")]:
                raise NotFusableError(Reason.MEMBER, call.operator.name, call)
            self.grid, self.planes = role.grid(call), True
        elif isinstance(role, Pixelwise):
            self.pixels.append(call)
        elif self.planes or (self.pixels and not isinstance(role, ToPlanar)):
            raise NotFusableError(Reason.ORDER, "", call)
        elif isinstance(role, View):
            (self.before if self.rows is None else self.after).append(call)
        elif isinstance(role, Resample) and self.rows is None:
            if role.fits is not None and not role.fits(call):
                raise NotFusableError(Reason.MEMBER, call.operator.name, call)
            self.rows = call
        elif isinstance(role, ToPlanar) and role.fits(call):
            self.planes = True
        else:
            raise NotFusableError(Reason.MEMBER, call.operator.name, call)

    @property
    def layout(self) -> str:
        """That of the source, or the one that the first operator assumes."""
        return self.source.layout or self.calls[0].types[0].layout or ""

    def check_fusable(self) -> tuple[int, Int64Array]:
        """Where H is among the axes of the source, and the channels of each sample (1 if they are
        planes). Raises NotFusableError."""
        layout = self.layout
        if self.decoder is not None and len(self.calls) == 1:
            raise NotFusableError(Reason.DECODER_ALONE)
        at = layout.find("HW")
        if at < 0 or layout[at + 2 :] not in ("", "C"):
            raise NotFusableError(Reason.LAYOUT, repr(layout))
        if self.rows is not None and "D" in layout:
            raise NotFusableError(Reason.VOLUME, "", self.rows)
        channels = self.source.batch_shape.shapes[:, at + 2 :].prod(axis=1)
        self.mixed = bool((channels != channels[0]).any())
        return at, channels

    def run(self) -> None:
        at, channels = self.check_fusable()
        if self.decoder is not None:
            self._decode_in_chunks(self.decoder, at)
        view = composed(self.before, at)
        # Samples with another number of channels have a chain of their own.
        counts = channels.tolist()
        runs = {count: self._run(at, count, view) for count in sorted(set(counts))}
        run = by_channels(runs, counts)
        if self.rows is not None and view is not None and view.mirror.any():
            windows = self.rows.inputs[0].batch_shape.shapes[:, at : at + 2]
            decoded = self.decoder is not None, self.framewise
            run = mirrored(run, view, windows, channels, self.source, at, *decoded)
        self._for_samples(run)

    def _run(self, at: int, count: int, view: SourceWindow | None) -> SampleKernel:
        """For the samples with so many channels; the rows of others mean nothing."""
        source, target, size = self.source, self.target, len(self.source)
        shapes, ends = source.batch_shape.shapes, self._image_shapes()
        steps, made = self.steps(count)
        if target.dtype is float16:  # the last thing that happens to a value
            steps.append(half_step(size, made))
        here, there = source.data.itemsize, target.data.itemsize
        kind = source.dtype.numpy if self.rows is None else np.dtype(np.float32)
        height, width = ends[:, at], ends[:, at + 1]
        row = there if self.planes else made * there
        if size and self.grid is None and target.batch_shape.uniform and target.batch_shape.packed:
            extents = int(height[0]), int(width[0])
            volume = target.batch_shape.size // size
            samples = _equal_targets(size, *extents, volume, made, row, there).copy()
        else:
            samples = table(size)
            _place_targets(samples, target.batch_shape.offsets, height, width, made, row, there)
        if at and not self.framewise:
            samples[:, FRAMES] = shapes[:, :at].prod(axis=1)
        if self.grid is not None:
            cut = np.stack([height, width, np.full(size, made)], axis=1)
            patch_columns(samples, cut, *self.grid, there)
        pitch = shapes[:, at + 1] * count
        first = samples[:, TARGET].copy() if self.framewise else None

        def set_frame(sample: int, frame: int) -> None:
            assert first is not None
            samples[sample, TARGET] = first[sample] + frame * samples[sample, TARGET_FRAME]

        if self.rows is None:
            inside, longest = first_pixels(view, size), int(width.max())
            samples[:, SOURCE] = source.batch_shape.offsets * here
            samples[:, SOURCE_FRAME] = shapes[:, at] * pitch * here
            if view is None and not self.decodes_in_place and self.grid is None:
                # Nothing moves: pieces of the whole frame, however long its rows are.
                longest, total = PIECE, height * width
                samples[:, ROWS] = -(-total // PIECE)
                samples[:, PIXELS] = PIECE
                samples[:, LAST] = total - (samples[:, ROWS] - 1) * PIECE
                samples[:, SOURCE_ROW] = PIECE * count * here
                samples[:, TARGET_ROW] = PIECE * there * (1 if self.planes else made)
            else:
                samples[:, ROWS] = height
                samples[:, PIXELS] = samples[:, LAST] = width
                samples[:, SOURCE] += (inside[0] * pitch + inside[1] * count) * here
                samples[:, SOURCE_ROW] = pitch * here
            if view is not None:
                samples[:, MIRROR], samples[:, UPSIDE_DOWN] = view.mirror, view.upside_down
            turned = bool(samples[:, MIRROR].any())
            chain = self._chain(steps, kind, count, longest, turned)
            source_offsets = SourceOffsets(
                samples, SOURCE, samples, SOURCE_ROW, inside.T.copy(), _forward(size), count, here
            )
            return SampleKernel(
                lambda data, threads: strip_calls(data, samples, chain, target.data, threads),
                source_offsets.set_origin,
                set_frame,
                source_offsets,
            )
        inside, way = first_rows(view, self.rows.inputs[0].batch_shape.shapes[:, at])
        tables, window = self.resampling(at, count, inside, way)
        if self.framewise:
            tables.sizes[:, 0] = 1
        if window is not None:
            samples[:, MIRROR], samples[:, UPSIDE_DOWN] = window.mirror, window.upside_down
        longest, turned = int(width.max()) * count, bool(samples[:, MIRROR].any())
        chain = self._chain(steps, kind, count, longest, turned)
        role, offsets = self.rows.operator.fusion_role, tables.offsets
        source_offsets = SourceOffsets(
            offsets[:, np.newaxis], 0, tables.sizes, 8, inside.T.copy(), way, count, 1
        )
        return SampleKernel(
            lambda data, threads: role.calls(data, tables, samples, chain, target.data, threads),
            source_offsets.set_origin,
            set_frame,
            source_offsets,
        )

    def _chain(
        self, steps: list[RowStep], kind: np.dtype[Any], count: int, longest: int, turned: bool
    ) -> Chain:
        """The steps of samples with so many channels. longest: pixels of a strip, or values of a
        row of a resize; turned: whether some are mirrored."""
        patches = self.grid is not None
        return Chain(steps, kind, count, longest, False, self.planes, turned, patches=patches)

    def _decode_in_chunks(self, call: Call, at: int) -> None:
        """The source of the rest: the samples of a chunk, in the memory of a thread."""
        source, made = self.source, self.target.batch_shape.volumes
        only, view = call.operator.fusion_role.rows, composed(self.before, at)
        if only is not None and view is not None and at == 0:
            tops = np.broadcast_to(view.top, len(source))
            only(call, tops, tops + self.before[-1].batch_shapes[0].shapes[:, at])
        self.decoded = FusedDecoder(call, made, source.data.dtype)
        place = self.decoded.batch_shape
        self.source = Batch.over(source.data, place, source.type, source.provenance)

    def resampling(
        self, at: int, count: int, inside: Int64Array, way: Int64Array
    ) -> tuple[Any, SourceWindow | None]:
        """The tables of the resize, for the windows before and after it, and the latter. inside,
        way: as of `first_rows`. Raises NotFusableError."""
        assert self.rows is not None
        source, (top, left) = self.source, inside
        role, shapes = self.rows.operator.fusion_role, source.batch_shape.shapes
        tables = role.tables(self.rows, self.rows.inputs[0].batch_shape, self.layout)
        pitch = shapes[:, at + 1] * count
        tables.sizes[:, 8] = pitch * way
        tables.sizes[:, 9] = tables.sizes[:, 10] = pitch * shapes[:, at]
        window = composed([self.rows, *self.after] if role.window else self.after, at)
        if window is not None:
            ends = self._image_shapes()
            tables.window[:, 2], tables.window[:, 3] = window.top, window.top + ends[:, at]
            tables.window[:, 4], tables.window[:, 5] = window.left, window.left + ends[:, at + 1]
        return tables._replace(
            offsets=source.batch_shape.offsets + top * pitch + left * count
        ), window

    def _image_shapes(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Shapes of what the windows leave, before channels become planes."""
        moved = [*self.before, *([self.rows] if self.rows else []), *self.after]
        batch_shape: BatchShape = moved[-1].batch_shapes[0] if moved else self.source.batch_shape
        return batch_shape.shapes

    def steps(self, channels: int) -> tuple[list[RowStep], int]:
        """The steps of the chain, and the channels that come out."""
        # Each plane of the input passes as an image of one channel.
        planar = "C" in self.layout[: self.layout.find("H")]
        steps: list[RowStep] = []
        if self.rows is not None:
            dtype = self.rows.types[0].dtype
            assert dtype is not None
            rounding = self.rows.operator.fusion_role.rounding(dtype.numpy, self.rows.size)
            steps += [step._replace(made=channels) for step in rounding]
        made = channels
        for call in self.pixels:
            known = {} if call.kept is None else call.kept
            if ("step", made) not in known:
                known["step", made] = step_of(call, call.operator.fusion_role, made)
            steps.append(known["step", made])
            if steps[-1].parameters.shape[1] not in (1, made):
                raise NotFusableError(Reason.PARAMETERS, "", call)
            if self.mixed and (steps[-1].parameters.shape[1] > 1 or steps[-1].row.kind == "mixing"):
                raise NotFusableError(Reason.CHANNELS, "", call)
            if planar and call.operator.fusion_role.row.kind == "mixing":
                raise NotFusableError(Reason.PLANES, "", call)
            made = steps[-1].made
        return steps, made

    def _for_samples(self, run: SampleKernel) -> None:
        """Run the kernel; after a decoder, chunk by chunk, in memory that each thread
        keeps."""
        last, data = self.calls[-1], self.source.data
        last.outputs = (self.target,)
        if self.decoded is None:
            last.for_calls(functools.partial(run.calls, data))
        else:
            self.decoded.run(run, self.locate_error)


def _place_targets(
    samples: Int64Array,
    offsets: Int64Array,
    height: Any,
    width: Any,
    made: int,
    row: int,
    item: int,
) -> None:
    """Fill in where results go. offsets, height, width: of each sample; made: channels; row: the
    bytes in a row of a target, for each pixel; item: those of an element."""
    samples[:, TARGET] = offsets * item
    samples[:, TARGET_ROW] = width * row
    samples[:, TARGET_PLANE] = plane = height * width * item
    samples[:, TARGET_FRAME] = plane * made


@functools.lru_cache(maxsize=64)
def _equal_targets(
    size: int, height: int, width: int, volume: int, made: int, row: int, item: int
) -> Int64Array:
    """The table where the results of all samples are of one size, of so many elements."""
    samples = table(size)
    _place_targets(samples, np.arange(size) * volume, height, width, made, row, item)
    return samples


@functools.lru_cache(maxsize=16)
def _forward(size: int) -> Int64Array:
    return np.ones(size, np.int64)


def _dtype(call: Call) -> np.dtype[Any]:
    dtype = call.types[0].dtype
    assert dtype is not None
    return dtype.numpy
