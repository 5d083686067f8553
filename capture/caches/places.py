"""Where a graph should keep results: chosen by measuring what each place saves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from gradiva.capture.compiler.caches import digest_of, is_leaf, recipes_of, why_not_cached
from gradiva.capture.compiler.constant_fold import fold
from gradiva.capture.compiler.dce import prune
from gradiva.capture.compiler.decompose import decompose
from gradiva.capture.compiler.optimize import optimize
from gradiva.capture.compiler.rewriter import rewrite
from gradiva.capture.compiler.whole_images import decode_whole_images
from gradiva.capture.graph.builtin_ops import constant
from gradiva.capture.graph.graph import Edge, Graph, Node
from gradiva.capture.graph.scopes import scopes_of
from gradiva.capture.runtime.program import Keys, Positions, Program, Values
from gradiva.eager.execution.error_policy import keep_rows
from gradiva.eager.execution.quarantine import collecting_in, isolated
from gradiva.eager.operators.fusion_roles import Decode, Resample, View
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.support.errors import GradivaError
from gradiva.eager.values.batch import Batch
from gradiva.ops.cache.cache import IN_MEMORY, cache
from gradiva.ops.cache.memory_store import MemoryStore
from gradiva.ops.cache.opening import open_store
from gradiva.ops.cache.store import Store

from .options import CacheOptions

MEASURED: Final = 16
"""The samples with which a place is chosen, at most."""
_BOUNDLESS: Final = 1 << 62
_RUNS: Final = 3
_ATTEMPTS: Final = 3
"""How often all places are measured, as long as none is worth it: another program may disturb."""
_WORTH: Final = 0.05
"""The fraction of the time of a sample that a cache must save."""
_DISK: Final = 4e9
"""Bytes that a second reads from files that the system has in memory, about."""


class Samples(NamedTuple):
    """Some samples of the data, to measure with: what the sources of a graph have delivered for
    them; length: how many there are in all, None where that is not known; keys: of random calls,
    as of `Program.run`."""

    values: Values
    size: int
    positions: dict[Any, Positions]
    length: int | None = None
    keys: Keys = ()


def first_of(batch: Batch) -> Batch:
    """The samples of a batch that places are measured with."""
    return keep_rows(batch, range(MEASURED)) if len(batch) > MEASURED else batch


@dataclass(frozen=True)
class _Place:
    """A place for a cache: which node of the graph, and what was measured."""

    number: int
    sample_bytes: float = 0.0
    saved: float = 0.0

    def facts(self) -> dict[str, Any]:
        return {"number": self.number, "bytes": self.sample_bytes, "saved": self.saved}


def with_caches(
    recorded: Graph,
    options: CacheOptions | None,
    pool: WorkerPool,
    seed: int,
    read: Callable[[Graph], Samples | None],
) -> Graph:
    """The graph with a cache where that saves most of the time; as it is without options.

    read: reads samples for a graph with these sources; None where it cannot. The choice is kept
    beside the results, so that all runs make the same one.
    """
    if options is None:
        return recorded
    graph = optimize(recorded, (prune, fold, decompose, decode_whole_images))
    frontiers = list(_frontiers(graph))
    if not frontiers:
        return recorded
    store = open_store(*options)
    key = blake2b(digest_of(graph) + b" places", digest_size=16).digest()
    (known,) = store.find([key])
    facts = None if known is None else known.failure
    places = _known_places(facts, len(graph.nodes))
    if places is None:
        samples = _read(read, graph)
        if samples is None:
            places = [_Place(graph.nodes.index(_by_rule(chain))) for chain in frontiers]
        else:
            places = _Measuring(graph, samples, store, options, pool, seed).choose(frontiers)
        if places:
            facts = {"problem": "places", "places": [one.facts() for one in places]}
            store.put_failure(key, facts)
    return _placed(graph, places, options) if places else recorded


def _known_places(facts: dict[str, Any] | None, nodes: int) -> list[_Place] | None:
    if facts is None or not isinstance(facts.get("places"), list):
        return None
    try:
        places = [
            _Place(int(one["number"]), float(one["bytes"]), float(one["saved"]))
            for one in facts["places"]
        ]
    except (KeyError, TypeError, ValueError):
        return None
    return places if all(0 <= one.number < nodes for one in places) else None


def _frontiers(graph: Graph) -> Iterable[list[Node]]:
    """For each last node that could be kept, it and those before it that could, too, toward the
    source."""
    scopes = scopes_of(graph.nodes)
    fixed: dict[Node, bool] = {}
    """Whether a node is a function of each sample of a source, and not of nothing."""
    for node in graph.nodes:
        if is_leaf(node):
            fixed[node] = True
        elif node.operator is constant:
            fixed[node] = False
        else:
            above = [edge.node for edge in node.inputs]
            pure = all(one.operator is constant or fixed[one] for one in above)
            some = any(fixed[one] for one in above)
            fixed[node] = pure and some and why_not_cached(node) is None
    last: set[Node] = {edge.node for edge in graph.outputs}
    for node in graph.nodes:
        if not fixed[node]:
            last.update(edge.node for edge in node.inputs)
    for node in graph.nodes:
        chain: list[Node] = []
        here = node
        while node in last and fixed[here] and not is_leaf(here):
            if here.operator is cache:
                chain.clear()
                break
            if here not in scopes and len(here.type) == 1:
                chain.append(here)
            here = here.inputs[0].node
        if chain:
            yield chain


def _by_rule(chain: list[Node]) -> Node:
    """Where nothing can be measured: after the last step that makes fewer values."""
    roles = (Decode, Resample, View)
    return next((one for one in chain if isinstance(one.operator.fusion_role, roles)), chain[0])


def _read(read: Callable[[Graph], Samples | None], graph: Graph) -> Samples | None:
    """The samples; None where they cannot be read, whose error a batch will raise."""
    try:
        return read(graph)
    except (GradivaError, StopIteration):
        return None


def _placed(graph: Graph, places: list[_Place], options: CacheOptions) -> Graph:
    """The graph with caches behind some of its nodes."""
    chosen = {graph.nodes[one.number] for one in places}
    fields = {name: value for name, value in options._asdict().items() if value is not None}

    def rule(rewriter: Any, node: Node) -> Edge | None:
        if node not in chosen:
            return None
        made = Edge(rewriter.copy(node), 0)
        return rewriter.add(node, cache, (made,), fields)  # type: ignore[no-any-return]

    return rewrite(graph, rule)


class _Measuring:
    """Times a graph with caches at different places, all samples of which are there."""

    def __init__(
        self,
        graph: Graph,
        samples: Samples,
        store: Store,
        options: CacheOptions,
        pool: WorkerPool,
        seed: int,
    ) -> None:
        self._graph, self._samples, self._store = graph, samples, store
        self._options, self._pool, self._seed = options, pool, seed

    def choose(self, frontiers: list[list[Node]]) -> list[_Place]:
        """The best places."""
        chosen: list[_Place] = []
        try:
            for _ in range(_ATTEMPTS):
                chosen = chosen or self._chosen(frontiers)
        except GradivaError:
            return [_Place(self._graph.nodes.index(_by_rule(chain))) for chain in frontiers]
        return chosen

    def _chosen(self, frontiers: list[list[Node]]) -> list[_Place]:
        chosen: list[_Place] = []
        before, _ = self._time([])
        for chain in frontiers:
            best: _Place | None = None
            for node in chain:
                number = self._graph.nodes.index(node)
                if any(one.number == number for one in chosen):
                    continue
                after, each = self._time([*chosen, _Place(number)])
                saved = (before - after) * self._share(each)
                if saved > _WORTH * before and (best is None or saved > best.saved):
                    best = _Place(number, each, saved)
            if best is not None:
                chosen.append(best)
                before, _ = self._time(chosen)
        return chosen

    def _share(self, sample_bytes: float) -> float:
        """Which part of all samples has room."""
        length = self._samples.length
        if not length or not sample_bytes:
            return 1.0
        return min(1.0, self._store.capacity / (length * sample_bytes))

    def _time(self, places: list[_Place]) -> tuple[float, float]:
        """The seconds of a sample, and the bytes of one at the last place."""
        graph = optimize(_placed(self._graph, places, self._options))
        recipes = recipes_of(graph)
        for recipe in recipes:
            recipe.runner.store = MemoryStore(_BOUNDLESS)
        program, size, best = Program(graph), self._samples.size, float("inf")
        leaves = {_name(node): node for node in graph.nodes if is_leaf(node)}
        moved = {
            node: leaves[_name(node)] for node, _ in self._samples.values if _name(node) in leaves
        }
        for run in range(_RUNS + 1):
            values = {
                (moved[node], output): batch
                for (node, output), batch in self._samples.values.items()
                if node in moved
            }
            positions = {
                moved.get(node): places
                for node, places in self._samples.positions.items()
                if node is None or node in moved
            }
            began = time.perf_counter()
            with collecting_in(isolated()):
                program.run_step(
                    values, size, positions, self._seed, self._pool, self._samples.keys
                )
            if run:
                best = min(best, time.perf_counter() - began)
        stored = [recipe.runner.sample_bytes for recipe in recipes]
        each = sum(stored) - sum(one.sample_bytes for one in places[:-1])
        reading = 0.0 if self._options.where == IN_MEMORY else sum(stored) / _DISK
        return best / size + reading, each


def _name(leaf: Node) -> tuple[str, Any]:
    """What a leaf is called in all forms of a graph."""
    return leaf.operator.name, leaf.attribute("effect", leaf.attribute("number"))
