"""The ways to define a pipeline: by hand, by a subclass, with sinks; what symbols can be asked."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradiva import DataNode, OperatorTypeError, Pipeline, fn, pipeline_def, types
from gradiva.plugin.numpy import DALIGenericIterator

ROWS = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)


def rows() -> Any:
    return fn.external_source(lambda: ROWS, layout="HW")


class Legacy(Pipeline):
    def define_graph(self) -> Any:
        return rows() + 1, fn.flip(rows(), horizontal=1)


def test_a_subclass_with_define_graph() -> None:
    pipe = Legacy(2, 1, None)
    pipe.build()
    assert pipe.num_outputs == 2
    first, _ = pipe.run()
    np.testing.assert_array_equal(first.as_array(), ROWS + 1)


def test_by_hand() -> None:
    pipe = Pipeline(batch_size=2, num_threads=1, device_id=None)
    with pipe:
        assert Pipeline.current() is pipe
        pipe.set_outputs(rows(), np.array([1, 2]), 3)
    assert Pipeline.current() is None
    source, array, number = pipe.run()
    np.testing.assert_array_equal(source.as_array(), ROWS)
    assert array.as_array().tolist() == [[1, 2], [1, 2]]
    assert number.as_array().tolist() == [3, 3]
    with pytest.raises(TypeError, match="the pipeline was built: its graph is fixed"):
        pipe.set_outputs(1)


def test_current_pipelines_are_a_stack() -> None:
    outer, inner = Pipeline(2, 1), Pipeline(2, 1)
    Pipeline.push_current(outer)
    try:
        given = rows()
        with inner:
            assert Pipeline.current() is inner
            inner.set_outputs(rows())
        assert Pipeline.current() is outer
        outer.set_outputs(given + 1)
    finally:
        Pipeline.pop_current()
    np.testing.assert_array_equal(outer.run()[0].as_array(), ROWS + 1)
    np.testing.assert_array_equal(inner.run()[0].as_array(), ROWS)
    with pytest.raises(TypeError, match="no pipeline is current"):
        Pipeline.pop_current()
    with pytest.raises(TypeError, match="expected a Pipeline"):
        Pipeline.push_current(3)  # type: ignore[arg-type]


def test_build_with_a_function() -> None:
    pipe = Pipeline(2, 1)
    pipe.build(define_graph=lambda: rows() + 1)
    np.testing.assert_array_equal(pipe.run()[0].as_array(), ROWS + 1)
    other = Legacy(2, 1)
    other.set_outputs(1)
    with pytest.raises(TypeError, match="set already"):
        other.build(define_graph=rows)


def test_sinks_and_preserved_operators_stay() -> None:
    def sizes(pipe: Pipeline) -> list[str]:
        pipe.build()
        return [node.operator.name for node in pipe.graph.nodes]

    def make(how: str) -> Pipeline:
        pipe = Pipeline(2, 1)
        with pipe:
            given = rows()
            dangling = fn.flip(given, horizontal=1, preserve=how == "preserve")
            if how == "sink":
                pipe.add_sink(dangling)
            pipe.set_outputs(given)
        return pipe

    assert sizes(make("nothing")) == ["external_source"]
    for how in ("preserve", "sink"):
        pipe = make(how)
        assert sizes(pipe) == ["external_source", "flip"]
        np.testing.assert_array_equal(pipe.run()[0].as_array(), ROWS)
    with pytest.raises(TypeError, match="a symbol of this pipeline"):
        make("nothing").add_sink(3)


def test_without_outputs() -> None:
    with pytest.raises(TypeError, match="has no outputs"):
        Pipeline(2, 1).build()


def test_without_a_batch_size() -> None:
    """It may come later than the definition, but not later than the first batch."""
    factory = pipeline_def(rows)
    pipe = factory(num_threads=1)
    assert len(pipe.graph.nodes) == 1
    with pytest.raises(ValueError, match=r"the pipeline has no batch size.*training\(batch_size"):
        pipe.run()


def test_symbols_tell_shapes_and_properties() -> None:
    @pipeline_def(batch_size=2, num_threads=1)
    def pipe() -> Any:
        images = fn.external_source(
            lambda: [np.zeros((2, 3), np.uint8), np.zeros((4, 5), np.uint8)], layout="HW"
        )
        assert isinstance(images, DataNode)
        return (
            images.shape(),
            images.shape(dtype=types.FLOAT),
            images.shape()[0],
            images.property("layout"),
            images.source_info(),
        )

    shapes, floats, heights, layouts, names = pipe().run()
    assert (shapes.as_array().tolist(), shapes.dtype) == ([[2, 3], [4, 5]], types.INT64)
    assert (floats.as_array().tolist(), floats.dtype) == ([[2, 3], [4, 5]], types.FLOAT)
    assert heights.as_array().tolist() == [2, 4]
    assert [bytes(np.asarray(text)) for text in layouts] == [b"HW", b"HW"]
    assert [len(np.asarray(name)) for name in names] == [0, 0]


def test_the_file_of_a_sample_is_data(photographs: Path) -> None:
    @pipeline_def(batch_size=2, num_threads=1)
    def pipe() -> Any:
        files, _ = fn.readers.file(file_root=str(photographs))
        return files, files.source_info()

    files, names = pipe().run()
    assert [bytes(np.asarray(name)).decode() for name in names] == files.source_info()


@pytest.mark.parametrize("how", ["loop", "unpack", "next", "star"])
def test_a_loop_over_a_symbol(how: str) -> None:
    def pipeline() -> Any:
        values: Any = rows()
        if how == "loop":
            return [value + 1 for value in values]
        if how == "next":
            return next(values)
        if how == "star":
            return fn.stack(*values)
        first, _ = values
        return first

    with pytest.raises(OperatorTypeError, match=r"DataNode.*no samples to loop over") as caught:
        pipeline_def(batch_size=2, num_threads=1)(pipeline)()
    assert f"at {__file__}" in str(caught.value)
    assert ", in " in str(caught.value)
    assert isinstance(caught.value.__cause__, TypeError)
    assert not isinstance(rows(), Iterable)


def test_a_type_error_of_the_users_passes() -> None:
    def pipeline() -> Any:
        for _ in 5:  # type: ignore[attr-defined]
            pass

    with pytest.raises(TypeError) as caught:
        pipeline_def(batch_size=2, num_threads=1)(pipeline)()
    assert type(caught.value) is TypeError


@pytest.mark.parametrize("name", ["run", "build", "feed_input", "explain", "graph"])
def test_a_pipeline_that_was_not_made(name: str) -> None:
    @pipeline_def(batch_size=2, num_threads=1)
    def training() -> Any:
        return rows()

    made: Any = training
    with pytest.raises(AttributeError, match=rf"no attribute '{name}'.*`pipe = training\(\)`"):
        getattr(made, name)
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
        _ = made.nothing
    assert not hasattr(made, "__len__")
    with (
        pytest.raises(OperatorTypeError, match=r"call it, as in `with training\(\) as pipe:`"),
        made,
    ):
        pass
    with pytest.raises(TypeError, match=r"got <maker of pipelines: call it, training\(\.\.\.\)>"):
        DALIGenericIterator(made, ["a"])


@pytest.mark.parametrize("name", ["as_array", "numpy", "torch", "tensors", "at", "item"])
def test_data_of_a_symbol(name: str) -> None:
    with Pipeline(batch_size=2, num_threads=1):
        symbol: Any = rows()
        with pytest.raises(AttributeError, match=f"'DataNode'.*'{name}': .*no data while a graph"):
            getattr(symbol, name)
        with pytest.raises(AttributeError, match=r"gradiva\.reductions\.mean"):
            _ = symbol.mean
        with pytest.raises(OperatorTypeError, match=r"its length; `\.batch_size` is the number"):
            len(symbol)
