"""The recording interpreter: a call appends a node to a graph and returns symbols."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from gradiva.capture.graph.builtin_ops import constant, parameter, random_key
from gradiva.capture.graph.graph import Edge, Graph, GraphBuilder, Node
from gradiva.capture.graph.hints import HINT, hint_for
from gradiva.capture.graph.type_inference import device_of_call, infer
from gradiva.capture.recording.branches import Branches
from gradiva.eager.execution.eager_interpreter import as_seed, check_common
from gradiva.eager.operators.arguments import Argument, is_edge
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.random.generator import RNG, RepeatedRNG
from gradiva.eager.support.errors import (
    GradivaError,
    Location,
    OperatorTypeError,
    describe,
    user_location,
)
from gradiva.eager.types.device import Device
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.random_origin import check_not_random
from gradiva.eager.values.tensor import tensor_on
from gradiva.eager.values.value import Value
from gradiva.ops.readers.core.source import SourceOperator

from .attributes import attribute_of
from .data_node import DataNode
from .free_node import FreeCall, FreeNode, calls_behind
from .shared_values import SharedValues, is_shared

FIRST_CALL_WITHOUT_SOURCE = 1 << 30
"""The number of the first random call of a graph before any source."""


class Recorder:
    """Records calls into one graph. Random calls are numbered as in a step of an eager loop."""

    symbolic = True

    def __init__(self, title: str = "graph", gpu: Device | None = None) -> None:
        """gpu: the one that "gpu" means, if that is known."""
        self.gpu = gpu
        self._builder = GraphBuilder(title)
        self.branches = Branches(self._builder)
        self._random_calls: dict[RNG | None, int] = {}
        self._effects = 0
        self._parameters = 0
        self._source: Node | None = None
        self._copies: dict[FreeCall, Any] = {}
        self._line: Location | None = None
        self.shared_values: SharedValues | None = None
        """What warns of values that all samples share; None for nobody."""

    @property
    def title(self) -> str:
        """The name of the graph."""
        return self._builder.title

    @title.setter
    def title(self, title: str) -> None:
        self._builder.title = title

    def parameter(self, type: SampleType) -> DataNode:
        """A symbol for a batch that is given when the graph runs."""
        number = {"number": self._parameters}
        self._parameters += 1
        return DataNode(Edge(self._builder.add(parameter, (), number, (type,)), 0), self)

    def bind(
        self, operator: OperatorBase, inputs: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        return self.record(operator, inputs, keywords)

    def record(
        self, operator: OperatorBase, inputs: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        """The symbols of a call, whose node is appended."""
        operator.check(inputs, keywords)
        common = {
            name: value
            for name, value in keywords.items()
            if name not in operator.arguments and value is not None
        }
        if self._line is None:
            check_common(operator, common, present=False)
        if not isinstance(operator, SourceOperator):
            for name, value in keywords.items():
                check_not_random(value, argument=name)
        self.adopt((*inputs, *keywords.values()))
        edges = [self.input_edge(value, index) for index, value in enumerate(inputs)]
        attributes: dict[str, Any] = {}
        for name, value in keywords.items():
            argument = operator.arguments.get(name)
            if argument is None or value is None:
                continue
            if is_edge(argument, value):
                edges.append(self._argument(argument, value))
            else:
                attributes[name] = attribute_of(argument, value)
        device = device_of_call(operator, edges, common, self.gpu)
        types = infer(operator, tuple(edges), attributes, device)
        if operator.random:
            edges.append(Edge(self._key(common), 0, "key"))
            attributes["shared"] = is_shared(inputs, edges, attributes, common)
        elif not isinstance(operator, SourceOperator):
            edges += self.branches.anchor(edges)
        return self._append(operator, tuple(edges), attributes, types, common)

    def _append(
        self,
        operator: OperatorBase,
        edges: tuple[Edge, ...],
        attributes: dict[str, Any],
        types: tuple[SampleType, ...],
        common: dict[str, Any],
    ) -> Any:
        seed = as_seed(common.get("seed"))
        if isinstance(operator, SourceOperator) and seed is not None:
            attributes["seed"] = seed
        if HINT in common and any(hints := hint_for(common[HINT], len(types))):
            attributes[HINT] = hints
        if operator.effects:
            attributes["effect"] = self._effects
            self._effects += 1
        line = self._line or user_location()
        node = self._builder.add(
            operator,
            edges,
            attributes,
            types,
            line,
            common.get("name"),
            bool(common.get("preserve", False)),
        )
        self.branches.own(node)
        if self.shared_values is not None:
            self.shared_values.note(node, line)
        if isinstance(operator, SourceOperator):
            # As in a loop: the source that was read last gives the positions, and the numbers of
            # calls begin again.
            self._source = node
            self._random_calls = {}
        symbols = [DataNode(Edge(node, output), self) for output in range(len(types))]
        asked = isinstance(operator, SourceOperator) and attributes.get("num_outputs") is not None
        single = len(symbols) == 1 and not asked
        return symbols[0] if single else symbols

    def adopt(self, values: Iterable[Any]) -> None:
        """Make the calls behind free nodes here, that were not made here before, with what they
        need: in the order in which the user made them, and for the whole batch."""
        for call in calls_behind(values, self._copies):
            line, self._line = self._line, call.location
            try:
                with self.branches.inside(None):
                    self._copies[call] = self.record(call.operator, call.inputs, call.keywords)
            except GradivaError as error:
                raise error.complete(operator=call.operator.name, location=call.location) from None
            finally:
                self._line = line

    def own(self, value: Any) -> Any:
        """The symbol of this graph for a free node; other values as they are."""
        self.adopt((value,))
        return self.known(value)

    def known(self, value: Any) -> Any:
        """As `own`, but a free node that is not in this graph stays as it is."""
        if not isinstance(value, FreeNode) or value.call not in self._copies:
            return value
        made = self._copies[value.call]
        return made[value.edge.output] if isinstance(made, list) else made

    def input_edge(self, value: Any, index: int) -> Edge:
        """A symbol or a constant as input `index` of a call in the current branch."""
        value = self.own(value)
        if isinstance(value, DataNode):
            if value.recorder is not self:
                raise OperatorTypeError(f"input {index} belongs to another graph: {value!r}")
            return self.branches.bring(value.edge)
        try:
            return Edge(self._constant(value), 0)
        except GradivaError as error:
            error.problem = f"input {index}: {error.problem}".rstrip(": ")
            raise

    def _argument(self, argument: Argument, value: Any) -> Edge:
        if isinstance(value, Value | np.ndarray):
            edge = self.input_edge(value, 0)
            return Edge(edge.node, edge.output, argument.name)
        raise OperatorTypeError(
            "a list with one value per sample has no place in a graph, whose batches may differ "
            "in size: use an external source",
            argument=argument.name,
            expected=argument.kind.expected,
            got=describe(value),
        )

    def _constant(self, value: Any) -> Node:
        """A tensor or array that is the same for all samples of every batch."""
        check_not_random(value)
        if isinstance(value, Batch):
            raise OperatorTypeError(
                "a batch has no place in a graph, whose batches may differ in size: use an "
                "external source, or a Tensor for a constant that all samples share"
            )
        tensor = tensor_on(value)
        array = np.array(tensor)
        array.flags.writeable = False
        return self._builder.add(
            constant, (), {"layout": tensor.layout, "value": array}, (tensor.type,)
        )

    def _key(self, common: dict[str, Any]) -> Node:
        seed, rng = as_seed(common.get("seed")), common.get("rng")
        if rng is not None and not isinstance(rng, RNG):
            raise OperatorTypeError(argument="rng", expected="an RNG", got=describe(rng))
        repeated = rng if isinstance(rng, RepeatedRNG) else None
        if repeated is not None:
            rng = None if repeated.by_default else repeated.generator
        attributes: dict[str, Any] = {"number": 0}
        if seed is not None:
            attributes["seed"] = seed
        else:
            attributes["number"] = self._random_calls.get(rng, 0)
            if repeated is not None and repeated.number is not None:
                attributes["number"] = repeated.number
            else:
                self._random_calls[rng] = attributes["number"] + 1
            if repeated is not None:
                repeated.number = attributes["number"]
            if self._source is None:
                # Before any source: numbers of their own, so that no later call draws the same.
                attributes["number"] += FIRST_CALL_WITHOUT_SOURCE
            if rng is not None:
                attributes["seed"] = rng.seed
        source = () if self._source is None else (Edge(self._source, 0, "source"),)
        edges = (*source, *self.branches.anchor())
        return self._builder.add(random_key, edges, attributes, (SampleType(None, 0, ""),))

    def mark(self, node: Node, name: str | None, preserve: bool) -> None:
        """Give a node the name that the user wants for it, and keep it if they ask for that."""
        self._builder.describe(node, (), None, name)
        if preserve:
            self._builder.keep(node)

    def keep(self, node: Node) -> None:
        """Keep a node that no output needs."""
        self._builder.keep(node)

    def add(
        self, operator: OperatorBase, edges: tuple[Edge, ...], where: Location | None, origin: str
    ) -> DataNode:
        """A node that no call of the user's stands for, in the current branch."""
        types = infer(operator, edges, {})
        node = self._builder.add(operator, edges, {}, types, where)
        self.branches.own(self._builder.describe(node, (), origin))
        return DataNode(Edge(node, 0), self)

    def locations_of(self, node: Node) -> tuple[Location, ...]:
        return tuple(self._builder._locations.get(node, ()))

    def name_of(self, node: Node) -> str:
        return self._builder._names.get(node) or node.operator.name

    def finish(self, outputs: tuple[DataNode, ...]) -> Graph:
        return self._builder.finish(tuple(output.edge for output in outputs))

    def symbol(self, value: Any, index: int) -> DataNode:
        """An output of the traced function as a symbol; constants become nodes."""
        value = self.own(value)
        if isinstance(value, list | tuple) and any(isinstance(one, DataNode) for one in value):
            kind = type(value).__name__
            raise OperatorTypeError(f"output {index} is a {kind} of symbols: unpack it")
        if isinstance(value, DataNode):
            if value.recorder is not self:
                raise OperatorTypeError(f"output {index} belongs to another graph: {value!r}")
            return DataNode(self.branches.bring(value.edge), self)
        if isinstance(value, str | bytes):
            raise OperatorTypeError(
                f"output {index} is text", expected="an output of an operator", got=describe(value)
            )
        try:
            check_not_random(value)
        except GradivaError as error:
            error.problem = f"output {index}: {error.problem}"
            raise
        try:
            return DataNode(Edge(self._constant(value), 0), self)
        except GradivaError as error:
            raise error.complete(expected="an output of an operator", got=describe(value)) from None
