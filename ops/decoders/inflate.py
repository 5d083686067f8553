"""`decoders.inflate`: arrays from compressed bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.argument_types import RaggedIntsArg
from gradiva.eager.support.layouts import as_layout
from gradiva.eager.types.arrays import Array, Int64Array

from .lz4_block import CUT, FAR, GROWTH, LARGE, inflate_block

_WRONG: Final = {
    CUT: "it is cut short",
    FAR: "it repeats bytes that are not there: this is no LZ4 block",
    LARGE: "it has more bytes than the shape",
}


@op.operator("decoders.inflate", schema="decoders__Inflate", formerly=("experimental.inflate",))
def inflate(
    input: op.SampleType,
    /,
    *,
    shape: op.IntsArg,
    dtype: op.DTypeLike = op.uint8,
    layout: op.Layout = "",
    algorithm: str = "LZ4",
    chunk_offsets: RaggedIntsArg | None = None,
    chunk_sizes: RaggedIntsArg | None = None,
    sequence_axis_name: op.Layout = "F",
    check_output_size: bool = False,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Decompress arrays that were compressed as LZ4 blocks, whole or in chunks, such as frames.

    A block is what `lz4.block.compress(array.tobytes(), store_size=False)` makes, without the
    frame that the files of the program lz4 have around theirs. It takes nothing but memory of the
    output's size; what cannot be right is refused before that is asked for.

    Args:
        input: uint8, 1-D.
        shape: the shape of the array, or of the array in each chunk. May differ per sample.
        dtype: the type of the elements, which are in the byte order of the machine.
        layout: the layout of the array, or of that in each chunk.
        algorithm: "LZ4".
        chunk_offsets: where the chunks of a sample begin. Without sizes each ends where the next
            one begins, the last one with the sample. May differ per sample, also in number.
        chunk_sizes: the bytes of each chunk. Without offsets they follow one another from the first
            byte on. May differ per sample, also in number.
        sequence_axis_name: with chunks, the letter of the first axis, if there is a `layout`.
        check_output_size: without effect: sizes are always checked.

    Returns:
        Samples of the shape; with chunks, (chunks, *shape).

    Raises:
        OperatorTypeError: for other inputs.
        OperatorValueError: for other algorithms and layouts, and with the sample, for negative
            extents and chunks that are not in it.
        OperatorRuntimeError: with the sample, its file and the chunk, for bytes that are no such
            block, are cut short, or are not those of as many elements as the shape has.

    Example:
        data = np.fromfile("depth.lz4", np.uint8)
        gradiva.decoders.inflate(data, shape=(4, 6), dtype="uint16").shape  # (4, 6)
    """
    op.require_dtype(input, (op.uint8,), "compressed input")
    op.require_ndim(input, (1,), "compressed input")
    if algorithm != "LZ4":
        raise op.wrong_value("algorithm", "'LZ4'", repr(algorithm))
    if len(sequence_axis_name) != 1:
        raise op.wrong_value("sequence_axis_name", "one letter", repr(sequence_axis_name))
    chunks = chunk_offsets is not None or chunk_sizes is not None
    ndim = len(layout) or None
    if not isinstance(shape, op.SampleType | op.Value):
        extents: tuple[int, ...] = shape  # type: ignore[assignment]  # converted by the engine
        try:
            as_layout(layout, len(extents))
        except ValueError:
            expected = f"one letter per axis, {len(extents)} in all"
            raise op.wrong_value("layout", expected, repr(layout)) from None
        ndim = len(extents)
    if chunks and layout:
        layout = sequence_axis_name + layout
    chosen: Any = dtype
    made = None if ndim is None else ndim + chunks
    return op.SampleType(chosen, made, layout, input.device)


@dataclass(frozen=True)
class _InflatePlan(op.Plan):
    """chunks: of each sample, where they begin and end, (n, 2)."""

    chunks: list[Int64Array]


