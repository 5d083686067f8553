"""Conditionals in files: a value is split by a predicate, what both branches made is merged.

In a file every value of a branch comes out of a split, constants too. What has no inputs there runs
for the whole batch and is split after. Random values belong to samples, so they stay the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from gradiva.capture.graph.builtin_ops import constant
from gradiva.capture.graph.graph import Edge, Node
from gradiva.capture.graph.scopes import Scope, predicates_of, scopes_of
from gradiva.capture.recording.branches import Branch
from gradiva.capture.recording.data_node import DataNode
from gradiva.capture.recording.merging import merge_leaves
from gradiva.capture.recording.recorder import Recorder
from gradiva.eager.operators.interpreter import current_interpreter
from gradiva.eager.support.errors import OperatorValueError, user_location
from gradiva.ops.math.branches import merge, split
from gradiva.ops.math.truth import boolean, not_

from .edges import EdgeName
from .model import StoredOperator, Writer

__all__ = ["MERGE", "SPLIT", "VALIDATE", "BranchReader", "BranchWriter"]

SPLIT, MERGE = "_conditional__Split", "_conditional__Merge"
VALIDATE = "_conditional__ValidateLogical"


class BranchWriter:
    """The branches of a graph that is being written; `current`: that of the node at hand."""

    def __init__(self, writer: Writer) -> None:
        self.current: Scope | None = None
        self._writer = writer
        self._scopes = scopes_of(writer.graph.nodes)
        self._predicates = predicates_of(writer.graph.nodes)
        self._splits: dict[tuple[str, Node, int], list[EdgeName]] = {}

    def enter(self, node: Node) -> None:
        """Let the branch of a node be the current one."""
        self.current = self._scopes.get(node)

    def write(self, node: Node) -> bool:
        """Write a node that conditionals have made; False if it is another one."""
        if node.operator is split:
            self._write(node, SPLIT, [self._writer.edge(node.inputs[0])], {"_if_stmt": True}, 2)
        elif node.operator is merge:
            predicate, outer = node.inputs[2], self.current
            inputs = []
            for side, edge in enumerate(node.inputs[:2]):
                self.current = Scope(predicate.node, predicate.output, side, outer)
                inputs.append(self._writer.edge(edge))
            self.current = outer
            self._write(node, MERGE, inputs, {}, 1)
        elif node.operator is boolean:
            name = self._writer.edge(node.inputs[0])
            self._writer.call(node, VALIDATE, [name], [], self._operand(node), 1)
        else:
            return False
        return True

    def _write(
        self,
        node: Node,
        schema: str,
        inputs: Iterable[str],
        arguments: dict[str, Any],
        outputs: int,
    ) -> None:
        predicate = self._writer.edge(node.inputs[-1])
        self._writer.call(node, schema, inputs, [("predicate", predicate)], arguments, outputs)

    def _operand(self, node: Node) -> dict[str, str]:
        """Which operand of `and` or `or` it is, which the format wants for error messages."""
        name = "and"
        for other in self._writer.graph.nodes:
            if other.operator is merge and node in {edge.node for edge in other.inputs}:
                # `and` merges its right side with a constant, `or` a constant with its right side.
                name = "or" if other.inputs[0].node.operator is constant else "and"
        side = "left" if node in self._predicates else "right"
        return {"expression_name": name, "expression_side": side}

    def narrowed(self, node: Node, name: EdgeName) -> EdgeName:
        """What a value of the whole batch, which `node` makes, is in the current branch."""
        return self._in(self.current, node, name)

    def _in(self, scope: Scope | None, node: Node, name: EdgeName) -> EdgeName:
        if scope is None:
            return name
        name = self._in(scope.outer, node, name)
        key = (name, scope.node, scope.output)
        if key not in self._splits:
            predicate = self._writer.name(scope.node, scope.output)
            self._splits[key] = self._writer.call(
                node, SPLIT, [name], [("predicate", predicate)], {"_if_stmt": True}, 2, helper=True
            )
        return self._splits[key][scope.side]


class BranchReader:
    """The branches of a file whose operators are being called."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values
        self._of: dict[str, Branch] = {}

    def of(self, stored: StoredOperator) -> Branch | None:
        """The branch that an operator's inputs are of. Raises OperatorValueError if they are of
        several."""
        names = {*stored.per_sample.values()}
        if stored.schema != MERGE:
            names.update(stored.inputs)
        found = {
            self._of.get(name)
            for name in names
            if name in self._of or not _is_constant(self._values[name])
        }
        if len(found) > 1:
            raise OperatorValueError("its inputs are of different branches of a condition")
        return found.pop() if found else None

    def own(self, name: str, branch: Branch | None) -> None:
        """Note which branch a value is of."""
        if branch is not None:
            self._of[name] = branch

    def split(self, stored: StoredOperator) -> tuple[Any, Any]:
        """The two parts of a value. Raises OperatorValueError."""
        recorder, predicate = self._condition(stored, 1, 2)
        value = self._values[stored.inputs[0]]
        sides = recorder.branches.sides(predicate, user_location())
        for name, side in zip(stored.outputs, sides, strict=True):
            self._of[name] = side
        if _is_constant(value):
            return value, value
        return _brought(recorder, value, sides[0]), _brought(recorder, value, sides[1])

    def merge(self, stored: StoredOperator) -> Any:
        """The parts as one value. Raises OperatorValueError or OperatorTypeError."""
        recorder, predicate = self._condition(stored, 2, 1)
        sides = recorder.branches.sides(predicate, user_location())
        for name, side in zip(stored.inputs, sides, strict=True):
            if self._of.get(name) is not side and not _is_constant(self._values[name]):
                raise OperatorValueError(f"it merges {name!r}, which is of another branch")
        true, false = (self._values[name] for name in stored.inputs)
        return merge_leaves(true, false, sides, recorder)

    def _condition(
        self, stored: StoredOperator, inputs: int, outputs: int
    ) -> tuple[Recorder, Edge]:
        """The current recorder, and the predicate of a split or a merge."""
        if len(stored.inputs) != inputs or len(stored.outputs) != outputs:
            raise OperatorValueError(
                expected=f"{inputs} inputs and {outputs} outputs",
                got=f"{len(stored.inputs)} and {len(stored.outputs)}",
            )
        stray = set(stored.arguments) - {"preserve"}
        if stray:
            raise OperatorValueError(f"there is no argument `{min(stray)}`")
        if set(stored.per_sample) != {"predicate"}:
            raise OperatorValueError(argument="predicate", expected="one value per sample, alone")
        recorder = current_interpreter()
        if not isinstance(recorder, Recorder):
            raise OperatorValueError("conditionals need a pipeline")
        name = stored.per_sample["predicate"]
        if _is_constant(self._values[name]):
            # What decides on branches is no constant in a graph, as that would be of no branch.
            self._values[name] = not_.bind((not_.bind((self._values[name],), {}),), {})
        predicate: Edge = self._values[name].edge
        return recorder, predicate._replace(argument=None)


def within(branch: Branch | None) -> AbstractContextManager[None]:
    """Let calls be recorded in a branch."""
    recorder = current_interpreter()
    if branch is None or not isinstance(recorder, Recorder):
        return nullcontext()
    return recorder.branches.inside(branch)


def _is_constant(value: Any) -> bool:
    return not isinstance(value, DataNode) or value.edge.node.operator is constant


def _brought(recorder: Recorder, value: DataNode, side: Branch) -> DataNode:
    with recorder.branches.inside(side):
        return DataNode(recorder.branches.bring(value.edge), recorder)
