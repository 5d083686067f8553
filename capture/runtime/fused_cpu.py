"""One loop over the samples of a fused group: the tables for its kernels, and running them."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from gradiva.eager.jit.row_chain import (
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
    Step,
    bind_strips,
    run_strips,
    table,
)
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.fusion_roles import Decode, Resample, SourceWindow, ToPlanar, View
from gradiva.eager.operators.pixelwise import Pixelwise, step_of
from gradiva.eager.runtime.host_memory import allocate
from gradiva.eager.support.errors import GradivaError
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.values.batch import Batch

from .fusion_report import NotFusableError, Reason

__all__ = ["FusedLoop"]


class FusedLoop:
    """The calls of a group sorted by what they do, and then the tables for the kernels."""

    def __init__(
        self,
        source: Batch,
        calls: list[Call],
        target: Batch,
        blame: Callable[[GradivaError], GradivaError],
    ) -> None:
        self.source, self.calls, self.target = source, calls, target
        self.blame = blame
        self.decoder: Call | None = None
        self.loose = False
        self.before: list[Call] = []
        self.rows: Call | None = None
        self.after: list[Call] = []
        self.pixels: list[Call] = []
        self.planes = False
        for call in calls:
            self._sort(call)

    def _sort(self, call: Call) -> None:
        role = call.operator.fusion_role
        if isinstance(role, Decode) and call is self.calls[0]:
            self.decoder, self.loose = call, role.decode_in_place is not None
            shapes = call.batch_shapes[0].shapes
            # One sample at a time, each at the start of its own memory.
            place = BatchShape(shapes, np.zeros(len(shapes), np.int64), 0, False, False, False)
            nothing = np.empty(0, _dtype(call))
            self.source = Batch.over(nothing, place, call.types[0], self.source.provenance)
        elif isinstance(role, Pixelwise):
            self.pixels.append(call)
        elif self.planes or (self.pixels and not isinstance(role, ToPlanar)):
            raise NotFusableError(Reason.ORDER)
        elif isinstance(role, View):
            (self.before if self.rows is None else self.after).append(call)
        elif isinstance(role, Resample) and self.rows is None:
            self.rows = call
        elif isinstance(role, ToPlanar) and role.fits(call):
            self.planes = True
        else:
            raise NotFusableError(Reason.MEMBER, call.operator.name)

    @property
    def layout(self) -> str:
        """That of the source, or the one that the first operator assumes."""
        return self.source.layout or self.calls[0].types[0].layout or ""

    def check_fusable(self) -> tuple[int, int]:
        """Where H is among the axes of the source, and the channels of an image (1 if they are
        planes). Raises NotFusableError."""
        layout = self.layout
        if self.decoder is not None and len(self.calls) == 1:
            raise NotFusableError(Reason.DECODER_ALONE)
        at = layout.find("HW")
        if at < 0 or layout[at + 2 :] not in ("", "C"):
            raise NotFusableError(Reason.LAYOUT, repr(layout))
        if self.rows is not None and "D" in layout:
            raise NotFusableError(Reason.VOLUME)
        channels = self.source.batch_shape.shapes[:, at + 2 :].prod(axis=1)
        if (channels != channels[0]).any():
            raise NotFusableError(Reason.CHANNELS)
        return at, int(channels[0])

    def run(self) -> None:
        source, target, size = self.source, self.target, len(self.source)
        at, count = self.check_fusable()
        shapes, ends = source.batch_shape.shapes, self._image_shapes()
        steps, made = self.steps(count)
        here, there = source.data.itemsize, target.data.itemsize
        kind = source.dtype.numpy if self.rows is None else np.dtype(np.float32)
        height, width = ends[:, at], ends[:, at + 1]
        samples = table(size)
        samples[:, FRAMES] = shapes[:, :at].prod(axis=1)
        samples[:, TARGET] = target.batch_shape.offsets * there
        samples[:, TARGET_ROW] = width * there * (1 if self.planes else made)
        samples[:, TARGET_FRAME] = height * width * made * there
        samples[:, TARGET_PLANE] = height * width * there
        pitch = shapes[:, at + 1] * count
        view = _composed(self.before, at)
        top, left = (0, 0) if view is None else (view.top, view.left)
        inside = np.stack(np.broadcast_arrays(np.arange(size), top, left))[1:]
        if self.rows is None:
            longest = int(width.max())
            samples[:, SOURCE] = source.batch_shape.offsets * here
            samples[:, SOURCE_FRAME] = shapes[:, at] * pitch * here
            if view is None and not self.loose:
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

            def place_strips(sample: int, first: int, pitch: int) -> None:
                top, left = inside[:, sample].tolist()
                samples[sample, SOURCE] = (first + top * pitch + left * count) * here
                samples[sample, SOURCE_ROW] = pitch * here

            chain = Chain(steps, kind, count, longest, False, self.planes)
            self._for_samples(run_strips, bind_strips, place_strips, samples, chain, target.data)
            return
        tables, window = self.resampling(at, count)
        if window is not None:
            samples[:, MIRROR], samples[:, UPSIDE_DOWN] = window.mirror, window.upside_down
        chain = Chain(steps, kind, count, int(width.max()) * count, False, self.planes)
        role, offsets = self.rows.operator.fusion_role, tables.offsets

        def place_rows(sample: int, first: int, pitch: int) -> None:
            top, left = inside[:, sample].tolist()
            offsets[sample] = first + top * pitch + left * count
            tables.sizes[sample, 8] = pitch

        self._for_samples(role.run, role.bind, place_rows, tables, samples, chain, target.data)

    def resampling(self, at: int, count: int) -> tuple[Any, SourceWindow | None]:
        """The tables of the resize, for the windows before and after it, and the latter. Raises
        NotFusableError."""
        assert self.rows is not None
        source, view = self.source, _composed(self.before, at)
        if view is not None and (view.mirror.any() or view.upside_down.any()):
            raise NotFusableError(Reason.FLIP_BEFORE_RESIZE)
        role, shapes = self.rows.operator.fusion_role, source.batch_shape.shapes
        tables = role.tables(self.rows, self.rows.inputs[0].batch_shape, self.layout)
        pitch = shapes[:, at + 1] * count
        tables.sizes[:, 8] = pitch
        tables.sizes[:, 9] = tables.sizes[:, 10] = pitch * shapes[:, at]
        top, left = (0, 0) if view is None else (view.top, view.left)
        window = _composed(self.after, at)
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

    def steps(self, channels: int) -> tuple[list[Step], int]:
        """The steps of the chain, and the channels that come out."""
        # Each plane of the input passes as an image of one channel.
        planar = "C" in self.layout[: self.layout.find("H")]
        steps: list[Step] = []
        if self.rows is not None:
            dtype = self.rows.types[0].dtype
            assert dtype is not None
            rounding = self.rows.operator.fusion_role.rounding(dtype.numpy, self.rows.size)
            steps += [step._replace(made=channels) for step in rounding]
        made = channels
        for call in self.pixels:
            steps.append(step_of(call, call.operator.fusion_role, made))
            if steps[-1].parameters.shape[1] not in (1, made):
                raise NotFusableError(Reason.PARAMETERS)
            if planar and call.operator.fusion_role.row.kind == "mixing":
                raise NotFusableError(Reason.PLANES)
            made = steps[-1].made
        return steps, made

    def _for_samples(
        self,
        kernel: Callable[..., Any],
        bind: Callable[..., Callable[[Any, int, int], None]],
        place: Callable[[int, int, int], None],
        *arguments: Any,
    ) -> None:
        """Run the kernel; after a decoder, sample by sample, in memory that each thread keeps.

        kernel: called with the source, these arguments, begin and end; bind: from these arguments
        to the same for one thread; place: tell the tables where a sample begins, and the elements
        from one of its rows to the next.
        """
        last, data = self.calls[-1], self.source.data
        last.outputs = (self.target,)
        if self.decoder is None:
            last.for_samples(kernel, data, *arguments)
            return
        role = self.decoder.operator.fusion_role
        make, costs = (role.decode_in_place if self.loose else role.decode)(self.decoder)
        shapes = self.source.batch_shape.shapes.tolist()
        most = max(costs) if self.loose else int(self.source.batch_shape.volumes.max())
        own = threading.local()

        def one(sample: int) -> None:
            if not hasattr(own, "memory"):
                own.memory, own.run = allocate(most, data.dtype), bind(*arguments)
            try:
                if self.loose:
                    place(sample, *make(sample, own.memory))
                else:
                    shape = shapes[sample]
                    make(sample, own.memory[: math.prod(shape)].reshape(shape))
            except GradivaError as error:
                raise self.blame(error.complete(sample=sample)) from error.__cause__
            own.run(own.memory, sample, sample + 1)

        last.each_sample(one, costs)


def _dtype(call: Call) -> np.dtype[Any]:
    dtype = call.types[0].dtype
    assert dtype is not None
    return dtype.numpy


def _composed(calls: list[Call], at: int) -> SourceWindow | None:
    """Several windows and flips as one; None if there are none."""
    result: SourceWindow | None = None
    for call in calls:
        view = call.operator.fusion_role.window(call)
        if view is None:
            raise NotFusableError(Reason.MEMBER, call.operator.name)
        if result is None:
            result = view
            continue
        outer = call.inputs[0].batch_shape.shapes
        inner = call.batch_shapes[0].shapes
        height, width = outer[:, at] - inner[:, at], outer[:, at + 1] - inner[:, at + 1]
        result = SourceWindow(
            result.top + np.where(result.upside_down, height - view.top, view.top),
            result.left + np.where(result.mirror, width - view.left, view.left),
            result.mirror ^ view.mirror,
            result.upside_down ^ view.upside_down,
        )
    return result