@inflate.shapes
def _shapes(call: op.Call) -> _InflatePlan:
    extents = call["shape"]
    op.refuse_samples((extents < 0).any(axis=1), "shape", "extents from 0 on", extents)
    letters = len(call["layout"])
    if letters not in (0, extents.shape[1]):
        expected = f"one letter per axis, {extents.shape[1]} in all"
        raise op.wrong_value("layout", expected, repr(call["layout"]))
    given = call["chunk_offsets"] is not None or call["chunk_sizes"] is not None
    lengths = call.inputs[0].batch_shape.volumes.tolist()
    chunks = [_chunks(call, sample, length) for sample, length in enumerate(lengths)]
    dtype = call.types[0].dtype
    assert dtype is not None
    wanted = extents.astype(np.float64).prod(axis=1) * dtype.itemsize
    for sample, places in enumerate(chunks):
        for number, (begin, end) in enumerate(places.tolist()):
            if wanted[sample] > GROWTH * (end - begin):
                raise op.SampleDataError(
                    f"{_called(number, given)}{end - begin} bytes cannot be "
                    f"{wanted[sample]:.0f} bytes, as `shape` wants them",
                    sample=sample,
                )
    if given:
        counts = np.array([len(places) for places in chunks], np.int64)
        extents = np.hstack([counts[:, None], extents])
    return _InflatePlan(extents, chunks)


def _chunks(call: op.Call, sample: int, length: int) -> Int64Array:
    """Where the chunks of a sample begin and end. Raises OperatorValueError."""
    offsets, sizes = call["chunk_offsets"], call["chunk_sizes"]
    if offsets is None and sizes is None:
        return np.array([[0, length]], np.int64)
    begins: Int64Array
    if offsets is None:
        argument, counts = "chunk_sizes", sizes[sample]
        begins = np.cumsum(counts) - counts
    else:
        argument, begins = "chunk_offsets", offsets[sample]
        counts = np.diff(begins, append=length) if sizes is None else sizes[sample]
    if len(begins) != len(counts):
        raise op.wrong_value(
            "chunk_sizes", f"one for each of {len(begins)} offsets", len(counts)
        ).complete(sample=sample)
    # Sums of numbers out of range would wrap.
    inside = (begins >= 0) & (begins <= length) & (counts >= 0) & (counts <= length)
    if not (inside & (begins + counts <= length)).all():
        number = int((inside & (begins + counts <= length)).argmin())
        raise op.wrong_value(
            argument,
            f"chunks in the {length} bytes of the sample",
            f"chunk {number}, {counts[number]} bytes from {begins[number]} on",
        ).complete(sample=sample)
    return np.stack([begins, begins + counts], axis=1)


def _called(number: int, given: bool) -> str:
    return f"chunk {number}: " if given else ""


@inflate.cpu
def _cpu(call: op.Call, plan: _InflatePlan) -> None:
    source, target = call.inputs[0], call.outputs[0]
    given = call["chunk_offsets"] is not None or call["chunk_sizes"] is not None

    def decode(sample: int) -> None:
        data = source.array(sample)
        places = plan.chunks[sample].tolist()
        out: Array = target.array(sample).reshape(-1).view(np.uint8)
        size = out.size // max(len(places), 1)
        for number, (begin, end) in enumerate(places):
            block, room = data[begin:end], out[number * size : (number + 1) * size]
            if not size and begin == end:
                continue
            made = inflate_block(block, room)
            if made != size:
                problem = _WRONG.get(made, f"it has {made} bytes, and `shape` wants {size}")
                raise op.SampleDataError(f"{_called(number, given)}{problem}", sample=sample)

    call.each_sample(decode, target.batch_shape.volumes.tolist())


