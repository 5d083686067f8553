"""Reads the source of a loop ahead of the loop, and runs the loop's program on the batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from gradiva.capture.runtime.prefetch import Item, Prefetch
from gradiva.eager.execution.quarantine import Quarantined, collecting
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.support.errors import GradivaError, without_frames
from gradiva.eager.values.batch import Batch
from gradiva.ops.readers.core.loop_data import DescribedSource
from gradiva.ops.readers.core.read_ahead import ReadAhead
from gradiva.ops.readers.core.source import Names

_DEPTH = 3
"""The number of steps that are read or computed, and not delivered."""


class LoopSource(Protocol):
    """What a captured loop reads: a reader or an external source, one batch at a time."""

    name: str
    pool: WorkerPool | None
    """The number of threads that the user has chosen."""
    memory: dict[str, Any]
    """What the loops over this source leave for the next loop."""
    ahead: ReadAhead
    """What is read ahead, for any loop over this source."""
    names: Names
    """The names of the outputs, if users get them by name, or their arrangement."""

    @property
    def described(self) -> DescribedSource | None:
        """The reader behind it, if it is one."""

    @property
    def any_thread(self) -> bool:
        """Whether `read` may be called by a different thread each time."""

    def read(self) -> tuple[Batch, ...]:
        """The next batches. Raises StopIteration at the end."""

    def count(self) -> int | None:
        """How many batches the loop delivers, or None where that is not known."""

    def mark(self) -> Any:
        """The current position in the data."""

    def rewind(self, mark: Any, undelivered: list[Any]) -> None:
        """Go back to a position. `undelivered` was read since then and is to be read again."""

    def claim(self) -> None:
        """Called when a loop takes a batch."""


class StepItem(Item):
    """One step: what was read, and what was computed from it.

    mark: the place in the data before it; known, results: the calls that were
    computed, by signature, and those of their values that were kept; read: the values, as signature
    and output, that one of these calls reads; shared: the calls whose values lie in memory of
    others; failure: why there are none; valid, dropper: the mask of the samples that are left where
    the call with this signature has lost others: the results that depend on it have it, too;
    noted: samples that could not be read, for the quarantine of who takes the item.
    """

    def __init__(self, mark: Any, number: int = 0) -> None:
        super().__init__(number)
        self.mark = mark
        self.batches: tuple[Batch, ...] = ()
        self.known: frozenset[int] = frozenset()
        self.results: dict[int, tuple[Batch, ...]] = {}
        self.read: frozenset[tuple[int, int]] = frozenset()
        self.shared: set[int] = set()
        self.failure: str | None = None
        self.valid: Any = None
        self.dropper = 0
        self.noted: list[Sequence[Quarantined]] = []


class Prefetcher(Prefetch[StepItem]):
    """Reads the steps of a loop in advance, and runs its program on them. Two threads do that, in
    turns; a source that wants one thread is read by one, and others compute.

    compute: called with an item and a pool of `num_threads` threads; finish: when it has stopped.
    """

    title = "loop"
    forked = "this loop was begun in the parent process of this fork: begin another one"

    def __init__(
        self,
        source: LoopSource,
        compute: Callable[[StepItem, WorkerPool], None],
        finish: Callable[[], None],
        num_threads: int,
    ) -> None:
        self._source = source
        self._compute_step = compute
        self._finish_steps = finish
        overlaps = num_threads > 1
        alone = not overlaps or not source.any_thread
        readers = ["gradiva-ahead"] if alone else ["gradiva-ahead", "gradiva-ahead-1"]
        runners = ["gradiva-ahead-1", "gradiva-ahead-2"] if overlaps and alone else []
        super().__init__(WorkerPool(num_threads), overlaps, readers, runners, _DEPTH, _DEPTH)

    def new_item(self, number: int) -> StepItem:
        return StepItem(self._source.mark(), number)

    def read(self, item: StepItem) -> None:
        read_item(self._source, item)

    def compute(self, item: StepItem) -> None:
        try:
            self._compute_step(item, self.pool)
        except BaseException as error:  # noqa: BLE001  the step then runs without results from ahead
            item.failure = f"computing this step ahead failed: {error!r}"

    def is_last(self, error: BaseException) -> bool:
        return not isinstance(error, GradivaError)

    def place(self) -> Any:
        """The position in the data before everything that was read ahead."""
        with self.lock:
            return self.items[0].mark if self.items else self._source.mark()

    def stop(self) -> None:
        """Stop, and move the source back to before what was read and not delivered."""
        if self.close(timeout=None) and self.items:
            undelivered = [item.error or item.batches for item in self.items]
            self._source.rewind(self.items[0].mark, undelivered)
            self.items.clear()  # not earlier: others may ask for the position

    def finish(self) -> None:
        self._finish_steps()


def read_item(source: LoopSource, item: StepItem) -> None:
    """Read for a step. An error is kept in the item, for its own step."""
    try:
        with collecting() as noted:
            item.batches = source.read()
        if noted:
            item.noted.append(noted)
    except BaseException as error:  # noqa: BLE001  raised where the item is delivered
        item.error = without_frames(error)
