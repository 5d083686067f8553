"""Copies and fills past the caches: the same bytes, none beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.jit import streaming
from gradiva.eager.jit.jit import jit
from gradiva.eager.jit.streaming import copy_past, fill_past, finish_lines, goes_past


@jit
def _copy_and_finish(source: Any, at: int, target: Any, to: int, count: int) -> None:
    copy_past(source, at, target, to, count)
    finish_lines()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32])
def test_pieces_of_any_length_at_any_place(dtype: type) -> None:
    source: Any = np.arange(600).astype(dtype)
    for to in (0, 1, 17, 63, 64, 65):
        for count in (0, 1, 15, 16, 63, 64, 65, 200, 333):
            target: Any = np.full(600, 7, dtype)
            expected = target.copy()
            expected[to : to + count] = source[5 : 5 + count]
            _copy_and_finish(source, 5, target, to, count)
            assert np.array_equal(target, expected), (to, count)
            expected[to : to + count] = 9
            fill_past(target, to, count, dtype(9))
            assert np.array_equal(target, expected), (to, count)


def test_large_outputs_of_long_pieces_go_past_the_caches() -> None:
    large, small = np.empty(1 << 24, np.uint8), np.empty(1 << 20, np.uint8)
    long, short = np.array([1 << 14, 1 << 20]), np.array([1 << 14, 100])
    assert goes_past(large)
    assert goes_past(large, long)
    assert goes_past(large.view(np.uint32), long // 4)
    assert not goes_past(large, long, short)
    assert not goes_past(small, long)


def test_operators_past_the_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if everything were large."""
    monkeypatch.setattr(streaming, "_LARGE", 0)
    monkeypatch.setattr(streaming, "_LONG", 1)
    rng = np.random.default_rng(0)
    arrays = [rng.integers(0, 256, shape, np.uint8) for shape in ((9, 31, 3), (40, 7, 3))]
    images = gradiva.as_batch(arrays, layout="HWC")
    frames = rng.integers(0, 256, (2, 4, 9, 11, 3), np.uint8)
    video = gradiva.as_batch(frames, layout="FHWC")
    erased = [array.copy() for array in arrays]
    for array in erased:
        array[2:7, 1:5] = 6

    def same(batch: Any, expected: Any) -> bool:
        parts = zip(batch.tensors, expected, strict=True)
        return all(np.array_equal(np.asarray(one), other) for one, other in parts)

    assert same(gradiva.copy(images), arrays)
    assert same(gradiva.erase(images, anchor=(2, 1), shape=(5, 4), fill_value=6), erased)
    assert same(gradiva.cat(images, images, axis=0), [np.concatenate([x, x]) for x in arrays])
    assert same(gradiva.sequence_rearrange(video, new_order=[3, 1, 1]), frames[:, [3, 1, 1]])
    assert same(gradiva.ones_like(video, dtype=gradiva.float32), np.ones(frames.shape, np.float32))
    assert same(gradiva.zeros_like(video), np.zeros_like(frames))
