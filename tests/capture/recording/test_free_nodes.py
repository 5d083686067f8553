"""Nodes that are made outside of a pipeline: each pipeline that uses them has its own."""

from __future__ import annotations

import gc
import itertools
import linecache
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Pipeline, fn, ops, pipeline_def, types
from tests.capture.recording.free_nodes import SIZE, batches, images, made, outputs, same
from tests.tiers import few


def _of_functions() -> Any:
    pixels = images()
    coin = fn.random.coin_flip()
    amount = fn.random.uniform(range=[0.0, 20.0])
    return fn.flip(pixels, horizontal=coin), pixels + fn.cast(amount, dtype=types.UINT8), coin


def _of_objects() -> Any:
    pixels = ops.ExternalSource(source=batches, layout="HWC")()
    coin = ops.random.CoinFlip(probability=0.4)
    flip = ops.Flip()
    return flip(pixels, horizontal=coin()), flip(pixels, vertical=coin())


def _of_old_names() -> Any:
    return fn.flip(images(), vertical=fn.coin_flip())


def _of_python() -> Any:
    pixels, two = images(), types.Constant(2)
    shape = pixels.shape(dtype=types.INT32)
    part = pixels[1:, fn.random.uniform(range=[0, 3], dtype=types.INT32)]
    return -(pixels * two), part, pixels.cpu(), shape[0] > 3, pixels.property("layout"), abs(shape)


def _of_two_sources() -> Any:
    first = images()
    one = fn.random.normal()
    second = images()
    other = fn.random.normal()
    return first + second, one, other, fn.random.normal(second, stddev=2.0)


def _before_any_source() -> Any:
    early = fn.random.coin_flip()
    pixels = images()
    return fn.flip(pixels, horizontal=early), early, fn.random.coin_flip()


def _by_size() -> Any:
    pixels = images()
    return pixels, gradiva.random.coin_flip(batch_size=pixels.batch_size), fn.batch_permutation()


def _augmented() -> Any:
    return fn.noise.gaussian(images(), stddev=9.0), fn.jitter(images(), seed=4)


def _windows() -> Any:
    start = fn.roi_random_crop(crop_shape=[2, 2], roi_start=[0, 0], roi_end=[4, 5])
    return fn.slice(images(), start, gradiva.as_tensor([2, 2]), axes=[0, 1]), start


def _made_of_arguments() -> Any:
    return fn.zeros(shape=fn.random.uniform(range=[1, 4], dtype=types.INT32, shape=[1])), images()


PROGRAMS = [
    _of_functions,
    _of_objects,
    _of_old_names,
    _of_python,
    _of_two_sources,
    _before_any_source,
    _by_size,
    _augmented,
    _windows,
    _made_of_arguments,
]


@pytest.mark.filterwarnings("ignore:fn.coin_flip")
@pytest.mark.parametrize("program", few(PROGRAMS, *PROGRAMS[:3]))
def test_outside_is_as_inside(program: Callable[[], Any]) -> None:
    """The same bits as for calls within `with pipe:`, and for a pipeline_def; and both of two
    pipelines that share the nodes begin at the first batch."""
    inside = made()
    with inside:
        values = program()
        inside.set_outputs(*(values if isinstance(values, list | tuple) else (values,)))
    expected = outputs(inside)
    values = program()
    for _ in range(2):
        outside = made()
        outside.set_outputs(*(values if isinstance(values, list | tuple) else (values,)))
        same(outputs(outside), expected)
    same(outputs(pipeline_def(program)(batch_size=SIZE, num_threads=2, seed=11)), expected)
    returned = pipeline_def(lambda given: given)(values, batch_size=SIZE, num_threads=1, seed=11)
    same(outputs(returned), expected)


def test_one_value_for_each_sample_of_each_batch() -> None:
    coin = fn.random.coin_flip()
    pipe = made()
    pipe.set_outputs(coin)
    drawn = np.asarray([np.asarray(pipe.run()[0]) for _ in range(20)])
    pipe.close()
    assert all(0 < column.sum() < 20 for column in drawn.T)
    assert any(0 < row.sum() < SIZE for row in drawn)


