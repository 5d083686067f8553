"""Cuts a graph at its caches: what is above a cache becomes a graph of its own, which runs for the
samples that the cache does not have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from gradiva.capture.graph.builtin_ops import cached, constant, parameter, random_key
from gradiva.capture.graph.fingerprint import fingerprint, library_versions
from gradiva.capture.graph.graph import Edge, Graph, GraphBuilder, Node, Opaque
from gradiva.capture.graph.scopes import scopes_of
from gradiva.eager.schedules.settling import has_schedules
from gradiva.eager.support.errors import Location, OperatorTypeError, OperatorValueError
from gradiva.eager.support.hooks import Hook
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.sample_type import SampleType
from gradiva.ops.cache.cache import cache
from gradiva.ops.readers.core.source import SourceOperator

from .dce import may_skip_samples
from .rewriter import Rewriter, rewrite

if TYPE_CHECKING:
    from . import code_digests
else:  # for few programs
    code_digests = lazy_module("gradiva.capture.compiler.code_digests")

new_runner: Hook[Callable[[CacheRecipe], Any]] = Hook(
    "caches in graphs", "gradiva.capture.caches.cached_samples"
)


@dataclass(eq=False)
class CacheRecipe:
    """What a cache keeps, and how a sample is computed that it does not have.

    graph: from `parameter` nodes to one output; type: of that; leaves: for each parameter, whether
    a source delivers it, so that the names of samples can be trusted; digest: of all that decides
    about the values, but for the samples; where, cache_bytes: the arguments of `cache`; name: of
    the operator whose values are kept; location: the user's line of it; runner: what looks samples
    up and computes the others.
    """

    graph: Graph
    type: SampleType
    leaves: tuple[bool, ...]
    digest: bytes
    where: str
    cache_bytes: int | None
    name: str
    location: Location | None = None
    runner: Any = field(default=None, repr=False)

    @property
    def shown(self) -> str:
        """How a graph shows it."""
        names = (node.operator.name for node in self.graph.nodes if node.operator is not parameter)
        return " + ".join(names)


def recipe_of(node: Node) -> CacheRecipe | None:
    """The recipe of a `cached` node; None for other nodes."""
    if node.operator is not cached:
        return None
    found: CacheRecipe = node.attribute("recipe").value
    return found


def recipes_of(graph: Graph) -> list[CacheRecipe]:
    """The recipes of a compiled graph, in the order of its nodes."""
    nodes = [member for node in graph.nodes for member in (node.members or (node,))]
    return [recipe for recipe in map(recipe_of, nodes) if recipe is not None]


def cut_caches(graph: Graph) -> Graph:
    """Put a `cached` node in the place of each cache and of what only it needs. Raises
    OperatorValueError or OperatorTypeError for what cannot be kept."""
    if not any(node.operator is cache for node in graph.nodes):
        return graph
    scopes = scopes_of(graph.nodes)

    def rule(rewriter: Rewriter, node: Node) -> Edge | None:
        if node.operator is not cache:
            return None
        facts: dict[str, Any] = {
            "operator": cache.name,
            "location": next(iter(graph.locations.get(node, ())), None),
        }
        if node in scopes:
            raise OperatorValueError(
                "a cache inside of an `if` would store other samples in each step: call it before",
                **facts,
            )
        above = _above(node.inputs[0].node)
        for one in above:
            reason = why_not_cached(one)
            if reason is None or one.operator is random_key:  # what draws with it is named
                continue
            kind = OperatorTypeError if one.device == "gpu" else OperatorValueError
            origin = graph.origins.get(one, one.operator.name)
            where = graph.locations.get(one, ())
            line = f" ({where[0].code.co_filename}:{where[0].line})" if where else ""
            raise kind(f"`{origin}`{line} cannot be above a cache: {reason}", **facts)
        return _cut(rewriter, node, above)

    return rewrite(graph, rule)


def is_leaf(node: Node) -> bool:
    """Whether nothing is above a node: data enter there."""
    return node.operator is parameter or isinstance(node.operator, SourceOperator)


def _above(node: Node) -> list[Node]:
    """The node and all that it depends on, without leaves, in the order in which they run."""
    found: dict[Node, None] = {}
    _visit(node, found)
    return list(found)


def _visit(node: Node, found: dict[Node, None]) -> None:
    """Add what a node depends on to `found`, and then the node."""
    if node not in found and not is_leaf(node):
        for edge in node.inputs:
            _visit(edge.node, found)
        found[node] = None


def why_not_cached(node: Node) -> str | None:
    """Why nothing below this node can be kept; None if it can."""
    operator = node.operator
    if operator.random or operator is random_key:
        return "its values are random, and other ones in each step"
    if operator.effects:
        return "it calls a function of yours, or has effects, and must run each time"
    if node.device == "gpu":
        return "it runs on a GPU, and a cache stores samples of the CPU"
    if has_schedules(dict(node.attributes)):
        return "one of its arguments follows a schedule, and changes during the training"
    if any(isinstance(value, Opaque) for _, value in node.attributes if value is not None):
        return "one of its arguments is a function or an object, whose changes are not seen"
    alone = operator.samplewise
    if not (alone(dict(node.attributes)) if callable(alone) else alone):
        return "its result for a sample depends on more than that sample"
    return None


def _cut(rewriter: Rewriter, node: Node, above: list[Node]) -> Edge:
    """The `cached` node for a cache of the old graph."""
    old, builder = rewriter.graph, GraphBuilder("cache")
    moved: dict[tuple[Node, int], Edge] = {}
    leaves: list[Edge] = []

    def inner(edge: Edge) -> Edge:
        place = edge.node, edge.output
        if place not in moved:
            trusted = _is_trusted(edge.node)
            fields = {"number": len(leaves), "trusted": trusted}
            leaf = builder.add(parameter, (), fields, (edge.node.type[edge.output],))
            moved[place] = Edge(leaf, 0)
            leaves.append(edge)
        return moved[place]._replace(argument=edge.argument)

    for one in above:
        made = builder.add(
            one.operator,
            tuple(inner(edge) for edge in one.inputs),
            dict(one.attributes),
            one.type,
            name=old.names.get(one),
        )
        builder.describe(made, old.locations.get(one, ()), old.origins.get(one))
        for output in range(len(one.type)):
            moved[one, output] = Edge(made, output)
    graph = builder.finish((inner(node.inputs[0]),))
    edge = node.inputs[0]
    recipe = CacheRecipe(
        graph,
        edge.node.type[edge.output],
        tuple(map(_is_trusted, (leaf.node for leaf in leaves))),
        digest_of(graph),
        node.attribute("where") or cache.fixed_defaults["where"],
        node.attribute("cache_bytes"),
        edge.node.operator.name,
        next(iter(old.locations.get(edge.node, ())), None),
    )
    recipe.runner = new_runner.get()(recipe)
    attributes: dict[str, Any] = {"recipe": Opaque(recipe)}
    if any(map(may_skip_samples, above)):
        attributes["on_error"] = "skip"
    inputs = tuple(rewriter.moved(leaf)._replace(argument=None) for leaf in leaves)
    made = rewriter.builder.add(cached, inputs, attributes, (recipe.type,))
    lines = old.locations.get(node, ())
    rewriter.builder.describe(made, lines, cache.name, old.names.get(node))
    return Edge(made, 0)


def _is_trusted(node: Node) -> bool:
    """Whether the values of a leaf come straight from a source."""
    return isinstance(node.operator, SourceOperator) or bool(node.attribute("trusted"))


def digest_of(graph: Graph) -> bytes:
    """A digest of all that decides about the values that a graph computes, but for its inputs."""
    printed = fingerprint(graph)
    for one in printed["operators"]:
        one["name"] = None
    facts = [
        printed,
        library_versions(graph),
        code_digests.code_of(
            node.operator for node in graph.nodes if node.operator is not constant
        ),
    ]
    return blake2b(repr(facts).encode(), digest_size=16).digest()
