"""The ways to run a pipeline: `run`, iterators, and runs that are scheduled."""

from __future__ import annotations

import enum
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gradiva.eager.support.errors import OperatorRuntimeError, annotate_error, frameless

from .outputs import Outputs, release
from .runtime import PipelineRuntime

if TYPE_CHECKING:
    from .pipeline import Pipeline

__all__ = ["ApiCheck", "PipelineAPIType", "ScheduledRuns"]


class PipelineAPIType(enum.Enum):
    """The ways to run a pipeline, which do not mix: `run`; an iterator of a framework;
    `schedule_run`, `share_outputs` and `release_outputs`."""

    BASIC = 0
    ITERATOR = 1
    SCHEDULED = 2


class ApiCheck:
    """Remembers which way was used first, and refuses the others."""

    def __init__(self) -> None:
        self.enabled = True
        self.used: PipelineAPIType | None = None

    def use(self, kind: PipelineAPIType) -> None:
        """The pipeline is run in this way. Raises OperatorRuntimeError if it was another before."""
        if self.used is None or not self.enabled:
            self.used = kind
        if self.used is not kind:
            with annotate_error("Pipeline"):
                raise OperatorRuntimeError(
                    "the ways to run a pipeline do not mix, because each has its own rule for how "
                    "long outputs live; make a second pipeline, or call enable_api_check(False)",
                    expected=f"calls of the {self.used.name} kind, as before",
                    got=f"one of the {kind.name} kind",
                )


class ScheduledRuns:
    """The batches of `schedule_run`, `share_outputs` and `release_outputs`."""

    def __init__(self) -> None:
        self.scheduled = 0
        """Batches that were scheduled and not yet shared."""
        self.ahead = 0
        """Batches that `_prefetch` has asked for, and that were neither shared nor run since."""
        self._shared: deque[Outputs] = deque()
        """Batches that were shared and not yet released."""

    @property
    def pending(self) -> int:
        """Batches that were asked for, in either way, and not yet shared."""
        return self.scheduled + self.ahead

    def share(self, runtime: PipelineRuntime, cuda_stream: Any) -> Outputs:
        """Wait for the next batch that was scheduled. Raises what `PipelineRuntime.take` raises;
        OperatorRuntimeError if no batch was scheduled."""
        if not self.pending:
            if runtime.setup.ended:
                raise StopIteration
            with annotate_error("Pipeline.share_outputs"):
                raise OperatorRuntimeError(
                    "no batch is under way: call schedule_run before each share_outputs"
                )
        try:
            outputs = runtime.take()
        except StopIteration:
            self.reset()
            raise
        except BaseException:
            self._count_down()
            raise
        self._count_down()
        self._shared.append(outputs)
        runtime.order_stream(cuda_stream, outputs)
        return outputs

    def _count_down(self) -> None:
        if self.ahead:
            self.ahead -= 1
        else:
            self.scheduled -= 1

    def release(self) -> None:
        """The batch that was shared first is not in use any more."""
        if self._shared:
            release(self._shared.popleft())

    def reset(self) -> None:
        """The data begin again: what was scheduled is forgotten."""
        self.scheduled = self.ahead = 0

    def close(self) -> None:
        """Forget the batches that were shared."""
        self._shared.clear()


def prefetch(pipe: Pipeline) -> None:
    """Build, and ask for as many batches as are made ahead: for `run`, or for `share_outputs`
    without a `schedule_run` for each. Iterators that people have written call it."""
    runtime = pipe._built()
    runtime.executor.start()
    with suppress(StopIteration):  # `share_outputs` says so where the batch is missing
        pipe._prepare(runtime)
    pipe._runs.ahead += pipe.cpu_queue_size


@frameless
def schedule_run(pipe: Pipeline) -> None:
    """Ask for one more batch, without waiting for it: `share_outputs` returns it, or raises
    StopIteration where the data have ended."""
    runtime = pipe._built()
    pipe._api_check.use(PipelineAPIType.SCHEDULED)
    try:
        pipe._prepare(runtime)
    except StopIteration:
        return  # `share_outputs` says so where the batch is missing
    pipe._runs.scheduled += 1


@frameless
def share_outputs(pipe: Pipeline, cuda_stream: object = None) -> Outputs:
    """Wait for the next batch that was scheduled. It is in use until `release_outputs`.

    Raises what `run` raises; OperatorRuntimeError if no batch was scheduled.
    """
    runtime = pipe._built()
    runtime.check_stream(cuda_stream)
    pipe._api_check.use(PipelineAPIType.SCHEDULED)
    return pipe._runs.share(runtime, cuda_stream)


def release_outputs(pipe: Pipeline) -> None:
    """Give back the batch that was shared first; without effect if there is none."""
    pipe._built()
    pipe._api_check.use(PipelineAPIType.SCHEDULED)
    pipe._runs.release()


@frameless
def outputs(pipe: Pipeline, cuda_stream: object = None) -> Outputs:
    """`release_outputs`, then `share_outputs`."""
    pipe.release_outputs()
    return pipe.share_outputs(cuda_stream)


def enable_api_check(pipe: Pipeline, enable: bool) -> None:
    """Whether mixing `run` with `schedule_run`, `share_outputs` and `release_outputs`, or with
    an iterator of a framework, raises. It does by default; without it, each call goes on
    with the next batch."""
    pipe._api_check.enabled = bool(enable)
