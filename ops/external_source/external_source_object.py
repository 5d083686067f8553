"""`ExternalSource`: the external source of dynamic mode, an object that is called."""

from __future__ import annotations

import os
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.contexts.checkpoint_files import CheckpointError
from gradiva.eager.contexts.eval_modes import pool_of
from gradiva.eager.contexts.unrestored import is_placed, warn_if_unrestored
from gradiva.eager.random.step import close_step, enter_step, leave_step
from gradiva.eager.support.errors import annotate_error, frameless, fresh
from gradiva.eager.support.user_warning import warn_user
from gradiva.eager.types.device import check_device
from gradiva.eager.types.device import device as to_device
from gradiva.eager.types.provenance import Progress
from gradiva.eager.values.batch import batch_on
from gradiva.eager.values.tensor import tensor_on
from gradiva.ops.readers.core.read_ahead import ReadAhead
from gradiva.ops.readers.core.reader import Loop, make_loop, size_of_batches

from .batch_converter import declared_types
from .callback_source import CallbackIterator
from .callback_state import callback_state, counted, restore_callback
from .external_source import external_source


class ExternalSource:
    """An external source in dynamic mode: each call takes the next item.

    source: a callable without arguments or an iterable, whose items are tensors (arrays) or
        batches (lists of arrays, or Batch).
    num_outputs, cycle, layout, dtype, device: see `external_source`.

    Raises StopIteration at the end of the data; with cycle="raise" the next call starts again;
    OperatorTypeError and OperatorValueError for a `batch_size` that is no integer from 1 on.
    """

    def __init__(
        self,
        source: Any,
        num_outputs: int = 1,
        cycle: Any = None,
        device: Any = "cpu",
        layout: Any = None,
        dtype: Any = None,
    ) -> None:
        with annotate_error("ExternalSource"):
            self._device = check_device(to_device(device))
            self._callback = CallbackIterator(source, cycle)
            self._count = num_outputs
            self._types = declared_types(num_outputs, layout, dtype, None)
        self._position = 0
        self._turns = self._rounds = 0
        """How many items were delivered, and how often the source was started again."""
        self._ended = False
        self._waiting: deque[tuple[Any, _Mark]] = deque()
        """Items (or what taking them raised) that come before those of the feed."""
        self._ahead = ReadAhead()
        self._learned: dict[str, Any] = {}

    @frameless
    def __call__(self, batch_size: int | None = None) -> Any:
        """The next item: a Tensor, or a Batch if the source returned one or `batch_size` is given
        (then a tensor is the same for all samples). A tuple if there are several outputs."""
        if batch_size is not None:
            batch_size = size_of_batches(batch_size, "ExternalSource")
        warn_if_unrestored(self, "ExternalSource")
        self._ahead.pause()
        try:
            values, positions = self._values(self._take(), batch_size)
        except StopIteration:
            leave_step(self._ahead)
            raise
        where = values[0].provenance
        enter_step(self._ahead, positions, self._ahead, None if where is None else where.progress)
        return values[0] if self._count == 1 else tuple(values)

    def close(self) -> None:
        """End the step of the last call: random calls are counted as outside of any loop again. The
        source keeps its place."""
        close_step(self._ahead)

    def captured(
        self,
        batch_size: int,
        ctx: object = None,
        *,
        strict: bool = False,
        cache: str | os.PathLike[str] | None = None,
        cache_bytes: int | None = None,
    ) -> Loop:
        """Loop over the items as batches, while the calls made in the loop's body are captured:
        from the second turn on they are computed ahead, fused.

        An item that is a list of samples, or a Batch, is the batch of a turn, and has at most
        `batch_size` samples. An item that is one sample is repeated `batch_size` times, with a
        warning: single samples are not collected into batches.

        The source is called ahead of the loop too. What was taken ahead when the loop is left comes
        first the next time. ctx: an EvalContext whose threads compute. strict: raise
        OperatorRuntimeError for a call not computed ahead, except for calls that never are, because
        they have effects or read nothing that the source delivered in this turn. cache: "ram" or a
        folder, where results are kept that depend on the contents of the items alone; cache_bytes:
        how much it may hold (docs/cache.md). Raises OperatorTypeError and OperatorValueError for a
        `batch_size` that is no integer from 1 on.
        """
        batch_size = size_of_batches(batch_size, "ExternalSource.captured")
        warn_if_unrestored(self, "ExternalSource")
        self._ahead.pause()
        made: Loop = make_loop.get()(
            _ItemsForLoop(self, batch_size, ctx), external_source, False, strict, cache, cache_bytes
        )
        return made

    def _take(self, copy: bool = False) -> list[op.Batch | op.Tensor]:
        """The next item, as it is; what was taken ahead comes first. copy: the source may write
        into its memory again before the item is used."""
        if self._waiting:
            waiting, _ = self._waiting.popleft()
            if isinstance(waiting, BaseException):
                try:
                    raise waiting
                finally:
                    del waiting  # an error and a frame of its traceback must not hold each other
            return list(waiting)
        if self._ended:
            self._ended = False
            self._rounds += 1
            self._callback.restart()
        try:
            with annotate_error("ExternalSource"):
                item = self._callback.next(self._position)
        except StopIteration:
            self._ended = True
            raise
        items = (item,) if self._count == 1 else tuple(item)
        with annotate_error("ExternalSource"):
            if len(items) != self._count:
                raise op.OperatorTypeError(
                    "the source returned the wrong thing",
                    expected=f"a tuple of {self._count} (num_outputs)",
                    got=f"{len(items)} values",
                )
            return [_part(part, type, copy) for part, type in zip(items, self._types, strict=True)]

    def get_state(self, *, cuda_stream: object = None) -> dict[str, Any]:
        """The place in the source, as plain data. Items that a captured loop has taken ahead do not
        count. Raises OperatorRuntimeError or OperatorTypeError if the source's own `state_dict`
        raises or returns what is no plain data."""
        with annotate_error("ExternalSource"):
            mark = self._ahead.place()
            if mark is None:
                mark = self._mark()
            if isinstance(mark.feed, op.GradivaError):
                raise fresh(mark.feed)
            return {
                "position": mark.position,
                "ended": mark.ended,
                "feed": mark.feed,
                "turns": mark.turns,
                "rounds": mark.rounds,
            }

    def set_state(self, state: dict[str, Any]) -> None:
        """Go to a place that `get_state` returned; see `external_source` for what can be continued.

        Raises OperatorValueError for another state; OperatorTypeError for a source that cannot be
        continued there.
        """
        self._ahead.pause()
        with annotate_error("ExternalSource"):
            try:
                position, ended, feed = counted(state["position"]), state["ended"], state["feed"]
                turns, rounds = (counted(state.get(name, 0)) for name in ("turns", "rounds"))
            except (KeyError, TypeError, ValueError) as error:
                raise CheckpointError(f"this is not the state of a source: {error!r}") from None
            restore_callback(self._callback, feed)
            self._position, self._ended = position, bool(ended)
            self._turns, self._rounds = turns, rounds
            self._waiting.clear()
        is_placed(self)

    def _mark(self) -> _Mark:
        """The place in the source; before what waits, if something does."""
        if self._waiting:
            waiting = self._waiting[0][1]
            return waiting._replace(position=self._position, turns=self._turns)
        try:
            feed: Any = callback_state(self._callback)
        except op.GradivaError as error:
            # It must not stop a loop that nobody wants to continue.
            feed = op.without_frames(error)
        return _Mark(self._position, self._ended, feed, self._turns, self._rounds)

    def _values(
        self, item: list[op.Batch | op.Tensor], batch_size: int | None
    ) -> tuple[list[op.Batch | op.Tensor], np.ndarray[Any, np.dtype[np.int64]]]:
        """The values of an item and the positions of their samples."""
        with annotate_error("ExternalSource"):
            values = [_value(part, batch_size).to_device(self._device) for part in item]
        size = next((len(value) for value in values if isinstance(value, op.Batch)), 1)
        positions = np.arange(self._position, self._position + size, dtype=np.int64)
        self._position += size
        rounds = None if self._callback.cycle == "quiet" else self._rounds
        progress = Progress(rounds, self._turns)
        self._turns += 1
        for value in values:
            value.provenance = op.Provenance(positions, progress=progress)
        return values, positions


