"""Iterators of JAX arrays that let one look at the next batch, as those of CLU do."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from gradiva.capture.iterators.iterator import LastBatchPolicy
from gradiva.eager.support.errors import OperatorValueError, annotate_error, frameless
from gradiva.plugin.jax.arrays import jax
from gradiva.plugin.jax.data_iterator import iterator_maker
from gradiva.plugin.jax.iterators import DALIGenericIterator

__all__ = [
    "ArraySpec",
    "DALIGenericPeekableIterator",
    "get_spec_for_array",
    "peekable_data_iterator",
]


@dataclass(frozen=True)
class ArraySpec:
    """The dtype and the shape of an array, with the fields of CLU's class of this name."""

    dtype: Any
    shape: tuple[int, ...]


class DALIGenericPeekableIterator(DALIGenericIterator):
    """A DALIGenericIterator that can show the next batch without going on. All batches must have
    the same shapes and dtypes; raises OperatorValueError for one that has not."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lock = threading.RLock()
        self._peeked: dict[Any, Any] | None = None
        self._spec: dict[Any, Any] | None = None

    @frameless
    def __next__(self) -> dict[Any, Any]:  # type: ignore[override]
        """The next batches. Raises StopIteration at the end of the epoch."""
        with self._lock:
            found, self._peeked = self._peeked, None
            return self._checked(super().__next__()) if found is None else found

    def __iter__(self) -> DALIGenericPeekableIterator:
        with self._lock:
            return self if self._peeked is not None else super().__iter__()

    def peek(self) -> dict[Any, Any]:
        """What the next turn gives. Raises StopIteration at the end of the epoch."""
        with self._lock:
            if self._peeked is None:
                self._peeked = next(self)
            return self._peeked

    def peek_async(self) -> Future[dict[Any, Any]]:
        """A future of what `peek` returns, or raises, which is asked for in a thread.

        A turn that is taken before the thread has begun comes before what the future holds: wait
        for the future first.
        """
        future: Future[dict[Any, Any]] = Future()

        def look() -> None:
            try:
                future.set_result(self.peek())
            except BaseException as error:  # noqa: BLE001  who waits for the future gets it
                future.set_exception(error)

        threading.Thread(target=look, name="gradiva peek", daemon=True).start()
        return future

    def reset(self) -> None:
        """Begin the next epoch. In the middle of an epoch it has no effect."""
        with self._lock:
            if self._peeked is None:
                super().reset()

    def checkpoints(self) -> list[bytes]:
        """As those of DALIGenericIterator. Raises OperatorValueError (a RuntimeError) between
        `peek` and the turn that gives what it has shown."""
        with self._lock:
            self._check_level("checkpoints")
            return super().checkpoints()

    def state_dict(self) -> dict[str, Any]:
        """As that of DALIGenericIterator. Raises OperatorValueError as `checkpoints`, too."""
        with self._lock:
            self._check_level("state_dict")
            return super().state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As that of DALIGenericIterator; what `peek` has shown is thrown away."""
        with self._lock:
            super().load_state_dict(state_dict)
            self._peeked = None

    def _check_level(self, method: str) -> None:
        """Raise OperatorValueError between `peek` and the turn that gives what it has shown."""
        if self._peeked is not None:
            raise OperatorValueError(
                "the pipelines are a batch ahead of the loop, which `peek` has shown: take it "
                "by next(iterator) before",
                operator=f"{type(self).__name__}.{method}",
            )

    @property
    def element_spec(self) -> dict[Any, Any]:
        """An ArraySpec for each array of a turn: CLU's, where it is installed. Before the first
        turn this peeks."""
        with self._lock:
            if self._spec is None:
                self.peek()
            assert self._spec is not None
            return dict(self._spec)

    @property
    def is_nonpadding(self) -> Any:
        """For each sample of the last turn, whether it belongs to the epoch: booleans (batch of all
        pipelines,), sharded as the arrays are. False for repeats at the end of the reader's shard,
        and for samples of the next epoch. Raises AttributeError without `reader_name`."""
        self._first_shards()
        with self._lock:
            turns = self._done - (self._peeked is not None)
            flags = [self._inside(shards, turns - 1) for shards in self._shards]
        whole = np.concatenate(flags)
        return whole if self._sharding is None else jax.device_put(whole, self._sharding)

    def _inside(self, shards: Any, turn: int) -> Any:
        begin, end = turn * self.batch_size, shards.length(self._epoch)
        if shards.shared is not None:  # what it counts begins where the epoch is read from
            begin -= shards.shared.shared_steps.begun_steps(self._epoch) * self.batch_size
        if not shards.padded and self._policy is LastBatchPolicy.FILL:
            # What was read ahead of an epoch counts for it.
            begin += self._until(self._epoch) * self.batch_size
            end = sum(shards.length(epoch) for epoch in range(self._epoch + 1))
        return np.arange(begin, begin + self.batch_size) < end

    def _checked(self, turn: dict[Any, Any]) -> dict[Any, Any]:
        spec = {
            name: get_spec_for_array(value)
            for name, value in turn.items()
            if hasattr(value, "dtype")
        }
        if self._spec is None:
            self._spec = spec
        for name, found in spec.items():
            if found != self._spec[name]:
                with annotate_error(type(self).__name__):
                    raise OperatorValueError(
                        f"output {name!r}: all batches must have one shape and dtype",
                        expected=str(self._spec[name]),
                        got=str(found),
                    )
        return turn


def get_spec_for_array(jax_array: Any) -> Any:
    """The dtype and the shape of an array, as an ArraySpec: CLU's, where it is installed."""
    kind: Any = ArraySpec
    with contextlib.suppress(ImportError):
        kind = import_module("clu.data.dataset_iterator").ArraySpec
    return kind(dtype=jax_array.dtype, shape=tuple(jax_array.shape))


peekable_data_iterator = iterator_maker(DALIGenericPeekableIterator, "peekable_data_iterator")
peekable_data_iterator.__doc__ = """`gradiva.plugin.jax.data_iterator` for iterators with `peek`:
see there, and `DALIGenericPeekableIterator`."""