def test_made_before_with_and_used_in_it() -> None:
    """A node takes its place where it is first used; there it counts as called."""
    coin = fn.random.coin_flip()
    pipe, other = made(), made()
    with pipe:
        pixels = images()
        first = fn.random.coin_flip()
        pipe.set_outputs(fn.flip(pixels, horizontal=coin), coin, first)
    with other:
        pixels = images()
        first, late = fn.random.coin_flip(), fn.random.coin_flip()
        other.set_outputs(fn.flip(pixels, horizontal=late), late, first)
    assert str(pipe.graph) == str(other.graph)
    same(outputs(pipe), outputs(other))


def test_arguments_of_a_definition() -> None:
    @pipeline_def(batch_size=SIZE, num_threads=1, seed=3)
    def flipped(pixels: Any, chosen: Any) -> Any:
        return fn.flip(pixels, horizontal=chosen), pixels

    pixels, coin = images(), fn.random.coin_flip(probability=0.5)
    first, second = outputs(flipped(pixels, coin)), outputs(flipped(pixels, chosen=coin))
    same(first, second)
    for batch in first:
        turned = [
            np.array_equal(one[:, ::-1], other)
            for one, other in zip(batch[:SIZE], batch[SIZE:], strict=True)
        ]
        kept = [np.array_equal(*pair) for pair in zip(batch[:SIZE], batch[SIZE:], strict=True)]
        assert all(a != b for a, b in zip(turned, kept, strict=True))


def test_a_class_that_makes_nodes_in_its_constructor() -> None:
    class Training(Pipeline):
        def __init__(self) -> None:
            super().__init__(batch_size=SIZE, num_threads=1, seed=11)
            self.pixels = images()
            self.coin = ops.random.CoinFlip()
            self.drawn = self.coin()

        def define_graph(self) -> Any:
            return fn.flip(self.pixels, horizontal=self.drawn), self.coin()

    expected = made()
    with expected:
        pixels, drawn = images(), fn.random.coin_flip()
        expected.set_outputs(fn.flip(pixels, horizontal=drawn), fn.random.coin_flip())
    same(outputs(Training()), outputs(expected))


def test_conditionals() -> None:
    """A node that is first used within a branch is still one of the whole batch."""
    coin, amount = fn.random.coin_flip(dtype=types.BOOL), fn.random.uniform(range=[1.0, 2.0])
    sure = coin | True

    @pipeline_def(batch_size=SIZE, num_threads=1, seed=2, enable_conditionals=True)
    def chosen() -> Any:
        if coin:
            value = amount
        else:
            value = amount * 0.0
        both = coin and sure
        other = amount if not coin else -amount
        return value, coin, amount, both, other

    pipe = chosen()
    for _ in range(3):
        value, flag, drawn, both, other = (np.asarray(batch) for batch in pipe.run())
        np.testing.assert_array_equal(value, np.where(flag, drawn, 0))
        np.testing.assert_array_equal(both, flag)
        np.testing.assert_array_equal(other, np.where(flag, -drawn, drawn))
    pipe.close()


def test_symbols_of_a_pipeline_outside_of_its_block() -> None:
    pipe, other = made(), made()
    with pipe:
        pixels = images()
    later = fn.flip(pixels)
    with pytest.raises(gradiva.OperatorTypeError, match="belongs to another graph") as caught:
        other.set_outputs(later)
    assert "later = fn.flip(pixels)" in str(caught.value)
    pipe.set_outputs(pixels, later)
    for batch in outputs(pipe):
        np.testing.assert_array_equal(batch[0][:, ::-1], batch[SIZE])


def test_nodes_are_kept_by_add_sink() -> None:
    seen: list[int] = []
    pixels = images()

    def note(array: Any) -> Any:
        seen.append(1)
        return array

    noted = fn.python_function(pixels, function=note)
    pipe = made(exec_async=False, exec_pipelined=False)
    pipe.add_sink(noted)
    pipe.set_outputs(pixels)
    pipe.run()
    pipe.close()
    assert len(seen) == SIZE


def test_feeding_by_the_node() -> None:
    fed, other = fn.external_source(name="fed"), fn.external_source(name="other")
    pipe = made()
    pipe.set_outputs(fed + 1)
    pipe.feed_input(fed, np.arange(SIZE, dtype=np.int32))
    with pytest.raises(gradiva.OperatorValueError, match="in this pipeline"):
        pipe.feed_input(other, np.arange(SIZE, dtype=np.int32))
    np.testing.assert_array_equal(np.asarray(pipe.run()[0]), np.arange(SIZE) + 1)
    pipe.close()


