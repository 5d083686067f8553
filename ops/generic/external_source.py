"""`external_source`: batches from a callable or an iterable of the user's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.arguments import Strings
from gradiva.eager.batch import Batch, as_batch
from gradiva.eager.checkpoint_file import CheckpointError
from gradiva.eager.errors import (
    GradivaError,
    OperatorTypeError,
    OperatorValueError,
    describe,
)
from gradiva.eager.provenance import Provenance
from gradiva.eager.source import Source, source_operator
from gradiva.eager.threads import WorkerPool

from .fed import Fed
from .feed import BatchInfo, Feed, SampleInfo
from .feed_state import feed_state, restore_feed
from .received import Receiver, declared_types, one_size

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.arguments import Common

__all__ = ["external_source"]


@source_operator("external_source")
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
    **common: Unpack[Common],
) -> Any:
    """Take batches from a callable or an iterable.

    source: an iterable or a generator function, whose items are batches; or a callable that
        returns the next batch and raises StopIteration at the end. A callable with an argument is
        told which batch: its number in the epoch, or a BatchInfo with `batch_info=True`.
        A batch is an array with a leading axis, a list of arrays, or a Batch.
        None: the batches are fed by `Pipeline.feed_input`, or given to `Pipeline.run` by name.
    batch: False if the source deals in single samples: a callable gets a SampleInfo for each.
    num_outputs: if given, items are tuples of that many batches (or samples), and a tuple is
        returned.
    cycle: what to do at the end of an iterable: "no" (or None) ends the data; "quiet" (or True)
        starts again; "raise" ends the epoch, and starts again after `reset`.
    layout, dtype, ndim: of the samples, one or one per output. Data of another dtype or rank is an
        error; without `dtype` and `ndim` the first batch fixes them.
    repeat_last: deliver the last batch again where the data has ended.
    blocking: let `run` wait for data that is to be fed, instead of raising OperatorRuntimeError; a
        callable or iterable always is waited for.
    no_copy: use the arrays where they are; the caller must not change them while they are in use.

    Batches may be smaller than the pipeline's batch size, not larger. A checkpoint continues a
    callable with an argument at its number, and whatever has `state_dict()` and
    `load_state_dict(data)` by these; other iterables are started again and run up to their place,
    earlier rounds included; a callable without an argument cannot be continued.

    Raises OperatorRuntimeError, with the callable's own traceback, if it raises; OperatorTypeError
    for data that is no batch.
    """
    if num_outputs is not None and num_outputs < 1:
        raise OperatorValueError(
            argument="num_outputs", expected="at least 1", got=str(num_outputs)
        )
    return tuple(declared_types(num_outputs or 1, layout, dtype, ndim))


@external_source.opens
def open_source(arguments: dict[str, Any], seed: int) -> Source:
    """What stands behind the node: the user's source, or what `Pipeline.feed_input` feeds."""
    return Fed(arguments) if arguments["source"] is None else ExternalFeed(arguments)


class ExternalFeed(Source):
    """The user's source, and how much of it was read."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self._arguments = arguments
        self._feed = Feed(arguments["source"], arguments["cycle"])
        self._count = arguments["num_outputs"] or 1
        self._receiver = Receiver(arguments)
        self._epoch = 0
        self._iteration = 0
        self._in_epoch = 0
        self._position = 0
        self._last: tuple[Batch, ...] | None = None

    def read(self, batch_size: int, pool: WorkerPool) -> tuple[Batch, ...]:
        try:
            items = self._samples(batch_size) if not self._arguments["batch"] else self._whole()
        except StopIteration:
            if self._arguments["repeat_last"] and self._last is not None:
                return self._last
            raise
        except GradivaError:
            if not self._arguments["batch"]:
                # The batch is lost, its samples are not asked for again.
                self._position += batch_size
                self._in_epoch += batch_size
            raise
        finally:
            self._iteration += 1
        batches = tuple(self._receiver.batch(item, index) for index, item in enumerate(items))
        size = one_size(batches, batch_size)
        positions = np.arange(self._position, self._position + size, dtype=np.int64)
        self._position += size
        self._in_epoch += size
        for batch in batches:
            names = batch.provenance.names if batch.provenance else None
            batch.provenance = Provenance(positions, names)
        self._last = batches
        return batches

    def _whole(self) -> tuple[Any, ...]:
        request: Any = self._iteration
        if self._arguments["batch_info"]:
            request = BatchInfo(self._iteration, self._epoch)
        return self._outputs(self._feed.next(request), None)

    def _samples(self, batch_size: int) -> tuple[Any, ...]:
        rows: list[tuple[Any, ...]] = []
        for index in range(batch_size):
            info = SampleInfo(self._in_epoch + index, index, self._iteration, self._epoch)
            try:
                rows.append(self._outputs(self._feed.next(info), index))
            except StopIteration:
                # Callables end an epoch with a whole batch; an iterable ends where it ends.
                if not rows or self._feed.takes_request:
                    raise
                break
            except GradivaError as error:
                raise error.complete(sample=index) from error.__cause__
        return tuple([row[output] for row in rows] for output in range(self._count))

    def _outputs(self, item: Any, sample: int | None) -> tuple[Any, ...]:
        if self._arguments["num_outputs"] is None:
            return (item,)
        if not isinstance(item, tuple | list) or len(item) != self._count:
            got = f"{len(item)} values" if isinstance(item, tuple | list) else describe(item)
            raise OperatorTypeError(
                "the source returned the wrong thing",
                expected=f"a tuple of {self._count} (num_outputs)",
                got=got,
                sample=sample,
            )
        return tuple(item)

    def reset(self) -> None:
        self._feed.restart()
        self._epoch += 1
        self._iteration = 0
        self._in_epoch = 0

    def get_state(self) -> dict[str, Any]:
        state = {
            "epoch": self._epoch,
            "iteration": self._iteration,
            "in_epoch": self._in_epoch,
            "position": self._position,
            "feed": feed_state(self._feed),
            "fixed": self._receiver.get_state(),
        }
        if self._arguments["repeat_last"] and self._last is not None:
            # It may be asked for again, and the source cannot be asked for it.
            state["last"] = [
                [[batch.array(index) for index in range(len(batch))], batch.layout]
                for batch in self._last
            ]
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        """Raises CheckpointError; see `restore_feed`."""
        try:
            place = [int(state[key]) for key in ("epoch", "iteration", "in_epoch", "position")]
            fixed = self._receiver.read_state(state["fixed"])
            last = tuple(
                as_batch(arrays, layout=layout) for arrays, layout in state.get("last", ())
            )
            feed = state["feed"]
            if min(place) < 0 or len(last) not in (0, self._count):
                raise ValueError(f"it has {len(last)} outputs, and stands at {place}")
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise CheckpointError(f"this is not the state of an external source: {error}") from None
        restore_feed(self._feed, feed)
        self._epoch, self._iteration, self._in_epoch, self._position = place
        self._receiver.fixed = fixed
        for batch in last:
            first = self._position - len(batch)
            batch.provenance = Provenance(np.arange(first, self._position, dtype=np.int64))
        self._last = last or None
