"""`pipeline_def(debug=True)`: the function runs for each batch, on data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, ops, pipeline_def, types

SIZE = 5


def batches() -> Iterator[Any]:
    generator = np.random.default_rng(1)
    for _ in range(6):
        yield generator.integers(0, 255, (SIZE, 6, 8, 3), dtype=np.uint8)


def images() -> Any:
    return fn.external_source(source=batches, layout="HWC")


def _random(_: str) -> Any:
    early = fn.random.uniform()
    pixels = images()
    coin = fn.random.coin_flip()
    whole = gradiva.random.coin_flip()
    seeded = fn.random.normal(seed=3)
    return fn.flip(pixels, horizontal=coin), early, whole, seeded, fn.noise.gaussian(pixels)


def _sized(_: str) -> Any:
    pixels = images()
    return pixels, gradiva.random.uniform(batch_size=pixels.batch_size), fn.batch_permutation()


def _values(_: str) -> Any:
    pixels = images()
    two = types.Constant(np.array([2, 3, 4], np.float32))
    facts = pixels.shape(dtype=types.INT32)[1] * 2, pixels.property("layout")
    parts = (pixels * two)[1:, ::2], pixels.cpu() == pixels[0, 0]
    return 3 - pixels, two, np.arange(3), *facts, *parts


def _readers(folder: str) -> Any:
    files, labels = fn.readers.file(file_root=folder, random_shuffle=True, name="files")
    decoded = fn.decoders.image_random_crop(files)
    resized = fn.resize(decoded, size=fn.random.uniform(range=[5, 9], shape=2))
    other = fn.external_source(source=lambda info: np.full(2, info.iteration), batch=False)
    amount = fn.random.uniform(range=[0.0, 3.0])
    moved = fn.crop_mirror_normalize(resized, mirror=fn.random.coin_flip())
    return resized, labels, other * amount, moved


_KEPT = ops.random.CoinFlip(probability=0.3)


def _objects(_: str) -> Any:
    return ops.Flip()(images(), vertical=_KEPT()), _KEPT()


PROGRAMS = [_random, _sized, _values, _readers, _objects]


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_same_bits(program: Callable[[str], Any], photographs: Path) -> None:
    options: dict[str, Any] = {"batch_size": SIZE, "num_threads": 2, "seed": 8}
    expected = pipeline_def(**options)(program)(str(photographs))
    found = pipeline_def(debug=True, **options)(program)(str(photographs))
    for _ in range(4):
        for one, other in zip(expected.run(), found.run(), strict=True):
            assert type(one) is type(other)
            assert (one.dtype, one.layout()) == (other.dtype, other.layout())
            for a, b in zip(one, other, strict=True):
                np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    expected.close()
    found.close()


def test_nodes_from_outside() -> None:
    options: dict[str, Any] = {"batch_size": SIZE, "num_threads": 1, "seed": 8}
    pixels, coin = images(), fn.random.coin_flip()

    def flipped(given: Any) -> Any:
        return fn.flip(given, horizontal=coin), given, coin

    expected, found = (
        pipeline_def(debug=debug, **options)(flipped)(pixels) for debug in (False, True)
    )
    for _ in range(3):
        for one, other in zip(expected.run(), found.run(), strict=True):
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def test_the_function_sees_data() -> None:
    seen: list[Any] = []

    @pipeline_def(batch_size=SIZE, num_threads=1, debug=True)
    def looking() -> Any:
        pixels = images()
        bright = np.asarray(pixels).mean()
        seen.append((bright, len(pixels), pixels.shape[0]))
        assert len(pixels.get().as_array()) == SIZE
        if bright > 0:
            pixels = pixels + 1
        return pixels, gradiva.as_batch(np.arange(SIZE))

    pipe = looking()
    assert seen == []
    first, numbers = pipe.run()
    pipe.run()
    values = [one.mean() for one in batches()][:2]
    assert seen == [(value, SIZE, (6, 8, 3)) for value in values]
    np.testing.assert_array_equal(np.asarray(first), next(batches()) + np.uint8(1))
    np.testing.assert_array_equal(np.asarray(numbers), np.arange(SIZE))


def test_the_end_and_reset() -> None:
    @pipeline_def(batch_size=SIZE, num_threads=1, debug=True)
    def again() -> Any:
        return fn.external_source(source=batches, layout="HWC", cycle="raise")

    pipe = again()
    for _ in range(2):
        for expected in batches():
            np.testing.assert_array_equal(np.asarray(pipe.run()[0]), expected)
        with pytest.raises(StopIteration):
            pipe.run()
        pipe.reset()
    assert len(list(pipe)) == 6


def test_feeding() -> None:
    @pipeline_def(batch_size=2, num_threads=1, debug=True)
    def fed() -> Any:
        one = fn.external_source(name="one")
        left, right = fn.external_source(name="pair", num_outputs=2)
        return one + left, right

    pipe = fed()
    for number in range(3):
        values = np.full(2, number, np.int32)
        pair = np.array([1, 2], np.int32), np.array([3, 4], np.int32)
        if number == 1:
            found = pipe.run(one=values, pair=pair)
        else:
            pipe.feed_input("one", values)
            pipe.feed_input("pair[0]", pair[0])
            pipe.feed_input("pair[1]", pair[1])
            found = pipe.run()
        np.testing.assert_array_equal(np.asarray(found[0]), number + pair[0])
        np.testing.assert_array_equal(np.asarray(found[1]), pair[1])
    with pytest.raises(gradiva.OperatorValueError, match="'one', 'pair'"):
        pipe.feed_input("other", np.zeros(2))


def test_readers_are_known_after_the_first_batch(photographs: Path) -> None:
    pipe = pipeline_def(batch_size=2, num_threads=1, debug=True)(_readers)(str(photographs))
    pipe.run()
    assert pipe.reader_meta("files")["epoch_size"] == 7
    assert pipe.epoch_size("files") == 7


def test_errors_name_the_line() -> None:
    @pipeline_def(batch_size=SIZE, num_threads=1, debug=True)
    def wrong() -> Any:
        pixels = images()
        return fn.crop(pixels, crop=(600, 2))

    with pytest.raises(gradiva.GradivaError) as caught:
        wrong().run()
    assert "return fn.crop(pixels, crop=(600, 2))" in str(caught.value)


def test_an_error_of_one_batch() -> None:
    numbers = iter(range(10))

    @pipeline_def(batch_size=SIZE, num_threads=1, debug=True)
    def fails_once() -> Any:
        pixels = images()
        if next(numbers) == 1:
            raise KeyError("mine")
        return pixels

    pipe = fails_once()
    pipe.run()
    with pytest.raises(KeyError, match="mine"):
        pipe.run()
    third = list(batches())[2]
    np.testing.assert_array_equal(np.asarray(pipe.run()[0]), third)


def test_declared_outputs() -> None:
    pipe = pipeline_def(batch_size=SIZE, num_threads=1, debug=True, output_dtype=types.FLOAT)(
        images
    )()
    with pytest.raises(gradiva.OperatorTypeError, match="output_dtype"):
        pipe.run()


def test_what_needs_a_graph() -> None:
    pipe = pipeline_def(batch_size=SIZE, num_threads=1, debug=True)(images)()
    for ask in (pipe.serialize, lambda: pipe.num_outputs, lambda: pipe.graph):
        with pytest.raises(gradiva.OperatorRuntimeError, match="debug mode has no graph"):
            ask()


def test_samples_that_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "bad.jpg").write_bytes(b"no image")

    @pipeline_def(batch_size=1, num_threads=1, debug=True)
    def skipping() -> Any:
        files, _ = fn.readers.file(file_root=str(tmp_path))
        return fn.decoders.image(files, on_error="skip")

    with pytest.raises(gradiva.OperatorRuntimeError, match="leaves out samples"):
        skipping().run()


def test_with_conditionals_the_graph_is_recorded() -> None:
    @pipeline_def(batch_size=SIZE, num_threads=1)
    def chosen() -> Any:
        coin = fn.random.coin_flip(dtype=types.BOOL)
        if coin:
            value = 1
        else:
            value = 2
        return coin, value

    with pytest.warns(UserWarning, match="debug=True has no effect"):
        pipe = chosen(debug=True, enable_conditionals=True)
    coin, value = map(np.asarray, pipe.run())
    np.testing.assert_array_equal(value, np.where(coin, 1, 2))


class Trainings:
    """Pipelines as methods."""

    def __init__(self, low: float) -> None:
        self.low = low

    @pipeline_def(batch_size=SIZE, num_threads=1, seed=4)
    def method(self, high: float) -> Any:
        return fn.random.uniform(range=[self.low, high])

    @pipeline_def
    def bare(self) -> Any:
        return fn.random.uniform(range=[self.low, 9.0])

    @staticmethod
    @pipeline_def(batch_size=SIZE, num_threads=1, seed=4)
    def inner_static(low: float, high: float) -> Any:
        return fn.random.uniform(range=[low, high])

    @pipeline_def(batch_size=SIZE, num_threads=1, seed=4)
    @staticmethod
    def outer_static(low: float, high: float) -> Any:
        return fn.random.uniform(range=[low, high])

    @classmethod
    @pipeline_def(batch_size=SIZE, num_threads=1, seed=4)
    def inner_class(cls, low: float, high: float) -> Any:
        assert cls is Trainings
        return fn.random.uniform(range=[low, high])

    @pipeline_def(batch_size=SIZE, num_threads=1, seed=4)
    @classmethod
    def outer_class(cls, low: float, high: float) -> Any:
        assert cls is Trainings
        return fn.random.uniform(range=[low, high])

    @pipeline_def(batch_size=SIZE, num_threads=1, seed=4, enable_conditionals=True)
    def choosing(self) -> Any:
        value = fn.random.uniform(range=[self.low, 9.0])
        if value > 8.5:
            value = value * 0.0
        return value


def test_methods() -> None:
    mine = Trainings(8.0)
    common: dict[str, Any] = {"batch_size": SIZE, "num_threads": 1, "seed": 4}
    made = [
        mine.method(9.0),
        mine.method(high=9.0),
        Trainings.method(mine, 9.0),
        mine.bare(**common),
        mine.inner_static(8.0, 9.0),
        Trainings.inner_static(8.0, high=9.0),
        mine.outer_static(8.0, 9.0),
        Trainings.outer_static(8.0, 9.0),
        mine.inner_class(8.0, 9.0),
        Trainings.outer_class(8.0, 9.0),
        mine.method(9.0, debug=True),
    ]
    values = [np.asarray(pipe.run()[0]) for pipe in made]
    assert ((values[0] >= 8.0) & (values[0] < 9.0)).all()
    for value in values[1:]:
        np.testing.assert_array_equal(value, values[0])
    chosen = np.asarray(mine.choosing().run()[0])
    np.testing.assert_array_equal(chosen, np.where(values[0] > 8.5, 0, values[0]))
    assert Trainings.method.__name__ == "method"


def test_arguments_at_the_call() -> None:
    @pipeline_def
    def chosen(limit: float) -> Any:
        value = fn.random.uniform()
        return value if value > limit else -value

    common: dict[str, Any] = {"batch_size": SIZE, "num_threads": 1, "seed": 4}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipe = chosen(0.1, enable_conditionals=True, exec_dynamic=True, **common)
    assert len(np.asarray(pipe.run()[0])) == SIZE
    with pytest.raises(gradiva.OperatorTypeError, match="enable_conditionals"):
        chosen(0.1, **common)

    @pipeline_def(batch_size=SIZE)
    def own(debug: bool, enable_conditionals: int) -> Any:
        assert (debug, enable_conditionals) == (True, 7)
        return fn.random.uniform()

    assert own(debug=True, enable_conditionals=7).num_outputs == 1
