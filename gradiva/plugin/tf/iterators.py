"""Iterators that return eager tensors of TensorFlow, for training loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gradiva.capture.iterators.iterator import LastBatchPolicy, PipelineIterator
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.eager.support.errors import annotate_error, frameless, wrong_type, wrong_value
from gradiva.eager.values.batch import Batch
from gradiva.plugin.tf.tensors import output_specs, tf, to_tensor

__all__ = ["DALIGenericIterator"]


class DALIGenericIterator(PipelineIterator):
    """Each turn gives eager tensors with a leading batch axis: a dict of them, or a tuple without
    `output_map`, which is what Keras takes. Of several pipelines, a list with one for each. See
    `PipelineIterator` for the other arguments.

    The tensors lie in the memory of the batches: nothing is copied, and nothing overwritten while
    TensorFlow holds a tensor. Raises OperatorValueError for a ragged batch, ImportError without
    TensorFlow.
    """

    def __init__(
        self,
        pipelines: Pipeline | Sequence[Pipeline],
        output_map: Sequence[Any] | None = None,
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: bool | str | None = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        self._as_tuples = output_map is None
        if output_map is None:
            first = pipelines if isinstance(pipelines, Pipeline) else next(iter(pipelines), None)
            output_map = range(first.num_outputs) if isinstance(first, Pipeline) else ()
        super().__init__(
            pipelines,
            output_map,
            size,
            reader_name,
            auto_reset,  # type: ignore[arg-type]
            last_batch_padded=last_batch_padded,
            last_batch_policy=last_batch_policy,
            prepare_first_batch=prepare_first_batch,
        )

    @frameless
    def __next__(self) -> Any:
        """The next batches. Raises StopIteration at the end of the epoch."""
        turns: list[Any] = super().__next__()
        if self._as_tuples:
            turns = [tuple(turn.values()) for turn in turns]
        return turns if len(self._pipes) > 1 else turns[0]

    def dataset(self, output_signature: Any = None, steps: int | None = None) -> Any:
        """A tf.data.Dataset over this iterator, for `model.fit`: each loop over it is an epoch.

        output_signature: a tuple or dict of tf.TensorSpec as the turns are; by default what the
        graph says of the outputs. steps: how many batches each loop has, such as `len(iterator)`,
        where this is the same for all: Keras asks for it, and TensorFlow raises where it is not
        so. A loop that is left early has taken the batches that TensorFlow
        has prefetched: checkpoints in the middle of an epoch are for loops over the iterator
        itself. Raises OperatorTypeError where the graph does not know a dtype, OperatorValueError
        for several pipelines.
        """
        with annotate_error(f"{type(self).__name__}.dataset"):
            if len(self._pipes) > 1:
                raise wrong_value("", "1", str(len(self._pipes)), "a data set has one pipeline")
            if output_signature is None:
                output_signature = self._signature()

        def epoch() -> Iterator[Any]:
            yield from self

        made = tf.data.Dataset.from_generator(epoch, output_signature=output_signature)
        if steps is None:
            return made
        return made.apply(tf.data.experimental.assert_cardinality(steps))

    def _signature(self) -> Any:
        specs = output_specs(self._pipes[0])
        names = dict(zip(self._names, specs, strict=False))
        unknown = [name for name in self._names if names.get(name) is None]
        if unknown or len(specs) != len(self._names):
            raise wrong_type(
                "output_signature",
                "a tf.TensorSpec for each output",
                "None",
                f"the graph does not know the dtype of output {(unknown or self._names)[0]!r}",
            )
        return tuple(specs) if self._as_tuples else names

    def _convert(self, name: Any, batch: Batch) -> Any:
        return to_tensor(batch)

    def _convert_numbers(self, batch: Batch) -> Any:
        return to_tensor(batch)
