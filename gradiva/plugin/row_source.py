"""Data sets of other libraries that are streams of rows, for `external_source`."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from gradiva.eager.support.errors import (
    OperatorRuntimeError,
    SampleDataError,
    describe,
    wrong_type,
    wrong_value,
)
from gradiva.ops.readers.rows.objects import entry_of, value_of

__all__ = ["RowSource"]


class RowSource:
    """An iterable of rows, with its place:

    `fn.external_source(RowSource(data, ["image", "label"]), num_outputs=2, batch=False)`

    source: an `IterableDataset` of Hugging Face, an `IterDataset` of Grain, a `StreamingDataset` of
        MosaicML Streaming or LitData, or any iterable; each loop over it is an epoch. Where it has
        `set_epoch`, that is called with the number of the epoch, from the one on that it has.
    columns: for each output the name of an entry of the rows, or its number, as text, where rows
        are tuples. None: a row is one value, for `num_outputs=None`.

    The values are those of `readers.table`. `state_dict` and `load_state_dict`, which checkpoints
    of pipelines ask for, keep the place by what the library has for it; of other iterables, the
    rows before the place are passed over. How exact that is, is the library's: what Hugging Face's
    `shuffle` has in its buffer is lost. In one process, without workers of the library's.

    Raises OperatorTypeError for what is no iterable.
    """

    def __init__(self, source: Iterable[Any], columns: Sequence[str] | None = None) -> None:
        if not isinstance(source, Iterable) or isinstance(source, str | bytes):
            raise wrong_type(
                "source", "an iterable of rows", describe(source), operator="RowSource"
            )
        self._source: Any = source
        self._columns = [columns] if isinstance(columns, str) else columns
        self._first = getattr(source, "current_epoch", getattr(source, "epoch", 0))
        self._epoch = -1
        self._taken = 0
        self._iterator: Any = None
        self._goes_on = False
        self._own: Any = None

    def __iter__(self) -> Iterator[Any]:
        if self._goes_on:
            self._goes_on = False
        else:
            self._epoch, self._taken, self._own = self._epoch + 1, 0, None
            _forget_state(self._source)
        _call(self._source, "set_epoch", self._first + self._epoch)
        self._iterator = iter(self._source)
        if _has_place(self._iterator):
            if self._own is not None:
                self._iterator.set_state(self._own)
        elif self._own is None:
            next(islice(self._iterator, self._taken, self._taken), None)
        return self._rows(self._iterator)

    def _rows(self, rows: Iterator[Any]) -> Iterator[Any]:
        for row in rows:
            self._taken += 1
            yield self._values(row)

    def _values(self, row: Any) -> Any:
        try:
            if self._columns is None:
                return value_of(row, None)
            return tuple(value_of(entry_of(row, name), None) for name in self._columns)
        except SampleDataError as error:
            raise OperatorRuntimeError(
                f"row {self._taken - 1} of epoch {self._epoch} of "
                f"{type(self._source).__name__}: {error}"
            ) from None

    def state_dict(self) -> dict[str, Any]:
        """The place after the last row, as plain data."""
        own = None
        if self._iterator is not None:
            if _has_place(self._iterator):
                own = self._iterator.get_state()
            elif callable(getattr(self._source, "load_state_dict", None)):
                own = self._source.state_dict(**self._counts())
        return {"epoch": self._epoch, "taken": self._taken, "own": own}

    def _counts(self) -> dict[str, Any]:
        """What MosaicML and LitData ask for: how many samples there were in this epoch."""
        known = {
            "num_samples": self._taken,
            "from_beginning": True,
            "num_samples_yielded": self._taken,
            "num_workers": 0,
            "batch_size": 1,
        }
        asked = inspect.signature(self._source.state_dict).parameters
        return {name: value for name, value in known.items() if name in asked}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next loop goes on from there. Raises OperatorValueError for what is no state."""
        try:
            epoch, taken, own = int(state["epoch"]), int(state["taken"]), state["own"]
        except (KeyError, TypeError, ValueError):
            raise wrong_value(
                "state_dict", "what `state_dict` returned", describe(state), operator="RowSource"
            ) from None
        self._epoch, self._taken, self._own = epoch, taken, own
        self._goes_on = epoch >= 0
        if own is not None and callable(getattr(self._source, "load_state_dict", None)):
            self._source.load_state_dict(own)


def _has_place(iterator: Any) -> bool:
    """Whether it tells its place itself, as iterators of Grain's do."""
    return all(callable(getattr(iterator, name, None)) for name in ("get_state", "set_state"))


def _forget_state(source: Any) -> None:
    """Have the next loop begin at the first row: LitData, and `datasets` 2.21, go on
    from a state that was loaded in every loop."""
    _call(source, "reset_state_dict")
    if type(source).__module__.partition(".")[0] == "datasets":
        _call(source, "load_state_dict", {})


def _call(source: Any, name: str, *arguments: Any) -> None:
    """Call the method of this name, if there is one."""
    method = getattr(source, name, None)
    if callable(method):
        method(*arguments)