class _Mark(NamedTuple):
    """A place in a source. feed: its state, or the error that asking for it raised; turns, rounds:
    the items that come before, and how often the source was started again."""

    position: int
    ended: bool
    feed: Any
    turns: int = 0
    rounds: int = 0


class _ItemsForLoop:
    """The items as a captured loop reads them."""

    name = "external_source"
    names = None
    described = None
    any_thread = False

    def __init__(self, source: ExternalSource, batch_size: int, ctx: object) -> None:
        self.pool = pool_of(ctx)
        self.memory = source._learned
        self.ahead = source._ahead
        self._source = source
        self._batch_size = batch_size
        self._taken: deque[tuple[Any, _Mark]] = deque(maxlen=8)
        """What was read last, more than is ever read ahead."""

    def read(self) -> tuple[op.Batch, ...]:
        mark = self._source._mark()
        try:
            item = self._source._take(copy=True)
        except BaseException:
            # The loop has the error: kept here, it would keep the loop, by its traceback.
            self._taken.append((None, mark))
            raise
        self._taken.append((item, mark))
        if self._batch_size > 1 and not any(isinstance(part, op.Batch) for part in item):
            warn_user(
                "ExternalSource.captured: an item that is one sample is repeated `batch_size` "
                "times: for a batch of different samples let the source return a list of them"
            )
        values, _ = self._source._values(item, self._batch_size)
        return tuple(value for value in values if isinstance(value, op.Batch))

    def count(self) -> int | None:
        return None

    def mark(self) -> _Mark:
        return self._source._mark()

    def rewind(self, mark: _Mark, undelivered: list[Any]) -> None:
        self._source._position, self._source._turns = mark.position, mark.turns
        for given in reversed(undelivered):
            item, before = self._taken.pop()
            self._source._waiting.appendleft((given if item is None else item, before))

    def claim(self) -> None:
        pass


def _part(item: Any, type: op.SampleType, copy: bool) -> op.Batch | op.Tensor:
    """One output of an item, as a batch or a tensor, on its own memory if `copy`."""
    if isinstance(item, op.Batch | list | tuple):
        made: op.Batch = batch_on(item, type.dtype, layout=type.layout)
        return made.to_device(made.device, force_copy=copy and isinstance(item, op.Batch))
    tensor = tensor_on(item, type.dtype, layout=type.layout)
    return tensor.to_device(tensor.device, force_copy=copy)


def _value(part: op.Batch | op.Tensor, batch_size: int | None) -> op.Batch | op.Tensor:
    if isinstance(part, op.Batch):
        if batch_size is not None and len(part) > batch_size:
            raise op.OperatorValueError(
                "the source returned a batch that is too large",
                expected=f"at most {batch_size} samples",
                got=str(len(part)),
            )
        return op.Batch.over(part.data, part.batch_shape, part.type)
    if batch_size is None:
        return op.Tensor.over(part._array, part.layout)
    array = part._array
    return op.Batch.over(
        array.reshape(-1), op.BatchShape.repeated(batch_size, array.shape), part.type
    )
