"""Running a pipeline: `run`, the scheduled calls, feeding, and the end of the data."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from gradiva.eager.runtime.closer import Closer, closer
from gradiva.eager.runtime.memory_settings import settings
from gradiva.eager.support.errors import OperatorRuntimeError, blaming, frameless
from gradiva.eager.types.device import require_device
from gradiva.eager.values.poison import lend, poison

from .building import Building
from .epochs import Epochs
from .executor import Executor
from .feed_input import feed
from .run_api import ApiCheck, PipelineAPIType, check_types
from .tensor_list import TensorListCPU, TensorListGPU, handed_out

__all__ = ["Outputs", "Running"]

Outputs = tuple[TensorListCPU | TensorListGPU, ...]

_NO_STREAM = (None, 0, -1)


class Running(Building):
    """The part of `Pipeline` that makes batches."""

    def _initialise(self) -> None:
        super()._initialise()
        self._apis = ApiCheck()
        self._scheduled = 0
        """Batches that were scheduled and not yet shared."""
        self._shared: deque[Outputs] = deque()
        """Batches that were shared and not yet released."""
        self._in_use: Outputs = ()
        self._set_up = self._taken = 0
        """Batches that `iter_setup` prepared, and that were handed out, since the last reset."""
        self._setup_ended = False

    @frameless
    def run(self, cuda_stream: object = None, /, **pipeline_inputs: Any) -> Outputs:
        """The next batch of each output.

        pipeline_inputs: batches for external sources without a source, by their names: what
        `feed_input` takes. The batches of a call stay as they are for as long as they are held;
        scripts for other libraries rely on that until the next call only.

        Raises StopIteration at the end of the data (then call `reset`). Raises GradivaError if a
        sample of this batch failed; the next call goes on with the next batch.
        """
        executor = self._built_for(cuda_stream)
        self._apis.use(PipelineAPIType.BASIC)
        if pipeline_inputs:
            feed(executor.plan, pipeline_inputs, None)
        self._prepare()
        _release(self._in_use)
        outputs = self._follow_by(cuda_stream, self._take(executor))
        # Held only to be poisoned: else it is the user's alone, for as long as it is wanted.
        self._in_use = outputs if settings.poison else ()
        return outputs

    @frameless
    def _run_for(self, kind: PipelineAPIType, most: int | None = None) -> Outputs:
        """The next batch, for an iterator; most: of the first so many of its samples, of which
        some may have been left out."""
        executor = self._built()
        self._apis.use(kind)
        self._prepare()
        outputs = self._take(executor)
        if most is None:
            return outputs
        rows = np.arange(len(outputs[0])) if executor.rows is None else executor.rows
        kept = np.flatnonzero(rows < most).tolist()
        return tuple(handed_out(batch.select(kept)) for batch in outputs)

    @frameless
    def _look(self, kind: PipelineAPIType) -> None:
        """Wait for the first batch, for an iterator, without taking it."""
        executor = self._built()
        self._apis.use(kind)
        if type(self).iter_setup is Running.iter_setup:
            executor.look()

    def _begun_at(self) -> int:
        """How many batches were made before the checkpoint that this pipeline goes on from."""
        executor = self._built()
        return 0 if self._restored is None or executor.started else executor.plan.iteration

    def _follow(self, epochs: Epochs) -> None:
        """Let batches end with the epochs of a reader."""
        executor = self._built()
        if executor.started:
            raise OperatorRuntimeError(
                "the pipeline was run before: its batches do not end with the reader's epochs; "
                "make a new pipeline for the iterator"
            )
        executor.plan.epochs = epochs

    @frameless
    def schedule_run(self) -> None:
        """Ask for one more batch, without waiting for it: `share_outputs` hands it out, or raises
        StopIteration where the data have ended."""
        self._built()
        self._apis.use(PipelineAPIType.SCHEDULED)
        try:
            self._prepare()
        except StopIteration:
            return  # `share_outputs` says so where the batch is missing
        self._scheduled += 1

    @frameless
    def share_outputs(self, cuda_stream: object = None) -> Outputs:
        """Wait for the next batch that was scheduled. It is in use until `release_outputs`.

        Raises what `run` raises; OperatorRuntimeError if no batch was scheduled.
        """
        executor = self._built_for(cuda_stream)
        self._apis.use(PipelineAPIType.SCHEDULED)
        if not self._scheduled:
            if self._setup_ended:
                raise StopIteration
            with blaming("Pipeline.share_outputs"):
                raise OperatorRuntimeError(
                    "no batch is under way: call schedule_run before each share_outputs"
                )
        try:
            outputs = self._take(executor)
        except StopIteration:
            self._scheduled = 0
            raise
        except BaseException:
            self._scheduled -= 1
            raise
        self._scheduled -= 1
        self._shared.append(outputs)
        return self._follow_by(cuda_stream, outputs)

    def release_outputs(self) -> None:
        """Give back the batch that was shared first; without effect if there is none."""
        self._built()
        self._apis.use(PipelineAPIType.SCHEDULED)
        if self._shared:
            _release(self._shared.popleft())

    @frameless
    def outputs(self, cuda_stream: object = None) -> Outputs:
        """`release_outputs`, then `share_outputs`."""
        self.release_outputs()
        return self.share_outputs(cuda_stream)

    def _built_for(self, cuda_stream: object) -> Executor:
        """Build, for a caller who names a CUDA stream: that is for pipelines on a GPU, but the
        default one is no wish. Raises OperatorRuntimeError."""
        executor = self._built()
        if cuda_stream not in _NO_STREAM and executor.plan.stage is None:
            with blaming("Pipeline"):
                require_device(self._gpu)
        return executor

    def _follow_by(self, cuda_stream: Any, outputs: Outputs) -> Outputs:
        """Let what the stream is given from now on come after the work on these outputs."""
        stage = self._built().plan.stage
        if not (cuda_stream is None or cuda_stream == -1) and stage is not None:
            with blaming("Pipeline"):
                stage.precede(cuda_stream, outputs)
        return outputs

    def _take(self, executor: Executor) -> Outputs:
        if self._setup_ended and self._taken >= self._set_up:
            raise StopIteration
        try:
            batches = executor.get()
        except StopIteration:
            raise
        except BaseException:
            self._taken += 1
            raise
        self._taken += 1
        check_types(self._declared(), [batch.type for batch in batches])
        return tuple(handed_out(lend(batch)) for batch in batches)

    def _prepare(self) -> None:
        """Let the user's `iter_setup` feed: for as many batches as are made ahead, at first."""
        if type(self).iter_setup is Running.iter_setup:
            return
        wanted = 1 if self._set_up else self.cpu_queue_size
        for _ in range(0 if self._setup_ended else wanted):
            try:
                self.iter_setup()
            except StopIteration:
                self._setup_ended = True
                break
            self._set_up += 1
        if self._setup_ended and self._taken + self._scheduled >= self._set_up:
            raise StopIteration

    def iter_setup(self) -> None:
        """For subclasses: called once for each batch, before it is made; feeds inputs, usually.

        Raises StopIteration where there is no more data.
        """

    @frameless
    def feed_input(
        self,
        data_node: Any,
        data: Any,
        layout: str | None = None,
        cuda_stream: object = None,
        use_copy_kernel: bool = False,
    ) -> None:
        """Feed the next batch of an external source that has no source of its own.

        data_node: the symbol that `external_source` returned, or its name (`name[1]` for the
        second of several outputs). data: an array with a leading batch axis, a list of arrays, a
        Batch, or an object with DLPack; at most `batch_size` samples; copied, unless the source
        has `no_copy`. layout: of a sample; by default that of the source, or of `data`. Batches
        may be fed ahead: they wait in a queue. use_copy_kernel: has no meaning on the CPU.

        Raises OperatorValueError for an unknown name or too many samples, OperatorTypeError for
        another dtype or rank than was declared or fed before; then nothing was fed.
        """
        feed(self._built_for(cuda_stream).plan, [(data_node, data)], layout)

    def input_feed_count(self, input_name: str) -> int:
        """How many batches may be fed before the first run, to fill the queue."""
        self._built()
        return self.cpu_queue_size

    def enable_api_check(self, enable: bool) -> None:
        """Whether mixing `run` with `schedule_run`, `share_outputs` and `release_outputs`, or with
        an iterator of a framework, raises. It does by default; without it, each call goes on
        with the next batch."""
        self._apis.enabled = bool(enable)

    def __iter__(self) -> Iterator[Outputs]:
        """Batches until the end of the data; endless for readers."""
        while True:
            try:
                batches = self.run()
            except StopIteration:
                self.reset()
                return
            yield batches

    def reset(self) -> None:
        """Go to the start of the data again, after its end was reached."""
        if self._executor is None:
            return
        if self._executor.reset() or (self._setup_ended and self._taken >= self._set_up):
            self._setup_ended = False
            self._set_up = self._taken = self._scheduled = 0

    def empty(self) -> bool:
        """Whether no batch is scheduled, or ready and not yet handed out."""
        if self._apis.used is PipelineAPIType.SCHEDULED:
            return self._scheduled == 0
        return self._executor is None or not self._executor.waiting()

    def close(self) -> None:
        """Stop the threads and let go of the memory. Done at the latest when the object goes."""
        self._shared.clear()
        if self._executor is not None:
            self._executor.close()

    def __del__(self, closer: Closer = closer) -> None:
        executor = getattr(self, "_executor", None)
        # At the end of the process it is closed already.
        if executor is not None and not executor._closed:
            # Not long: a callback that never returns must not hold up the closing of others.
            closer.post(executor.close, 1.0)


def _release(outputs: Outputs) -> None:
    for batch in outputs:
        poison(batch)
