"""Inputs that are lists: an operator is called for each of their elements, in every mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Batch, EvalMode, OperatorTypeError, OperatorValueError, fn, ops, pipeline_def

slice_: Any = gradiva.slice
"""Type checkers take no lists for further inputs."""

pytestmark = pytest.mark.core


def images(seed: int = 1, count: int = 3) -> Batch:
    generator = np.random.default_rng(seed)
    samples = [generator.integers(0, 256, (20, 24, 3), dtype=np.uint8) for _ in range(count)]
    return gradiva.batch(samples, layout="HWC")


def same(one: Any, other: Any) -> None:
    assert one.type == other.type
    for left, right in zip(one, other, strict=True):
        np.testing.assert_array_equal(np.asarray(left), np.asarray(right))


@pytest.mark.parametrize(
    "crop",
    [lambda x: gradiva.crop(x, crop=(3, 4)), ops.Crop(crop=(3, 4))],
    ids=["function", "class"],
)
def test_each_element(crop: Any) -> None:
    left, right = images(1), images(2)
    made = crop([left, right])
    assert type(made) is list
    for one, other in zip(made, (left, right), strict=True):
        same(one, crop(other))


def test_other_inputs_are_shared() -> None:
    left, right = images(1), images(2)
    anchor = gradiva.batch([np.array([place], np.int64) for place in (0, 1, 2)])
    extent = gradiva.batch([np.array([4], np.int64)] * 3)
    made = slice_([left, right], anchor, extent, axes=[0])
    for one, other in zip(made, (left, right), strict=True):
        same(one, slice_(other, anchor, extent, axes=[0]))
    both = slice_([left, right], [anchor, anchor], extent, axes=[0])
    for one, other in zip(both, made, strict=True):
        same(one, other)


def test_one_element_is_no_list() -> None:
    same(gradiva.crop([images()], crop=(3, 4)), gradiva.crop(images(), crop=(3, 4)))


def test_several_outputs_are_lists() -> None:
    boxes = gradiva.batch([np.array([[0.1, 0.1, 0.6, 0.7]], np.float32)] * 3)
    labels = gradiva.batch([np.array([4], np.int32)] * 3)
    options: dict[str, Any] = {"thresholds": [0.0], "bbox_layout": "xyXY", "seed": 5}
    made = fn.random_bbox_crop([boxes, boxes], labels, **options)
    expected = fn.random_bbox_crop(boxes, labels, **options)
    assert [type(output) for output in made] == [list] * 4
    for output, one in zip(made, expected, strict=True):
        assert len(output) == 2
        same(output[0], one)
        same(output[1], one)


def test_operators_of_any_number_of_inputs() -> None:
    """The lists are sets there, too; not the inputs."""
    left, right = images(1), images(2)
    joined = fn.cat([left, right], left, axis=2)
    same(joined[0], gradiva.cat(left, left, axis=2))
    same(joined[1], gradiva.cat(right, left, axis=2))
    stacked = gradiva.stack([left, right])
    same(stacked[1], gradiva.stack(right))


def test_different_lengths() -> None:
    both = [images(1), images(2)]
    with pytest.raises(OperatorValueError, match=r"slice: .* one length; expected 2, got 2, 3"):
        slice_(both, [*both, both[0]], both)


WRONG = [(images(), 5), [images(), np.zeros((2, 2, 3))], [[images()]]]


@pytest.mark.parametrize("wrong", WRONG, ids=["with a number", "with an array", "nested"])
def test_what_is_no_list_of_batches(wrong: Any) -> None:
    with pytest.raises(OperatorTypeError, match="crop: input 0"):
        gradiva.crop(wrong, crop=(2, 2))


def test_numbers_are_one_input() -> None:
    numbers: Any = [1, 2, 3]
    made = fn.copy(numbers)
    assert np.asarray(made).tolist() == [1, 2, 3]


def draw(value: Any) -> Any:
    return gradiva.random_resized_crop(value, size=(6, 6))


def test_elements_have_the_same_random_values() -> None:
    """What belongs together stays together: an image and its mask get one window."""
    one = images()
    gradiva.random.set_seed(3)
    first, second = draw([one, one])
    third = draw(one)
    same(first, second)
    assert not np.array_equal(first.as_array(), third.as_array())
    gradiva.random.set_seed(3)
    same(draw(one), first)
    same(draw(one), third)


GIVEN = [{"seed": 4}, {"seed": -1, "rng": gradiva.random.RNG(9)}, {"rng": gradiva.random.RNG(9)}]


@pytest.mark.parametrize("options", GIVEN, ids=["seed", "no seed", "rng"])
def test_with_a_generator_or_seed(options: dict[str, Any]) -> None:
    one = images()
    rng = options.get("rng")
    state = None if rng is None else rng.state
    first, second = gradiva.random_resized_crop([one, one], size=(6, 6), **options)
    if rng is not None:
        assert rng.state == (9, 1)
        rng.state = state
    same(first, second)
    same(first, gradiva.random_resized_crop(one, size=(6, 6), **options))


def program(value: Any) -> Any:
    left, right = gradiva.crop([value, gradiva.flip(value)], crop=(16, 16))
    left, right = draw([left, right])
    left, right = ops.noise.Gaussian(stddev=20.0)([left, right])
    return left, right, gradiva.random.uniform(batch_size=value.batch_size)


def source() -> list[Batch]:
    return [images(seed) for seed in (1, 2, 3)]


def arrays(outputs: Any) -> list[Any]:
    return [np.asarray(sample) for output in outputs for sample in output]


def epoch(capture: bool) -> list[Any]:
    gradiva.random.set_seed(8)
    values = gradiva.ExternalSource(source=source())
    if capture:
        return [arrays(program(value)) for value in values.captured(batch_size=3)]
    return [arrays(program(values())) for _ in source()]


def equal(one: list[Any], other: list[Any]) -> None:
    assert len(one) == len(other) == 3
    for left, right in zip(one, other, strict=True):
        for a, b in zip(left, right, strict=True):
            np.testing.assert_array_equal(a, b)


def test_captured_loops() -> None:
    equal(epoch(False), epoch(True))


def test_pipelines() -> None:
    @pipeline_def(batch_size=3, num_threads=2, seed=8)
    def pipe() -> Any:
        return program(fn.external_source(source=source()))

    built = pipe()
    made = [arrays(built.run()) for _ in range(3)]
    built.close()
    equal(epoch(False), made)


def test_deferred_and_compiled() -> None:
    value = images()
    gradiva.random.set_seed(5)
    eager = program(value)
    gradiva.random.set_seed(5)
    with EvalMode.deferred:
        deferred = program(value)
    gradiva.random.set_seed(5)
    compiled = gradiva.capture.compile(program)(value)
    for one, other, third in zip(eager, deferred, compiled, strict=True):
        same(one, other)
        same(one, third)


def test_in_a_graph() -> None:
    """Nodes of one name for each, and the numbers of later random calls do not depend on it."""

    def build(several: bool) -> Any:
        pipe = gradiva.Pipeline(3, 1, seed=2)
        with pipe:
            value = fn.external_source(lambda: images(1), layout="HWC")
            if several:
                first, second = fn.random_resized_crop([value, value], size=(6, 6), name="cut")
            else:
                first = second = fn.random_resized_crop(value, size=(6, 6), name="cut")
            pipe.set_outputs(first, second, fn.random.uniform())
        made = pipe.run()
        pipe.close()
        return made

    for one, other in zip(build(True), build(False), strict=True):
        same(one, other)


def test_a_tuple_is_a_list() -> None:
    left, right = images(1), images(2)
    for one, other in zip(gradiva.crop((left, right), crop=(3, 4)), (left, right), strict=True):  # type: ignore[call-overload]
        same(one, gradiva.crop(other, crop=(3, 4)))


@pytest.mark.parametrize("count", [1, 2])
def test_what_a_source_of_several_outputs_gives_is_one_input(count: int) -> None:
    given = [images(number) for number in range(count)]

    @pipeline_def(batch_size=3, num_threads=1)
    def pipe() -> Any:
        sources: Any = fn.external_source(lambda: tuple(given), num_outputs=count)
        made = fn.crop(sources, crop=(3, 4))
        return made if count == 1 else tuple(made)

    for one, other in zip(pipe().run(), given, strict=True):
        same(one, gradiva.crop(other, crop=(3, 4)))
