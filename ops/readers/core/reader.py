"""Readers in dynamic mode: objects with a place in their data, looped over epoch by epoch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, ParamSpec, Protocol, cast, overload

import numpy as np

from gradiva.eager.contexts.eval_modes import pool_of
from gradiva.eager.contexts.unrestored import is_placed, warn_if_unrestored
from gradiva.eager.execution.eager_interpreter import as_seed, check_common, device_named
from gradiva.eager.execution.gpu_execute import checked_gpu_kernel
from gradiva.eager.operators.interpreter import current_interpreter
from gradiva.eager.operators.signature import extended
from gradiva.eager.random.default_generator import default
from gradiva.eager.random.step import close_step, enter_step, leave_step
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.support.errors import (
    ArgumentNameError,
    OperatorTypeError,
    OperatorValueError,
    annotate_error,
    user_location,
)
from gradiva.eager.support.hooks import Hook
from gradiva.eager.support.validation import integer
from gradiva.eager.types.device import CPU, Device

from .loop_data import LoopData, LoopLength, SizedIterator, known_length, read_batches
from .progress import watched
from .read_ahead import ReadAhead
from .source import Source, SourceOperator, arranged

__all__ = ["Epoch", "Loop", "Reader", "make_loop", "reader_class", "size_of_batches"]

make_loop: Hook[Callable[..., Any]] = Hook("captured loops", "gradiva.capture.loop.captured_loop")
"""What makes a captured loop, `(source, operator, single, strict, cache, cache_bytes)`; the layer
with graphs puts it here."""

P = ParamSpec("P")


class Loop(SizedIterator, Protocol):
    """A captured loop: it can tell what was computed ahead."""

    @property
    def graph(self) -> Any:
        """The optimized graph that is run ahead, or None as long as there is none."""

    def explain(self) -> Any:
        """How many calls were computed ahead, and each that was not with its line and reason."""

    def receipt(self, *values: Any, data: str = "contents", hash: str = "sha256") -> Any:
        """What values of this step were made from: 32 bytes, and a line of JSON."""

    def close(self) -> None:
        """Stop reading ahead. The next loop goes on where this one was left."""


_OF_CAPTURED_LOOPS: Final = frozenset({"explain", "graph", "receipt"})
"""What `Loop` has, and `Epoch` and `Reader` have not."""


def _has_no(value: object, name: str) -> AttributeError:
    """The error of an attribute that a reader or an epoch lacks: it says what has it, if known."""
    problem = f"{type(value).__name__!r} object has no attribute {name!r}"
    if name in _OF_CAPTURED_LOOPS:
        problem += (
            ": captured loops have it, which compute ahead: `loop = "
            f"reader.next_epoch(batch_size=..., capture=True)`, then `loop.{name}`"
        )
    elif name in ("run", "reset") and isinstance(value, Reader):
        problem += ": loop over reader.next_epoch(batch_size=...); each such loop is an epoch"
    return AttributeError(problem, name=name, obj=value)


class Epoch(Iterator[Any]):
    """The batches (or samples) of one epoch. Each turn opens a step for random operators."""

    def __init__(
        self,
        reader: Reader,
        source: Source,
        batch_size: int | None,
        name: str,
        pool: WorkerPool | None,
    ) -> None:
        self._pool = pool
        self._reader = reader
        self._source = source
        self._batch_size = batch_size
        self._name = name
        self._owner = object()
        self._ended = False
        self._epoch: int | None = None
        """Which of the reader's epochs this is, known from the first batch on."""
        self._length = LoopLength(source, batch_size)

    def __iter__(self) -> Epoch:
        return self

    def __len__(self) -> int:
        """How many batches (or samples) it delivers: from where it begins to the end of the epoch.
        Samples that `on_error="skip"` leaves out are counted. Raises OperatorTypeError where that
        is not known."""
        return known_length(self._length.count(), self._name)

    def __bool__(self) -> bool:
        return True

    if not TYPE_CHECKING:  # type checkers are to report such names

        def __getattr__(self, name: str) -> NoReturn:
            raise _has_no(self, name)

    def __next__(self) -> Any:
        if self._ended:
            raise StopIteration
        try:
            # Several threads may share a loop: each batch goes to one of them.
            with self._reader._ahead.turn, annotate_error(self._name):
                ahead = self._reader._ahead
                if self._epoch is None:
                    self._epoch = ahead.ended
                if self._ended or self._epoch != ahead.ended:
                    self._ended = True
                    raise StopIteration
                ahead.pause()
                self._length.begin()
                self._reader._moved = True
                try:
                    batches = read_batches(self._source, self._batch_size, self._pool)
                except StopIteration:
                    self._ended = True
                    ahead.ended += 1
                    raise
        except StopIteration:
            leave_step(self._reader._ahead)
            raise
        positions = batches[0].positions
        known = np.empty(0, np.int64) if positions is None else positions
        where = batches[0].provenance
        progress = None if where is None else where.progress
        enter_step(self._reader._ahead, known, self._owner, progress)
        single = self._batch_size is None
        values = [batch.select(0) for batch in batches] if single else batches
        return arranged(values, self._reader._names)

    def close(self) -> None:
        """End the loop and its step here; the reader keeps its place."""
        self._ended = True
        close_step(self._owner)