def stored(array: Array) -> Array:
    """Bytes as an LZ4 block that repeats nothing, for examples."""
    data = array.tobytes()
    more = len(data) - 15
    if more < 0:
        return np.frombuffer(bytes([len(data) << 4]) + data, np.uint8)
    head = bytes([240]) + b"\xff" * (more // 255) + bytes([more % 255])
    return np.frombuffer(head + data, np.uint8)


@inflate.cases
def _cases() -> list[op.Case]:
    arrays = op.samples((4, 50), (4, 50), dtype=op.int16, layout="").arrays()
    blocks = op.batch([stored(one) for one in arrays])
    frames = op.samples((3, 2, 4, 3), (1, 2, 4, 3), layout="FHWC").arrays()
    parts = [[stored(frame) for frame in one] for one in frames]
    sequences = op.batch([np.concatenate(one) for one in parts])
    counts = [np.array([part.size for part in one], np.int32) for one in parts]
    sizes = op.batch(counts)
    begins = op.batch([np.cumsum(one) - one for one in counts])
    # "abcab" + 20 times "b", and an end: bytes that repeat themselves.
    runs = np.frombuffer(b"\x31abc\x03\x00\x1fb\x01\x00\x00\x50bbbbb", np.uint8)
    text = np.frombuffer(b"abc" + b"abcab" + b"b" + b"b" * 19 + b"bbbbb", np.uint8)
    ints: dict[str, Any] = {"shape": [4, 50], "dtype": op.int16}
    chunked: dict[str, Any] = {"shape": [2, 4, 3], "layout": "HWC"}
    noise = op.batch([np.arange(250, 130, -1, dtype=np.uint8)])
    return [
        op.case("whole", blocks, **ints).equals(arrays).no_oracle(),
        op.case("per sample", blocks, shape=[[200], [200]], dtype=op.int16, layout="X")
        .equals([one.reshape(200) for one in arrays])
        .no_oracle(),
        op.case("runs", op.batch([runs]), shape=[text.size]).equals([text]).no_oracle(),
        op.case("sizes", sequences, chunk_sizes=sizes, **chunked).equals(frames).no_oracle(),
        op.case("offsets", sequences, chunk_offsets=begins, sequence_axis_name="D", **chunked)
        .equals(frames)
        .no_oracle(),
        op.case("both", sequences, chunk_offsets=begins, chunk_sizes=sizes, **chunked)
        .equals(frames)
        .no_oracle(),
        op.case("one of them", sequences, chunk_offsets=0, chunk_sizes=counts[0][:1], **chunked)
        .equals([one[:1] for one in frames])
        .no_oracle(),
        op.case("no element", op.batch([stored(text[:0])]), shape=[0, 3])
        .equals([np.empty((0, 3), np.uint8)])
        .no_oracle(),
        op.case("empty", op.samples(layout=""), shape=[3]).equals([]).no_oracle(),
        op.case("too many bytes", blocks, shape=[199], dtype=op.int16).runtime_error("sample 0"),
        op.case("too few bytes", blocks, shape=[201], dtype=op.int16).runtime_error("wants 402"),
        op.case("cut", op.batch([blocks.at(0), blocks.at(1)[:-1]]), **ints).runtime_error(
            "cut short"
        ),
        op.case("a bomb", blocks, shape=[1 << 30, 1 << 30]).runtime_error("cannot be"),
        op.case("noise", noise, shape=[300]).runtime_error("sample 0"),
        op.case("outside", sequences, chunk_sizes=[26, 1000], **chunked).value_error(
            "`chunk_sizes`"
        ),
        op.case("before", sequences, chunk_offsets=[-1], **chunked).value_error("`chunk_offsets`"),
        op.case("unequal", sequences, chunk_offsets=[0, 1], chunk_sizes=[1], **chunked).value_error(
            "`chunk_sizes`"
        ),
        op.case("negative", blocks, shape=[-1]).value_error("`shape`"),
        op.case("letters", blocks, shape=[4, 50], layout="HWC").value_error("`layout`"),
        op.case("axis", blocks, sequence_axis_name="FF", **ints).value_error(
            "`sequence_axis_name`"
        ),
        op.case("algorithm", blocks, algorithm="zstd", **ints).value_error("`algorithm`"),
        op.case("dtype", op.samples((5,), dtype=op.int16, layout=""), shape=[5]).type_error(
            "dtype"
        ),
    ]
