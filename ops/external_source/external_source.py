"""`external_source`: batches from a callable or an iterable; see parallel_feed.py for processes."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.contexts.checkpoint_files import CheckpointError
from gradiva.eager.operators.argument_types import Strings
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.ops.readers.core.source import Source, source_operator

from .batch_converter import BatchConverter, declared_types, nothing, restored, stored, with_unread
from .callback_source import (
    BatchInfo,
    CallbackIterator,
    SampleInfo,
    check_parallel,
    check_source,
    parts_of,
)
from .callback_state import callback_state, counted, restore_callback
from .queue_source import QueueSource

if TYPE_CHECKING:
    from gradiva.eager.types.device import DeviceLike

    class _Common(TypedDict, total=False):
        """`Common` without `bytes_per_sample_hint`, which means something here."""

        batch_size: Any
        device: DeviceLike
        name: str
        preserve: bool
        seed: int


# Processes are for few programs: the import of gradiva does not wait for them.
parallel_feed = lazy_module("gradiva.ops.external_source.parallel_feed")


@source_operator("external_source", draws=False)
def external_source(
    source: Any = None,
    num_outputs: int | None = None,
    *,
    cycle: Any = None,
    layout: Strings | None = None,
    dtype: Any = None,
    ndim: Any = None,
    batch: bool = True,
    batch_info: bool = False,
    repeat_last: bool = False,
    blocking: bool = False,
    no_copy: bool = False,
    parallel: bool = False,
    prefetch_queue_depth: int = 1,
    bytes_per_sample_hint: int | None = None,
    cuda_stream: Any = None,
    use_copy_kernel: bool = False,
    **common: op.Unpack[_Common],
) -> Any:
    """Feed a pipeline with batches from a Python callable or an iterable.

    Batches may be smaller than the pipeline's batch size, not larger. A checkpoint continues a
    callable with an argument at its number, and whatever has `state_dict()` and
    `load_state_dict(data)`, or `get_state()` and `set_state(data)`, by these; other iterables are
    started again and run up to their place, earlier rounds included; a callable without an argument
    cannot be continued.

    With `parallel`, an OperatorRuntimeError also tells that a worker process ended, with its signal
    and the sample that it was at; the next `run` asks for the same batch again, up to five times.
    A call that takes over 600 s (GRADIVA_WORKER_TIMEOUT, 0 for no limit) ends its process, and the
    error shows the stack of the call.

    Args:
        source: an iterable or a generator function, whose items are batches; or a callable that
            returns the next batch and raises StopIteration at the end. A callable with a
            positional parameter, also one that has a default, is told which batch: its number in
            the epoch, or a BatchInfo with `batch_info=True`. What is iterable and callable is
            iterated over. A batch is an array with a leading axis, a list of arrays, or a Batch.
            None: the batches are fed by `Pipeline.feed_input`, or given to `Pipeline.run` by name.
        batch: False if the source deals in single samples: a callable gets a SampleInfo for each.
        batch_info: hand a BatchInfo to a callable, in place of a number.
        num_outputs: if given, items are tuples (or arrays) of that many batches (or samples), and a
            tuple is returned.
        cycle: what to do at the end of an iterable: "no" (or None) ends the data; "quiet" (or True)
            starts again; "raise" ends the epoch, and starts again after `reset`.
        layout, dtype, ndim: the layout, the element type and the rank of the samples, one or one
            per output. Data of another dtype or rank is an error, and so are fed data of another
            layout; what is left out, the first batch that has it fixes.
        repeat_last: deliver the last batch again where the data has ended.
        blocking: let `run` wait for data that is to be fed, instead of raising
            OperatorRuntimeError; a callable or iterable always is waited for.
        no_copy: use the arrays where they are; the caller must not change them while they are in
            use.
        parallel: call the source in worker processes (`py_num_workers` and `py_start_method` of the
            pipeline); the same bits. A callable takes one argument and must depend on nothing else:
            samples of a batch (`batch=False`), or batches, are made by several workers at once. An
            iterable lives in one worker; if that dies, what was delivered is skipped in another.
        prefetch_queue_depth: with `parallel`, batches that are asked for before they are needed.
        bytes_per_sample_hint: with `parallel`, the size of a sample, for the first shared memory.
        cuda_stream, use_copy_kernel: without effect; they are about sources on a GPU.

    Returns:
        The batches of the source: one, or a tuple of `num_outputs`.

    Raises:
        OperatorRuntimeError: with the callable's own traceback, if it raises.
        OperatorTypeError: for data that is not a batch.

    Example:
        @pipeline_def(batch_size=4, num_threads=2)
        def squares():
            return fn.external_source(lambda info: np.float32(info.idx_in_epoch**2), batch=False)

        (output,) = squares().run()
    """
    if num_outputs is not None and num_outputs < 1:
        raise op.wrong_value("num_outputs", "at least 1", num_outputs)
    for name, number in (
        ("prefetch_queue_depth", prefetch_queue_depth),
        ("bytes_per_sample_hint", bytes_per_sample_hint),
    ):
        if number is not None and number < 1:
            raise op.wrong_value(name, "at least 1", number)
    check_source(source, cycle)
    if parallel and source is not None:
        check_parallel(source, batch)
    return tuple(declared_types(num_outputs or 1, layout, dtype, ndim))


external_source.delivers_on_gpu = True
external_source.only_if_read = True


@external_source.opens
def open_source(arguments: dict[str, Any], seed: int) -> Source:
    """What stands behind the node: the user's source, or what `Pipeline.feed_input` feeds."""
    if arguments["source"] is None:
        return QueueSource(arguments)
    if not arguments["parallel"]:
        return ExternalFeed(arguments)
    made: Source = parallel_feed.ParallelFeed(arguments)
    return made


