"""An external source with `parallel=True`: `ExternalFeed`, whose items come from processes.
What is asked for ahead is what the state of the source says will be asked for: place after place.
Where that turns out wrong (the data has ended, the state was set, a worker died) the requests that
are under way are dropped, and others made. So the order and the meaning of everything is that of
`ExternalFeed`, whatever the number of processes.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from gradiva.eager import extension as op
from gradiva.ops.external_source.workers.launcher import pickled
from gradiva.ops.external_source.workers.pool import ProcessPool
from gradiva.ops.external_source.workers.tasks import BadReplyError, Task, WorkerError

from .external_source import ExternalFeed
from .parallel_work import ExternalWork, Unusable, decode, error_of
from .prefetchable import name_of

_TRIES = 5
_TASKS_PER_WORKER = 2


class _BatchPosition(NamedTuple):
    """What a batch is asked for with. For iterables only `era` and `restarts` tell batches apart:
    how often their end was met, and how often they were started again after that."""

    epoch: int
    iteration: int
    in_epoch: int
    size: int
    era: int
    restarts: int


@dataclass(slots=True)
class _BatchTasks:
    """The tasks of one batch."""

    place: _BatchPosition
    tasks: list[tuple[Task, range]] = field(default_factory=list)


class ParallelFeed(ExternalFeed):
    """The user's source, in processes once it is told which (`employ`)."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        super().__init__(arguments)
        self._processes: ProcessPool | None = None
        self._number = -1
        self._chunks = 1
        self._depth: int = arguments["prefetch_queue_depth"]
        self._stateful = not self._callback.takes_request
        self._ahead: deque[_BatchTasks] = deque()
        self._now = _BatchTasks(_BatchPosition(0, 0, 0, 0, 0, 0))
        self._tries = 0
        self._deadly: int | None = None
        # Of iterables: a new worker repeats `_calls` to get where the last one was.
        self._era = 0
        self._birth = 0

    def employ(self, processes: ProcessPool, batch_size: int) -> None:
        if not processes.count:
            return
        arguments = self._arguments
        # What is in shared memory is copied: its place is used again.
        self._arguments = {**arguments, "no_copy": False}
        chunks = self._chunks
        if not arguments["batch"] and not self._stateful:
            chunks = self._chunks = min(batch_size, _TASKS_PER_WORKER * processes.count)
        packed = None
        if processes.method != "fork":
            source = arguments["source"]
            packed = pickled(source, processes.method, processes.pickler, name_of(source))
        samples = -(-batch_size // chunks)
        slots = (self._depth + 1) * chunks
        work, hint = ExternalWork(arguments, packed), arguments["bytes_per_sample_hint"]
        self._number = processes.add(work, self._stateful, samples, slots, hint)
        self._processes = processes

    def read(self, batch_size: int, pool: op.WorkerPool) -> tuple[op.Batch, ...]:
        if self._processes is None:
            return super().read(batch_size, pool)
        before = (self._epoch, self._iteration, self._in_epoch, self._position)
        try:
            batches = super().read(batch_size, pool)
        except WorkerError as error:
            self._drop(lost=True)
            # The data is to blame only if it is the same sample again and again.
            self._tries = self._tries + 1 if error.sample == self._deadly else 1
            self._deadly = error.sample
            if self._tries >= _TRIES and not self._stateful:
                self._tries = 0
                what, line_break, stack = error.problem.partition("\n")
                raise op.OperatorRuntimeError(
                    f"{what}; this was tried {_TRIES} times, and the batch is lost"
                    f"{line_break}{stack}",
                    sample=error.sample,
                ) from None
            self._epoch, self._iteration, self._in_epoch, self._position = before
            raise op.without_frames(error) from None
        except op.GradivaError as error:
            self._tries = 0
            self._blame(error)
            # The frames hold views on shared memory.
            raise op.without_frames(error) from error.__cause__
        except StopIteration as end:
            raise op.without_frames(end) from None
        finally:
            self._release(self._now)
        self._tries = 0
        return batches

    def _blame(self, error: op.GradivaError) -> None:
        """Say in which process it was."""
        place, at = self._now.place, error.sample
        tasks = [
            task for task, rows in self._now.tasks if at is None or at in rows or self._chunks == 1
        ]
        found = sorted({task.pid for task in tasks if task.pid})
        if found:
            which = ", ".join(str(pid) for pid in found)
            where = f"\n  in worker process {which}, batch {place.iteration} of epoch {place.epoch}"
            if error.expected is None:
                error.problem += where
            else:
                error.got = f"{error.got}{where}"

    def _whole(self) -> tuple[Any, ...]:
        if self._processes is None:
            return super()._whole()
        rows, end = self._rows(1)
        if rows:
            return self._outputs(rows[0], None)
        raise end or StopIteration

    def _samples(self, batch_size: int) -> tuple[Any, ...]:
        if self._processes is None:
            return super()._samples(batch_size)
        found, end = self._rows(batch_size)
        rows = [self._outputs(row, index) for index, row in enumerate(found)]
        if isinstance(end, op.GradivaError):
            raise end.complete(sample=len(rows))
        if end is not None and (not rows or not self._stateful):
            raise end
        return tuple([row[output] for row in rows] for output in range(self._count))

    def _outputs(self, item: Any, sample: int | None) -> tuple[Any, ...]:
        if self._processes is None:
            return super()._outputs(item, sample)
        if isinstance(item, Unusable):
            raise item.error.complete(sample=sample)
        return tuple(item)

    def _batch(self, item: Any, index: int) -> op.Batch:
        if isinstance(item, Unusable):
            raise item.error
        if isinstance(item, list):
            for sample, part in enumerate(item):
                if isinstance(part, Unusable):
                    raise part.error.complete(sample=sample)
        return super()._batch(item, index)

    def _rows(self, size: int) -> tuple[list[Any], Exception | None]:
        """What was returned for the next batch, until something was raised; and that."""
        while True:
            self._ask(self._place(size))
            self._now = self._ahead.popleft()
            found = self._collect()
            if found is not None:
                return found
            # The worker in which the iterable was has ended, before it did any of this.
            self._release(self._now)
            self._drop(lost=True)

    def _collect(self) -> tuple[list[Any], Exception | None] | None:
        """The items of the batch that is being read; None if it must be asked for again."""
        assert self._processes is not None
        rows: list[Any] = []
        for task, _ in self._now.tasks:
            self._processes.wait(task)
            if task.stale:
                return None
            if task.error is not None:
                error, task.error = task.error, None
                raise error
            try:
                end = self._take(task, rows)
            except BadReplyError as error:
                raise op.OperatorRuntimeError(f"the reply cannot be understood: {error}") from None
            if end is not None:
                return rows, end
        return rows, None

    def _take(self, task: Task, rows: list[Any]) -> Exception | None:
        """Add the items of a task to the rows; what ended them early."""
        reply = task.reply
        for why in ("fault", "refused"):
            if why in reply:
                raise op.OperatorRuntimeError(str(reply[why]))
        items, calls = reply.get("items"), reply.get("calls")
        if not isinstance(items, list) or type(calls) is not int:
            raise BadReplyError("no items")
        self._calls[-1] += calls
        for item in items:
            if isinstance(item, list) and len(item) == self._count:
                rows.append([decode(part, task) for part in item])
            else:
                rows.append(decode(item, task))
                if not isinstance(rows[-1], Unusable):
                    raise BadReplyError("a wrong number of outputs")
        if reply.get("error") is not None:
            return error_of(reply["error"])
        if reply.get("stop"):
            if not rows or not self._stateful:
                self._drop(lost=False)
                self._era += 1
            return StopIteration()
        return None

    def _place(self, size: int) -> _BatchPosition:
        if self._stateful:
            return _BatchPosition(
                self._epoch, self._iteration, 0, size, self._era, len(self._calls) - 1
            )
        return _BatchPosition(self._epoch, self._iteration, self._in_epoch, size, 0, 0)

    def _ask(self, place: _BatchPosition) -> None:
        """Have this batch, and those that probably follow, under way."""
        assert self._processes is not None
        if self._ahead and self._differs(self._ahead[0].place, place):
            self._drop(lost=self._ahead[0].place.size != place.size)
        while len(self._ahead) <= self._depth:
            if self._ahead:
                last = self._ahead[-1].place
                place = last._replace(
                    iteration=last.iteration + 1, in_epoch=last.in_epoch + last.size
                )
            birth = self._processes.generation(self._number) if self._stateful else 0
            if birth != self._birth and self._ahead:
                return  # first use what is there of the worker that has ended
            self._ahead.append(self._submit(place, birth))

    def _differs(self, one: _BatchPosition, other: _BatchPosition) -> bool:
        return (one[3:] != other[3:]) if self._stateful else one != other

    def _submit(self, place: _BatchPosition, birth: int) -> _BatchTasks:
        assert self._processes is not None
        made = _BatchTasks(place)
        request: dict[str, Any] = {
            "epoch": place.epoch,
            "iteration": place.iteration,
            "in_epoch": place.in_epoch,
            "era": place.era,
            "epochs": place.restarts,
        }
        if birth != self._birth:
            request["replay"] = list(self._calls)
            self._birth = birth
        what = f"batch {place.iteration} of epoch {place.epoch}"
        bounds = [place.size * chunk // self._chunks for chunk in range(self._chunks + 1)]
        for first, end in pairwise(bounds):
            asked = {**request, "first": first, "count": end - first}
            task = Task(self._number, asked, what, birth)
            made.tasks.append((task, range(first, end)))
            self._processes.submit(task)
        return made

    def _drop(self, lost: bool) -> None:
        """Give up what was asked for ahead. lost: an iterable must go back to where it was."""
        while self._ahead:
            self._release(self._ahead.popleft())
        if lost and self._stateful:
            self._birth = 0

    def _release(self, ahead: _BatchTasks) -> None:
        assert self._processes is not None
        for task, _ in ahead.tasks:
            self._processes.release(task)

    def reset(self) -> None:
        super().reset()
        if self._processes is not None and self._stateful and self._callback.cycle == "raise":
            self._drop(lost=False)

    def _feed_state(self) -> Any:
        return super()._feed_state() if self._processes is None else None

    def _restore_feed(self, feed: Any, calls: list[int]) -> None:
        if self._processes is None:
            super()._restore_feed(feed, calls)
        else:
            # The calls are repeated in a worker; what was asked for ahead is of another place.
            self._drop(lost=True)
