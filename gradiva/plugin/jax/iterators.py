"""Iterators that return JAX arrays, for training loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradiva.capture.iterators.iterator import LastBatchPolicy, PipelineIterator
from gradiva.capture.iterators.iterator_options import IteratorValueError
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.eager.support.errors import annotate_error, frameless
from gradiva.eager.types.device import CPU
from gradiva.eager.values.batch import Batch
from gradiva.plugin.jax.arrays import assemble, check_sharding, placed, to_jax

__all__ = ["DALIGenericIterator"]


class DALIGenericIterator(PipelineIterator):
    """Each turn gives one dict, of a JAX array for each output; see `PipelineIterator` for the
    other arguments.

    Of one pipeline: arrays (batch, ...) on the CPU, in the memory of the batches: nothing is
    copied, and nothing overwritten while JAX holds an array. Elements of 64 bits become such of 32,
    by a copy, unless `jax_enable_x64` is set. Batches on a GPU stay there.
    sharding: a jax.sharding.Sharding that splits the first axis over all of its devices, one
        pipeline for each of those of this process, in the order of their numbers: arrays (devices *
        batch, ...), each part on its device.
    pmap_compatible: arrays (devices, batch, ...), with a leading axis for the devices; so are those
        of several pipelines without `sharding`.

    The last batch cannot be smaller than the others: raises OperatorValueError (an AssertionError)
    for LastBatchPolicy.PARTIAL. Each turn raises it for samples or shards of several shapes.
    Raises ImportError without JAX.
    """

    _devices: Sequence[Any] = ()

    def __init__(
        self,
        pipelines: Pipeline | Sequence[Pipeline],
        output_map: Sequence[Any],
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: bool | str | None = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
        sharding: Any = None,
        pmap_compatible: bool | None = None,
    ) -> None:
        with annotate_error(type(self).__name__):
            if last_batch_policy is LastBatchPolicy.PARTIAL:
                raise IteratorValueError(
                    "batches of JAX have one shape, so the last one cannot be smaller",
                    argument="last_batch_policy",
                    expected="FILL or DROP",
                    got="PARTIAL",
                )
            if sharding is not None:
                count = 1 if isinstance(pipelines, Pipeline) else len(pipelines)
                self._devices = check_sharding(sharding, count)
        self._sharding = sharding
        self._pmap_compatible = bool(pmap_compatible)
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
    def __next__(self) -> dict[Any, Any]:  # type: ignore[override]
        """The next batches. Raises StopIteration at the end of the epoch."""
        turns = super().__next__()
        if self._is_alone:
            return turns[0]
        return {name: self._gathered(name, turns) for name in turns[0]}

    def _gathered(self, name: Any, turns: Sequence[dict[Any, Any]]) -> Any:
        shards = [turn[name] for turn in turns]
        if isinstance(shards[0], list):
            return [text for texts in shards for text in texts] if self._sharding else shards
        with annotate_error(type(self).__name__):
            return assemble(shards, self._sharding, self._devices, name)

    @property
    def _is_alone(self) -> bool:
        """Whether the arrays are those of one pipeline as they are."""
        return len(self._pipes) == 1 and self._sharding is None and not self._pmap_compatible

    def _convert(self, name: Any, batch: Batch) -> Any:
        if batch.device is CPU and not self._is_alone:
            return batch.as_array()
        return to_jax(batch, self._devices[0] if self._devices else None)

    def _convert_numbers(self, batch: Batch) -> Any:
        numbers: np.ndarray[Any, Any] = batch.as_array()
        return placed(numbers) if self._is_alone else numbers
