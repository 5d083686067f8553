"""Copies and fills past the caches: the same bytes, none beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn
from gradiva.eager.jit.jit import jit
from gradiva.eager.operators import pixelwise
from gradiva.eager.rows import row_chain
from gradiva.eager.simd import streaming
from gradiva.eager.simd.streaming import (
    copy_nontemporal,
    fill_nontemporal,
    finish_lines,
    use_nontemporal,
)
from tests.tiers import few


@jit
def _copy_and_finish(source: Any, at: int, target: Any, to: int, count: int) -> None:
    copy_nontemporal(source, at, target, to, count)
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
            fill_nontemporal(target, to, count, dtype(9))
            assert np.array_equal(target, expected), (to, count)


def test_large_outputs_of_long_pieces_go_past_the_caches() -> None:
    large, small = np.empty(1 << 24, np.uint8), np.empty(1 << 20, np.uint8)
    long, short = np.array([1 << 14, 1 << 20]), np.array([1 << 14, 100])
    assert use_nontemporal(large)
    assert use_nontemporal(large, long)
    assert use_nontemporal(large.view(np.uint32), long // 4)
    assert not use_nontemporal(large, long, short)
    assert not use_nontemporal(small, long)


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


def strips(layout: str) -> dict[str, Any]:
    """What goes through strips of pixels, in each way that these take: bytes of the results, alone
    and fused."""
    rng = np.random.default_rng(0)
    shapes = ((9, 31, 3), (40, 7, 3))
    images = [rng.integers(0, 256, shape, np.uint8) for shape in shapes]
    if layout == "CHW":
        images = [np.ascontiguousarray(image.transpose(2, 0, 1)) for image in images]
    mirror = gradiva.batch([np.int32(0), np.int32(1)])
    crop = {"crop": (7, 6), "mean": [9.0, 8.0, 7.0], "std": [2.0, 3.0, 4.0], "output_layout": "CHW"}
    ways: dict[str, Callable[[Any, Any], Any]] = {
        "values": lambda lib, x: lib.brightness(x, brightness=1.5),
        "half": lambda lib, x: lib.cast(x, dtype=gradiva.float16),
        "channels": lambda lib, x: lib.hue(x, hue=30.0),
        "rows": lambda lib, x: lib.resize(x, size=(11, 5)),
        "window": lambda lib, x: lib.crop_mirror_normalize(x, mirror=mirror_of(lib), **crop),
        "both": lambda lib, x: lib.crop_mirror_normalize(
            lib.resize(x, size=(11, 9)), mirror=mirror_of(lib), **crop
        ),
        "two": lambda lib, x: lib.hue(lib.brightness(x, brightness=0.5), hue=30.0),
        "turned": lambda lib, x: lib.cast(lib.flip(x), dtype=gradiva.float32),
    }

    def mirror_of(lib: Any) -> Any:
        return mirror if lib is gradiva else fn.external_source(source=lambda: mirror)

    found: dict[str, Any] = {}
    for name, way in ways.items():
        alone = way(gradiva, gradiva.as_batch(images, layout=layout))
        pipe = gradiva.Pipeline(batch_size=2, num_threads=2)
        with pipe:
            source = fn.external_source(lambda: images, layout=layout)
            pipe.set_outputs(way(fn, source))
        (fused,) = pipe.run()
        for kind, batch in (("alone", alone), ("fused", fused)):
            found[f"{kind}, {name}"] = [np.asarray(one).tobytes() for one in batch.tensors]
    return found


@pytest.mark.parametrize("layout", few(["HWC", "CHW"], "CHW"))
def test_strips_past_the_caches(layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = strips(layout)
    monkeypatch.setattr(streaming, "_LARGE", 0)
    monkeypatch.setattr(streaming, "_LONG", 1)
    monkeypatch.setattr(row_chain, "_LINE", 1)
    gone: list[bool] = []

    def noted(*arguments: Any) -> bool:
        gone.append(row_chain.strips_use_nontemporal(*arguments))
        return gone[-1]

    monkeypatch.setattr(pixelwise, "strips_use_nontemporal", noted)
    assert strips(layout) == expected
    assert gone
    assert all(gone)


def test_strips_that_share_lines_stay_in_the_caches() -> None:
    large: Any = gradiva.zeros(shape=[(1 << 24) + 1], dtype=gradiva.uint8, batch_size=1).as_array()[
        0
    ]
    samples = row_chain.table(2)
    samples[1, row_chain.TARGET] = 1 << 20
    assert row_chain.strips_use_nontemporal(large, samples)
    assert not row_chain.strips_use_nontemporal(large[: 1 << 20], samples)
    assert not row_chain.strips_use_nontemporal(large[1:], samples)
    for column in (row_chain.TARGET, row_chain.TARGET_ROW):
        uneven = samples.copy()
        uneven[1, column] += 32
        assert not row_chain.strips_use_nontemporal(large, uneven)
