"""`targets.chosen`: what belongs to the objects that are left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import BoolVector, I64Vector, Vector

from .track import flat


@op.operator("targets.chosen", inputs=2, bfloat16=True)
def chosen(
    input: op.SampleType,
    kept: op.SampleType,
    /,
    *,
    what: str = "values",
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Keep the rows of a sample that belong to the objects that are left.

    Args:
        input: any dtype, with a row for each object: (n, ...).
        kept: of each object whether it is left, bool (n,).
        what: what the rows are, for errors.

    Returns:
        The rows of the objects that are left.

    Raises:
        OperatorValueError: naming the sample, if there are more or fewer rows than objects.

    Example:
        from gradiva.ops.targets.chosen import chosen

        chosen(np.int32([7, 8, 9]), np.array([True, False, True]))  # [7, 9]
    """
    if input.ndim == 0:
        raise op.OperatorTypeError(argument=what, expected="a row for each object", got="numbers")
    return input


@dataclass(frozen=True)
class _ChosenPlan(op.Plan):
    """kept: of all samples, one after the other."""

    kept: BoolVector


def kept_of(call: op.Call, number: int, counts: I64Vector, what: str) -> BoolVector:
    """Which objects of all samples are left, as an input says; checks that there are as many as
    rows. Raises OperatorTypeError and OperatorValueError."""
    kept = call.inputs[number]
    if kept.ndim != 1:
        raise op.OperatorTypeError(
            f"{what} need to know which objects are left",
            expected="a vector of bools as an input",
            got=f"{kept.ndim}-D samples",
        )
    objects = kept.batch_shape.shapes[:, 0]
    op.refuse_samples(
        counts != objects,
        what,
        lambda sample: f"{int(objects[sample])}, one for each box",
        lambda sample: int(counts[sample]),
    )
    return np.asarray(flat(kept))


@chosen.shapes
def _shapes(call: op.Call) -> _ChosenPlan:
    shapes = call.inputs[0].batch_shape.shapes.copy()
    counts = shapes[:, 0].copy()
    kept = kept_of(call, 1, counts, call["what"])
    shapes[:, 0] = counts_kept(kept, counts)
    return _ChosenPlan(shapes, kept)


def counts_kept(kept: BoolVector, counts: I64Vector) -> I64Vector:
    """How many objects of each sample are left."""
    left = np.zeros(len(kept) + 1, np.int64)
    kept.cumsum(out=left[1:])
    ends = counts.cumsum()
    made: I64Vector = left[ends] - left[ends - counts]
    return made


def repeated_kept(kept: BoolVector, counts: I64Vector, frames: I64Vector) -> BoolVector:
    """Which objects of all frames are left, of samples with so many objects and frames."""
    ends = counts.cumsum()
    parts = [
        np.tile(kept[end - count : end], frame)
        for end, count, frame in zip(ends, counts, frames, strict=True)
    ]
    return np.concatenate([*parts, np.empty(0, np.bool_)])


@op.jit
def _copy_rows(
    src: Vector,
    src_offsets: I64Vector,
    dst: Vector,
    dst_offsets: I64Vector,
    counts: I64Vector,
    widths: I64Vector,
    kept: BoolVector,
    firsts: I64Vector,
    begin: int,
    end: int,
) -> None:
    """Copy the rows that are kept. widths: elements of a row; firsts: the first object of each."""
    for i in range(begin, end):
        width, to = widths[i], dst_offsets[i]
        for row in range(counts[i]):
            if kept[firsts[i] + row]:
                first = src_offsets[i] + row * width
                for k in range(width):
                    dst[to + k] = src[first + k]
                to += width


@chosen.cpu
def _cpu(call: op.Call, plan: _ChosenPlan) -> None:
    shapes = call.inputs[0].batch_shape.shapes
    counts = shapes[:, 0].copy()
    widths = shapes[:, 1:].prod(axis=1)
    call.for_samples(_copy_rows, *call.words, counts, widths, plan.kept, counts.cumsum() - counts)


@chosen.cases
def _cases() -> list[op.Case]:
    labels = op.batch(
        [np.array([1, 2, 3], np.int32), np.empty(0, np.int32), np.array([4], np.int32)]
    )
    wide = op.samples((3, 2, 2), (0, 5, 1), (1, 3, 1), dtype=op.float32, layout="")
    flags = [[True, False, True], [], [False]]
    kept = op.batch([np.array(one, np.bool_) for one in flags])
    left = [np.array(one, np.bool_) for one in flags]
    return [
        op.case("labels", labels, kept)
        .equals([np.array([1, 3], np.int32), np.empty(0, np.int32), np.empty(0, np.int32)])
        .no_oracle(),
        op.case("rows", wide, kept).equals([wide.at(i)[left[i]] for i in range(3)]).no_oracle(),
        op.case("all", labels, op.batch([one | True for one in left]))
        .equals(labels.arrays())
        .no_oracle(),
        op.case("none", labels, op.batch([one & False for one in left]))
        .equals([np.empty(0, np.int32)] * 3)
        .no_oracle(),
        op.case("empty", op.batch(np.empty((0, 1))), op.batch(np.empty((0, 1))))
        .equals([])
        .no_oracle(),
        op.case("too few", labels, op.batch([left[0][:2], left[1], left[2]])).value_error(
            "sample 0"
        ),
    ]
