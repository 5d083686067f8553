"""Captured loops over external sources, and external sources and other code in loop bodies."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import ExternalSource, capture, random
from tests.capture.loop.loops import all_served, bits, make_folder, same
from tests.tiers import few

pytestmark = [
    pytest.mark.core,
    pytest.mark.filterwarnings("ignore:.*is repeated"),  # two of the sources return single samples
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_folder(tmp_path_factory.mktemp("loop"))


def samples(number: int, count: int = 3) -> list[np.ndarray[Any, Any]]:
    noise = np.random.default_rng(number)
    return [noise.integers(0, 255, (20 + i, 18, 3), np.uint8) for i in range(count)]


def turns(source: Any, capturing: bool, batch_size: int, most: int = 99) -> Any:
    """The loop with and without capture."""
    if capturing:
        yield from source.captured(batch_size=batch_size)
        return
    for _ in range(most):
        try:
            yield source(batch_size)
        except StopIteration:
            return


def work(images: Any) -> Any:
    images = gradiva.resize(images, size=(16, 16))
    return images, images + random.normal(images, stddev=3.0), random.uniform(batch_size=3)


def reused() -> Any:
    """Fills one array again and again."""
    array = np.zeros((20, 18, 3), np.uint8)

    def fill() -> Any:
        if array[0, 0, 0] > 100:
            raise StopIteration
        array[...] += 11
        return array

    return fill


def changing() -> Any:
    """Other dtypes, batch sizes and layouts from step to step."""
    return [np.full((4, 4, 1), i, np.float32 if i in (3, 5, 6) else np.uint8) for i in range(9)]


SOURCES = {
    "lists": lambda: ExternalSource([samples(i) for i in range(7)], layout="HWC"),
    "ragged sizes": lambda: ExternalSource([samples(i, 1 + i % 3) for i in range(8)], layout="HWC"),
    "one tensor for all": lambda: ExternalSource([samples(i)[0] for i in range(8)], layout="HWC"),
    "a reused array": lambda: ExternalSource(reused(), layout="HWC"),
    "batches": lambda: ExternalSource(
        [gradiva.as_batch(samples(i), layout="HWC") for i in range(5)]
    ),
    "cycle": lambda: ExternalSource([samples(i) for i in range(4)], layout="HWC", cycle="raise"),
    "changing dtypes": lambda: ExternalSource(changing(), layout="HWC"),
    "empty": lambda: ExternalSource([], layout="HWC"),
}


@pytest.mark.parametrize("name", few(SOURCES, "cycle", "empty"))
def test_bits(name: str) -> None:
    def follow(capturing: bool) -> list[Any]:
        random.set_seed(5)
        source = SOURCES[name]()
        found: list[Any] = []
        for _ in range(3):
            loop = turns(source, capturing, 3)
            found += [[bits(value) for value in work(images)] for images in loop]
            found.append(bits(random.uniform(batch_size=2)))
        return found

    assert follow(True) == follow(False)


@pytest.mark.parametrize("name", ["lists", "one tensor for all", "a reused array", "cycle"])
@pytest.mark.parametrize("sizes", [(3, 3, 3), (3, 4, 5)])
def test_leaving_and_re_entry(name: str, sizes: tuple[int, ...]) -> None:
    """What was taken ahead comes first the next time, in a loop or a call of any batch size."""

    def follow(capturing: bool) -> list[Any]:
        random.set_seed(5)
        source = SOURCES[name]()
        found: list[Any] = []
        for stop, size in enumerate(sizes):
            for step, images in enumerate(turns(source, capturing, size)):
                found.append([bits(value) for value in work(images)[:2]])
                if step == stop:
                    break
        return [*found, bits(gradiva.flip(source(batch_size=3)))]

    assert follow(True) == follow(False)


def test_an_error_met_early_surfaces_at_its_own_step() -> None:
    calls = 0

    def source() -> Any:
        nonlocal calls
        calls += 1
        if calls == 5:
            raise ZeroDivisionError("fifth")
        return samples(calls)

    made = ExternalSource(source, layout="HWC")
    seen = []
    for stop in (2, 1):
        for step, images in enumerate(made.captured(batch_size=3)):
            seen.append(bits(gradiva.flip(images)))
            if step == stop - 1:
                break
    loop: Any = made.captured(batch_size=3)
    assert bits(gradiva.flip(next(loop))) == bits(
        gradiva.flip(gradiva.as_batch(samples(4), layout="HWC"))
    )
    with pytest.raises(RuntimeError, match=r"(?s)fifth.*test_loop_external.py"):
        next(loop)
    assert len(next(loop)) == 3
    gone = weakref.ref(loop)
    del loop
    gc.collect()
    assert gone() is None, "an error that was raised keeps the loop and its threads"


def test_all_calls_are_served() -> None:
    source = SOURCES["lists"]()
    loop: Any = source.captured(batch_size=3, strict=True)
    for images in loop:
        work(images)
    assert loop.explain().served == 6 * loop.explain().traced == 24


def test_several_outputs() -> None:
    source = ExternalSource(
        [(samples(i), np.array([i, 1], np.int32)) for i in range(5)], num_outputs=2
    )
    loop: Any = source.captured(batch_size=3)
    for number, (images, pair) in enumerate(loop):
        assert len(images) == 3
        assert (pair * 2).as_array().tolist() == [[2 * number, 2]] * 3
    assert loop.explain().share == 1.0


@pytest.mark.parametrize("first", [True, False])
def test_further_sources_in_the_body(folder: str, first: bool) -> None:
    """The last source that was read counts the random calls, with and without capture."""

    def body(files: Any, labels: Any, step: int) -> Any:
        if step == 0:
            held["weights"] = ExternalSource(lambda: np.array([0.5], np.float32))
        weight = held["weights"]() if first else None
        images = gradiva.resize(gradiva.decoders.image(files), size=(16, 16))
        before = random.uniform(batch_size=2)
        weight = held["weights"]() if weight is None else weight
        after = random.uniform(batch_size=2)
        return images * weight, before, after, gradiva.flip(images), images + random.normal(images)

    held: dict[str, Any] = {}
    for explanation in same(folder, body):
        names = {entry.operator for entry in explanation}
        assert "flip" not in names
        assert "resize" not in names


def test_compiled_and_deferred_calls_in_the_body(folder: str) -> None:
    double = capture.compile(lambda value: value * 2 + 1)

    def body(files: Any, labels: Any, step: int) -> Any:
        images = gradiva.resize(gradiva.decoders.image(files), size=(16, 16))
        with gradiva.EvalMode.deferred:
            later = gradiva.flip(images) + labels.slice[0]
        with gradiva.EvalMode.eager:
            now = gradiva.flip(images, vertical=1)
        return double(images), later, now, gradiva.flip(images)

    assert all_served(same(folder, body), 6)


def test_values_of_other_steps_and_other_batch_sizes(folder: str) -> None:
    average: Any = 0

    def body(files: Any, labels: Any, step: int) -> Any:
        nonlocal average
        images = gradiva.resize(gradiva.decoders.image(files), size=(16, 16))
        if step == 0:
            average = images * 0.0
        if len(average) == len(images):
            average = average * 0.5 + images * 0.5
        return average, random.uniform(batch_size=5), labels * [step, 1][step > 2]

    for explanation in same(folder, body):
        reasons = {entry.reason for entry in explanation}
        assert "it reads nothing that the loop's source delivered in this step" in reasons
        assert "it reads the result of `mul`, which was not computed ahead" in reasons
        assert "its batch size is not that of the loop's source" in reasons
        for entry in explanation:
            assert entry.location is not None
            assert entry.location.code.co_filename == __file__
            assert str(entry.location.line) in str(explanation)


def test_strict() -> None:
    source = SOURCES["lists"]()
    loop = source.captured(batch_size=3, strict=True)
    assert len(next(loop) * 1) == 3
    images = next(loop)
    assert len(images * 1) == 3
    with pytest.raises(RuntimeError, match=r"mul: this call was not computed ahead: no step") as e:
        images * 2
    assert "test_loop_external.py" in str(e.value)
    assert len(next(loop) * 1) == 3


def test_invariant_is_accepted(folder: str) -> None:
    def body(files: Any, labels: Any, step: int) -> Any:
        return (labels * capture.invariant(3),)

    assert all(explanation.share == 1.0 for explanation in same(folder, body))
