"""The receipts of what the body of a captured loop has computed in a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradiva.capture.compiler.optimize import optimize
from gradiva.capture.graph.builtin_ops import constant, random_key
from gradiva.capture.graph.graph import Edge, Graph, GraphBuilder, Node
from gradiva.capture.graph.liveness import outputs_looked_at
from gradiva.capture.receipts.options import ReceiptOptions
from gradiva.capture.receipts.receipt import Receipt
from gradiva.capture.receipts.record import ReceiptMaker
from gradiva.capture.recording.attributes import attribute_of
from gradiva.eager.execution.eager_interpreter import as_seed
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.random.default_generator import default
from gradiva.eager.runtime.worker_pool import default_pool
from gradiva.eager.support.errors import OperatorRuntimeError, OperatorTypeError, describe
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch

from .concrete_inputs import ConcreteInput
from .pending import LazyBatch, Pending, Ref
from .prefetcher import LoopSource
from .program import CallSpec, LoopProgram
from .step import LoopStep

__all__ = ["LoopReceipts"]

_MOST = 16
"""The graphs that are kept: a body usually asks for one."""


class LoopReceipts:
    """Makes the receipts of a loop over `source`, which is read by `operator`. A pipeline whose
    function makes the same calls makes the batches again."""

    def __init__(self, source: LoopSource, operator: OperatorBase) -> None:
        self._source = source
        self._operator = operator
        self._makers: dict[Any, tuple[ReceiptMaker, Node]] = {}

    def receipt(
        self,
        step: LoopStep | None,
        program: LoopProgram | None,
        values: Sequence[Any],
        options: ReceiptOptions,
    ) -> Receipt:
        """The receipt of some values of a step. Raises OperatorTypeError for values of something
        else; OperatorRuntimeError outside of steps."""
        if step is None:
            raise OperatorRuntimeError(
                "there is no batch: ask in the body of the loop for the receipt of its values"
            )
        if self._source.described is None:
            raise OperatorTypeError("only loops over readers have receipts")
        if not values:
            raise OperatorTypeError("the receipt of which values?", expected="batches of this step")
        refs = [_ref(step, value, number) for number, value in enumerate(values)]
        key = (*options, *((ref.source.signature, ref.output) for ref in refs))  # type: ignore[union-attr]
        found = self._makers.get(key)
        if found is None:
            graph, node = self._graph(step, program, refs)
            size = step.size
            maker = ReceiptMaker(graph, options, default.inherited_seed, size)
            maker.used[node] = _used(graph, node)
            if len(self._makers) >= _MOST:
                self._makers.clear()
            found = self._makers[key] = maker, node
        maker, node = found
        batches: tuple[Batch, ...] = step.item.batches
        where = batches[0].provenance
        assert where is not None
        said = maker.of_inputs(
            {node: self._source.described.source},
            {(node, output): batch for output, batch in enumerate(batches)},
            step.size,
            where.positions,
            where.progress,
            default_pool(),
        )
        outputs = [value._materialize() for value in values]
        return maker.of_outputs(said, step.number, outputs, default_pool()).receipt

    def _graph(
        self, step: LoopStep, program: LoopProgram | None, refs: Sequence[Ref]
    ) -> tuple[Graph, Node]:
        """The calls that the values need, as a pipeline would record them, and the reader."""
        assert self._source.described is not None
        builder = GraphBuilder("loop")
        attributes = {"effect": 0, **_attributes(self._operator, self._source.described.given)}
        reader = builder.add(
            self._operator, (), attributes, step.source.types, name=self._source.described.name
        )
        nodes: dict[int, Node] = {0: reader}
        calls = {call.signature: call for call in reversed(step.calls)}
        needed = _needed(calls, program, refs)
        for call in step.calls:
            if call.signature not in nodes and call.signature in needed:
                nodes[call.signature] = _node(builder, needed[call.signature], nodes, reader)
        outputs = tuple(Edge(nodes[_signature(ref)], ref.output) for ref in refs)
        return builder.finish(outputs), reader


def _ref(step: LoopStep, value: Any, number: int) -> Ref:
    found = step.find(value) if isinstance(value, LazyBatch) else None
    if found is None:
        raise OperatorTypeError(
            "receipts are of batches that the body has computed in this step, from what the reader "
            "has delivered in it",
            argument=f"values[{number}]",
            got=describe(value),
        )
    return found


def _signature(ref: Ref) -> int:
    assert isinstance(ref.source, Pending)
    signature: int = ref.source.signature
    return signature


def _attributes(operator: OperatorBase, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a reader, as a pipeline records them."""
    found = {
        name: attribute_of(operator.arguments[name], value)
        for name, value in given.items()
        if name in operator.arguments and value is not None
    }
    seed = as_seed(given.get("seed"))
    return found if seed is None else {**found, "seed": seed}


def _needed(
    calls: dict[int, Pending], program: LoopProgram | None, refs: Sequence[Ref]
) -> dict[int, CallSpec]:
    """The calls that values need, by signature. Raises OperatorTypeError for one whose inputs are
    not of the step."""
    found: dict[int, CallSpec] = {}
    waiting = [_signature(ref) for ref in refs]
    while waiting:
        signature = waiting.pop()
        if not signature or signature in found:
            continue
        call = calls[signature]
        # A call that was computed ahead may have dropped its inputs.
        known = None if program is None else program.spec(signature)
        if known is None:
            for ref in call.inputs:
                if isinstance(ref.source, Pending) and ref.output in ref.source.exposed:
                    raise _unknown(call, "was read as an array before, and may have been changed")
            known = CallSpec(call)
        found[signature] = known
        for source, _, _ in known.inputs:
            if isinstance(source, int):
                waiting.append(source)
            elif source.array is None:
                raise _unknown(call, "is a batch that the reader has not delivered in this step")
    return found


def _unknown(call: Pending, why: str) -> OperatorTypeError:
    return OperatorTypeError(
        f"there is no receipt of what depends on this call: an input {why}",
        operator=call.operator.name,
        location=call.location,
    )


def _node(builder: GraphBuilder, spec: CallSpec, nodes: dict[int, Node], reader: Node) -> Node:
    """A call as a node, after what it reads."""
    edges = []
    for source, output, argument in spec.inputs:
        if isinstance(source, ConcreteInput):
            fields = {"layout": source.layout, "value": source.array}
            edges.append(Edge(builder.add(constant, (), fields, (source.batch.type,)), 0, argument))
        else:
            edges.append(Edge(nodes[source], output, argument))
    attributes = dict(spec.attributes)
    if spec.operator.random:
        attributes["shared"] = spec.single
        assert spec.key is not None
        key: dict[str, Any] = {"number": spec.key.number}
        if spec.key.seed != default.inherited_seed:
            key["seed"] = spec.key.seed
        drawn = builder.add(
            random_key, (Edge(reader, 0, "source"),), key, (SampleType(None, 0, ""),)
        )
        edges.append(Edge(drawn, 0, "key"))
    return builder.add(
        spec.operator, tuple(edges), attributes, spec.types, spec.location, spec.name
    )


def _used(graph: Graph, reader: Node) -> list[int]:
    """The outputs of the reader that a pipeline would look at."""
    compiled = optimize(graph)
    node = next(node for node in compiled.nodes if node.operator is reader.operator)
    return sorted(outputs_looked_at(compiled, node)[0])