class ExternalFeed(Source):
    """The user's source, and how much of it was read."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self._arguments = arguments
        self.whole = bool(arguments["batch"])
        self._callback = CallbackIterator(arguments["source"], arguments["cycle"])
        self._count = arguments["num_outputs"] or 1
        self._converter = BatchConverter(arguments)
        self._calls = [0]
        """How often an iterable was asked for an item, between its restarts."""
        self._epoch = 0
        self._iteration = 0
        self._in_epoch = 0
        self._position = 0
        self._last: tuple[op.Batch, ...] | None = None

    @property
    def epochs_begun(self) -> int | None:
        return None if self._callback.cycle == "quiet" else self._epoch

    def read(self, batch_size: int, pool: op.WorkerPool) -> tuple[op.Batch, ...]:
        try:
            items = self._samples(batch_size) if not self._arguments["batch"] else self._whole()
            batches = self._made(items, batch_size)
        except StopIteration:
            if self._arguments["repeat_last"] and self._last is not None:
                return self._last
            raise
        except op.GradivaError:
            if not self._arguments["batch"]:
                # The batch is lost, its samples are not asked for again.
                self._position += batch_size
                self._in_epoch += batch_size
            raise
        finally:
            self._iteration += 1
        size = len(batches[0])
        positions = np.arange(self._position, self._position + size, dtype=np.int64)
        self._position += size
        self._in_epoch += size
        for batch in batches:
            names = batch.provenance.names if batch.provenance else None
            batch.provenance = op.Provenance(positions, names)
        self._last = batches if self._arguments["repeat_last"] else None
        return batches

    def _made(self, items: tuple[Any, ...], batch_size: int) -> tuple[op.Batch, ...]:
        """The batches for what the source returned, of one size that is not too large."""
        if self._uses_nothing:
            return nothing(len(items[0]), self._count)
        used = self.used
        return with_unread(
            [
                self._batch(item, index) if used is None or index in used else None
                for index, item in enumerate(items)
            ],
            batch_size,
        )

    @property
    def _uses_nothing(self) -> bool:
        """Whether items may be anything. A whole batch is looked at, to see how large it is."""
        return self.counted and not self.whole

    def _batch(self, item: Any, index: int) -> op.Batch:
        return self._converter.batch(item, index)

    def _next(self, request: Any) -> Any:
        self._calls[-1] += 1
        return self._callback.next(request)

    def _whole(self) -> tuple[Any, ...]:
        request: Any = self._iteration
        if self._arguments["batch_info"]:
            request = BatchInfo(self._iteration, self._epoch)
        return self._outputs(self._next(request), None)

    def _samples(self, batch_size: int) -> tuple[Any, ...]:
        rows: list[tuple[Any, ...]] = []
        for index in range(batch_size):
            info = SampleInfo(self._in_epoch + index, index, self._iteration, self._epoch)
            try:
                rows.append(self._outputs(self._next(info), index))
            except StopIteration:
                # Callables end an epoch with a whole batch; an iterable ends where it ends.
                if not rows or self._callback.takes_request:
                    raise
                break
            except op.GradivaError as error:
                raise error.complete(sample=index) from error.__cause__
        return tuple([row[output] for row in rows] for output in range(self._count))

    def _outputs(self, item: Any, sample: int | None) -> tuple[Any, ...]:
        if self._uses_nothing:
            return (None,) * self._count
        try:
            return parts_of(item, self._arguments["num_outputs"])
        except op.GradivaError as error:
            raise error.complete(sample=sample) from None

    def reset(self) -> None:
        self._callback.restart()
        if self._callback.cycle == "raise":
            self._calls.append(0)
        self._epoch += 1
        self._iteration = 0
        self._in_epoch = 0

    def get_state(self) -> dict[str, Any]:
        state = {
            "epoch": self._epoch,
            "iteration": self._iteration,
            "in_epoch": self._in_epoch,
            "position": self._position,
            "feed": self._feed_state(),
            "calls": [] if self._callback.takes_request else list(self._calls),
            "fixed": self._converter.get_state(),
        }
        if self._arguments["repeat_last"] and self._last is not None:
            # It may be asked for again, and the source cannot be asked for it.
            state["last"] = stored(self._last)
        return state

    def _feed_state(self) -> Any:
        return callback_state(self._callback)

    def _restore_feed(self, feed: Any, calls: list[int]) -> None:
        """Go on where `_feed_state` was told, or, if that was in a process, after these calls."""
        if feed is not None:
            restore_callback(self._callback, feed)
            return
        for number, count in enumerate(calls):
            if number:
                self._callback.restart()
            for _ in range(count):
                # What it raises was delivered when it was raised first.
                with suppress(Exception):
                    self._callback.next(None)

    def set_state(self, state: dict[str, Any]) -> None:
        """Raises CheckpointError; see `restore_callback`."""
        try:
            place = [counted(state[key]) for key in ("epoch", "iteration", "in_epoch", "position")]
            fixed = self._converter.read_state(state["fixed"])
            last = restored(state.get("last", ()), place[-1])
            feed, calls = state["feed"], [counted(number) for number in state["calls"]]
            if len(last) not in (0, self._count):
                raise ValueError(f"it has {len(last)} outputs, and stands at {place}")
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise CheckpointError(f"this is not the state of an external source: {error}") from None
        self._restore_feed(feed, calls)
        self._calls = calls or [0]
        self._epoch, self._iteration, self._in_epoch, self._position = place
        self._converter.fixed = fixed
        self._last = last or None
