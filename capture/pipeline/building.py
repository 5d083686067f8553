"""Building a pipeline: its graph compiled, its sources opened, its threads and memory there."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from gradiva.capture.compiler.optimize import optimise
from gradiva.capture.graph.graph import Graph
from gradiva.capture.runtime.gpu_streams import DeviceStage, require_gpu
from gradiva.capture.runtime.memory_statistics import MemoryStatistics
from gradiva.capture.runtime.preallocate import presize
from gradiva.capture.runtime.program import Program
from gradiva.eager.random.default_generator import default
from gradiva.eager.runtime.affinity import thread_cpus
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.support.errors import OperatorRuntimeError, blaming
from gradiva.eager.support.lazy_import import lazy_module

from .checkpoint import Restored, read_checkpoint
from .definition import Definition
from .executor import Executor
from .run_api import check_types
from .source_plan import Plan

if TYPE_CHECKING:
    from gradiva.eager.workers.pool import ProcessPool

__all__ = ["Building"]

# They are for few programs: the import of gradiva does not wait for them.
processes = lazy_module("gradiva.eager.workers.pool")


class Building(Definition):
    """The part of `Pipeline` between its definition and its first batch."""

    def _initialise(self) -> None:
        super()._initialise()
        self._executor: Executor | None = None
        self._processes: ProcessPool | None = None
        self._restored: Restored | None = None
        if self._options.checkpoint is not None:
            with blaming("Pipeline"):
                self._restored = read_checkpoint(self._options.checkpoint)
        self._build_lock = threading.RLock()
        self._building = False

    def build(self, define_graph: Any = None) -> None:
        """Compile the graph and open its sources. `run` does it if it was not done.

        define_graph: a function that calls operators and returns the outputs, instead of the
        method of that name. Raises GradivaError for a graph or arguments that make no sense.
        """
        with self._build_lock:
            if self._executor is not None:
                return
            if self._building:
                with blaming("Pipeline.build"):
                    raise OperatorRuntimeError(
                        "the pipeline is being built: there is no data, and nothing to be known "
                        "about it, until its graph is defined"
                    )
            self._building = True
            try:
                self._build(define_graph)
            except BaseException:
                # Nobody will use what was started, and `build` may be called again.
                if self._processes is not None:
                    self._processes.close()
                    self._processes = None
                raise
            finally:
                self._building = False

    def _build(self, define_graph: Any) -> None:
        if define_graph is not None:
            self._require_undefined()
            self._define(define_graph, getattr(define_graph, "__qualname__", "define_graph"))
        batch_size = self.batch_size
        recorded = self._recorded()
        check_types(self._declared(), [edge.node.type[edge.output] for edge in recorded.outputs])
        restored, seed = self._restored, self.seed
        if restored is not None:
            with blaming("Pipeline"):
                restored.check(recorded, batch_size, seed)
            seed = restored.seed
        program = Program(recorded)
        on_gpu = require_gpu(recorded, self._gpu, program.locate)
        graph = optimise(recorded)
        plan = self._plan(graph, on_gpu, default.inherited_seed if seed is None else seed)
        with blaming("Pipeline"):
            ended = restored.put_into(plan) if restored is not None else False
        if self._options.enable_checkpointing:
            plan.marks.begin()
        threaded = self.exec_async and self.exec_pipelined
        depth = self.gpu_queue_size if on_gpu else self.cpu_queue_size
        self._executor = Executor(plan, depth, threaded)
        self._executor.begin_at(ended)
        self._graph = graph

    def _stage(self) -> DeviceStage:
        """The streams of this pipeline on its GPU. Batches take turns on two of them, so that one
        is copied while another is computed."""
        single = self.max_streams == 1
        priority = self.default_cuda_stream_priority
        return DeviceStage(self._gpu, self.gpu_queue_size, 1 if single else 2, priority)

    def _plan(self, graph: Graph, on_gpu: bool, seed: int) -> Plan:
        """The sources opened, and the threads and memory that the options ask for."""
        threads = self.num_threads
        stage = self._stage() if on_gpu else None
        hint, depth = self._options.bytes_per_sample, self.cpu_queue_size
        presize(graph, self.batch_size, hint, depth, stage)
        cpus = thread_cpus(threads) if self.set_affinity else None
        pool = WorkerPool(threads, cpus=cpus)
        if any(node.attribute("parallel") for node in graph.nodes):
            options = self._options
            self._processes = processes.ProcessPool(
                options.py_num_workers, options.py_start_method, None, options.py_callback_pickler
            )
        plan = Plan(graph, self.batch_size, seed, pool, self._processes, stage)
        if self.enable_memory_stats:
            plan.program.statistics = MemoryStatistics(graph)
        return plan

    def start_py_workers(self) -> None:
        """Start the processes of parallel external sources now, before other threads. `build`
        does it if it was not done; it starts no thread either."""
        self.build()

    def _built(self) -> Executor:
        if self._executor is None:
            self.build()
        assert self._executor is not None
        return self._executor