_FIRST: Final = 64
"""Samples that a reader may begin to fetch when it is made."""


def size_of_batches(batch_size: Any, operator: str) -> int:
    """Raises OperatorTypeError, OperatorValueError for what is no integer from 1 on."""
    with annotate_error(operator):
        return integer(
            batch_size,
            1,
            expected="a positive integer",
            limits="a positive number",
            argument="batch_size",
        )


def _device_for(operator: SourceOperator[Any], common: Mapping[str, Any]) -> Device:
    """Where a reader delivers. Raises OperatorRuntimeError for a GPU where it cannot."""
    device = device_named(common.get("device", "cpu"))
    if device is not CPU:
        checked_gpu_kernel(operator)
    return device


class Reader:
    """Base of the readers of dynamic mode.

    It is made with the arguments of the pipeline operator of the same name. Loop over
    `next_epoch(batch_size=...)`; `get_state` and `set_state` save and restore its place, always, so
    `enable_checkpointing` need not be given; nor need `max_batch_size` and `ctx`, for buffers and
    threads adapt themselves.
    """

    operator: SourceOperator[Any]

    if not TYPE_CHECKING:  # type checkers are to report such names

        def __getattr__(self, name: str) -> NoReturn:
            raise _has_no(self, name)

    def __iter__(self) -> NoReturn:
        """Readers have no loop of their own. Raises OperatorTypeError."""
        raise OperatorTypeError(
            "a reader is read epoch by epoch: loop over reader.next_epoch(batch_size=...)",
            operator=self.operator.name,
            location=user_location(),
        )

    def __init__(
        self, max_batch_size: int | None = None, name: str | None = None, **arguments: Any
    ) -> None:
        self.name = name or self.operator.name
        self.max_batch_size = max_batch_size
        arguments.pop("enable_checkpointing", None)
        with annotate_error(self.operator.name):
            if arguments.get("batch_size") is not None:
                raise ArgumentNameError(
                    "there is no argument `batch_size`; loops have one: "
                    "reader.next_epoch(batch_size=...)"
                )
            self._given = arguments = self.operator.modern(arguments)
            self.operator.check((), arguments)
            common = {
                key: value
                for key, value in arguments.items()
                if key not in self.operator.arguments and value is not None
            }
            check_common(self.operator, common)
            device = _device_for(self.operator, common)
            seed = as_seed(common.get("seed"))
            self._seed = seed = default.shuffle_seed if seed is None else seed
            self._ahead = ReadAhead()
            self._learned: dict[str, Any] = {}
            self._moved = False
            given = self.operator.attributes(arguments)
            self.operator.types((), given)  # for what it refuses
            self._names = self.operator.names(given)
            self.arguments = arguments
            self._source = self.operator.open(given, seed)
            self._source.device = device
            self._source.begin(max_batch_size or _FIRST)

    @overload
    def next_epoch(
        self,
        batch_size: int | None = None,
        ctx: object = None,
        *,
        capture: Literal[True],
        progress: bool = False,
        strict: bool = False,
        bucket: Any = None,
        cache: str | os.PathLike[str] | None = None,
        cache_bytes: int | None = None,
    ) -> Loop: ...
    @overload
    def next_epoch(
        self,
        batch_size: int | None = None,
        ctx: object = None,
        capture: bool = False,
        progress: bool = False,
        strict: bool = False,
        bucket: Any = None,
        cache: str | os.PathLike[str] | None = None,
        cache_bytes: int | None = None,
    ) -> SizedIterator: ...
    def next_epoch(
        self,
        batch_size: int | None = None,
        ctx: object = None,
        capture: bool = False,
        progress: bool = False,
        strict: bool = False,
        bucket: Any = None,
        cache: str | os.PathLike[str] | None = None,
        cache_bytes: int | None = None,
    ) -> SizedIterator:
        """Iterate over the rest of the epoch: batches of `batch_size`, or samples without it.

        The last batch is smaller if the epoch does not divide evenly (with `pad_last_batch` it is
        filled up with its last sample). A loop that was left early goes on where it was left, and
        after its last batch with the next epoch; at the place of a state the rest may be empty.
        ctx: an EvalContext whose threads read, and in a captured loop compute; the current ones
        by default. progress: show a progress bar, which counts samples. capture: record the
        calls made in the loop's body, and from the second turn on compute them ahead, fused;
        `explain()` of the iterator says what was not. strict: raise OperatorRuntimeError for a call
        not computed ahead; not for calls that never are, because they have effects or read nothing
        that the reader delivered in this turn. `len` of the iterator is the number of its turns.

        bucket: a `gradiva.samplers.Bucket`, from this epoch on, as the argument of the reader; the
        batch size, which may then be left out, is the most samples of a batch.

        cache: for a captured loop, "ram" or a folder, where results of its calls are kept that are
        the same in each epoch; cache_bytes: how much it may hold (docs/cache.md).

        Raises OperatorRuntimeError for a file that cannot be read, OperatorValueError for a `cache`
        without `capture`.
        """
        with annotate_error(self.operator.name):
            if getattr(current_interpreter(), "symbolic", False):
                raise OperatorTypeError(
                    "a reader object is read in dynamic mode; inside a pipeline definition use "
                    f"fn.{self.operator.name}(...)"
                )
            if batch_size is not None:
                batch_size = size_of_batches(batch_size, self.operator.name)
            pool = pool_of(ctx)
        warn_if_unrestored(self, self.name)
        with self._ahead.turn:
            self._ahead.pause()
            self._end_epoch()
            with annotate_error(self.operator.name):
                if bucket is not None:
                    self._source.bucket(bucket)
                batch_size = batch_size or self._source.most_at_once()
                self._source.expect(batch_size or 1)
        epoch: SizedIterator
        if capture:
            ahead = LoopData(self, self._source, batch_size, pool)
            single = batch_size is None
            epoch = make_loop.get()(ahead, self.operator, single, strict, cache, cache_bytes)
        elif cache is not None or cache_bytes is not None:
            raise OperatorValueError(
                "the calls of a loop are known to a cache if the loop is captured",
                operator=self.operator.name,
                argument="cache",
                expected="`capture=True`, too",
                location=user_location(),
            )
        else:
            epoch = Epoch(self, self._source, batch_size, self.operator.name, pool)
        if not progress:
            return epoch
        return watched(epoch, self._source.remaining(), self.name, batch_size is None)

    def __len__(self) -> int:
        """The number of samples in an epoch: of the shard, and with the repeats of
        `pad_last_batch`. Raises OperatorTypeError for a reader whose epochs have no end."""
        with annotate_error(self.operator.name):
            return known_length(self._source.epoch_length(), self.operator.name)

    def __bool__(self) -> bool:
        return True

    @property
    def classes(self) -> list[str] | None:
        """The names of the labels, `classes[label]`, where labels are the numbers of folders or of
        texts that `label_fn` has found; None for other readers, and where the data set gives
        numbers."""
        with annotate_error(self.operator.name):
            found = self._source.classes()
            return None if found is None else list(found)

    def get_metadata(self, batch_size: int | None = None) -> dict[str, int]:
        """epoch_size, epoch_size_padded, number_of_shards, shard_id, pad_last_batch,
        stick_to_shard."""
        with annotate_error(self.operator.name):
            return self._source.meta() or {}

    def get_state(self, *, cuda_stream: object = None) -> dict[str, Any]:
        """The reader's place, as plain data."""
        with annotate_error(self.operator.name):
            place = self._ahead.place()
            return self._source.get_state() if place is None else self._source.state_at(place)

    def set_state(self, state: dict[str, Any]) -> None:
        """Go to a place that `get_state` returned. Raises OperatorValueError."""
        self._ahead.pause()
        with annotate_error(self.operator.name):
            self._source.set_state(state)
            self._moved = False
        is_placed(self)

    def set_weights(self, weights: Any) -> None:
        """Set the weights of the samples, for a reader with `sampler="weighted"`: a number for each
        sample of the data set, which holds from the next epoch on. `get_state` has them.

        Raises OperatorValueError for numbers that are no weights.
        """
        with annotate_error(self.operator.name), self._ahead.turn:
            self._source.set_weights(self._mark(), weights)

    def feedback(self, positions: Any, scores: Any) -> None:
        """Set the weights of some samples, as `set_weights` does, by what the training says of
        them, such as their losses: from the next epoch on, a score is the weight of its sample.

        positions: a batch, or the positions of its samples; of shards, those of all together, the
        same in each. scores: a number from 0 on for each. Where a sample is named several times,
        the last one counts; others keep their weights.

        Raises OperatorValueError for positions that no sample has, and for other scores.
        """
        with annotate_error(self.operator.name), self._ahead.turn:
            known = getattr(positions, "positions", positions)
            self._source.feedback(self._mark(), known, scores)

    def _mark(self) -> Any:
        """The place in the data of the loop."""
        place = self._ahead.place()
        return self._source.mark() if place is None else place

    def _end_epoch(self) -> None:
        """A loop that was left after its last batch, before it could notice, is at its end. Not so
        at a place that was set: who goes on there has this end before them."""
        if self._moved:
            left, length = self._source.remaining(), self._source.epoch_length()
            if left is not None and left <= 0 and length:
                self._source.skip_epoch()
                self._ahead.ended += 1

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process a reader is one of the same data, at the same place."""
        given = {**self._given, "seed": self._seed}
        made = type(self), self.max_batch_size, self.name, given
        return _made_again, made, self.get_state()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.set_state(state)

    def __repr__(self) -> str:
        return f"<{self.operator.name} reader, {self.get_metadata()}>"


def _made_again(
    kind: type[Reader], max_batch_size: int | None, name: str, given: dict[str, Any]
) -> Reader:
    return kind(max_batch_size, name, **given)


def reader_class(name: str, operator: SourceOperator[P]) -> Callable[P, Reader]:
    """The dynamic-mode class `name` of a source operator, typed with its arguments."""
    signature = extended(Reader.__init__, operator.__signature__, without=("batch_size",))
    fields = {"operator": operator, "__doc__": operator.__doc__, "__signature__": signature}
    made = type(name, (Reader,), fields)
    made.__module__ = operator.__module__
    return cast("Callable[P, Reader]", made)
