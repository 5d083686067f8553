"""`DALIDatasetWithInputs`: a pipeline over data sets of TensorFlow, as a data set."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from gradiva.capture.graph.graph import Node
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.eager.support.errors import (
    OperatorRuntimeError,
    OperatorValueError,
    annotate_error,
    describe,
    wrong_type,
    wrong_value,
)
from gradiva.eager.values.batch import Batch
from gradiva.plugin.tf.dataset import PipelineDataset
from gradiva.plugin.tf.tensors import tf

__all__ = ["DALIDatasetWithInputs", "Input"]


class InputNotSupportedError(OperatorRuntimeError, NotImplementedError):
    """An external source that no data set can stand for. A NotImplementedError, as scripts
    expect."""


class Input:
    """A data set for an external source.

    dataset: a tf.data.Dataset of tensors, one sample each; or, with batch=True, one batch each.
    layout: of a sample; by default that of the external source. batch: None for what the external
    source says. Raises OperatorTypeError for what is no data set.
    """

    def __init__(
        self, dataset: Any, *, layout: str | None = None, batch: bool | None = False
    ) -> None:
        if not isinstance(dataset, tf.data.Dataset):
            raise wrong_type("dataset", "a tf.data.Dataset", describe(dataset), operator="Input")
        self.dataset = dataset
        self.layout = layout
        self.batch = batch


class DALIDatasetWithInputs(PipelineDataset):
    """A `DALIDataset` of a pipeline with external sources.

    input_datasets: by the name of each external source without a source, the data set that feeds
    it: of samples, or an `Input`. External sources with a source run as in any pipeline. The data
    set ends where one of its inputs does; the last batch may be smaller. The other arguments are
    those of `DALIDataset`.

    Samples of strings, such as `tf.io.read_file` returns, become vectors of bytes. Raises
    OperatorTypeError or OperatorValueError for inputs that have no name or no data set, for data
    sets without an input; InputNotSupportedError (a NotImplementedError) for cycle="raise".
    """

    def __init__(
        self, pipeline: Pipeline, *args: Any, input_datasets: Any = None, **options: Any
    ) -> None:
        self._given = {} if input_datasets is None else input_datasets
        self._fed: dict[str, Input] = {}
        super().__init__(pipeline, *args, **options)

    def _check_external(self) -> None:
        given = _checked(self._given)
        placeholders: dict[str, Node] = {}
        own = []
        for node, name in self._external():
            if node.attribute("source") is None:
                placeholders[_name(node, name)] = node
                continue
            own.append(name)
            if node.attribute("cycle") == "raise":
                raise InputNotSupportedError(
                    f"the external source {name or ''} has cycle='raise': a data set that has "
                    "ended does not go on",
                    argument="pipeline",
                )
        for name in given:
            if name in own:
                raise OperatorValueError(
                    f"the external source {name!r} has a source already", argument="input_datasets"
                )
            if name not in placeholders:
                known = ", ".join(map(repr, placeholders)) or "there is none"
                raise wrong_value(
                    "input_datasets",
                    f"names of external sources without a source ({known})",
                    repr(name),
                )
        hungry = placeholders.keys() - given.keys()
        if hungry:
            raise OperatorValueError(
                f"nothing feeds the external sources {', '.join(map(repr, sorted(hungry)))}",
                argument="input_datasets",
            )
        for name, node in placeholders.items():
            one = given[name]
            declared = node.attribute("layout")
            declared = declared[0] if isinstance(declared, tuple) and declared else declared
            if one.layout and declared and one.layout != declared:
                raise wrong_value(
                    "input_datasets",
                    f"{declared!r}, as the external source says",
                    repr(one.layout),
                    f"the input {name!r} has two layouts",
                )
            batch = one.batch
            if batch is None:
                batch = node.attribute("batch") is not False
            self._fed[name] = Input(one.dataset, layout=one.layout, batch=batch)

    def _inputs(self) -> list[Any]:
        return [self._made, *(one.dataset for one in self._fed.values())]

    def _runs(self, pipe: Pipeline) -> Iterator[Sequence[Batch]]:
        if not self._fed:
            yield from super()._runs(pipe)
            return
        streams = {name: _batches(name, one, pipe.batch_size) for name, one in self._fed.items()}
        waiting: deque[None] = deque()
        while True:
            # As many batches are fed ahead as the pipeline makes ahead.
            for found in islice(zip(*streams.values(), strict=False), self._ahead(pipe, waiting)):
                # Where samples end, those that make a whole row are the last batch.
                size = min(map(len, found))
                for name, batch in zip(streams, found, strict=True):
                    one = self._fed[name]
                    pipe.feed_input(name, batch if one.batch else batch[:size], one.layout)
                waiting.append(None)
            if not waiting:
                return
            waiting.popleft()
            try:
                batches = pipe.run()
            except StopIteration:
                return
            yield batches

    @staticmethod
    def _ahead(pipe: Pipeline, waiting: Sequence[None]) -> int:
        return max(pipe.cpu_queue_size, 1) + 1 - len(waiting)


def _checked(given: Any) -> dict[str, Input]:
    """Data sets and inputs by name, as inputs. Raises OperatorTypeError."""
    if not isinstance(given, Mapping):
        raise wrong_type(
            "input_datasets",
            "a dict of data sets by the names of external sources",
            describe(given),
        )
    found = {}
    for name, value in given.items():
        if not isinstance(name, str):
            raise wrong_type(
                "input_datasets", "the names of external sources as keys", describe(name)
            )
        if not isinstance(value, Input | tf.data.Dataset):
            raise wrong_type(
                "input_datasets",
                "a tf.data.Dataset or an experimental.Input",
                describe(value),
                f"the input {name!r} is no data set",
            )
        found[name] = value if isinstance(value, Input) else Input(value)
    return found


def _name(node: Node, name: str | None) -> str:
    if node.attribute("num_outputs") is not None:
        raise wrong_value(
            "pipeline",
            "num_outputs=None",
            str(node.attribute("num_outputs")),
            f"the external source {name or ''} has several outputs: a data set feeds one",
        )
    if name is None:
        raise wrong_value(
            "pipeline",
            "external_source(name=...)",
            "none",
            "an external source without a source has no name, so no data set can be given for it",
        )
    return name


def _batches(name: str, given: Input, batch_size: int) -> Iterator[Any]:
    """What the data set has, as batches."""
    values = iter(given.dataset.as_numpy_iterator())
    if given.batch:
        yield from (_values(name, value, batch=True) for value in values)
        return
    while samples := [_values(name, value) for value in islice(values, batch_size)]:
        yield samples


def _values(name: str, value: Any, batch: bool = False) -> Any:
    """A sample, or a batch of them, as arrays; strings as their bytes."""
    if isinstance(value, bytes):
        return np.frombuffer(value, np.uint8)
    if not isinstance(value, np.ndarray | np.generic):
        with annotate_error("DALIDatasetWithInputs"):
            raise wrong_type(
                "input_datasets",
                "a tensor",
                describe(value),
                f"the data set of the input {name!r} must give single tensors",
            )
    array = np.asarray(value)
    if array.dtype != object:
        return array
    if not batch or array.ndim != 1:
        with annotate_error("DALIDatasetWithInputs"):
            raise wrong_type(
                "input_datasets",
                "numbers, or one string",
                describe(value),
                f"the data set of the input {name!r} has an array of strings as a sample",
            )
    return [np.frombuffer(one, np.uint8) for one in array]
