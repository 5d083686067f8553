"""`pipeline_def` and `Pipeline`: a captured function as an asynchronous, prefetching pipeline."""

from __future__ import annotations

import functools
import inspect
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypedDict, overload

from gradiva.eager.batch import Batch
from gradiva.eager.dynamic import as_seed
from gradiva.eager.errors import (
    GradivaError,
    OperatorTypeError,
    OperatorValueError,
    blaming,
    user_location,
)
from gradiva.eager.operator import interpreter
from gradiva.eager.processes.pool import ProcessPool
from gradiva.eager.rng import get_default_rng
from gradiva.eager.threads import WorkerPool, default_num_threads

from .compiler import optimise
from .executor import Executor, Plan
from .graph import Graph
from .node import DataNode
from .timeline import Timeline, record_timeline
from .tracer import Recorder

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Pipeline", "PipelineFactory", "PipelineOptions", "pipeline_def"]

P = ParamSpec("P")

_CPU_ONLY = -99999


class PipelineOptions(TypedDict, total=False):
    """Keyword arguments of `Pipeline`."""

    batch_size: int
    num_threads: int
    device_id: int | None
    seed: int | None
    exec_pipelined: bool
    prefetch_queue_depth: int
    exec_async: bool
    py_num_workers: int
    py_start_method: str
    py_callback_pickler: Any


