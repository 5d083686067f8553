"""`DALIServer`: makes the batches that stand in for outputs of its pipeline."""

from __future__ import annotations

import threading
from types import FunctionType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from gradiva.capture.pipeline.feed_input import queue_sources
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.eager.support.errors import (
    OperatorRuntimeError,
    OperatorTypeError,
    annotate_error,
    describe,
    user_location,
)
from gradiva.eager.support.shared_state import LiveObjects

from .proxy_ahead import Ahead
from .proxy_calls import DALIOutputBatchRef, DALIOutputSampleRef, Proxy, Run, register

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["DALIServer"]


class DALIServer:
    """Runs a pipeline in the main process for the workers of a DataLoader.

    A data set calls `proxy` on its samples, as a transform; what it returns is collated into
    batches in the workers, and `DataLoader` of this module, or `produce_data`, puts the outputs of
    the pipeline in their place, as torch tensors.

    pipeline: its inputs are external sources without a source, best with names. deterministic:
    accepted; batches always are made in the order in which the DataLoader hands them out, so a run
    can be repeated. Raises OperatorTypeError for what is no pipeline, OperatorRuntimeError for one
    without inputs.
    """

    def __init__(self, pipeline: Pipeline, deterministic: bool = False) -> None:
        if not isinstance(pipeline, Pipeline):
            raise OperatorTypeError(
                operator="DALIServer",
                argument="pipeline",
                expected="a Pipeline",
                got=describe(pipeline),
                location=user_location(),
            )
        pipeline.build()
        names = [
            f"{name}[{output}]" if source.num_outputs > 1 else name
            for name, source in queue_sources(pipeline._built().plan).items()
            for output in range(source.num_outputs)
        ]
        if not names:
            raise OperatorRuntimeError(
                "the pipeline has no input: no external source without a source",
                operator="DALIServer",
                location=user_location(),
            )
        self._pipeline = pipeline
        self._proxy = Proxy(names, pipeline.num_outputs)
        self._lock = threading.Lock()
        self._loops: LiveObjects[Ahead] = LiveObjects()

    @property
    def proxy(self) -> Proxy:
        """What stands for the pipeline in a data set: called with a sample, or with one for each
        input by its name."""
        register()
        return self._proxy

    def produce_data(self, obj: Any) -> Any:
        """The same object with tensors in place of what stands for outputs, wherever in lists,
        tuples, dicts and attributes these are. All but tuples are changed in place. Raises
        GradivaError for a batch that the pipeline cannot make."""
        return _Replacing(self).of(obj)

    def start_thread(self) -> None:
        """Nothing: loops over a `DataLoader` have threads of their own."""

    def stop_thread(self) -> None:
        """End the loops over each `DataLoader` of this server."""
        for loop in self._loops.members():
            loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop_thread()

    def _follow(self, loop: Ahead) -> None:
        """End this loop when the server stops."""
        self._loops.add(loop)

    def _results(self, run: Run) -> tuple[Any, ...]:
        """The outputs of a run, made once."""
        with self._lock:
            if run.results is None:
                inputs = {name: packed.arrays() for name, packed in run.inputs.items()}
                with annotate_error("DALIServer"):
                    run.results = tuple(output.torch() for output in self._pipeline.run(**inputs))
            return run.results


class _Replacing:
    """Puts results in place of what stands for them; each object is visited once."""

    def __init__(self, server: DALIServer) -> None:
        self._server = server
        self._seen: dict[int, tuple[Any, Any]] = {}

    def of(self, value: Any) -> Any:
        known = self._seen.get(id(value))
        if known is not None:
            return known[1]
        self._seen[id(value)] = value, value
        made = self._made(value)
        self._seen[id(value)] = value, made
        return made

    def _made(self, value: Any) -> Any:
        if isinstance(value, DALIOutputSampleRef):
            return self._server._results(Run.of([value.call]))[value.output][0]
        if isinstance(value, DALIOutputBatchRef):
            result = self._server._results(value.run)[value.output]
            return result[0] if value.single else result
        if isinstance(value, list):
            value[:] = [self.of(item) for item in value]
        elif isinstance(value, dict):
            for key, item in list(value.items()):
                value[key] = self.of(item)
        elif isinstance(value, tuple):
            items = [self.of(item) for item in value]
            if any(one is not other for one, other in zip(items, value, strict=True)):
                return value._make(items) if hasattr(value, "_make") else type(value)(items)
        elif not isinstance(value, type | ModuleType | FunctionType):
            for name, item in list(getattr(value, "__dict__", {}).items()):
                made = self.of(item)
                if made is not item:
                    setattr(value, name, made)
        return value
