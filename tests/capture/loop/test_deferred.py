"""Evaluation modes and contexts; deferred calls run when somebody looks, and as they were made."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import EvalContext, EvalMode, random
from gradiva.capture.loop.pending import LazyBatch, LazyTensor
from gradiva.eager.contexts.eval_modes import lazy_interpreter
from gradiva.ops.image.flip import _flip_samples

from .loops import bits

pytestmark = pytest.mark.core


def images(count: int = 3, seed: int = 0) -> Any:
    noise = np.random.default_rng(seed)
    arrays = [noise.integers(0, 255, (9 + i, 8 + seed % 5, 3), np.uint8) for i in range(count)]
    return gradiva.as_batch(arrays, layout="HWC")


def equal() -> Any:
    """Images of one shape."""
    return gradiva.as_batch(np.arange(3 * 8 * 6, dtype=np.uint8).reshape(3, 8, 6, 1), layout="HWC")


def work(value: Any) -> Any:
    small = gradiva.resize(value, size=(6, 6))
    return small, gradiva.flip(small) * 2 + small, small.slice[1:3, :, 0]


@pytest.mark.parametrize("mode", list(EvalMode))
def test_modes_are_contexts(mode: EvalMode) -> None:
    assert EvalMode.current() is EvalMode.eager
    with mode as entered:
        assert entered is mode
        assert EvalMode.current() is mode
        with EvalMode.sync_cpu:
            assert EvalMode.current() is EvalMode.sync_cpu
            assert not isinstance(gradiva.flip(images()), LazyBatch)
        assert EvalMode.current() is mode
        lazy = work(images())
        assert all(isinstance(v, LazyBatch) == (mode is EvalMode.deferred) for v in lazy)
        found = [bits(value) for value in lazy]
    assert EvalMode.current() is EvalMode.eager
    assert found == [bits(value) for value in work(images())]


def test_an_exception_leaves_the_mode() -> None:
    with pytest.raises(ZeroDivisionError), EvalMode.deferred:
        raise ZeroDivisionError
    assert EvalMode.current() is EvalMode.eager


def test_a_mode_belongs_to_its_thread() -> None:
    found: dict[EvalMode, Any] = {}
    barrier = threading.Barrier(4, timeout=30)
    expected = [bits(value) for value in work(images())]

    def run(mode: EvalMode) -> None:
        with mode:
            barrier.wait()
            for _ in range(5):
                value = [bits(value) for value in work(images())]
                assert value == expected
            barrier.wait()
            found[mode] = EvalMode.current()

    users = [threading.Thread(target=run, args=(mode,)) for mode in EvalMode]
    for user in users:
        user.start()
    for user in users:
        user.join(60)
    assert found == {mode: mode for mode in EvalMode}


def test_values_of_one_thread_read_in_others() -> None:
    with EvalMode.deferred:
        lazy = [work(images(seed=seed)) for seed in range(6)]
    found: list[Any] = [None] * 4

    def look(number: int) -> None:
        found[number] = [[bits(value) for value in values] for values in lazy]

    users = [threading.Thread(target=look, args=(number,)) for number in range(4)]
    for user in users:
        user.start()
    for user in users:
        user.join(60)
    expected = [[bits(value) for value in work(images(seed=seed))] for seed in range(6)]
    assert found == [expected] * 4


def test_random_values_are_those_of_eager_mode() -> None:
    def draw() -> Any:
        random.set_seed(2)
        batch, tensor = images(), images().select(1)
        values = [
            random.uniform(batch_size=3),
            random.normal(batch, stddev=2.0),
            random.coin_flip(),
            batch + random.normal(tensor.slice[0:1, 0:1]),
            gradiva.flip(tensor),
            tensor + random.normal(tensor),
            random.uniform(range=(0, 1), seed=4, batch_size=2),
        ]
        return values, random.get_default_rng().get_state()

    with EvalMode.deferred:
        lazy, state = draw()
        random.uniform()
    eager, expected = draw()
    assert state == expected
    assert [bits(value) for value in reversed(lazy)] == [bits(v) for v in reversed(eager)]


def test_plans_are_kept_by_structure() -> None:
    def run(batch: Any) -> Any:
        with EvalMode.deferred:
            return work(batch)[1].evaluate()

    programs = lazy_interpreter.get().programs  # type: ignore[attr-defined]
    run(images())
    before = programs.compilations
    for step in range(20):
        batch = images(1 + step % 4, step)
        assert bits(run(batch)) == bits(work(batch)[1])
    assert programs.compilations == before
    run(gradiva.cast(images(), dtype=gradiva.float32))
    assert programs.compilations == before + 1


def test_errors_come_when_somebody_looks() -> None:
    def crop(batch: Any) -> Any:
        return gradiva.crop(batch, crop=(500, 2))

    with pytest.raises(gradiva.GradivaError) as eager:
        crop(images())
    with EvalMode.deferred:
        good, bad = gradiva.flip(images()), crop(images())
        further = bad * 2
    assert bits(good) == bits(gradiva.flip(images()))
    for look in (bad.evaluate, bad.evaluate, further.evaluate, lambda: np.asarray(further)):
        with pytest.raises(type(eager.value)) as caught:
            look()
        assert str(caught.value) == str(eager.value)
        assert "in crop: return gradiva.crop(batch, crop=(500, 2))" in str(caught.value)
    with EvalMode.deferred, pytest.raises(TypeError, match="batch_sice"):
        gradiva.flip(images(), batch_sice=3)  # type: ignore[call-overload]


def test_values_that_python_asks_for() -> None:
    tensor = gradiva.as_tensor(np.arange(6, dtype=np.int32).reshape(2, 3))
    with EvalMode.deferred:
        lazy = tensor * 2
        assert isinstance(lazy, LazyTensor)
        one = (tensor.slice[0:1, 1:2] * 3).slice[0, 0]
        yes = gradiva.flip(tensor).slice[0, 0] > 1
        batch = gradiva.flip(images(2))
        assert bool(yes) is True
        assert len(batch) == 2
        assert len(lazy) == 2
        assert int(one) == 3
        assert float(one) == 3.0
        assert one.item() == 3
        assert [10, 20, 30, 40][one] == 40
        assert lazy.shape == (2, 3)
        assert lazy.dtype == gradiva.int32
        assert batch.shape == [(9, 8, 3), (10, 8, 3)]
        assert [row.shape for row in batch] == batch.shape
        np.testing.assert_array_equal(np.asarray(lazy), np.asarray(tensor) * 2)
        assert np.asarray(list(lazy)).tolist() == [[0, 2, 4], [6, 8, 10]]
        assert repr(lazy) == repr(gradiva.as_tensor(np.asarray(lazy)))
        assert repr(batch) == repr(gradiva.flip(images(2)).evaluate())
        assert "<img" in batch._repr_html_()
        assert lazy[1, 2] == 10
        with pytest.raises(TypeError, match="neither true nor false"):
            bool(batch)


@pytest.mark.parametrize("evaluated", [False, True])
def test_calls_see_their_inputs_as_they_were(evaluated: bool) -> None:
    """Writing into an array of one's own changes no call made before, and each call made after."""

    def run() -> Any:
        array = np.full((2, 8, 8, 1), 3, np.uint8)
        batch = gradiva.as_batch(array, layout="HWC")
        first = gradiva.flip(batch)
        array[...] = 4
        second = gradiva.flip(first) + 1
        if evaluated:
            second.evaluate()
        third = gradiva.flip(batch) + 2
        array[...] = 5
        np.asarray(batch)[0] = 6
        fourth = batch + 3
        return [bits(value) for value in (first, second, third, fourth)]

    expected = run()
    with EvalMode.deferred:
        assert run() == expected


