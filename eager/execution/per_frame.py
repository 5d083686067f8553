"""Arguments per frame: a call on sequences becomes one on their frames, and the result sequences.

An argument is given per frame if its samples have the layout letter F first (see `per_frame`). In
operators that take each channel alone, the frames of CFHW are the planes, channel after channel.
Frames of a sample are made of one shape: where the shape rule gives several, the largest extents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.operators.per_frame_types import (
    axes_of_frames,
    has_frames,
    of_frames,
    of_sequences,
)
from gradiva.eager.support.errors import GradivaError, OperatorTypeError, OperatorValueError
from gradiva.eager.types.arrays import Int64Array
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.types.device import Device
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.buffers import on_cpu, put

if TYPE_CHECKING:
    from gradiva.eager.operators.call import Call
    from gradiva.eager.operators.operator import OperatorBase
    from gradiva.eager.runtime.worker_pool import WorkerPool


def given_per_frame(
    names: frozenset[str], inputs: tuple[Batch, ...], given: Mapping[str, Any]
) -> bool:
    """Whether an argument among `names`, or an input beside the first ("1"), is given per frame."""
    for name, value in given.items():
        if isinstance(value, Batch) and name in names and has_frames(value.type):
            return True
    return "1" in names and any(has_frames(batch.type) for batch in inputs[1:])


def _volume(shapes: Int64Array) -> int:
    return int(shapes[0].prod()) if len(shapes) else 0


@dataclass(frozen=True, slots=True)
class Frames:
    """The frames of the samples of a call. axes: those before the axes of a frame, "F" or "CF";
    lead: their extents, (N, len(axes)). owners: the sample of each frame; numbers: the number of
    each frame in its sample."""

    axes: str
    lead: Int64Array
    owners: Int64Array
    numbers: Int64Array

    @staticmethod
    def of_call(
        names: frozenset[str], inputs: tuple[Batch, ...], given: Mapping[str, Any], size: int
    ) -> Frames:
        """Raises OperatorTypeError and OperatorValueError."""
        axes = axes_of_frames(inputs[0].type, names) if inputs else ""
        per_frame = {
            name: value
            for name, value in given.items()
            if name in names and isinstance(value, Batch) and has_frames(value.type)
        }
        lengths = {name: value.batch_shape.shapes[:, 0] for name, value in per_frame.items()}
        lengths |= {
            f"input {number + 1}": value.batch_shape.shapes[:, 0]
            for number, value in enumerate(inputs[1:])
            if has_frames(value.type)
        }
        if axes:
            lead = inputs[0].batch_shape.shapes[:, : len(axes)]
            counts = lead[:, -1]
        elif inputs and inputs[0].layout:
            raise OperatorTypeError(
                "values per frame need a sequence",
                argument=next(iter(per_frame), None),
                expected="an input whose layout begins with F",
                got=repr(inputs[0].layout),
            )
        else:
            axes, counts = "F", np.max(list(lengths.values()), axis=0)
            lead = counts[:, None]
        for name, found in lengths.items():
            wrong = np.flatnonzero((found != counts) & (found != 1))
            if wrong.size:
                sample = int(wrong[0])
                raise OperatorValueError(
                    f"{name} is given per frame" if name.startswith("input ") else "",
                    argument=None if name.startswith("input ") else name,
                    expected=f"as many values as frames, {counts[sample]}, or one",
                    got=str(found[sample]),
                    sample=sample,
                )
        planes = lead.prod(axis=1)
        owners = np.repeat(np.arange(size), planes)
        starts = np.repeat(np.cumsum(planes) - planes, planes)
        return Frames(axes, lead, owners, np.arange(len(owners)) - starts)

    def unfold(self, value: Any) -> Any:
        """The value of an input or argument for a call on frames, from that of the call on
        sequences."""
        if isinstance(value, np.ndarray):
            return value[self.owners]
        if not isinstance(value, Batch):
            return value
        batch_shape, where = value.batch_shape, value.provenance
        where = where.select(self.owners.tolist()) if where is not None else None
        layout = value.type.layout or ""
        axes = next((axes for axes in (self.axes, "F") if layout.startswith(axes)), "")
        if not axes:
            return Batch.over(
                value.data, batch_shape.select(self.owners.tolist()), value.type, where
            )
        shapes = batch_shape.shapes[self.owners]
        # One value for all frames of a sample is repeated for each frame, and one for a frame is
        # repeated for each of its planes.
        numbers = self.numbers
        if axes == "F":
            numbers = np.where(shapes[:, 0] == 1, 0, numbers % np.maximum(shapes[:, 0], 1))
        frames = np.ascontiguousarray(shapes[:, len(axes) :])
        offsets = batch_shape.offsets[self.owners] + numbers * frames.prod(axis=1)
        uniform = not len(frames) or bool((frames == frames[0]).all())
        dense = uniform and bool((offsets == np.arange(len(frames)) * _volume(frames)).all())
        # A sequence without frames may stand before one whose frames end before the slab does.
        size = len(frames) * _volume(frames) if dense else batch_shape.size
        places = BatchShape(frames, offsets, size, uniform, dense, False)
        return Batch.over(value.data, places, of_frames(value.type, axes), where)

    def common(self, shapes: Int64Array) -> Int64Array:
        """The shape that the frames of each sample are made of, where they should have these."""
        made = np.zeros((len(self.lead), shapes.shape[1]), np.int64)
        np.maximum.at(made, self.owners, shapes)
        return made

    def fold(self, batch_shape: BatchShape, source: Batch | None) -> BatchShape:
        """The shapes of sequences of such frames."""
        first = len(self.axes)
        shapes = np.zeros((len(self.lead), batch_shape.ndim + first), np.int64)
        shapes[:, :first] = self.lead
        shapes[:, first:] = self.common(batch_shape.shapes)
        if source is not None and source.ndim == batch_shape.ndim + first:
            none = (self.lead == 0).any(axis=1)
            shapes[none, first:] = source.batch_shape.shapes[none, first:]
        return BatchShape.of(shapes)

    def results(self, sequences: Batch) -> Batch:
        """Where a kernel writes the frames of `sequences`: there, or in memory of its own, since
        kernels take the samples of a uniform batch for one array."""
        frames = self.unfold(sequences)
        if frames.batch_shape.dense or not frames.batch_shape.uniform:
            return frames  # type: ignore[no-any-return]
        packed = BatchShape.of(frames.batch_shape.shapes)
        return Batch.empty(packed, frames.type, None, sequences.device)

    def keep(self, made: Batch, sequences: Batch) -> None:
        """Copy the frames that a kernel has made to their places in the sequences."""
        if made.data is sequences.data:
            return
        if not on_cpu(made.data):
            gathered = self.unfold(sequences).batch_shape.offsets.tolist()
            put(made.arrays(), gathered, sequences.data)
        else:
            for one, other in zip(self.unfold(sequences).arrays(), made.arrays(), strict=True):
                one[...] = other


def execute_frames(
    prepare: Callable[..., Call],
    operator: OperatorBase,
    inputs: tuple[Batch, ...],
    given: Mapping[str, Any],
    size: int,
    pool: WorkerPool,
    work: Callable[[Call], None],
    device: Device,
) -> tuple[Batch, ...]:
    """The outputs of a call with arguments per frame, as one call on all frames.

    prepare: of `run`, which stands on this module; work: fills the outputs of a call on `device`.
    Raises GradivaError.
    """
    frames = Frames.of_call(operator.frames, inputs, given, size)
    where = inputs[0].provenance if inputs else None
    rows = {name: frames.unfold(value) for name, value in given.items()}
    parts = tuple(frames.unfold(batch) for batch in inputs)
    try:
        call = prepare(operator, parts, rows, len(frames.owners), pool, frames=frames)
        outputs = tuple(
            Batch.empty(
                frames.fold(batch_shape, inputs[0] if inputs else None),
                of_sequences(type, frames.axes),
                where,
                device,
            )
            for batch_shape, type in zip(call.batch_shapes, call.types, strict=True)
        )
        call.outputs = tuple(frames.results(output) for output in outputs)
        if call.size:
            work(call)
        for made, output in zip(call.outputs, outputs, strict=True):
            frames.keep(made, output)
    except GradivaError as error:
        if error.sample is not None:
            error.sample = int(frames.owners[error.sample])
        raise
    return outputs
