"""Readers of dynamic mode as nodes of torchdata: `Reader`, `DictMapper`, `ToTorch`.

import torchdata.nodes
node = Reader(gradiva.readers.File, batch_size=64, output_names=["data", "label"],
              file_root="photos", random_shuffle=True)
node = ToTorch(DictMapper(node, lambda data: gradiva.resize(
    gradiva.decoders.image(data), size=(224, 224))))
loader = torchdata.nodes.Loader(node)  # `state_dict` and `load_state_dict` are those of it
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gradiva.eager.support.errors import (
    OperatorRuntimeError,
    OperatorValueError,
    annotate_error,
    describe,
    wrong_type,
    wrong_value,
)
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.tensor import Tensor
from gradiva.ops.readers.core.reader import Reader as DynamicReader

try:
    from torchdata.nodes import BaseNode
except ModuleNotFoundError as error:
    if error.name != "torchdata":
        raise
    raise ModuleNotFoundError(
        "gradiva.plugin.pytorch.nodes needs torchdata: pip install torchdata", name=error.name
    ) from error

__all__ = ["DictMapper", "Reader", "ToTorch"]

_READER = "reader"
_BEGUN = "begun"
_SOURCE = "source"


class Reader(BaseNode[dict[str, Any]]):  # type: ignore[misc]
    """The batches of a reader, as dicts by the names of its outputs; each `reset` is an epoch.

    reader_type: a class of `gradiva.readers`, made with **kwargs. batch_size: of the batches; None
    for one sample, as tensors. output_names: by default "data" and "label" for as many outputs.
    A loop that was left is followed by the next epoch. The state is the place in the data, to the
    sample. Raises OperatorTypeError for what is no reader, OperatorValueError for names that are
    not one for each output.
    """

    def __init__(
        self,
        reader_type: Callable[..., DynamicReader],
        *,
        batch_size: int | None,
        output_names: Iterable[str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        with annotate_error("nodes.Reader"):
            if not (isinstance(reader_type, type) and issubclass(reader_type, DynamicReader)):
                raise wrong_type("reader_type", "a class of gradiva.readers", describe(reader_type))
            self._names = None if output_names is None else list(output_names)
            if self._names is not None and len(set(self._names)) != len(self._names):
                raise wrong_value("output_names", "names that differ", describe(self._names))
        self._reader = reader_type(**kwargs)
        self._batch_size = batch_size
        self._epoch: Iterator[Any] | None = None
        self._begun = False
        """Whether the epoch has given something, and has not come to its end."""

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        """Begin the next epoch, or go on from what `get_state` returned."""
        super().reset(initial_state)
        if initial_state is not None:
            if not isinstance(initial_state, dict) or {_READER, _BEGUN} - initial_state.keys():
                raise wrong_value(
                    "initial_state",
                    "what `get_state` returned",
                    describe(initial_state),
                    operator="nodes.Reader",
                )
            self._reader.set_state(initial_state[_READER])
            self._begun = bool(initial_state[_BEGUN])
        elif self._begun:
            with self._reader._ahead.turn:
                self._reader._ahead.pause()
                self._reader._source.skip_epoch()
            self._begun = False
        self._epoch = iter(self._reader.next_epoch(self._batch_size))

    def next(self) -> dict[str, Any]:
        if self._epoch is None:
            raise OperatorRuntimeError("`next` before `reset`", operator="nodes.Reader")
        try:
            made = next(self._epoch)
        except StopIteration:
            self._begun = False
            raise
        self._begun = True
        if isinstance(made, dict) and self._names is None:
            return made
        outputs = list(made.values()) if isinstance(made, dict) else made
        outputs = list(outputs) if isinstance(outputs, tuple | list) else [outputs]
        names = ["data", "label"][: len(outputs)] if self._names is None else self._names
        if len(names) != len(outputs):
            raise wrong_value(
                "output_names",
                f"a name for each of {len(outputs)} outputs",
                describe(self._names),
                operator="nodes.Reader",
            )
        return dict(zip(names, outputs, strict=True))

    def get_state(self) -> dict[str, Any]:
        return {_READER: self._reader.get_state(), _BEGUN: self._begun}

    def get_metadata(self) -> dict[str, int]:
        """`get_metadata` of the reader: sizes of the epoch and its shards."""
        return self._reader.get_metadata()


class _Following(BaseNode[Any]):  # type: ignore[misc]
    """A node that has no state but that of its source."""

    def __init__(self, source: BaseNode[dict[str, Any]]) -> None:
        super().__init__()
        if not isinstance(source, BaseNode):
            raise wrong_type(
                "source",
                "a node of torchdata",
                describe(source),
                operator=f"nodes.{type(self).__name__}",
            )
        self._source = source

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        self._source.reset(None if initial_state is None else initial_state[_SOURCE])

    def get_state(self) -> dict[str, Any]:
        return {_SOURCE: self._source.state_dict()}


class DictMapper(_Following):
    """Dicts with one value passed through a function. Raises OperatorValueError where a dict has
    no such key."""

    def __init__(
        self, source: BaseNode[dict[str, Any]], map_fn: Callable[[Any], Any], key: str = "data"
    ) -> None:
        super().__init__(source)
        if not callable(map_fn):
            raise wrong_type("map_fn", "a function", describe(map_fn), operator="nodes.DictMapper")
        self._function, self._key = map_fn, key

    def next(self) -> dict[str, Any]:
        made = next(self._source)
        if self._key not in made:
            raise MissingKeyError(
                operator="nodes.DictMapper",
                argument="key",
                expected=f"one of {', '.join(map(repr, made))}",
                got=repr(self._key),
            )
        return {**made, self._key: self._function(made[self._key])}


class MissingKeyError(OperatorValueError, KeyError):
    """A dict without the key of a `DictMapper`. A KeyError, as scripts expect."""

    __str__ = OperatorValueError.__str__


class ToTorch(_Following):
    """The values of dicts as tuples of torch tensors, in their order, on the same memory.

    output_stream: of a GPU; it has no meaning on the CPU. Raises OperatorValueError for batches of
    samples of several shapes.
    """

    def __init__(self, source: BaseNode[dict[str, Any]], output_stream: object = None) -> None:
        super().__init__(source)
        self._stream = output_stream

    def next(self) -> tuple[Any, ...]:
        return tuple(
            value.torch() if isinstance(value, Batch | Tensor) else value
            for value in next(self._source).values()
        )
