"""Pipelines as operations of TensorFlow: in eager mode, in functions, in graphs and sessions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradiva import fn, pipeline_def

from .pipelines import numbered

pytestmark = [pytest.mark.full, pytest.mark.xdist_group("tensorflow")]

SHAPES = [(2, 64, 32), (2, 1)]


def values(tensor: Any) -> list[int]:
    return [int(one) for one in np.asarray(tensor).ravel()]


def ending() -> Any:
    """A pipeline of two batches."""

    @pipeline_def(batch_size=2, num_threads=1)
    def pipe() -> Any:
        return fn.external_source([np.full((2, 3), number, np.int32) for number in range(2)])

    return pipe()


def ragged() -> Any:
    @pipeline_def(batch_size=2, num_threads=1)
    def pipe() -> Any:
        boxes = [np.arange(3, dtype=np.float32), np.zeros(0, np.float32)]
        return fn.external_source(lambda: boxes), fn.external_source(lambda: np.ones((2, 1)))

    return pipe()


def test_each_eager_call_gives_the_next_batch(tf: Any) -> None:
    from gradiva.plugin.tf import DALIIterator

    operation, pipe = DALIIterator(), numbered(6, 2)
    seen = []
    for _ in range(4):
        planes, numbers = operation(pipeline=pipe, shapes=SHAPES, dtypes=[tf.float32, tf.int32])
        assert planes.shape == (2, 64, 32)
        assert values(planes[:, 0, 0]) == values(numbers)
        seen.append(values(numbers))
    assert seen == [[0, 1], [2, 3], [4, 5], [0, 1]]


def test_stored_pipelines(tf: Any) -> None:
    from gradiva.plugin.tf import DALIIteratorWrapper, DALIRawIterator

    stored = numbered(6, 2).serialize()
    options: dict[str, Any] = {"dtypes": [tf.float32, tf.int32], "prefetch_queue_depth": 3}
    seen = [values(DALIIteratorWrapper(serialized_pipeline=stored, **options)[1]) for _ in range(2)]
    assert seen == [[0, 1], [2, 3]]
    raw = DALIRawIterator()(serialized_pipeline=stored, num_threads=2, **options)
    assert values(raw[1]) == [0, 1]  # other options, so another one
    three = DALIIteratorWrapper(serialized_pipeline=stored, batch_size=3, **options)
    assert values(three[1]) == [0, 1, 2]


def test_in_a_function(tf: Any) -> None:
    from gradiva.plugin.tf import DALIIterator

    pipe = numbered(6, 2)

    def step() -> Any:
        planes, numbers = DALIIterator()(
            pipeline=pipe, shapes=SHAPES, dtypes=[tf.float32, tf.int32]
        )
        assert planes.shape == (2, 64, 32)
        return tf.reduce_sum(planes), numbers + 1

    traced = tf.function(step)
    found = [(float(total), values(numbers)) for total, numbers in (traced() for _ in range(2))]
    assert found == [(64 * 32 * 1.0, [1, 2]), (64 * 32 * 5.0, [3, 4])]


def test_in_a_session(tf: Any) -> None:
    from gradiva.plugin.tf import DALIIterator

    with tf.Graph().as_default():
        numbers = DALIIterator()(pipeline=ending(), shapes=[(2, 3)], dtypes=[tf.int32])[0]
        assert numbers.shape == (2, 3)
        doubled = numbers * 2
        with tf.compat.v1.Session() as session:
            assert values(session.run(doubled)) == [0] * 6
            assert values(session.run(doubled)) == [2] * 6
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(doubled)


def test_the_end_in_eager_mode(tf: Any) -> None:
    from gradiva.plugin.tf import DALIIterator

    pipe = ending()
    for _ in range(2):
        DALIIterator()(pipeline=pipe, dtypes=[tf.int32])
    with pytest.raises(tf.errors.OutOfRangeError, match="no more data"):
        DALIIterator()(pipeline=pipe, dtypes=[tf.int32])


def test_sparse_outputs(tf: Any) -> None:
    from gradiva.plugin.tf import DALIIterator, DALIRawIterator

    options = {"dtypes": [tf.float32, tf.float64], "sparse": [True]}
    boxes, ones = DALIIterator()(pipeline=ragged(), **options)
    assert boxes.indices.numpy().tolist() == [[0, 0], [0, 1], [0, 2]]
    assert values(boxes.values) == [0, 1, 2]
    assert values(boxes.dense_shape) == [2, 3]
    assert ones.shape == (2, 1)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        boxes = DALIIterator()(pipeline=ragged(), **options)[0]
        assert session.run(tf.sparse.to_dense(boxes)).tolist() == [[0, 1, 2], [0, 0, 0]]
    stored = numbered(6, 2).serialize()
    flat = DALIRawIterator()(stored, dtypes=[tf.float32, tf.int32], sparse=[False, True])
    assert [tuple(one.shape) for one in flat] == [(2, 64, 32), (2, 2), (2,), (2,)]


def test_one_shape_for_all_and_axes_of_one(tf: Any) -> None:
    from gradiva.plugin.tf import DALIIterator

    operation = DALIIterator()
    assert operation(pipeline=ending(), shapes=(2, 3), dtypes=[tf.int32])[0].shape == (2, 3)
    shapes = [(2, 64, 32), (2,)]
    made = operation(pipeline=numbered(6, 2), shapes=shapes, dtypes=[tf.float32, tf.int32])
    assert made[1].shape == (2,)


def test_refusals(tf: Any) -> None:
    from gradiva import OperatorTypeError, OperatorValueError
    from gradiva.plugin.tf import DALIIterator

    operation, dtypes = DALIIterator(), [tf.float32, tf.int32]
    with pytest.raises(OperatorValueError, match="one of `pipeline` and `serialized_pipeline`"):
        operation(dtypes=dtypes)
    with pytest.raises(OperatorTypeError, match="expected a Pipeline"):
        operation(pipeline=3, dtypes=dtypes)
    with pytest.raises(OperatorValueError, match="`dtypes`"):
        operation(pipeline=numbered(6, 2))
    with pytest.raises(OperatorTypeError, match="output 1 has another dtype"):
        operation(pipeline=numbered(6, 2), dtypes=[tf.float32, tf.int64])
    with pytest.raises(OperatorValueError, match="output 0 has another shape"):
        operation(pipeline=numbered(6, 2), shapes=[(2, 3, 3)], dtypes=dtypes)
    with pytest.raises(OperatorValueError, match="number of outputs"):
        operation(pipeline=numbered(6, 2), dtypes=dtypes[:1])
    with pytest.raises(OperatorValueError, match="different shapes"):
        operation(pipeline=ragged(), dtypes=[tf.float32, tf.float64])
