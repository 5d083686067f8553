"""Nodes outside of a pipeline where there are data: in dynamic mode and in loops."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import auto_aug, capture, fn, pipeline_def, types
from tests.capture.recording.free_nodes import SIZE, batches, images, made, outputs, same


def _misused() -> dict[str, Callable[[Any], Any]]:
    data = gradiva.as_batch(next(batches()), layout="HWC")
    return {
        "if": bool,
        "len": len,
        "number": float,
        "array": np.asarray,
        "with data": lambda coin: gradiva.flip(data, horizontal=coin),
        "data and an operator": lambda coin: data * coin,
        "compiled": lambda coin: capture.compile(lambda x: x * coin)(data),
        "deferred": lambda coin: _deferred(lambda: coin + 1),
        "show": gradiva.show,
    }


def _deferred(make: Callable[[], Any]) -> Any:
    with gradiva.EvalMode.deferred:
        return make()


@pytest.mark.parametrize("name", list(_misused()))
def test_there_are_no_data(name: str) -> None:
    coin = fn.random.coin_flip()
    with pytest.raises(gradiva.OperatorTypeError) as caught:
        _misused()[name](coin)
    assert "coin = fn.random.coin_flip()" in str(caught.value)


def test_attributes_of_data_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"x")
    files, _ = fn.readers.file(files=[str(tmp_path / "one")])
    with pytest.raises(AttributeError, match=r"no attribute 'as_array': .*made outside") as caught:
        files.as_array()
    text = str(caught.value)
    assert "fn.readers.file(files=" in text
    assert "pipeline_def" in text
    assert "gradiva.readers.File(...).next_epoch()" in text
    assert not hasattr(files, "as_array")
    assert not hasattr(files, "__cuda_array_interface__")
    with pytest.raises(gradiva.OperatorTypeError, match="pipeline_def, or loop over data"):
        len(files)
    with pytest.raises(AttributeError, match=r"gradiva\.random\.coin_flip draws at once"):
        fn.random.coin_flip().as_array()


def test_selections_take_a_definition() -> None:
    pixels, coin = images(), fn.random.coin_flip(probability=1.0)
    with pytest.raises(gradiva.OperatorTypeError, match="a condition on its samples"):
        auto_aug.core.select([fn.copy, fn.flip], coin, pixels)
    pipe = made()
    with pipe:
        pipe.set_outputs(auto_aug.core.select([fn.copy, fn.flip], coin, pixels))
    for batch, expected in zip(outputs(pipe), batches(), strict=False):
        np.testing.assert_array_equal(batch, expected[:, :, ::-1])


def test_in_captured_loops() -> None:
    coin = fn.random.coin_flip()
    source = gradiva.ExternalSource(source=[list(next(batches()))] * 2)
    for batch in source.captured(SIZE):
        with pytest.raises(gradiva.OperatorTypeError) as caught:
            gradiva.flip(batch, horizontal=coin)
        assert "coin = fn.random.coin_flip()" in str(caught.value)


def test_data_run_at_once() -> None:
    data = gradiva.as_batch(next(batches()), layout="HWC")
    assert isinstance(fn.flip(data), gradiva.Batch)
    assert isinstance(fn.flip(data.tensors[0]), gradiva.Tensor)
    assert len(fn.random.coin_flip(batch_size=3)) == 3
    assert len(fn.random.normal(data)) == SIZE
    assert len(fn.random.coin_flip(probability=gradiva.as_batch(np.full(SIZE, 0.5)))) == SIZE
    assert isinstance(gradiva.random.coin_flip(), gradiva.Tensor)


def test_in_loops_a_value_for_each_sample() -> None:
    """The bits of a pipeline, in a loop and in a captured loop."""

    def body(pixels: Any) -> Any:
        return fn.flip(pixels, horizontal=fn.random.coin_flip()), fn.random.uniform()

    pipe = pipeline_def(lambda: body(images()))(batch_size=SIZE, num_threads=1, seed=11)
    expected = outputs(pipe)
    for capture_it in (False, True):
        gradiva.random.set_seed(11)
        feed = (gradiva.as_batch(batch, layout="HWC") for batch in itertools.islice(batches(), 4))
        source = gradiva.ExternalSource(source=feed)
        loop = source.captured(SIZE) if capture_it else (source(SIZE) for _ in range(3))
        found = []
        for number, pixels in enumerate(loop):
            found.append([np.asarray(one) for batch in body(pixels) for one in batch])
            if number == 2:
                break
        same(found, expected)


def test_within_and_after_loops_that_were_left() -> None:
    """Nodes are nodes where a step of a loop is open; after captured loops all is as before."""
    data = gradiva.as_batch(next(batches()), layout="HWC")
    source = gradiva.ExternalSource(source=[data] * 3)
    for _ in range(2):
        source(SIZE)
        pixels = images()
        chance = fn.cast(pixels[0, 0, 0] > 9, dtype=types.FLOAT)
        value = fn.flip(pixels, horizontal=fn.random.coin_flip(probability=chance, seed=1))
    pipe = made()
    pipe.set_outputs(value, pixels)
    assert len(outputs(pipe, 1)[0]) == 2 * SIZE
    gradiva.random.set_seed(4)  # ends the step
    for _ in gradiva.ExternalSource(source=[data] * 3).captured(SIZE):
        break
    gradiva.random.set_seed(4)
    pipe = made()
    pipe.set_outputs(images(), fn.random.coin_flip())
    assert len(outputs(pipe, 1)[0]) == 2 * SIZE


def test_where_nobody_knows_how_many() -> None:
    data = gradiva.as_batch(next(batches()), layout="HWC")
    compiled = capture.compile(lambda x: fn.flip(x, horizontal=fn.random.coin_flip()))
    with pytest.raises(gradiva.OperatorValueError, match="one value for each sample"):
        compiled(data)
