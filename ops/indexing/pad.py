"""`pad`: samples made larger, to a common or given shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.cuda.launch import NoGpuKernelError
from gradiva.eager.operators.argument_types import RaggedIntsArg
from gradiva.ops.image.crop_window import fill_array
from gradiva.ops.image.window_copy import HALVES, copy_windows, launch_windows

from .pad_modes import check_mode, pad_by_mode
from .slice_region import inside, named_axes

_MOST = 1 << 40
"""No axis gets longer by padding: sums of extents stay far from overflow."""


@op.operator("pad", schema="Pad", bfloat16=True)
def pad(
    input: op.SampleType,
    /,
    *,
    axes: RaggedIntsArg | None = None,
    axis_names: str | None = None,
    shape: RaggedIntsArg | None = None,
    align: RaggedIntsArg | None = None,
    fill_value: op.FloatArg = 0.0,
    before: RaggedIntsArg | None = None,
    after: RaggedIntsArg | None = None,
    mode: str = "constant",
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Pad samples at the ends of their axes, by default to the largest extent in the batch.

    With `before` or `after` samples are padded by so many elements instead. All but `axis_names`
    and `mode` may differ per sample, also in their number.

    Args:
        input: any dtype, rank and layout.
        axes: which axes to pad, negative ones counted from the end.
        axis_names: the letters of the axes in the layout, in place of `axes`; all axes if neither
            is given.
        shape: the least extent of each of these axes; one number stands for all. Where it is 0,
            negative or not given: the largest extent in the batch. Larger samples keep theirs.
        align: the extents are then rounded up to multiples of these numbers; one stands for all.
        fill_value: cast to the input's dtype as in C: its fraction is dropped, and it wraps.
        before, after: how many elements are added in front of each of these axes, and behind them;
            one number stands for all, 0 is the default. In place of `shape` and `align`.
        mode: what is added, with the meanings of numpy.pad and torchvision: "constant", which is
            `fill_value`; "edge" (aaa|abc|ccc), "reflect" (cb|abc|ba) or "symmetric" (ba|abc|cb).

    Returns:
        Samples of the same dtype and layout, at least as large.

    Raises:
        OperatorValueError: for axes that are not there, an `align` below 1, negative numbers of
            elements, and samples without elements to repeat.

    Example:
        texts = gradiva.batch([np.int32([5, 3]), np.int32([7])])
        gradiva.pad(texts, fill_value=-1)  # [[5, 3], [7, -1]]
        images = gradiva.imread(["cat.jpg", "coffee.jpg"])
        images = gradiva.pad(images, axis_names="HW", before=4, after=4, mode="reflect")
    """
    check_mode(mode)
    if before is not None or after is not None:
        for name, value in (("shape", shape), ("align", align)):
            if value is not None:
                raise op.wrong_value(name, "nothing beside `before` or `after`", "a value")
    if axes is not None and axis_names is not None:
        raise op.OperatorValueError("`axes` and `axis_names` exclude each other")
    return input