@pytest.mark.parametrize("read", [False, True])
def test_arrays_of_pending_values_are_read_only(read: bool) -> None:
    with EvalMode.deferred:
        first = gradiva.flip(equal())
        second = first + 1 if read else first
        one = gradiva.flip(gradiva.tensor(np.ones((4, 4, 1), np.uint8), layout="HWC"))
        arrays = [np.asarray(first), first.as_array(), first.at(0), first.tensors[0]._array]
        arrays += [np.asarray(one), first.select([1]).at(0), np.asarray(first.evaluate())]
        for array in arrays:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 1
        changed = np.asarray(first).copy()
        changed[...] = 1
        third = gradiva.flip(gradiva.as_batch(changed, layout="HWC"))
        output = gradiva.flip(equal())
        view = gradiva.reshape(gradiva.flip(equal()), shape=[-1])
        seen = gradiva.reshape(output, shape=[-1])
        own = gradiva.reshape(equal(), shape=[-1])
    np.asarray(view)[...] = 3
    assert not np.asarray(seen).flags.writeable
    assert not np.asarray(own).flags.writeable
    output = view
    assert bits(second) == bits(gradiva.flip(equal()) + 1 if read else gradiva.flip(equal()))
    assert np.asarray(third).max() == 1
    np.asarray(output)[...] = 3
    assert np.asarray(output + 1).min() == 4


