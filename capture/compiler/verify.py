"""The verifier: what must be true of every graph, after every pass."""

from __future__ import annotations

from typing import Any

from gradiva.capture.graph.builtin_ops import constant, fused, parameter, random_key
from gradiva.capture.graph.graph import Graph, Node
from gradiva.capture.graph.hints import HINT
from gradiva.capture.graph.scopes import ScopeError, is_anchored, scopes_of
from gradiva.capture.graph.type_inference import infer
from gradiva.ops.math.branches import split

from .eligibility import is_expression

_OWN = {"effect", "seed", "shared", "number", "value", "layout", "members", "slot", HINT}


class GraphError(AssertionError):
    """A graph that breaks a rule: a defect of gradiva, not of the user's program."""


def verify_graph(graph: Graph) -> Graph:
    """Return the graph if it is valid, else raise GraphError naming the node and the rule."""
    seen = set[Node]()
    effects = set[Any]()
    for number, node in enumerate(graph.nodes):
        where = f"node {number} ({node.operator.name})"
        if node in seen:
            raise GraphError(f"{where}: stands in the graph twice")
        _check_inputs(node, where, seen)
        _check_attributes(node, where, effects)
        if node.operator.random != any(edge.argument == "key" for edge in node.inputs):
            raise GraphError(f"{where}: a random operator has a key, and no other has")
        if node.operator is fused:
            _check_members(node, where)
        elif node.operator not in (constant, parameter, random_key):
            given = {k: v for k, v in node.attributes if k in node.operator.arguments}
            edges = tuple(edge for edge in node.inputs if edge.argument != "key")
            if infer(node.operator, edges, given, node.device) != node.type:
                raise GraphError(f"{where}: the type rule does not give the type it has")
        seen.add(node)
    _check_scopes(graph)
    for edge in graph.outputs:
        if edge.node not in seen or not 0 <= edge.output < len(edge.node.type):
            raise GraphError("an output of the graph is not an output of one of its nodes")
    return graph


def _check_inputs(node: Node, where: str, seen: set[Node]) -> None:
    """A node reads outputs of nodes before it, under names that its operator knows."""
    for edge in node.inputs:
        if edge.node not in seen:
            raise GraphError(f"{where}: uses {edge.node.operator.name} before it was made")
        if not 0 <= edge.output < len(edge.node.type):
            raise GraphError(f"{where}: uses an output that does not exist")
        if edge.argument not in (None, "key", "source", "scope", *node.operator.arguments):
            raise GraphError(f"{where}: feeds an unknown argument {edge.argument}")


def _check_attributes(node: Node, where: str, effects: set[Any]) -> None:
    """A node has attributes that its operator knows. effects: the numbers of effects that are in
    use; that of this node is added."""
    known = {*node.operator.arguments, *_OWN}
    for name, value in node.attributes:
        if name not in known:
            raise GraphError(f"{where}: unknown attribute {name}")
        if name == "effect":
            if value in effects:
                raise GraphError(f"{where}: effect number {value} is used twice")
            effects.add(value)


def _check_scopes(graph: Graph) -> None:
    """No node reads values of two branches, and no output is one of a branch."""
    try:
        scopes = scopes_of(graph.nodes)
    except ScopeError as error:
        raise GraphError(str(error)) from None
    for edge in graph.outputs:
        if edge.node in scopes or edge.node.operator is split:
            raise GraphError(f"an output of {edge.node.operator.name} is one of a branch")
    for node in graph.nodes:
        if node.operator is fused and is_anchored(node):
            raise GraphError("a fused group without an input")


def _check_members(group: Node, where: str) -> None:
    """The members of a fused group are a chain, or arithmetic, and read nothing but each other and
    its inputs."""
    last: Node | None = None
    tree, before = is_expression(group.members), set[Node]()
    for member in group.members:
        if member.operator.fusion_role is None:
            raise GraphError(f"{where}: {member.operator.name} cannot be fused")
        for edge in member.inputs:
            inside = edge.node is last if not tree else edge.node in before
            inside = inside and edge.argument is None
            number = edge.node.attribute("number", len(group.inputs))
            given = edge.node.operator is parameter and number < len(group.inputs)
            if not inside and not given:
                raise GraphError(f"{where}: {member.operator.name} reads what is not there")
        if last is not None and not tree and member.inputs[0].node is not last:
            raise GraphError(f"{where}: its members are no chain")
        read = tuple(edge for edge in member.inputs if edge.argument != "key")
        if infer(member.operator, read, dict(member.attributes), group.device) != member.type:
            raise GraphError(f"{where}: {member.operator.name} has another type than its rule says")
        last = member
        before.add(member)
    if len(group.members) < 2 or last is None or last.type != group.type:
        raise GraphError(f"{where}: its type is not that of its last member")