def test_several_outputs_of_one_source() -> None:
    def pairs() -> Iterator[Any]:
        for number in range(3):
            yield np.full((SIZE, 2), number), np.full((SIZE, 1), -number)

    first, second = fn.external_source(source=pairs, num_outputs=2)
    (alone,) = fn.external_source(source=lambda: [np.zeros((SIZE, 1))], num_outputs=1)
    pipe = made()
    pipe.set_outputs(second, first, alone)
    for number, batch in enumerate(outputs(pipe)):
        assert int(batch[0][0]) == -number
        assert int(batch[SIZE][0]) == number


def test_functions_without_inputs_are_called_for_each_batch() -> None:
    numbers = itertools.count()
    counted = fn.python_function(function=lambda: np.int64(next(numbers)))
    pipe = made(exec_async=False, exec_pipelined=False)
    pipe.set_outputs(counted, images())
    values = [int(one) for batch in outputs(pipe) for one in batch[:SIZE]]
    assert values == list(range(3 * SIZE))
    assert int(gradiva.python_function(function=lambda: np.int64(7))) == 7


@pytest.mark.full
def test_long_chains() -> None:
    value = images()
    for _ in range(3000):
        value = value + 1
    pipe = made()
    pipe.set_outputs(value)
    assert len(pipe.graph) == 3002
    pipe.close()


def test_what_is_written_later_into_an_argument() -> None:
    """A call means the values that it was given."""
    amounts = np.arange(3, dtype=np.uint8)
    size = [2, 2]
    value = fn.crop(images() + amounts, crop=size)
    amounts[:] = 0
    size[:] = [4, 5]
    pipe = made()
    pipe.set_outputs(value)
    first = outputs(pipe, 1)[0][0]
    assert first.shape == (2, 2, 3)
    np.testing.assert_array_equal(first, next(batches())[0, 1:3, 2:4] + np.arange(3))


def test_nothing_is_kept() -> None:
    """Nodes go with those who hold them."""

    class Numbers:
        def __call__(self) -> Any:
            return np.zeros((SIZE, 1))

    source = Numbers()
    gone = weakref.ref(source)
    value = fn.external_source(source=source) + 1
    del source
    assert gone() is not None
    del value
    gc.collect()
    assert gone() is None


LINES = """\
import numpy as np
import gradiva
from gradiva import fn, types
source = fn.external_source(source=lambda: [np.zeros(3)] * 4)
coin = fn.random.coin_flip(probability=3.0)
pipe = gradiva.Pipeline(batch_size=4, num_threads=1)
pipe.set_outputs(source, coin)
pipe.run()
"""


def _error(text: str) -> str:
    name = "script_of_free_nodes.py"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    with pytest.raises(gradiva.GradivaError) as caught:
        exec(compile(text, name, "exec"), {"__name__": "script"})
    return str(caught.value)


def test_errors_name_the_line_of_the_call() -> None:
    text = _error(LINES)
    assert "script_of_free_nodes.py:5, in <module>: coin" in text
    wrong = LINES.replace("probability=3.0", "probably=0.5")
    assert "script_of_free_nodes.py:5" in _error(wrong)
    drawn = LINES.replace("probability=3.0", "probability=gradiva.random.uniform()")
    text = _error(drawn)
    assert "random values that were drawn before" in text
    assert "script_of_free_nodes.py:7" in text


def test_names_of_calls() -> None:
    pixels = fn.external_source(source=batches, layout="HWC", name="mine")
    text = repr(pixels)
    assert text.startswith("DataNode(mine: ? HWC cpu, in no pipeline yet, made at ")
    assert "test_free_nodes.py" in text
    assert 'fn.external_source(source=batches, layout="HWC", name="mine")' in text
    assert pixels.layout == "HWC"
    pipe = made()
    pipe.set_outputs(pixels)
    assert "mine" in pipe.graph.names.values()
    assert all("test_free_nodes.py" in str(line[0]) for line in pipe.graph.locations.values())
    pipe.close()


def test_devices() -> None:
    pixels = images()
    there = pixels.gpu()
    assert there.device == gradiva.Device("gpu")
    assert fn.flip(there).type.device == "gpu"
    assert there.cpu().type.device == pixels.type.device == "cpu"
    assert pixels.cpu() is pixels
    assert pixels.evaluate() is pixels


def test_a_list_is_no_output() -> None:
    pair = fn.external_source(source=batches, num_outputs=2)
    with pytest.raises(gradiva.OperatorTypeError, match="output 0 is a list of symbols: unpack it"):
        made().set_outputs(pair)
