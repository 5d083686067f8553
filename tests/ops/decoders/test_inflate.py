"""LZ4 blocks: against the library, and what is damaged."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import OperatorRuntimeError, OperatorValueError, batch
from gradiva.ops.decoders.lz4_block import CUT, FAR, LARGE, inflate_block
from tests.tiers import examples

Array = np.ndarray[Any, Any]


def drawn(draw: random.Random) -> bytes:
    """Bytes with runs, near and far repetitions, and noise."""
    made = bytearray()
    while len(made) < draw.choice((0, 1, 5, 20, 300, 70000)):
        kind = draw.randrange(3)
        if kind == 0 or not made:
            made += draw.randbytes(draw.choice((1, 3, 14, 15, 16, 269, 270, 271, 600)))
        elif kind == 1:
            made += bytes([draw.randrange(256)]) * draw.choice((4, 18, 19, 20, 273, 274, 275, 9000))
        else:
            begin = draw.randrange(len(made))
            made += made[begin : begin + draw.choice((4, 30, 1000))]
    return bytes(made)


def inflated(block: bytes | Array, size: int) -> tuple[int, bytes]:
    out = np.full(size + 8, 165, np.uint8)
    made = inflate_block(np.frombuffer(block, np.uint8), out[:size])
    assert (out[size:] == 165).all()
    return made, out[: max(made, 0)].tobytes()


def test_against_the_library() -> None:
    lz4: Any = pytest.importorskip("lz4.block")
    draw = random.Random(3)
    for mode in ("default", "fast", "high_compression"):
        for _ in range(examples(100)):
            data = drawn(draw)
            block = lz4.compress(data, mode=mode, store_size=False)
            assert inflated(block, len(data)) == (len(data), data)
            assert inflated(block, len(data) + 9) == (len(data), data)
            if data:
                assert inflated(block, len(data) - 1)[0] == LARGE
                assert inflated(block[: draw.randrange(len(block))], len(data))[0] != len(data)


def test_damaged_blocks() -> None:
    """Whatever the bytes are, nothing outside is read or written."""
    draw = random.Random(4)
    block = b"\x31abc\x03\x00\x1fb\x01\x00\x00\x50bbbbb"
    whole = inflated(block, 33)
    assert whole == (33, b"abcabcab" + b"b" * 25)
    results = set()
    for _ in range(examples(5000)):
        other = bytearray(block)
        for _ in range(draw.randrange(1, 4)):
            other[draw.randrange(len(other))] = draw.choice((0, 1, 15, 240, 255, 7, 64))
        results.add(inflated(bytes(other)[: draw.randrange(len(other) + 1)], 33)[0])
    assert {CUT, FAR, LARGE} <= results
    assert min(results) == LARGE
    assert max(results) <= 33


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        (b"", CUT),
        (b"\xf0", CUT),
        (b"\xf0\xff\xff", CUT),
        (b"\x20a", CUT),
        (b"\x10a\x01", CUT),
        (b"\x10a\x00\x00", FAR),
        (b"\x10a\x02\x00", FAR),
        (b"\x00\x01\x00", FAR),
        (b"\x10a\x01\x00", LARGE),
        (b"\x1fa\x01\x00" + b"\xff" * 90 + b"\x00", LARGE),
        (b"\xf0" + b"\xff" * 90 + b"\x00", CUT),
    ],
)
def test_what_is_wrong(block: bytes, problem: int) -> None:
    assert inflated(block, 4)[0] == problem


def test_errors_name_the_chunk() -> None:
    data = np.frombuffer(b"\x30abc\x30ab", np.uint8)
    with pytest.raises(OperatorRuntimeError, match=r"chunk 1: it is cut short[\s\S]*sample 1"):
        gradiva.decoders.inflate(
            batch([np.frombuffer(b"\x30abc\x30abc", np.uint8), data]),
            shape=[3],
            chunk_sizes=batch([np.array([4, 4]), np.array([4, 3])]),
        )
    with pytest.raises(
        OperatorRuntimeError, match=r"4 bytes cannot be 4294967296 bytes[^\n]*\n  in sample 0"
    ):
        gradiva.decoders.inflate(batch([data[:4]]), shape=[1 << 32])
    with pytest.raises(OperatorValueError, match="chunk 1, -2 bytes from 4 on"):
        gradiva.decoders.inflate(batch([data]), shape=[3], chunk_sizes=[4, -2])
    with pytest.raises(OperatorValueError, match="`chunk_sizes`"):
        gradiva.decoders.inflate(batch([data]), shape=[3], chunk_sizes=[1, 2**63 - 1])


def test_as_in_the_guide() -> None:
    """A video whose frames were compressed one by one, in a pipeline."""
    lz4: Any = pytest.importorskip("lz4.block")
    rng = np.random.default_rng(0)
    videos = [rng.integers(0, 4, (count, 6, 8, 3)).astype(np.uint8) for count in (3, 5)]
    parts = [[lz4.compress(frame.tobytes(), store_size=False) for frame in one] for one in videos]
    files = [np.frombuffer(b"".join(one), np.uint8) for one in parts]
    sizes = [np.array([len(part) for part in one], np.int32) for one in parts]
    fn = gradiva.fn

    @gradiva.pipeline_def(batch_size=2, num_threads=2, device_id=None)
    def inflating() -> Any:
        data = fn.external_source(lambda: files, batch=True)
        counts = fn.external_source(lambda: sizes, batch=True)
        return fn.experimental.inflate(
            data, chunk_sizes=counts, shape=[6, 8, 3], layout="HWC", sequence_axis_name="F"
        )

    with pytest.warns(DeprecationWarning, match="decoders.inflate"):
        pipe = inflating()
    (made,) = pipe.run()
    assert made.layout() == "FHWC"
    for one, video in zip(made, videos, strict=True):
        np.testing.assert_array_equal(np.asarray(one), video)
