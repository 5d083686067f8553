"""Iterators that return MXNet arrays, for training loops of MXNet's modules and of Gluon.

The last MXNet, 1.9.1, asks at its import for names that NumPy has dropped: import this module
before, and they are there for as long as that takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradiva.capture.iterators.iterator import LastBatchPolicy, PipelineIterator
from gradiva.capture.iterators.iterator_options import IteratorValueError, entries_of
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.eager.support.errors import OperatorValueError, annotate_error, describe
from gradiva.eager.values.batch import Batch

from .mxnet_arrays import dense, feed_ndarray, mx, to_mxnet

__all__ = [
    "DALIClassificationIterator",
    "DALIGenericIterator",
    "DALIGluonIterator",
    "LastBatchPolicy",
    "feed_ndarray",
]


class DALIGenericIterator(PipelineIterator):
    """Each turn gives, for each pipeline, an mx.io.DataBatch with lists of arrays as `data` and as
    `label`; see `PipelineIterator` for the other arguments.

    output_map: (name, DATA_TAG) or (name, LABEL_TAG) for each output. data_layout: of the images,
        for `provide_data`. squeeze_labels: drop the last axis of labels, if it has one element.
    The arrays lie in the memory of the batches: nothing is copied, and nothing overwritten while
    MXNet holds an array. MXNet wants batches of one size: with PARTIAL the last one is filled with
    its last sample, and its `pad` says with how many.

    Raises OperatorValueError for a ragged batch, OperatorTypeError for elements that MXNet has not.
    """

    DATA_TAG = "data"
    LABEL_TAG = "label"

    def __init__(
        self,
        pipelines: Pipeline | Sequence[Pipeline],
        output_map: Sequence[tuple[str, str]],
        size: int = -1,
        reader_name: str | None = None,
        data_layout: str = "NCHW",
        fill_last_batch: bool | None = None,
        auto_reset: bool | str | None = False,
        squeeze_labels: bool = True,
        dynamic_shape: bool = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        with annotate_error(type(self).__name__):
            self._tags = _tags(output_map, (self.DATA_TAG, self.LABEL_TAG))
        self._data_layout = data_layout
        self._squeezes = squeeze_labels
        self._held: list[Any] | None = None
        super().__init__(
            pipelines,
            list(self._tags),
            size,
            reader_name,
            auto_reset,  # type: ignore[arg-type]
            fill_last_batch,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
        )

    def __next__(self) -> list[Any]:
        """The next batches. Raises StopIteration at the end of the epoch."""
        held, self._held = self._held, None
        if held is not None:
            return held
        return [self._data_batch(turn) for turn in super().__next__()]

    def _data_batch(self, turn: dict[Any, Any]) -> Any:
        size = self.batch_size
        lists: dict[str, list[Any]] = {self.DATA_TAG: [], self.LABEL_TAG: []}
        pad = 0
        for name, array in turn.items():
            whole = array
            if self._policy is LastBatchPolicy.PARTIAL and 0 < len(array) < size:
                pad = size - len(array)
                whole = np.concatenate([array, np.repeat(array[-1:], pad, axis=0)])
            label = self._tags[name] == self.LABEL_TAG
            if label and self._squeezes and whole.ndim > 1 and whole.shape[-1] == 1:
                whole = whole[..., 0]
            lists[self._tags[name]].append(to_mxnet(whole))
        return mx.io.DataBatch(
            lists[self.DATA_TAG],
            lists[self.LABEL_TAG],
            pad=pad,
            provide_data=self._described(self.DATA_TAG, lists[self.DATA_TAG]),
            provide_label=self._described(self.LABEL_TAG, lists[self.LABEL_TAG]),
        )

    def _described(self, tag: str, arrays: Sequence[Any]) -> list[Any]:
        names = [name for name, one in self._tags.items() if one == tag]
        layout = self._data_layout if tag == self.DATA_TAG else ""
        return [
            mx.io.DataDesc(name, array.shape, array.dtype, layout)
            for name, array in zip(names, arrays, strict=True)
        ]

    @property
    def provide_data(self) -> list[Any]:
        """An mx.io.DataDesc of each array of `data`, by the first batch of those that are left."""
        return self._coming().provide_data  # type: ignore[no-any-return]

    @property
    def provide_label(self) -> list[Any]:
        """An mx.io.DataDesc of each array of `label`."""
        return self._coming().provide_label  # type: ignore[no-any-return]

    def _coming(self) -> Any:
        if self._held is None:
            self._held = next(self)
        return self._held[0]

    def checkpoints(self) -> list[bytes]:
        """As those of PipelineIterator. Raises OperatorValueError while a batch waits that
        `provide_data` has looked at."""
        if self._held is not None:
            raise OperatorValueError(
                "a batch waits that `provide_data` has looked at: take it before",
                operator=f"{type(self).__name__}.checkpoints",
            )
        return super().checkpoints()

    def _convert(self, name: Any, batch: Batch) -> Any:
        return dense(batch)


class DALIClassificationIterator(DALIGenericIterator):
    """DALIGenericIterator for pipelines of images and labels."""

    def __init__(
        self,
        pipelines: Pipeline | Sequence[Pipeline],
        size: int = -1,
        reader_name: str | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        data_layout: str = "NCHW",
        fill_last_batch: bool | None = None,
        auto_reset: bool | str | None = False,
        squeeze_labels: bool = True,
        dynamic_shape: bool = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        super().__init__(
            pipelines,
            [(data_name, self.DATA_TAG), (label_name, self.LABEL_TAG)],
            size,
            reader_name,
            data_layout,
            fill_last_batch,
            auto_reset,
            squeeze_labels,
            dynamic_shape,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
        )


class DALIGluonIterator(PipelineIterator):
    """Each turn gives, for each pipeline, a list with an array for each output; see
    `PipelineIterator` for the other arguments.

    output_types: for each output DENSE_TAG (one array, the default), or SPARSE_TAG (a list of
        arrays) for samples of different shapes. Raises OperatorValueError for another one.
    """

    DENSE_TAG = "dense"
    SPARSE_TAG = "sparse"

    def __init__(
        self,
        pipelines: Pipeline | Sequence[Pipeline],
        size: int = -1,
        reader_name: str | None = None,
        output_types: Sequence[str] | None = None,
        auto_reset: bool | str | None = False,
        fill_last_batch: bool | None = None,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        first = pipelines if isinstance(pipelines, Pipeline) else next(iter(pipelines), None)
        count = first.num_outputs if isinstance(first, Pipeline) else 0
        tags = (self.DENSE_TAG, self.SPARSE_TAG)
        types = [self.DENSE_TAG] * count if output_types is None else list(output_types)
        if len(types) != count or any(type not in tags for type in types):
            raise IteratorValueError(
                operator=type(self).__name__,
                argument="output_types",
                expected=f"one of {', '.join(map(repr, tags))} for each of {count} outputs",
                got=repr(output_types),
            )
        self._types = types
        super().__init__(
            pipelines,
            range(count),
            size,
            reader_name,
            auto_reset,  # type: ignore[arg-type]
            fill_last_batch,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
        )

    def __next__(self) -> list[Any]:
        """The next batches. Raises StopIteration at the end of the epoch."""
        return [list(turn.values()) for turn in super().__next__()]

    def _convert(self, name: Any, batch: Batch) -> Any:
        if self._types[name] == self.SPARSE_TAG:
            return [to_mxnet(array) for array in batch.cpu().arrays()]
        return to_mxnet(dense(batch))


def _tags(output_map: Any, known: tuple[str, str]) -> dict[str, str]:
    found = {}
    for one in entries_of(output_map):
        fits = isinstance(one, tuple | list) and len(one) == 2
        if not fits or one[1] not in known or one[0] in found:
            raise IteratorValueError(
                argument="output_map",
                expected=f"(name, {known[0]!r}) or (name, {known[1]!r}), each name once",
                got=describe(one),
            )
        found[one[0]] = one[1]
    return found
