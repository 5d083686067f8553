"""Pipelines as operations of TensorFlow: `DALIIterator`, for scripts of TensorFlow 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.eager.support.errors import (
    OperatorTypeError,
    OperatorValueError,
    annotate_error,
    describe,
)
from gradiva.eager.values.batch import Batch
from gradiva.plugin.tf.tensors import dtype_of, shareable, tf

__all__ = ["DALIIterator", "DALIIteratorWrapper", "DALIRawIterator"]

_EAGER = 16
"""Stored pipelines that eager calls keep open, so that each call gives the next batch."""


def DALIIterator() -> Callable[..., list[Any]]:  # noqa: N802
    """The function that makes the operation: `DALIIterator()(pipeline=..., dtypes=[...])`."""
    return DALIIteratorWrapper


def DALIRawIterator() -> Callable[..., list[Any]]:  # noqa: N802
    """As `DALIIterator`, for a stored pipeline; a sparse output is three tensors: indices, values
    and the dense shape."""
    return _raw


def DALIIteratorWrapper(  # noqa: N802
    pipeline: Pipeline | None = None,
    serialized_pipeline: bytes | None = None,
    sparse: Sequence[bool] = (),
    shapes: Any = (),
    dtypes: Sequence[Any] = (),
    batch_size: int = -1,
    prefetch_queue_depth: Any = 2,
    **options: Any,
) -> list[Any]:
    """The outputs of a pipeline as tensors: of the next batch each time they are evaluated, in a
    graph of TensorFlow 1 or in a `tf.function`; in eager mode of the next batch of each call.

    pipeline: it runs itself, beside what else uses it. serialized_pipeline: or a stored one, which
    is read with `batch_size` and `prefetch_queue_depth`. dtypes: of each output. shapes: of each
    output with its batch size first, or one for all; they are checked. sparse: which outputs become
    a tf.SparseTensor of all their elements, so that samples may differ in shape. Other options
    (num_threads, device_id, exec_dynamic and so on) are those of `Pipeline`, for a stored one.

    Returns a list with a tensor for each output. Raises OperatorTypeError and OperatorValueError;
    in a graph that is tf.errors.InvalidArgumentError or UnknownError, and the end of the data is
    tf.errors.OutOfRangeError everywhere.
    """
    with annotate_error("DALIIterator"):
        flat = _tensors(
            pipeline,
            serialized_pipeline,
            _Outputs(dtypes, _each_shape(shapes, len(dtypes)), tuple(sparse)),
            {"batch_size": batch_size, "prefetch_queue_depth": prefetch_queue_depth, **options},
        )
    found, left = [], iter(flat)
    for index in range(len(dtypes)):
        if index < len(sparse) and sparse[index]:
            found.append(tf.SparseTensor(next(left), next(left), next(left)))
        else:
            found.append(next(left))
    return found


def _raw(
    serialized_pipeline: bytes,
    shapes: Any = (),
    dtypes: Sequence[Any] = (),
    sparse: Sequence[bool] = (),
    **options: Any,
) -> list[Any]:
    with annotate_error("DALIRawIterator"):
        outputs = _Outputs(dtypes, _each_shape(shapes, len(dtypes)), tuple(sparse))
        return _tensors(None, serialized_pipeline, outputs, options)


class _Outputs:
    """What was said of the outputs: turns batches into arrays of that kind."""

    def __init__(self, dtypes: Sequence[Any], shapes: Sequence[Any], sparse: Sequence[bool]):
        if not dtypes:
            raise OperatorValueError(
                argument="dtypes", expected="the dtype of each output", got="none"
            )
        self.dtypes = [tf.as_dtype(one) for one in dtypes]
        self.shapes = shapes
        self.sparse = [index < len(sparse) and bool(sparse[index]) for index in range(len(dtypes))]

    @property
    def flat_dtypes(self) -> list[Any]:
        made: list[Any] = []
        for dtype, sparse in zip(self.dtypes, self.sparse, strict=True):
            made += [tf.int64, dtype, tf.int64] if sparse else [dtype]
        return made

    @property
    def flat_shapes(self) -> list[Any]:
        made: list[Any] = []
        for shape, sparse in zip(self.shapes, self.sparse, strict=True):
            made += [(None, None), (None,), (None,)] if sparse else [shape]
        return made

    def arrays(self, batches: Sequence[Batch]) -> list[np.ndarray[Any, Any]]:
        """Raises OperatorTypeError and OperatorValueError for what is not as it was said."""
        if len(batches) != len(self.dtypes):
            raise OperatorValueError(
                "the pipeline has another number of outputs",
                argument="dtypes",
                expected=str(len(self.dtypes)),
                got=str(len(batches)),
            )
        made: list[np.ndarray[Any, Any]] = []
        for index, batch in enumerate(batches):
            if dtype_of(batch.dtype) != self.dtypes[index]:
                raise OperatorTypeError(
                    f"output {index} has another dtype than was declared",
                    expected=self.dtypes[index].name,
                    got=str(batch.dtype),
                )
            if self.sparse[index]:
                made += _sparse(batch.cpu())
                continue
            array = shareable(batch)
            shape = self.shapes[index]
            if shape is not None and not tf.TensorShape(shape).is_compatible_with(array.shape):
                if tf.TensorShape(shape).num_elements() != array.size:
                    raise OperatorValueError(
                        f"output {index} has another shape than was declared",
                        expected=str(tuple(shape)),
                        got=str(array.shape),
                    )
                array = array.reshape(shape)
            made.append(array)
        return made


def _sparse(batch: Batch) -> list[np.ndarray[Any, Any]]:
    """Indices, (elements, axes + 1) int64 with the sample first, all elements, and the shape that
    has room for each sample."""
    arrays = batch.arrays()
    indices = []
    for sample, one in enumerate(arrays):
        places = map(np.ravel, np.indices(one.shape))
        indices.append(np.column_stack([np.full(one.size, sample, np.int64), *places]))
    shapes = np.array([one.shape for one in arrays], np.int64).reshape(len(arrays), batch.ndim)
    extents = shapes.max(axis=0, initial=0)
    empty = np.zeros((0, batch.ndim + 1), np.int64)
    return [
        np.concatenate([empty, *indices]).astype(np.int64),
        np.concatenate([np.empty(0, batch.dtype.numpy), *map(np.ravel, arrays)]),
        np.array([len(arrays), *extents], np.int64),
    ]


def _each_shape(shapes: Any, count: int) -> list[Any]:
    """The shape of each output: one for all may be given, or none."""
    given = list(shapes) if isinstance(shapes, list | tuple) else [shapes]
    if given and all(isinstance(one, int) or one is None for one in given):
        given = [given] * count
    return [*given, *[None] * count][:count]


def _tensors(
    pipeline: Pipeline | None, stored: bytes | None, outputs: _Outputs, options: dict[str, Any]
) -> list[Any]:
    if pipeline is not None and not isinstance(pipeline, Pipeline):
        raise OperatorTypeError(argument="pipeline", expected="a Pipeline", got=describe(pipeline))
    if (pipeline is None) == (stored is None):
        raise OperatorValueError("give one of `pipeline` and `serialized_pipeline`")
    eager = tf.executing_eagerly()
    if pipeline is None:
        given = {name: value for name, value in options.items() if value not in (None, -1)}
        depth = given.get("prefetch_queue_depth")
        key = tuple(sorted((depth or {}).items())) if isinstance(depth, dict) else depth
        given["prefetch_queue_depth"] = key
        pipeline = (_kept if eager else _opened)(stored, **given)
    running = pipeline

    def turn() -> list[np.ndarray[Any, Any]]:
        return outputs.arrays(running.run())

    if eager:
        try:
            return [tf.convert_to_tensor(array) for array in turn()]
        except StopIteration:
            raise tf.errors.OutOfRangeError(None, None, "the pipeline has no more data") from None
    made = tf.numpy_function(turn, [], outputs.flat_dtypes, stateful=True)
    found = list(made) if isinstance(made, list | tuple) else [made]
    for tensor, shape in zip(found, outputs.flat_shapes, strict=True):
        if shape is not None:
            tensor.set_shape(shape)
    return found


def _opened(stored: Any, **options: Any) -> Pipeline:
    depth = options.pop("prefetch_queue_depth", None)
    if depth is not None:
        options["prefetch_queue_depth"] = dict(depth) if isinstance(depth, tuple) else depth
    return Pipeline.deserialize(stored, **options)


_kept = lru_cache(_EAGER)(_opened)
