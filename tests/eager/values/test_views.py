"""Outputs in the memory of an input: nothing is copied, nothing is overwritten too early."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Batch, EvalMode, batch, fn
from gradiva.eager.execution.views import view_of
from gradiva.eager.operators.cases import samples
from gradiva.eager.runtime.host_memory import is_leased, pool
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.types.dtypes import bool_, float32, int16, int32, uint8
from gradiva.eager.types.sample_type import SampleType

VIEWS: dict[str, Any] = {
    "reshape": lambda x: gradiva.reshape(x, shape=[-1]),
    "reinterpret": lambda x: gradiva.reinterpret(x, dtype="int8"),
    "squeeze": lambda x: gradiva.squeeze(x, axes=[2]),
    "expand_dims": lambda x: gradiva.expand_dims(x, axes=[0]),
    "per_frame": lambda x: gradiva.per_frame(x, replace=True),
    "permute_batch": lambda x: gradiva.permute_batch(x, indices=[2, 0, 1]),
}


def large(*, ragged: bool) -> Batch:
    """A leased batch of HW1 images."""
    shapes = [(200, 300, 1), (100, 250, 1) if ragged else (200, 300, 1), (200, 300, 1)]
    made = gradiva.copy(samples(*shapes))
    assert is_leased(made.data)
    return made


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("name", VIEWS)
def test_nothing_is_copied(name: str, ragged: bool) -> None:
    source = large(ragged=ragged)
    view = VIEWS[name](source)
    assert np.shares_memory(view.data, source.data)
    assert is_leased(view.data)
    assert not np.shares_memory(gradiva.copy(view).data, source.data)
    before = [source.at(i).tobytes() for i in ([2, 0, 1] if "permute" in name else range(3))]
    assert [sample.tobytes() for sample in view.arrays()] == before


@pytest.mark.parametrize("name", VIEWS)
def test_the_memory_stays_as_long_as_the_view(name: str) -> None:
    """The input is gone; its memory serves nobody else before the view is gone too."""
    view = VIEWS[name](large(ragged=False))
    before = [sample.tobytes() for sample in view.arrays()]
    gc.collect()
    others = [gradiva.zeros_like(large(ragged=False)) for _ in range(4)]
    assert not any(np.shares_memory(other.data, view.data) for other in others)
    assert [sample.tobytes() for sample in view.arrays()] == before


def test_the_memory_comes_back_after_the_view() -> None:
    pool.clear()
    view = gradiva.reshape(large(ragged=False), shape=[-1])
    address = view.data.ctypes.data
    kept = pool.kept_bytes
    del view
    assert pool.kept_bytes > kept
    again = [pool.allocate(180_000) for _ in range(4)]
    assert address in [one.ctypes.data for one in again]


@pytest.mark.parametrize("name", VIEWS)
def test_pipelines_and_deferred_calls(name: str) -> None:
    """Views as outputs and as intermediate results, over several batches ahead."""
    source = large(ragged=True)
    wanted = gradiva.cast(VIEWS[name](source), dtype=float32)

    @gradiva.pipeline_def(batch_size=3, num_threads=2, prefetch_queue_depth=3)
    def pipeline() -> Any:
        images = fn.copy(fn.external_source([source], cycle=True))
        view = VIEWS[name](images)
        return view, fn.cast(view, dtype=float32)

    pipe = pipeline()
    kept = [pipe.run() for _ in range(5)]
    pipe.close()
    with EvalMode.deferred:
        kept.append((VIEWS[name](source), gradiva.cast(VIEWS[name](source), dtype=float32)))
    for view, cast in kept:
        assert view.shape == cast.shape == wanted.shape
        for one, two, three in zip(view, cast, wanted, strict=True):
            np.testing.assert_array_equal(np.asarray(two), np.asarray(three))
            np.testing.assert_array_equal(np.asarray(one).astype(np.float32), np.asarray(three))


@pytest.mark.full
def test_kernels_after_views() -> None:
    """Operators on views of every kind: selected, ragged from uniform, uniform from ragged."""
    source = samples((4, 6, 3), (6, 4, 3), (8, 3, 3), (2, 12, 3))
    alike = gradiva.reshape(source, shape=[24, 3], layout="WC")
    assert alike.batch_shape.uniform
    np.testing.assert_array_equal(alike.as_array(), [source.at(i).reshape(24, 3) for i in range(4)])
    back = gradiva.reshape(alike, shape=[[1, 72], [2, 36], [72, 1], [8, 9]])
    assert not back.batch_shape.uniform
    chosen = gradiva.permute_batch(back, indices=[3, 3, 0, 1])
    for view, numbers in ((alike, range(4)), (back, range(4)), (chosen, (3, 3, 0, 1))):
        flats = [source.at(i).reshape(-1) for i in numbers]
        for got, flat in zip(view + np.uint8(3), flats, strict=True):
            np.testing.assert_array_equal(np.asarray(got).reshape(-1), flat + np.uint8(3))
        for got, flat in zip(gradiva.cast(view, dtype=int16), flats, strict=True):
            np.testing.assert_array_equal(np.asarray(got).reshape(-1), flat)
        for got, flat in zip(gradiva.transpose(view), flats, strict=True):
            np.testing.assert_array_equal(np.asarray(got).T.reshape(-1), flat)
        for got, flat in zip(gradiva.cat(view, view), flats, strict=True):
            np.testing.assert_array_equal(np.asarray(got).reshape(-1), np.tile(flat, 2))


def test_uniform_views_are_one_array() -> None:
    source = samples((4, 6), (4, 6), (4, 6), layout="HW")
    view = gradiva.reshape(source, shape=[3, 8])
    assert np.shares_memory(view.as_array(), source.data)
    wide = gradiva.reinterpret(source, dtype=int16)
    assert np.shares_memory(wide.as_array(), source.data)
    two = source.select([0, 1])
    assert np.shares_memory(gradiva.reshape(two, shape=[24]).as_array(), source.data)


def test_memory_that_does_not_suit_the_dtype() -> None:
    """Elements that would not be aligned, and bool, are copied."""
    raw = np.arange(41, dtype=np.uint8)
    for first in range(4):
        held = gradiva.as_batch(raw[first : first + 32].reshape(2, 16))
        wide = gradiva.reinterpret(held, dtype=int32)
        assert wide.data.ctypes.data % 4 == 0
        assert wide.as_array().tobytes() == raw[first : first + 32].tobytes()
        assert np.shares_memory(wide.data, raw) == (held.data.ctypes.data % 4 == 0)
    odd = samples((6,), (6,), (6,), layout="").select([1, 2])
    assert gradiva.reinterpret(odd, dtype=int16).shape == [(3,), (3,)]
    flags = view_of(odd, SampleType(bool_, 1, ""), BatchShape.of(odd.batch_shape.shapes))
    assert flags.dtype is bool_
    assert [flag.tolist() for flag in flags.arrays()] == [
        (one != 0).tolist() for one in odd.arrays()
    ]


def test_tensors_and_empty_batches() -> None:
    image = gradiva.as_tensor(np.arange(12, dtype=np.uint8).reshape(3, 4), layout="HW")
    view = gradiva.reshape(image, shape=[2, 6])
    assert np.shares_memory(np.asarray(view), np.asarray(image))
    for name, make in VIEWS.items():
        if name != "permute_batch":
            nothing = make(samples())
            assert len(nothing) == 0
            assert nothing.dtype in (uint8, gradiva.int8)


def test_names_go_with_permuted_samples_and_positions_stay(photographs: Any) -> None:
    reader = gradiva.readers.File(file_root=str(photographs))
    for files, _ in reader.next_epoch(batch_size=3):
        turned = gradiva.permute_batch(files, indices=[2, 2, 0])
        names = files.source_info()
        assert turned.source_info() == [names[2], names[2], names[0]]
        assert turned.positions is not None
        assert files.positions is not None
        assert turned.positions.tolist() == files.positions.tolist()
        drawn = gradiva.random.uniform(turned, range=[0, 1])
        assert drawn.at(0).ravel()[0] != drawn.at(1).ravel()[0]
        break


def test_a_permutation_belongs_to_its_batch() -> None:
    """The same step gives the same permutation; other positions, calls and sizes give others."""

    def draw(first: int, size: int) -> list[int]:
        with gradiva.step(first, size):
            made = gradiva.batch_permutation(batch_size=size, rng=gradiva.random.RNG(5))
        numbers: list[int] = made.as_array().tolist()
        return numbers

    assert draw(0, 20) == draw(0, 20)
    assert draw(0, 20) != draw(20, 20)
    assert sorted(draw(40, 20)) == list(range(20))
    with gradiva.step(0, 20):
        rng = gradiva.random.RNG(5)
        calls = [gradiva.batch_permutation(batch_size=20, rng=rng) for _ in range(2)]
    assert calls[0].as_array().tolist() == draw(0, 20)
    assert calls[1].as_array().tolist() != draw(0, 20)


def test_mixing_the_samples_of_a_pipeline() -> None:
    """Eager and pipeline draw the same permutation for the same batch."""
    images = batch([np.full((2, 2), i, np.uint8) for i in range(8)])

    @gradiva.pipeline_def(batch_size=8, num_threads=1, seed=11)
    def pipeline() -> Any:
        fed = fn.external_source([images], cycle=True)
        return fn.permute_batch(fed, indices=fn.batch_permutation(seed=4))

    pipe = pipeline()
    (first,) = pipe.run()
    (second,) = pipe.run()
    pipe.close()
    order = gradiva.batch_permutation(batch_size=8, seed=4).as_array().tolist()
    assert [int(np.asarray(one)[0, 0]) for one in first] == order
    assert sorted(int(np.asarray(one)[0, 0]) for one in second) == list(range(8))
    assert [int(np.asarray(one)[0, 0]) for one in second] != order