@pad.shapes
def _shapes(call: op.Call) -> op.Int64Array:
    shapes = call.inputs[0].batch_shape.shapes
    axes = _axes(call, shapes.shape[1])
    counts = [len(own) for own in axes]
    samples = np.repeat(np.arange(call.size), counts)
    padded = np.concatenate([*axes, np.empty(0, np.int64)])
    if call["before"] is not None or call["after"] is not None:
        result = shapes.copy()
        for name in ("before", "after"):
            result[samples, padded] += _amounts(call, name, axes)[samples, padded]
        return result
    extents = shapes.max(axis=0, initial=0)[padded]
    asked = _numbers(call, "shape", counts, 0)
    if asked is not None:
        extents = np.where(asked > 0, np.maximum(asked, shapes[samples, padded]), extents)
    multiples = _numbers(call, "align", counts, 1)
    if multiples is not None:
        if (multiples < 1).any():
            sample = int(samples[np.argmax(multiples < 1)])
            got = call["align"][sample].tolist()
            raise op.wrong_value("align", "positive numbers", got, sample=sample)
        # A multiple too large for memory is refused with the shape that comes of it.
        extents = np.where(extents > 0, (extents - 1) // multiples + 1, 0) * multiples
    result = shapes.copy()
    result[samples, padded] = extents
    return result


def _axes(call: op.Call, ndim: int) -> list[op.Int64Array]:
    """The axes to pad of each sample, from 0; all where none are named."""
    rows: list[op.Int64Array] | None = call["axes"]
    if rows is None:
        return list(named_axes(call, (call.size, ndim), call.inputs[0].type.layout or "", ""))
    known: dict[tuple[int, ...], op.Int64Array] = {}
    for sample, row in enumerate(rows):
        if tuple(row) not in known:
            known[tuple(row)] = inside(row[None], ndim, sample)[0] if row.size else np.arange(ndim)
    return [known[tuple(row)] for row in rows]


def _numbers(call: op.Call, name: str, counts: list[int], default: int) -> op.Int64Array | None:
    """One number for each of the padded axes of all samples, one after another."""
    rows: list[op.Int64Array] | None = call[name]
    if rows is None:
        return None
    for sample, (row, count) in enumerate(zip(rows, counts, strict=True)):
        if row.size not in (0, 1, count):
            raise op.wrong_value(name, f"1 or {count} numbers", row.size, sample=sample)
    wide = [
        np.broadcast_to(row if row.size else np.int64(default), count)
        for row, count in zip(rows, counts, strict=True)
    ]
    return np.concatenate([*wide, np.empty(0, np.int64)])


def _amounts(call: op.Call, name: str, axes: list[op.Int64Array]) -> op.Int64Array:
    """(N, ndim): `before` or `after`, of all axes."""
    amounts = np.zeros_like(call.inputs[0].batch_shape.shapes)
    counts = [len(own) for own in axes]
    numbers = _numbers(call, name, counts, 0)
    if numbers is not None:
        samples = np.repeat(np.arange(call.size), counts)
        bad = (numbers < 0) | (numbers > _MOST)
        if bad.any():
            facts = f"numbers from 0 to {_MOST}", int(numbers[bad][0])
            raise op.wrong_value(name, *facts, sample=int(samples[bad][0]))
        amounts[samples, np.concatenate([*axes, np.empty(0, np.int64)])] = numbers
    return amounts


def _before(call: op.Call) -> op.Int64Array:
    """(N, ndim): how many elements stand in front of each axis."""
    shapes = call.inputs[0].batch_shape.shapes
    if call["before"] is None:
        return np.zeros_like(shapes)
    return _amounts(call, "before", _axes(call, shapes.shape[1]))


@pad.coordinate_map
def _map(call: op.Call) -> Any:
    return op.axis_map(1.0, _before(call)[:, op.spatial_axes(call.inputs[0].layout)])


def _window(call: op.Call) -> tuple[Any, op.Int64Array, Any, None]:
    """What `copy_windows` takes."""
    dtype = call.outputs[0].dtype
    single = np.dtype(np.float32)
    fill = fill_array(call["fill_value"], single if dtype in HALVES else dtype.numpy)
    return call, -_before(call), fill.reshape(-1, 1), None


def _reads_own_shape(arguments: Mapping[str, Any]) -> bool:
    """Whether a sample is filled up to given extents, and not to the largest ones of its batch."""
    shape = arguments.get("shape")
    if arguments.get("before") is not None or arguments.get("after") is not None:
        return True
    return shape is not None and len(shape) > 0 and min(shape) > 0


pad.samplewise = _reads_own_shape
pad.not_serializable("before", "after", "mode")


@pad.cpu
def _cpu(call: op.Call) -> None:
    if call["mode"] == "constant":
        copy_windows(*_window(call))
    else:
        pad_by_mode(call, _before(call))


@pad.gpu
def _gpu(call: op.Call) -> op.Launch:
    if call["mode"] != "constant":
        raise NoGpuKernelError(argument="mode", expected="'constant'", got=repr(call["mode"]))
    return launch_windows(*_window(call))


@pad.cases
def _cases() -> list[op.Case]:
    images = op.samples((2, 5, 3), (4, 3, 3), (3, 3, 1))
    audio = op.samples((5,), (2,), dtype=op.float32, layout="")
    wide = op.samples((2, 3), (4, 1), dtype=op.int32, layout="HW")
    several = op.batch([np.array(row, np.int32) for row in ([-1], [1, 0])])
    asked = [np.array(row, np.int32) for row in ([5], [0, 6])]

    def larger(batch: Any, *shapes: tuple[int, ...], fill: Any = 0) -> list[np.ndarray[Any, Any]]:
        return [
            np.pad(
                batch.at(i),
                [(0, to - n) for n, to in zip(batch.at(i).shape, shape, strict=True)],
                constant_values=fill,
            )
            for i, shape in enumerate(shapes)
        ]

    def around(batch: Any, *width: tuple[int, int], **how: Any) -> list[np.ndarray[Any, Any]]:
        return [np.pad(one, width, **how) for one in batch.arrays()]

    borders: Any = {"axis_names": "HW", "before": (2, 1), "after": (1, 3)}
    sides = (2, 1), (1, 3), (0, 0)
    return [
        *(
            op.case(mode, images, **borders, mode=mode)
            .equals(around(images, *sides, mode=mode))
            .no_oracle()
            for mode in ("edge", "reflect", "symmetric")
        ),
        op.case("in front", images, **borders, fill_value=7)
        .equals(around(images, *sides, constant_values=7))
        .no_oracle(),
        op.case("to a shape, edge", wide, shape=(5, 6), mode="edge")
        .equals(
            [
                np.pad(one, [(0, 5 - one.shape[0]), (0, 6 - one.shape[1])], mode="edge")
                for one in wide.arrays()
            ]
        )
        .no_oracle(),
        op.case("each its own", audio, before=[[1], [4]], mode="reflect")
        .equals([np.pad(audio.at(i), (k, 0), mode="reflect") for i, k in enumerate((1, 4))])
        .no_oracle(),
        op.case("unknown mode", images, mode="wrap").value_error("`mode`"),
        op.case("negative", images, before=-1).value_error("`before`"),
        op.case("two ways", images, before=1, shape=9).value_error("`shape`"),
        op.case("nothing to repeat", op.samples((0, 4, 3)), after=2, mode="edge").value_error(
            "`mode`"
        ),
        op.case("too many", images, after=1 << 50).value_error("`after`"),
        op.case("default", images).equals(larger(images, *[(4, 5, 3)] * 3)),
        op.case("one axis", audio, fill_value=-1.5).equals(larger(audio, (5,), (5,), fill=-1.5)),
        op.case("names", images, axis_names="W").equals(
            larger(images, (2, 5, 3), (4, 5, 3), (3, 5, 1))
        ),
        op.case("shape", images, shape=(3, 0), axes=(0, 1), fill_value=7.9).equals(
            larger(images, (3, 5, 3), (4, 5, 3), (3, 5, 1), fill=7)
        ),
        op.case("align", wide, align=(4, 3), fill_value=-2).equals(
            larger(wide, (4, 3), (4, 3), fill=-2)
        ),
        op.case("shape and align", wide, shape=5, align=4).equals(larger(wide, (8, 8), (8, 8))),
        op.case("per sample", wide, shape=[[6, 4], [5, 5]], fill_value=[1, 2]).equals(
            [larger(wide, (6, 4), (5, 5), fill=f)[f - 1] for f in (1, 2)]
        ),
        op.case("other axes", wide, axes=several, shape=op.batch(asked)).equals(
            larger(wide, (2, 5), (6, 3))
        ),
        op.case("empty", op.samples()).equals([]),
        op.case("no such axis", images, axes=(0, 3)).value_error("`axes`"),
        op.case("no layout", audio, axis_names="T").value_error("no layout"),
        op.case("align 0", images, align=0).value_error("`align`"),
        op.case("four extents", images, shape=(1, 2, 3, 4)).value_error("`shape`"),
        op.case("both", images, axes=0, axis_names="H").value_error("exclude"),
        op.case("too large", images, shape=1 << 40).value_error("too large"),
    ]