class Pipeline:
    """A graph of operators that runs again and again, ahead of the user.

    batch_size: samples per batch, at most (a source may deliver fewer).
    num_threads: threads that work on a batch; by default the cores this process may use.
    device_id: None (the default) for the CPU; this version has no GPU backend.
    seed: of random operators and readers that have none of their own; negative or None takes the
    seed of the default generator, so that the pipeline agrees with dynamic mode.
    exec_pipelined, exec_async: False for either runs the graph in the caller's thread, when asked.
    prefetch_queue_depth: batches that are made ahead.
    py_num_workers: processes for the external sources that are `parallel`; 0 for none, then they
    work in a thread. py_start_method: "fork", "spawn" or "forkserver". py_callback_pickler: for the
    last two, a module with `dumps` and `loads`, or a tuple of it and keyword arguments for both.

    Raises OperatorValueError or OperatorTypeError for arguments that make no sense. Usually made
    by a function decorated with `pipeline_def`; by hand: `with pipe: pipe.set_outputs(...)`.
    """

    def __init__(
        self,
        batch_size: int = -1,
        num_threads: int | None = None,
        device_id: int | None = None,
        seed: int | None = -1,
        exec_pipelined: bool = True,
        prefetch_queue_depth: int = 2,
        exec_async: bool = True,
        *,
        py_num_workers: int = 1,
        py_start_method: str = "fork",
        py_callback_pickler: Any = None,
    ) -> None:
        self._batch_size = _positive("batch_size", batch_size)
        self._num_threads = (
            default_num_threads()
            if num_threads in (None, -1)
            else _positive("num_threads", num_threads)
        )
        if device_id not in (None, -1, _CPU_ONLY):
            raise OperatorValueError(
                "this version of gradiva has no GPU backend",
                operator="Pipeline",
                argument="device_id",
                expected="None",
                got=repr(device_id),
            )
        self._prefetch_queue_depth = _positive("prefetch_queue_depth", prefetch_queue_depth)
        self._exec_pipelined = bool(exec_pipelined)
        self._exec_async = bool(exec_async)
        with blaming("Pipeline"):
            self._seed = as_seed(seed)
        self._processes = ProcessPool(py_num_workers, py_start_method, None, py_callback_pickler)
        self._recorder = Recorder("pipeline")
        self._recording: list[AbstractContextManager[None]] = []
        self._outputs: tuple[DataNode, ...] | None = None
        self._graph: Graph | None = None
        self._executor: Executor | None = None
        self._build_lock = threading.Lock()

    @property
    def batch_size(self) -> int:
        return self._batch_size

    max_batch_size = batch_size

    @property
    def num_threads(self) -> int:
        return self._num_threads

    @property
    def device_id(self) -> int | None:
        return None

    @property
    def seed(self) -> int | None:
        """The seed that was given, or None."""
        return self._seed

    @property
    def exec_pipelined(self) -> bool:
        return self._exec_pipelined

    @property
    def exec_async(self) -> bool:
        return self._exec_async

    @property
    def prefetch_queue_depth(self) -> int:
        return self._prefetch_queue_depth

    @property
    def graph(self) -> Graph:
        """The graph as it was recorded, or, once built, as it was compiled."""
        if self._graph is None:
            if self._outputs is None:
                self._define()
            assert self._outputs is not None
            return self._recorder.finish(self._outputs)
        return self._graph

    def __enter__(self) -> Pipeline:
        """Record the operators called in the block into this pipeline."""
        self._require_unbuilt()
        block = interpreter(self._recorder)
        block.__enter__()
        self._recording.append(block)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._recording.pop().__exit__(kind, error, trace)

    def define_graph(self) -> Any:
        """For subclasses: call operators and return the outputs."""
        raise OperatorTypeError(
            "the pipeline has no outputs: call set_outputs, override define_graph, or use "
            "pipeline_def",
            operator="Pipeline",
        )

    def set_outputs(self, *output_data_nodes: Any) -> None:
        """Make these symbols (or constants) the outputs. Raises OperatorTypeError."""
        self._require_unbuilt()
        try:
            self._outputs = tuple(
                self._recorder.symbol(value, index) for index, value in enumerate(output_data_nodes)
            )
        except GradivaError as error:
            raise error.complete(operator="Pipeline", location=user_location()) from None

    def _require_unbuilt(self) -> None:
        if self._executor is not None:
            raise OperatorTypeError(
                "the pipeline was built: its graph is fixed", operator="Pipeline"
            )

    def _define(self) -> None:
        with self:
            outputs = self.define_graph()
        self.set_outputs(*outputs if isinstance(outputs, tuple | list) else (outputs,))

    def build(self) -> None:
        """Compile the graph and open its sources. `run` does it if it was not done."""
        with self._build_lock:
            if self._executor is not None:
                return
            if self._outputs is None:
                self._define()
            assert self._outputs is not None
            self._graph = optimise(self._recorder.finish(self._outputs))
            seed = get_default_rng().seed if self._seed is None else self._seed
            plan = Plan(
                self._graph, self._batch_size, seed, WorkerPool(self._num_threads), self._processes
            )
            threaded = self._exec_async and self._exec_pipelined
            self._executor = Executor(plan, self._prefetch_queue_depth, threaded)

    @property
    def py_num_workers(self) -> int:
        return self._processes.count

    @property
    def py_start_method(self) -> str:
        return self._processes.method

    def start_py_workers(self) -> None:
        """Start the processes of parallel external sources now, before other threads. `build`
        does it if it was not done; it starts no thread either."""
        self.build()

    def external_source_shm_statistics(self) -> dict[str, list[int]]:
        """Sizes in bytes of the shared memory of parallel external sources: `capacities`, one for
        each place for a result, and `per_sample_capacities`, those by the samples they hold."""
        return self._processes.statistics()

    def _built(self) -> Executor:
        if self._executor is None:
            self.build()
        assert self._executor is not None
        return self._executor

    def run(self) -> tuple[Batch, ...]:
        """The next batch of each output.

        Raises StopIteration at the end of the data (then call `reset`). Raises GradivaError if a
        sample of this batch failed; the next call goes on with the next batch.
        """
        return self._built().get()

    def __iter__(self) -> Iterator[tuple[Batch, ...]]:
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
        if self._executor is not None:
            self._executor.reset()

    def trace(self, path: str | os.PathLike[str] | None = None, batches: int = 10) -> Timeline:
        """Run for some batches, throw them away, and return what happened when in which thread.

        path: where to write it as JSON for https://ui.perfetto.dev or chrome://tracing.
        batches: how many to see being made; batches that were ready before are taken in addition.
        It ends earlier, and the pipeline is reset, where the data ends. Raises what `run` raises;
        OperatorValueError for a `path` that cannot be written; OperatorRuntimeError while another
        trace is being recorded. Tracing changes no bit of any batch.
        """
        timeline = record_timeline(self._built(), _positive("batches", batches))
        if timeline.ended:
            self.reset()
        if path is not None:
            timeline.save(path)
        return timeline

    def empty(self) -> bool:
        """Whether no batch is ready."""
        return self._executor is None or not self._executor.waiting()

    def epoch_size(self, name: str | None = None) -> Any:
        """Samples per epoch: of the reader `name`, or a dict of all readers by name."""
        sizes = {key: meta["epoch_size"] for key, meta in self.reader_meta().items()}
        return sizes if name is None else _of(sizes, name)

    def reader_meta(self, name: str | None = None) -> Any:
        """epoch_size, epoch_size_padded, number_of_shards, shard_id, pad_last_batch and
        stick_to_shard: of the reader `name`, or a dict of all readers by name."""
        plan = self._built().plan
        metas: dict[str, dict[str, int]] = {}
        for node, source in plan.sources.items():
            meta = source.meta()
            if meta is not None:
                key = base = plan.graph.names.get(node) or node.operator.name
                number = 1
                while key in metas:
                    number += 1
                    key = f"{base}_{number}"
                metas[key] = meta
        return metas if name is None else _of(metas, name)

    def close(self) -> None:
        """Stop the threads and let go of the memory. Done at the latest when the object goes."""
        if self._executor is not None:
            self._executor.close()

    def __del__(self) -> None:
        executor = getattr(self, "_executor", None)
        if executor is not None:
            # Not long: a callback that never returns must not hold up whoever let the object go.
            executor.close(timeout=1.0)

    def __repr__(self) -> str:
        state = "built" if self._executor is not None else "not built"
        return f"<Pipeline, batch_size={self.batch_size}, {state}>"


