"""Graphs as bytes: the recorded graph, before any pass, in the words of the file format.

Effect numbers and keys of random calls are not written: they follow from the order of the calls,
which the file keeps. A random call whose key does not follow from it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from gradiva.capture.graph.builtin_ops import constant, parameter, random_key
from gradiva.capture.graph.graph import Edge, Graph, Node, Opaque
from gradiva.capture.recording.recorder import FIRST_CALL_WITHOUT_SOURCE
from gradiva.eager.operators.argument_types import InterpArg, argument_type
from gradiva.eager.operators.arguments import Argument
from gradiva.eager.support.errors import GradivaError, OperatorValueError, wrong_type, wrong_value
from gradiva.eager.types.dtypes import float32, int32
from gradiva.ops.indexing.subscript import subscript
from gradiva.ops.math.arithmetic import Arithmetic
from gradiva.ops.readers.core.source import SourceOperator

from .branches import BranchWriter
from .edges import EdgeName, device_word, wanted_on
from .expressions import write_expression
from .features import SCHEMA, add_features, schema_with
from .names import INTERP_TYPE, schema_of
from .options import StoredOptions
from .proto import pack, pipeline_message
from .sources import write_constant, write_source
from .subscripts import write_subscript
from .values import add_argument

_NOT_STORED = frozenset({"effect", "shared", "seed"})
_LARGEST = (1 << 63) - 1


def serialize_graph(graph: Graph, options: StoredOptions) -> bytes:
    """A recorded graph and the arguments of its pipeline as the bytes of a file.

    An external source is written without its callable or iterable, to be fed by name. Raises
    OperatorTypeError or OperatorValueError, with the operator and the user's line, for what the
    format has no place for: operators it does not know, Python callables and other objects,
    random calls that draw from an RNG object, numbers that it would change.
    """
    return pack(GraphWriter(graph, options).message())


class GraphWriter:
    """A graph on its way into a PipelineDef."""

    def __init__(self, graph: Graph, options: StoredOptions) -> None:
        self.graph = graph
        self._message = pipeline_message()
        options.write(self._message)
        self._edges: dict[tuple[Node, int], EdgeName] = {}
        self._taken: set[str] = set(graph.names.values())
        self._made: set[str] = set()
        self._source: Node | None = None
        self._random_calls = 0
        self._branches = BranchWriter(self)

    def message(self) -> Any:
        alive = _needed(self.graph)
        for node in self.graph.nodes:
            if node in alive and node.operator not in (constant, random_key):
                try:
                    self._write(node)
                except (GradivaError, UnicodeEncodeError) as error:
                    raise self._annotate_error(node, error) from None
        self._branches.current = None
        for edge in self.graph.outputs:
            try:
                name = self.edge(edge)
            except GradivaError as error:
                raise self._annotate_error(edge.node, error) from None
            self._message.pipe_outputs.add(
                name=str(name), device=name.device, is_argument_input=False, dtype=-1, ndim=-1
            )
        return self._message

    def _annotate_error(self, node: Node, error: Exception) -> GradivaError:
        if not isinstance(error, GradivaError):
            error = OperatorValueError(f"a text cannot be stored: {error}")
        lines = self.graph.locations.get(node)
        return error.complete(operator=node.operator.name, location=lines[0] if lines else None)

    def _write(self, node: Node) -> None:
        operator = node.operator
        self._branches.enter(node)
        if isinstance(operator, Arithmetic):
            write_expression(self, node)
        elif operator is subscript:
            write_subscript(self, node)
        elif operator.name == "external_source":
            write_source(self, node)
        elif self._is_transfer(node):
            self._edges[node, 0] = EdgeName(self.edge(node.inputs[0]), node.device)
        elif not self._branches.write(node):
            schema = schema_of(operator)
            if schema is None or operator is parameter:
                raise OperatorValueError("this operator has no place in the file format")
            if schema == SCHEMA:
                schema = schema_with(node.attribute("features"))
            self._call(schema, node)
        if isinstance(operator, SourceOperator):
            self._source, self._random_calls = node, 0

    def _is_transfer(self, node: Node) -> bool:
        """Whether a node only brings its input to another device; one that the user can tell from
        others, by a name, is written."""
        if not node.operator.transfers or node in self.graph.names or node in self.graph.kept:
            return False
        source = node.inputs[0]
        return source.node.type[source.output].device != node.device

    def _call(self, schema: str, node: Node) -> None:
        arguments: dict[str, Any] = {}
        declared = node.operator.arguments
        for name, value in node.attributes:
            if isinstance(value, Opaque):
                raise wrong_type(
                    name, "plain data", repr(value), "Python objects have no place in a file"
                )
            if name == "on_error":
                if value != "raise":
                    raise wrong_value(
                        name,
                        "'raise'",
                        repr(value),
                        "the file format has no place for what to do with bad samples",
                    )
            elif name in node.operator.unstored:
                # Of samples that are replaced, which `on_error` says: it changes no others.
                if name != "fill_value":
                    raise wrong_value(
                        name, "none", repr(value), "the file format has no place for this argument"
                    )
            elif name not in _NOT_STORED:
                arguments[name] = value
        seed = self._seed(node)
        if seed is not None:
            arguments["seed"] = seed
        inputs = [self.edge(edge) for edge in node.inputs if edge.argument is None]
        named = [
            (edge.argument, self._per_sample(declared[edge.argument], edge))
            for edge in node.inputs
            if edge.argument in declared
        ]
        names = self.call(node, schema, inputs, named, arguments, len(node.type))
        if not inputs and not named:
            for output, name in enumerate(names):
                self._edges[node, output] = self._branches.narrowed(node, name)

    def _seed(self, node: Node) -> int | None:
        """The seed to write; None if the call is to be numbered when the file is read."""
        seed = node.attribute("seed")
        key = next((edge.node for edge in node.inputs if edge.argument == "key"), None)
        if key is not None:
            if node.attribute("shared"):
                raise OperatorValueError(
                    "a random value that all samples share has no place in the file format; give "
                    "`batch_size=`, or call the operator as fn.random"
                )
            seed, number = key.attribute("seed"), key.attribute("number")
            expected = self._random_calls + (
                FIRST_CALL_WITHOUT_SOURCE if self._source is None else 0
            )
            if number != (expected if seed is None else 0):
                raise OperatorValueError(
                    "a random call that draws from an RNG object has no place in the file format; "
                    "give `seed=`"
                )
            self._random_calls += seed is None
        if seed is not None and seed > _LARGEST:
            raise wrong_value("seed", "less than 2**63, as the format holds it", str(seed))
        return None if seed is None else int(seed)

    def edge(self, edge: Edge) -> EdgeName:
        """The name of what an edge carries; a constant is written when it is first used."""
        key = (edge.node, edge.output)
        if edge.node.operator is not constant:
            return self._edges[key]
        if key not in self._edges:
            self._edges[key] = write_constant(self, edge.node)
        return self._branches.narrowed(edge.node, self._edges[key])

    def name(self, node: Node, output: int) -> EdgeName:
        """The name of an output of a node that was written."""
        return self._edges[node, output]

    def alias(self, node: Node, name: EdgeName) -> None:
        """Let the output of `node` be what `name` is."""
        self._edges[node, 0] = name

    def _per_sample(self, argument: Argument, edge: Edge) -> EdgeName:
        """What feeds an argument, in the one element type that DALI takes there."""
        name = self.edge(edge)
        wanted = int32 if argument.kind.element is np.int64 else float32
        dtype = edge.node.type[edge.output].dtype
        if dtype is not None and dtype is not wanted:
            name = self.call(edge.node, "Cast", [name], [], {"dtype": wanted}, 1, helper=True)[0]
        if argument.kind is argument_type(InterpArg):
            typed = {"dtype": INTERP_TYPE}
            name = self.call(edge.node, "Reinterpret", [name], [], typed, 1, helper=True)[0]
        return name

    def call(
        self,
        node: Node,
        schema: str,
        inputs: Iterable[str],
        named: Iterable[tuple[str | None, str]],
        arguments: Mapping[str, Any],
        outputs: int,
        name: str | None = None,
        output: int = 0,
        helper: bool = False,
    ) -> list[EdgeName]:
        """Add an OpDef for `node` and return the names of its outputs.

        name: of the operator, if it is not the node's own; output: which one of the node the first
        is; helper: it stands before or behind the call of `node`, whose name it does not get.
        """
        if name is None and not helper:
            name = self.graph.names.get(node)
        made = self._message.op.add(name=schema, logical_id=len(self._message.op))
        made.inst_name = self._unique(schema) if name is None else name
        device = node.device
        for number, one in enumerate(inputs):
            wanted = wanted_on(node.operator, device, number, one)
            made.input.add(name=str(one), device=wanted, is_argument_input=False)
        for argument, one in named:
            made.input.add(name=str(one), device="cpu", is_argument_input=True, arg_name=argument)
        given: dict[str, Any] = {"device": device_word(node.operator, device), **arguments}
        # DALI drops what no output needs, effects too.
        has_effects = node.operator.effects and not isinstance(node.operator, SourceOperator)
        if (node in self.graph.kept or has_effects) and not helper:
            given["preserve"] = True
        given["preserve_name"] = name is not None
        for key, value in given.items():
            if schema == SCHEMA and key == "features":
                add_features(made, value)
                continue
            add_argument(made, key, value, node.operator.arguments.get(key))
        self._stack(made, node)
        single = [made.inst_name]
        names = single if outputs == 1 else [f"{made.inst_name}[{i}]" for i in range(outputs)]
        for index, one in enumerate(names):
            if one in self._made:
                raise OperatorValueError(f"there are two operators called {one!r}", argument="name")
            self._made.add(one)
            made.output.add(name=one, device=device, is_argument_input=False)
            if not helper:
                self._edges[node, output + index] = EdgeName(one, device)
        return [EdgeName(one, device) for one in names]

    def _unique(self, schema: str) -> str:
        """A name like those that DALI gives; none that a user gave."""
        number = len(self._message.op) - 1
        name = f"__{schema.rsplit('__', maxsplit=1)[-1] or schema}_{number}"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def _stack(self, made: Any, node: Node) -> None:
        """The user's line, which DALI shows in its errors."""
        lines = self.graph.locations.get(node)
        if not lines:
            return
        code, line = lines[0].code, lines[0].line
        stack = {
            "filename": code.co_filename,
            "lineno": line,
            "name": code.co_name,
            "line": lines[0].text,
        }
        for key, value in stack.items():
            add_argument(made, f"_origin_stack_{key}", [value], None)


def _needed(graph: Graph) -> set[Node]:
    """The nodes to write: those that outputs need, and those that number random calls."""
    waiting = [edge.node for edge in graph.outputs]
    waiting += [
        node
        for node in graph.nodes
        if node in graph.kept or node.operator.effects or node.operator.random
    ]
    needed: set[Node] = set()
    while waiting:
        node = waiting.pop()
        if node not in needed:
            needed.add(node)
            for edge in node.inputs:
                # What only says which branch a node stands in is not written, but its predicate is.
                scope = edge.argument == "scope"
                waiting += [one.node for one in edge.node.inputs] if scope else [edge.node]
    return needed
