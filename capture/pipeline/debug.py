"""Debug mode: the function of a pipeline is called for each batch, and its calls run immediately.

Each call is recorded as usual, and its node is run on the batch. So the bits are those of the
compiled graph, and prints, breakpoints and NumPy in the function see data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from gradiva.capture.graph.builtin_ops import parameter, random_key
from gradiva.capture.graph.graph import Edge, Graph, Node
from gradiva.capture.recording.data_node import DataNode, WholeBatch
from gradiva.capture.recording.recorder import Recorder
from gradiva.capture.recording.shared_values import SharedValues
from gradiva.capture.runtime.dropped_samples import BatchOutputs
from gradiva.capture.runtime.program import Outputs, Positions, Program, Values
from gradiva.eager.execution.error_policy import with_mask
from gradiva.eager.execution.quarantine import collecting_in
from gradiva.eager.operators.interpreter import eager_interpreter, interpreter
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.random.default_generator import default
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.support.errors import OperatorRuntimeError, OperatorTypeError, annotate_error
from gradiva.eager.types.device import Device, DeviceLike
from gradiva.eager.values.batch import Batch
from gradiva.ops.indexing.properties import get_property, shapes
from gradiva.ops.readers.core.source import SourceOperator

from .executor import Executor
from .feed_input import feed
from .options import PipelineOptions
from .outputs import to_output
from .pipeline import Pipeline
from .runtime import PipelineRuntime
from .source_plan import Read, SourcePlan

__all__ = ["DebugPipeline"]

_EMPTY = Graph((), (), title="pipeline in debug mode")


class DebugBatch(Batch):
    """What a call returns in debug mode: a batch, with the methods that symbols have."""

    __slots__ = ()

    @property
    def shape(self) -> Any:
        """The shape of each sample. When called, as `shape(dtype=...)`, the same as a batch."""
        return _Shapes(self)

    def __getitem__(self, ranges: Any) -> Any:
        """A part of each sample, as by `slice`."""
        return self.slice[ranges]

    def property(self, key: str, *, device: DeviceLike = "cpu") -> Any:
        """The "source_info" or "layout" of each sample, as a batch; see `get_property`."""
        return get_property.bind((self,), {"key": key, "device": device})

    def get(self) -> Any:
        """The batch as `run` returns it."""
        return to_output(self)


class _Shapes(list[tuple[int, ...]]):
    """The shapes of samples; when called, the same as a batch."""

    def __init__(self, batch: DebugBatch) -> None:
        super().__init__(map(tuple, batch.batch_shape.shapes.tolist()))
        self._batch = batch

    def __call__(self, *, dtype: Any = None, device: DeviceLike = "cpu") -> Any:
        given = {"device": device} if dtype is None else {"device": device, "dtype": dtype}
        return shapes.bind((self._batch,), given)


class DebugRecorder(Recorder):
    """Records the calls for one batch, runs each of them, and returns the resulting batches."""

    symbolic = False

    def __init__(self, plan: DebugPlan, read: Read) -> None:
        super().__init__(plan.title, plan.gpu)
        self.shared_values = SharedValues()
        self._plan = plan
        self._values: Values = {}
        self._size = read.size
        self._read = read.values
        self._positions: dict[Any, Positions] = {None: read.positions[None]}
        self._progress = read.progress
        self._symbols: dict[int, tuple[Batch, DataNode]] = {}
        """Maps what was returned for a symbol back to the symbol, when it is an argument."""
        self._run = 0

    def bind(
        self, operator: OperatorBase, inputs: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        values = (*inputs, *keywords.values())
        if any(isinstance(one, Batch) and len(one) != self._size for one in values):
            with interpreter(eager_interpreter()):  # not a part of the pipeline
                return eager_interpreter().bind(operator, inputs, keywords)
        asked = keywords.get("batch_size")
        if isinstance(asked, int) and asked == self._size:
            keywords = {**keywords, "batch_size": WholeBatch()}
        made = self.record(
            operator,
            tuple(map(self._symbol_of, inputs)),
            {name: self._symbol_of(value) for name, value in keywords.items()},
        )
        return list(map(self.batch_of, made)) if isinstance(made, list) else self.batch_of(made)

    def described(self, node: Node) -> Any:
        """The lines that made a node, its operator, and the name that the user gave."""
        return self._builder.described(node)

    def _symbol_of(self, value: Any) -> Any:
        if not isinstance(value, Batch):
            return value
        if id(value) not in self._symbols:
            symbol = self.parameter(value.type)
            self._values[symbol.edge.node, 0] = value
            self._symbols[id(value)] = value, symbol
        return self._symbols[id(value)][1]

    def output(self, value: Any, index: int) -> Batch:
        """The batch of what the function returned as output `index`. Raises OperatorTypeError."""
        return value if isinstance(value, Batch) else self.batch_of(self.symbol(value, index))

    def batch_of(self, symbol: DataNode) -> Batch:
        """The data of a symbol. Runs the nodes that it depends on."""
        self._catch_up()
        made = self._values[symbol.edge.node, symbol.edge.output]
        batch = DebugBatch.over(made.data, made.batch_shape, made.type, made.provenance)
        self._symbols[id(batch)] = batch, symbol
        return batch

    def _catch_up(self) -> None:
        waiting = self._builder._nodes[self._run :]
        self._run += len(waiting)
        for node in waiting:
            if isinstance(node.operator, SourceOperator):
                self._take(node, node.operator)
            elif node.operator not in (parameter, random_key):
                self._compute(node)

    def _take(self, node: Node, operator: SourceOperator[Any]) -> None:
        read = self._plan.batches_of(node, operator, self, self._read)
        batches = tuple(with_mask(batch, None) for batch in read)
        for output, batch in enumerate(batches):
            self._values[node, output] = batch
        where = batches[0].provenance
        if where is not None:
            self._positions[node] = where.positions
            self._progress = where.progress or self._progress
        self._size = len(batches[0])

    def _compute(self, node: Node) -> None:
        edges = tuple(Edge(node, output) for output in range(len(node.type)))
        lines = {node: self.locations_of(node)}
        program = Program(Graph((node,), edges, lines))
        plan = self._plan
        with plan.pool.pinned():
            outputs, left = program.run_step(
                dict(self._values),
                self._size,
                self._positions,
                plan.seed,
                plan.pool,
                gpu=plan.gpu,
                progress=self._progress,
            )
        if left is not None:
            raise OperatorRuntimeError(
                "it leaves out samples (on_error='skip'), which debug mode cannot",
                operator=node.operator.name,
                location=next(iter(lines[node]), None),
            )
        for edge, batch in zip(edges, outputs, strict=True):
            self._values[edge.node, edge.output] = batch


class DebugPlan(SourcePlan):
    """Makes batches by calling a function. Sources are opened in the first call, and identified by
    their order after that."""

    def __init__(
        self,
        define: Callable[[], Any],
        title: str,
        gpu: Device,
        batch_size: int,
        seed: int,
        pool: WorkerPool,
    ) -> None:
        super().__init__(_EMPTY.with_(()), batch_size, seed, pool)
        self.title = title
        self.gpu = gpu
        self._define = define
        self.fed: dict[str, list[tuple[str, Any, str | None]]] = {}
        """The data that were fed by name before the first batch."""
        self._in_order: list[Node] = []

    @property
    def has_begun(self) -> bool:
        """Whether the sources are known."""
        return bool(self._in_order)

    def compute(self, read: Read) -> Outputs:
        recorder = DebugRecorder(self, read)
        with interpreter(recorder), collecting_in(read.noted):
            made = self._define()
            values = tuple(made) if isinstance(made, tuple | list) else (made,)
            recorder.adopt(values)
            with annotate_error("Pipeline"):
                outputs = tuple(recorder.output(value, index) for index, value in enumerate(values))
        return BatchOutputs.of(outputs, read.noted, read.rows)

    def batches_of(
        self, node: Node, operator: SourceOperator[Any], recorder: DebugRecorder, values: Values
    ) -> Outputs:
        """The data of a source for this batch. In the first batch the source is opened now."""
        number = int(node.attribute("effect"))
        if number == len(self._in_order):
            self._in_order.append(node)
            lines, _, name = recorder.described(node)
            self.graph.locations[node] = lines
            if name is not None:
                self.graph.names[node] = name
            self.sources[node] = source = self._open(node, operator)
            for target, data, layout in self.fed.pop(name or "", ()):
                feed(self, [(target, data)], layout)
            batches = self._read_one(source, self.pool)
            read = {(node, output): batch for output, batch in enumerate(batches)}
            self._progress(read, self.iteration - 1)
            return tuple(read[node, output] for output in range(len(batches)))
        known = self._in_order[number] if number < len(self._in_order) else None
        if known is None or known.operator is not operator:
            raise OperatorTypeError(
                "in debug mode a function calls the same sources, in one order, for each batch",
                operator=operator.name,
            )
        return tuple(values[known, output] for output in range(len(known.type)))


class DebugPipeline(Pipeline):
    """A pipeline whose function runs for each batch, in the thread that asks for it."""

    def __init__(self, define: Callable[[], Any], title: str, **options: Any) -> None:
        super().__init__(**options)
        if self._options.with_receipt is not None:
            with annotate_error("Pipeline"):
                raise OperatorRuntimeError(
                    "a pipeline in debug mode has no graph, and so no receipts",
                    argument="with_receipt",
                )
        self._define = define
        self._title = title

    def build(self, define_graph: Any = None) -> None:
        """Start the threads. The function is called by `run`."""
        with self._build_lock:
            if define_graph is not None:
                self._no_graph()
            if self._runtime is None:
                self._runtime = self._debug_runtime(self._options)

    def run(self, cuda_stream: object = None, /, **pipeline_inputs: Any) -> Any:
        """See `Pipeline`."""
        plan = self._built().plan
        if isinstance(plan, DebugPlan) and not plan.has_begun:
            for name, data in pipeline_inputs.items():
                self.feed_input(name, data)
            pipeline_inputs = {}
        return super().run(cuda_stream, **pipeline_inputs)

    def feed_input(
        self,
        data_node: Any,
        data: Any,
        layout: str | None = None,
        cuda_stream: object = None,
        use_copy_kernel: bool = False,
    ) -> None:
        """See `Pipeline`. Before the first batch the data are kept for a source of this name."""
        plan = self._built().plan
        target = data_node.name if isinstance(data_node, DataNode) else data_node
        if isinstance(plan, DebugPlan) and isinstance(target, str) and not plan.has_begun:
            name = target.partition("[")[0]
            plan.fed.setdefault(name, []).append((target, data, layout))
        else:
            super().feed_input(target, data, layout, cuda_stream, use_copy_kernel)

    def _debug_runtime(self, options: PipelineOptions) -> PipelineRuntime:
        pool = options.worker_pool()
        seed = default.inherited_seed if options.seed is None else options.seed
        gpu, size = self._definition.gpu, options.required_batch_size()
        plan = DebugPlan(self._define, self._title, gpu, size, seed, pool)
        executor = Executor(plan, 1, threaded=False)
        return PipelineRuntime(executor, options.output_types, gpu, False)

    def _no_graph(self) -> NoReturn:
        with annotate_error("Pipeline"):
            raise OperatorRuntimeError("a pipeline in debug mode has no graph: its function runs")

    def _defined(self) -> NoReturn:
        self._no_graph()

    def _recorded(self) -> NoReturn:
        self._no_graph()