def test_another_library_may_write_into_what_no_call_has_read() -> None:
    """DLPack takes the memory of such a value, and a copy of others."""
    with EvalMode.deferred:
        first = gradiva.flip(equal())
        capsule = first.__dlpack__()
        assert "dltensor" in repr(capsule)
        taken = np.asarray(first)
        before = gradiva.flip(first)
        taken[...] = 9
        after = gradiva.flip(first)
        middle = gradiva.flip(equal())
        result = middle + 1
        assert "dltensor" in repr(middle.__dlpack__())
        assert not np.asarray(middle).flags.writeable
    assert bits(before) == bits(equal())
    assert np.asarray(after).min() == 9
    assert bits(result) == bits(gradiva.flip(equal()) + 1)


def test_eager_calls_read_what_is_read_only() -> None:
    """With the kernels that they have: Numba would compile others for a read-only type."""
    with EvalMode.deferred:
        lazy = gradiva.flip(equal())
        array = np.asarray(lazy)
    expected = gradiva.flip(gradiva.flip(equal()))
    kernel: Any = _flip_samples
    before = list(kernel.dispatcher().signatures)
    frozen = array.copy()
    frozen.flags.writeable = False
    for value in (
        lazy,
        gradiva.as_batch(array, layout="HWC"),
        gradiva.as_batch(frozen, layout="HWC"),
    ):
        assert bits(gradiva.flip(value)) == bits(expected)
    assert kernel.dispatcher().signatures == before


def test_after_the_mode() -> None:
    with EvalMode.deferred:
        lazy = gradiva.resize(images(), size=(4, 4))
    expected = gradiva.resize(images(), size=(4, 4))
    assert bits(gradiva.flip(lazy)) == bits(gradiva.flip(expected))
    assert bits(lazy) == bits(expected)
    assert bits(lazy + expected) == bits(expected + expected)


def test_contexts() -> None:
    gc.collect()  # calls of other tests that fail, kept by the traces of their errors
    outside = EvalContext.current()
    assert outside is EvalContext.default()
    with EvalContext(num_threads=3) as context:
        assert EvalContext.current() is context
        assert context.num_threads == gradiva.get_num_threads() == 3
        with EvalContext() as inner:
            assert EvalContext.current() is inner
        with EvalMode.deferred:
            lazy = gradiva.flip(images())
            context.evaluate_all()
            assert lazy.pending.values is not None
        seen: list[Any] = []
        user = threading.Thread(target=lambda: seen.append(EvalContext.current()))
        user.start()
        user.join()
        assert seen == [outside]
    assert EvalContext.current() is outside
    assert gradiva.get_num_threads() != 3 or outside.num_threads == 3
    context.cache_results("key", [1])
    assert context.cached_results("key") == [1]
    assert context.cached_results("other") is None
    with pytest.raises(RuntimeError, match="is not available"):
        EvalContext(device_id=0)
    wrong: Any
    with pytest.raises(ValueError, match="num_threads"):
        EvalContext(num_threads=0)
    for wrong in (True, "2"):
        with pytest.raises(TypeError, match="num_threads"):
            EvalContext(num_threads=wrong)