def _of(values: dict[str, Any], name: str) -> Any:
    try:
        return values[name]
    except KeyError:
        raise OperatorValueError(
            operator="Pipeline",
            argument="name",
            expected=f"the name of a reader ({', '.join(values) or 'there is none'})",
            got=repr(name),
        ) from None


def _positive(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise OperatorValueError(
            operator="Pipeline", argument=name, expected="a positive integer", got=repr(value)
        )
    return value


_OPTIONS = frozenset(inspect.signature(Pipeline).parameters)


class PipelineFactory(Generic[P]):
    """A graph-defining function turned into a maker of pipelines.

    Called with the function's arguments and with keyword arguments of `Pipeline`, which override
    those given to the decorator. An argument of the function hides a pipeline argument of its name.
    """

    __name__: str

    def __init__(self, function: Callable[P, Any], options: dict[str, Any]) -> None:
        parameters = inspect.signature(function).parameters
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            raise OperatorTypeError(
                f"{function.__qualname__} takes **{list(parameters)[-1]}: name its arguments, so "
                "that those of the pipeline can be told from them",
                operator="pipeline_def",
                location=user_location(),
            )
        unknown = [name for name in options if name not in _OPTIONS]
        if unknown:
            raise OperatorTypeError(
                f"there is no argument `{unknown[0]}`",
                operator="pipeline_def",
                location=user_location(),
            )
        self.function = function
        self.options = options
        self._own = frozenset(parameters)
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Pipeline:
        options = dict(self.options)
        for name in list(kwargs):
            if name in _OPTIONS and name not in self._own:
                options[name] = kwargs.pop(name)
        pipe = Pipeline(**options)
        pipe._recorder._builder.title = self.function.__name__
        with pipe:
            outputs = self.function(*args, **kwargs)
        if isinstance(outputs, dict | set | str) or outputs is None:
            raise OperatorTypeError(
                f"{self.function.__qualname__} must return its outputs: a symbol or a tuple",
                operator="pipeline_def",
                expected="a symbol or a tuple of symbols",
                got=type(outputs).__name__,
            )
        pipe.set_outputs(*outputs if isinstance(outputs, tuple | list) else (outputs,))
        return pipe


@overload
def pipeline_def(fn: Callable[P, Any]) -> PipelineFactory[P]: ...
@overload
def pipeline_def(
    fn: None = None, **pipeline_kwargs: Unpack[PipelineOptions]
) -> Callable[[Callable[P, Any]], PipelineFactory[P]]: ...
def pipeline_def(fn: Any = None, **pipeline_kwargs: Any) -> Any:
    """Turn a function that calls operators into a maker of pipelines.

    The function is called once per pipeline, while its calls are recorded; what it returns are the
    outputs. Keyword arguments are those of `Pipeline`.
    """
    if fn is None:
        return lambda function: PipelineFactory(function, pipeline_kwargs)
    if not callable(fn):
        raise OperatorTypeError(
            operator="pipeline_def", expected="a function", got=repr(fn), location=user_location()
        )
    return PipelineFactory(fn, pipeline_kwargs)
