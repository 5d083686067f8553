"""`DALIDataset`: a pipeline as a `tf.data.Dataset`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from gradiva.capture.graph.graph import Node
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.eager.support.errors import (
    GradivaError,
    OperatorValueError,
    annotate_error,
    describe,
    wrong_type,
    wrong_value,
)
from gradiva.eager.values.batch import Batch
from gradiva.plugin.tf.tensors import dtype_of, output_specs, shareable, tf

__all__ = ["DALIDataset", "PipelineDataset", "dataset_options", "serialize_pipeline"]


def dataset_options() -> Any:
    """Options of a data set that leave the order and the threads to the pipeline."""
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.autotune.enabled = False
    return options


def serialize_pipeline(pipeline: Pipeline) -> bytes:
    """What `pipeline.serialize()` returns. Raises what it raises."""
    return pipeline.serialize()


class PipelineDataset(tf.data.Dataset):  # type: ignore[misc]
    """What data sets over pipelines share: see `DALIDataset`."""

    def __init__(
        self,
        pipeline: Pipeline,
        output_dtypes: Any = None,
        output_shapes: Any = None,
        fail_on_device_mismatch: bool = True,
        *,
        batch_size: int = 1,
        num_threads: int = 4,
        device_id: int | None = 0,
        exec_separated: bool = False,
        exec_dynamic: bool = False,
        prefetch_queue_depth: int = 2,
        cpu_prefetch_queue_depth: int = 2,
        gpu_prefetch_queue_depth: int = 2,
        dtypes: Any = None,
        shapes: Any = None,
    ) -> None:
        with annotate_error(type(self).__name__):
            if not isinstance(pipeline, Pipeline):
                raise wrong_type("pipeline", "a Pipeline", describe(pipeline))
            depth: Any = prefetch_queue_depth
            if exec_separated:
                depth = {"cpu_size": cpu_prefetch_queue_depth, "gpu_size": gpu_prefetch_queue_depth}
            given = {"batch_size": batch_size, "num_threads": num_threads, "device_id": device_id}
            checked = Pipeline(**given, prefetch_queue_depth=depth)._options  # type: ignore[arg-type]
            if checked.batch_size is None:
                raise wrong_value("batch_size", "a positive number", str(batch_size))
            pipeline._defined()
            self._pipeline = pipeline
            self._check_external()
            self._run_options = replace(
                pipeline._options,
                batch_size=checked.batch_size,
                num_threads=checked.num_threads,
                num_threads_given=True,
                device_id=checked.device_id,
                prefetch_queue_depth=checked.prefetch_queue_depth,
            )
            self._wanted_dtypes = _dtypes(pipeline, _renamed("dtypes", output_dtypes, dtypes))
            self._wanted_shapes = _shapes(pipeline, _renamed("shapes", output_shapes, shapes))
        specs = tuple(map(tf.TensorSpec, self._wanted_shapes, self._wanted_dtypes))
        self._made = tf.data.Dataset.from_generator(self._turns, output_signature=specs)
        super().__init__(self._made._variant_tensor)

    @property
    def element_spec(self) -> Any:
        """A tf.TensorSpec of each output."""
        return self._made.element_spec

    def _inputs(self) -> list[Any]:
        return [self._made]

    def _new_pipeline(self) -> Pipeline:
        """A pipeline of the same graph, which begins with the first batch."""
        made = Pipeline()
        made._options, made._definition = self._run_options, self._pipeline._definition
        made.build()
        return made

    def _check_external(self) -> None:
        """Refuse a pipeline whose external sources this data set does not feed."""
        raise NotImplementedError

    def _external(self) -> list[tuple[Node, str | None]]:
        """The external sources of the pipeline, and the names that the user gave them."""
        graph = self._pipeline._recorded()
        return [
            (node, graph.names.get(node))
            for node in graph.nodes
            if node.operator.name == "external_source"
        ]

    def _turns(self) -> Iterator[tuple[Any, ...]]:
        with closing(self._new_pipeline()) as pipe:
            for batches in self._runs(pipe):
                yield tuple(map(self._fitted, range(len(batches)), batches))

    def _runs(self, pipe: Pipeline) -> Iterator[Sequence[Batch]]:
        while True:
            try:
                batches = pipe.run()
            except StopIteration:
                return
            yield batches

    def _fitted(self, number: int, batch: Batch) -> np.ndarray[Any, Any]:
        """An output as the array that was declared. Raises OperatorTypeError or
        OperatorValueError."""
        wanted, shape = self._wanted_dtypes[number], self._wanted_shapes[number]
        with annotate_error(type(self).__name__):
            if dtype_of(batch.dtype) != wanted:
                raise wrong_type(
                    "output_dtypes",
                    wanted.name,
                    str(batch.dtype),
                    f"output {number} has another dtype than was declared",
                )
            try:
                array = shareable(batch)
            except GradivaError as error:
                error.problem = f"output {number}: {error.problem}"
                raise
            squeezed = _squeezed(array.shape, shape)
            if squeezed is None:
                raise wrong_value(
                    "output_shapes",
                    str(shape),
                    str(array.shape),
                    f"output {number} has another shape than was declared, the batch included",
                )
        return array.reshape(squeezed)


class DALIDataset(PipelineDataset):
    """A `tf.data.Dataset` of the batches of a pipeline: tuples of a tensor for each output, with a
    leading batch axis. It has no end: `take` some, or give Keras `steps_per_epoch`.

    pipeline: its graph; each loop over the data set runs it from the first batch on, with the
        batch_size, num_threads, device_id and prefetch_queue_depth given here.
    output_dtypes: a tf.DType, or a tuple of one for each output; by default what the graph says.
    output_shapes: a shape for each output, with the batch, None for axes or shapes that are not
        known; by default the rank that the graph knows. Axes of one element that it leaves out are
        dropped, such as that of a batch of one.
    exec_separated: let cpu_prefetch_queue_depth and gpu_prefetch_queue_depth hold instead of
        prefetch_queue_depth. fail_on_device_mismatch, exec_dynamic: accepted; outputs are on the
        CPU. dtypes, shapes: the old names of output_dtypes and output_shapes.

    Nothing is copied on the way to TensorFlow. Raises OperatorTypeError or OperatorValueError for
    arguments that make no sense, and for a pipeline with external sources: these are for
    `experimental.DALIDatasetWithInputs`. A batch of other dtypes or shapes than were declared, and
    one that is ragged, is tf.errors.InvalidArgumentError where the data set is looped over.
    """

    def _check_external(self) -> None:
        if self._external():
            raise OperatorValueError(
                "the pipeline has external sources: they are for "
                "gradiva.plugin.tf.experimental.DALIDatasetWithInputs",
                argument="pipeline",
            )


def _renamed(name: str, given: Any, old: Any) -> Any:
    if old is None:
        return given
    if given is not None:
        raise OperatorValueError(
            f"`{name}` is the old name of `output_{name}`: give one of them",
            argument=f"output_{name}",
        )
    warnings.warn(f"`{name}` is the old name of `output_{name}`", DeprecationWarning, stacklevel=4)
    return tuple(old) if isinstance(old, list) else old


def _dtypes(pipe: Pipeline, given: Any) -> tuple[Any, ...]:
    several = given if isinstance(given, tuple) else (given,)
    if given is None:
        specs = output_specs(pipe)
        if None in specs:
            raise wrong_type(
                "output_dtypes",
                "a tf.DType for each output",
                "None",
                f"the graph does not know the dtype of output {specs.index(None)}",
            )
        return tuple(spec.dtype for spec in specs)
    if not all(isinstance(one, tf.DType) for one in several):
        raise wrong_type("output_dtypes", "a tf.DType, or a tuple of them", describe(given))
    if len(several) != pipe.num_outputs:
        raise wrong_value(
            "output_dtypes", f"one for each of {pipe.num_outputs} outputs", f"{len(several)}"
        )
    return several


def _shapes(pipe: Pipeline, given: Any) -> tuple[Any, ...]:
    count = pipe.num_outputs
    try:
        if given is None:
            unknown = tf.TensorShape(None)
            return tuple(spec.shape if spec else unknown for spec in output_specs(pipe))
        if count == 1:
            alone = isinstance(given, tuple) and len(given) == 1 and not _is_extent(given[0])
            return (tf.TensorShape(given[0] if alone else given),)
        made = tuple(map(tf.TensorShape, given))
    except (TypeError, ValueError) as error:
        raise wrong_type(
            "output_shapes", "a tuple of shapes", describe(given), str(error)
        ) from None
    if len(made) != count:
        raise wrong_value("output_shapes", f"one for each of {count} outputs", f"{len(made)}")
    return made


def _is_extent(value: Any) -> bool:
    return isinstance(value, int)


def _squeezed(shape: tuple[int, ...], wanted: Any) -> tuple[int, ...] | None:
    """The shape as the wanted one, without axes of one element where it has none; or None."""
    if wanted.rank is None or wanted.is_compatible_with(shape):
        return shape
    return _matched(shape, tuple(wanted))


def _matched(shape: tuple[int, ...], left: tuple[int | None, ...]) -> tuple[int, ...] | None:
    if not shape:
        return None if left else ()
    if left and left[0] in (None, shape[0]):
        rest = _matched(shape[1:], left[1:])
        if rest is not None:
            return (shape[0], *rest)
    return _matched(shape[1:], left) if shape[0] == 1 else None
