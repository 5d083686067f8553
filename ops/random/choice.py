"""`random.choice`: elements of a list, drawn with given probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.argument_types import RaggedFloatsArg
from gradiva.eager.random.philox import philox
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.arrays import Draws, I64Vector, Slabs, U64Table, U64Vector

from .scaled import scaled
from .shapes import drawn_shapes_of, drawn_type, fill

# Few calls need it, and `import gradiva` must stay fast.
_translate: Any = lazy_module("gradiva.eager.execution.cuda_translate")
_KERNEL: Final = op.CudaKernel(
    "choice", ("philox.cuh", "arithmetic.cuh", None, Path(__file__).with_name("choice.cuh"))
)


@op.maker("random.choice", schema="random__Choice", inputs=(1, 2), random=True)
def choice(
    a: Any,
    shape_like: op.SampleType | op.Value | None = None,
    /,
    *,
    p: RaggedFloatsArg | None = None,
    shape: op.IntsArg | None = None,
    **common: op.Unpack[op.Sampled],
) -> op.SampleType:
    """Draw elements of `a` at random.

    Args:
        a: samples with one or more axes, whose elements along the first axis are drawn; or a scalar
            n of an integer type, which stands for 0 ... n - 1.
        p: the probability of each element; all alike without it. May differ per sample.
        shape_like: a batch whose samples' shapes are taken.
        shape: the shape of a sample, which may differ per sample. Without both, one element is
            drawn.

    Returns:
        Samples of the dtype of `a`, of the drawn shape followed by the shape of an element; with
        the layout of `a` if one axis is drawn, and that of an element if none is. An element is
        found from a random word of 64 bits by integer operations.

    Raises:
        OperatorTypeError: for a scalar that is not an integer, and for a list of texts.
        OperatorValueError: for an `a` without elements, and for a `p` of another length, outside
            0..1, or with a sum that is 1e-4 or more away from 1.

    Example:
        which = gradiva.random.choice(3, p=[0.5, 0.25, 0.25], batch_size=8)
    """
    source = a
    drawn = drawn_type(shape_like, shape, source.dtype, op.float32)
    if source.ndim == 0 and source.dtype is not None and not source.dtype.is_integer:
        raise op.wrong_type(
            "", "an integer type", source.dtype, "a scalar says how many numbers to choose from"
        )
    if source.ndim is None or drawn.ndim is None:
        ndim = None
    else:
        ndim = drawn.ndim + max(source.ndim - 1, 0)
    layout: str | None = ""
    if source.layout is None or drawn.ndim is None:
        layout = None
    elif drawn.ndim < 2:
        layout = source.layout[1 - drawn.ndim :]
    return op.SampleType(source.dtype, ndim, layout, source.device)


choice.instead_of_texts = "names[int(gradiva.random.choice(len(names)))] for one of some names"


@choice.shapes
def _shapes(call: op.Call) -> Any:
    source = call.inputs[0].batch_shape
    outer = drawn_shapes_of(call, call.inputs[1] if len(call.inputs) > 1 else None)
    shapes = outer.shapes if isinstance(outer, op.BatchShape) else outer
    return np.concatenate([shapes, source.shapes[:, 1:]], axis=1)


@op.jit
def _element(high: np.uint32, low: np.uint32, size: int, thresholds: U64Vector) -> np.int64:
    """One of `size` elements, for a random word of 64 bits."""
    word = (np.uint64(high) << np.uint64(32)) | np.uint64(low)
    if thresholds.size == 0:
        return np.int64(scaled(word, np.uint64(size)))
    fraction = word >> np.uint64(11)
    first, last = 0, thresholds.size - 1
    while first < last:
        middle = (first + last) >> 1
        if fraction < thresholds[middle]:
            last = middle
        else:
            first = middle + 1
    return np.int64(first)


@op.jit
def _numbers(
    places: tuple[I64Vector, I64Vector, I64Vector],
    draws: Draws,
    sizes: I64Vector,
    thresholds: U64Table,
    begin: int,
    end: int,
) -> None:
    """Fill samples with numbers below `sizes`.

    places: the data, and the offset and the number of elements of each sample; draws: what random
    values depend on; thresholds: of each sample, cumulated probabilities, or none.
    """
    out, offsets, counts = places
    positions, seed, number = draws
    for i in range(begin, end):
        position = np.uint64(positions[i])
        for first in range(0, counts[i], 2):
            words = philox(np.uint32(first // 2), number, position, seed)
            at = offsets[i] + first
            out[at] = _element(words[0], words[1], sizes[i], thresholds[i])
            if first + 1 < counts[i]:
                out[at + 1] = _element(words[2], words[3], sizes[i], thresholds[i])


@op.jit
def _elements(
    slabs: Slabs,
    counts: I64Vector,
    inner: I64Vector,
    draws: Draws,
    sizes: I64Vector,
    thresholds: U64Table,
    begin: int,
    end: int,
) -> None:
    """Copy random elements of samples.

    counts: how many of each sample; inner: the values of one element; sizes: the elements to choose
    from; draws, thresholds: as in `_numbers`.
    """
    source, source_offsets, target, target_offsets = slabs
    positions, seed, number = draws
    for i in range(begin, end):
        position = np.uint64(positions[i])
        volume = inner[i]
        for k in range(counts[i]):
            words = philox(np.uint32(k // 2), number, position, seed)
            if k % 2 == 0:
                chosen = _element(words[0], words[1], sizes[i], thresholds[i])
            else:
                chosen = _element(words[2], words[3], sizes[i], thresholds[i])
            s = source_offsets[i] + chosen * volume
            t = target_offsets[i] + k * volume
            for c in range(volume):
                target[t + c] = source[s + c]


def _sizes(call: op.Call) -> op.Int64Array:
    """How many elements each sample has. Raises OperatorValueError."""
    source = call.inputs[0]
    if source.ndim:
        sizes = source.batch_shape.shapes[:, 0]
    else:
        values = source.data[source.batch_shape.offsets]
        if values.dtype == np.uint64:
            values = np.minimum(values, np.uint64(np.iinfo(np.int64).max))
        sizes = values.astype(np.int64)
    op.refuse_samples(
        sizes < 1, "", "at least one element", sizes, "there is nothing to choose from"
    )
    return np.ascontiguousarray(sizes)


def _thresholds(call: op.Call, sizes: op.Int64Array) -> Any:
    """(N, most elements): below which of 2**53 an element or one before it is chosen; (N, 0) if all
    are alike. Raises OperatorValueError."""
    rows = call["p"]
    if rows is None:
        return np.empty((call.size, 0), np.uint64)
    lengths = np.array([len(row) for row in rows], np.int64)
    length = int(lengths.max(initial=0))
    given = np.zeros((call.size, length), np.float32)
    for row, own in zip(rows, given, strict=True):
        own[: len(row)] = row
    sums = np.cumsum(given.astype(np.float64), axis=1)
    total = sums[:, -1] if length else np.zeros(call.size)
    checks = (
        (sizes != lengths, "a probability for each element", "{} for {} elements"),
        (~((given >= 0) & (given <= 1)).all(axis=1), "numbers from 0 to 1", "{2}"),
        (~(np.abs(total - 1) < 1e-4), "probabilities with the sum 1", "{2}, the sum {3:g}"),
    )
    for bad, expected, got in checks:
        if bad.any():
            i = int(np.flatnonzero(bad)[0])
            text = got.format(lengths[i], sizes[i], rows[i].tolist(), total[i])
            raise op.wrong_value("p", expected, text, sample=i)
    thresholds: Any = (sums / total[:, None] * 2.0**53).astype(np.uint64)
    # Rounding leaves nothing to elements behind the last possible one.
    last = length - 1 - np.argmax(given[:, ::-1] > 0, axis=1)
    thresholds[np.arange(length) >= last[:, None]] = np.uint64(1 << 53)
    return thresholds


@choice.cpu
def _cpu(call: op.Call) -> None:
    source, target = call.inputs[0], call.outputs[0]
    sizes = _sizes(call)
    thresholds = _thresholds(call, sizes)
    if source.ndim == 0:
        fill(call, _numbers, np.int64, sizes, thresholds)
        return
    inner = source.batch_shape.shapes[:, 1:].prod(axis=1)
    counts = target.batch_shape.shapes[:, : target.ndim - source.ndim + 1].prod(axis=1)
    call.for_samples(_elements, call.words, counts, inner, call.draws, sizes, thresholds)


@choice.gpu
def _gpu(call: op.Call) -> op.Launch:
    source, target = call.inputs[0], call.outputs[0]
    numbers = source.ndim == 0
    if numbers:
        # How many there are is on the device; probabilities say it too.
        given = call["p"]
        sizes = np.ones(call.size, np.int64)
        if given is not None:
            sizes[:] = [len(row) for row in given]
    else:
        sizes = _sizes(call)
    thresholds = _thresholds(call, sizes)
    inner, volumes = source.batch_shape.shapes[:, 1:].prod(axis=1), target.batch_shape.volumes
    offsets = source.batch_shape.offsets, target.batch_shape.offsets
    places: Any = (*offsets, volumes, inner, sizes, call.positions)
    # Bytes move whatever they mean, but numbers are computed.
    data, slab = source.data, target.data
    if not numbers:
        bits = f"u{source.dtype.itemsize}"
        data, slab = data.view(bits), slab.view(bits)
    generated = f"constexpr bool NUMBERS = {'true' if numbers else 'false'};\n"
    blocks = op.blocks_of(volumes)
    tables = np.stack(places, axis=1), blocks.table, *call.seed_and_number, thresholds
    arguments = data, op.OutputArg(slab), *tables, np.int64(thresholds.shape[1])
    generated += _translate.translation_of(_element)
    unit = _KERNEL.unit({"Target": op.type_name(slab.dtype)}, generated)
    return op.Launch(unit, blocks.total, arguments)


@choice.cases
def _cases() -> list[op.Case]:
    lists = op.batch([np.array([1.5, 2.5], np.float32), np.array([7], np.float32)])
    rows = op.samples((4, 3), (2, 5), layout="HW")
    like = op.samples((4, 5), (1, 7), layout="HW")
    five = np.array(5, np.int64)
    certain = op.batch([np.array([0, 0, 0, 1], np.float32), np.array([0, 1], np.float32)])
    return [
        op.case("a number", np.int32(5), batch_size=4, seed=1).no_oracle(),
        op.case("shape", five, batch_size=3, shape=(2, 3), seed=2).no_oracle(),
        op.case("one of one", np.int16(1), batch_size=2)
        .equals([np.zeros((), np.int16)] * 2)
        .no_oracle(),
        op.case("elements", lists, seed=3, shape=7).no_oracle(),
        op.case("rows", rows, seed=4).no_oracle(),
        op.case("like", rows, like, seed=4).no_oracle(),
        op.case(
            "certain", np.arange(3, dtype=np.uint8), batch_size=2, shape=3, p=[[0, 1, 0], [0, 0, 1]]
        )
        .equals([np.full(3, 1, np.uint8), np.full(3, 2, np.uint8)])
        .no_oracle(),
        op.case(
            "probabilities", five, batch_size=2, shape=9, seed=5, p=(0.1, 0.2, 0.0, 0.3, 0.4)
        ).no_oracle(),
        op.case("as many as elements", rows, p=certain)
        .equals([rows.at(0)[3], rows.at(1)[1]])
        .no_oracle(),
        op.case("empty", five, batch_size=0).equals([]).no_oracle(),
        op.case("no elements", np.zeros(0, np.int32), batch_size=2).value_error(
            "nothing to choose"
        ),
        op.case("negative", np.int32(-2), batch_size=2).value_error("nothing to choose"),
        op.case("a real number", np.float32(3), batch_size=2).type_error("integer"),
        op.case("another length", five, batch_size=2, p=(0.5, 0.5)).value_error("`p`"),
        op.case("another sum", np.int32(2), batch_size=2, p=(0.5, 0.4)).value_error("sum"),
        op.case("negative shape", five, batch_size=2, shape=(-1,)).value_error("`shape`"),
    ]
