"""An executable graph: computes the outputs from the values of the leaves, in one thread that
shares the work on each node with a pool."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.capture.compiler.dce import may_skip_samples
from gradiva.capture.graph.builtin_ops import constant, fused, parameter, random_key
from gradiva.capture.graph.graph import Graph, Node
from gradiva.capture.graph.scopes import Selection, scopes_of
from gradiva.eager.execution.error_policy import narrowed, with_mask
from gradiva.eager.execution.execute import execute
from gradiva.eager.operators.fusion_roles import Resample
from gradiva.eager.random.generator import RandomKey
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.schedules.settling import Place, has_schedules
from gradiva.eager.support import tracing
from gradiva.eager.support.errors import GradivaError
from gradiva.eager.types.arrays import BoolVector
from gradiva.eager.types.device import CPU, Device
from gradiva.eager.types.provenance import Progress
from gradiva.eager.values.batch import Batch
from gradiva.ops.arrays.copy import copy
from gradiva.ops.math.branches import merge, split
from gradiva.ops.readers.core.source import SourceOperator

from .fused_group import Plans, run_group
from .fusion_report import FusionReport, NotFusableError, Stopwatch
from .memory_statistics import MemoryStatistics
from .node_inputs import Outputs, Values, constant_batch, repeated, resolve, value_of
from .split_merge import join, part

__all__ = ["Outputs", "Positions", "Program", "Values"]

Positions = np.ndarray[Any, np.dtype[np.int64]]
Keys = Sequence[tuple[Any, Any, Progress | None]]
GPU: Final = Device("gpu")


class _RunState(NamedTuple):
    """The state of one run of a program: see `Program.run`."""

    values: Values
    positions: dict[Any, Positions]
    seed: int
    pool: WorkerPool
    keys: Keys
    selection: Selection
    gpu: Device
    progress: Progress | None

    def device_of(self, node: Node) -> Device:
        return CPU if node.device == "cpu" else self.gpu


def _last_progress(values: Values) -> Progress | None:
    """That of the source that was read last, of those that know theirs."""
    places = (batch.provenance for batch in reversed(values.values()))
    return next((one.progress for one in places if one is not None and one.progress), None)


def _expect(node: Node, device: str) -> None:
    """Prepare for the data that are to come, if that is known."""
    role = node.operator.fusion_role
    if isinstance(role, Resample) and role.expect is not None and device == "cpu":
        edge = node.inputs[0]
        dtype = edge.node.type[edge.output].dtype
        if dtype is not None:
            role.expect(dtype.name)


class Program:
    """A graph in execution order, and when each value can be freed.

    together: whether samples that a node loses (`on_error="skip"`) leave all values; else they
    leave those that are computed from its outputs, which say in `valid` what they hold.
    """

    def __init__(self, graph: Graph, together: bool = True) -> None:
        self.graph = graph
        self._together = together
        self.parameters = [node for node in graph.nodes if node.operator is parameter]
        self._steps = [
            node
            for node in graph.nodes
            if not isinstance(node.operator, SourceOperator)
            and node.operator not in (random_key, parameter)
        ]
        self.computes = bool(self._steps)
        """Whether there is any work to do on the batches of the sources."""
        self.has_side_effects = any(node.operator.effects for node in self._steps)
        """Whether its runs must follow each other, because they have effects."""
        self._scopes = scopes_of(graph.nodes)
        self._may_lose = any(map(may_skip_samples, self._steps))
        self._last_use = self._find_last_uses()
        self.statistics: MemoryStatistics | None = None
        """Where the sizes of results are recorded; None for nowhere."""
        self._plans = Plans.none()
        self._scheduled = {
            member
            for node in self._steps
            for member in (node.members or (node,))
            if has_schedules(dict(member.attributes))
        }
        """The nodes that have schedules among their arguments."""
        self.fusion = FusionReport(graph)
        """The reports on its fused groups."""
        for node in self._steps:
            for member in node.members or (node,):
                _expect(member, node.device)

    def _find_last_uses(self) -> dict[Node, list[tuple[Node, int]]]:
        """The values that can be freed after a node has run, so that the next node can reuse their
        memory."""
        last: dict[tuple[Node, int], Node] = {}
        for node in self._steps:
            for edge in node.inputs:
                last[edge.node, edge.output] = node
        for edge in self.graph.outputs:
            last.pop((edge.node, edge.output), None)
        uses: dict[Node, list[tuple[Node, int]]] = {}
        for value, node in last.items():
            uses.setdefault(node, []).append(value)
        return uses

    def run(
        self,
        values: Values,
        size: int,
        positions: dict[Any, Positions],
        seed: int,
        pool: WorkerPool,
        keys: Keys = (),
        gpu: Device = GPU,
        progress: Progress | None = None,
    ) -> Outputs:
        """The outputs of `run_step`."""
        return self.run_step(values, size, positions, seed, pool, keys, gpu, progress)[0]

    def run_step(
        self,
        values: Values,
        size: int,
        positions: dict[Any, Positions],
        seed: int,
        pool: WorkerPool,
        keys: Keys = (),
        gpu: Device = GPU,
        progress: Progress | None = None,
    ) -> tuple[Outputs, Positions | None]:
        """The outputs for these values of sources and parameters, which are used up.

        positions: of the samples in each source, and under None those that count where no source
        is named. seed: of random keys that have none. keys: of random calls and of those with
        schedules, the positions of their samples, and the progress, where the graph only says which
        of these it is. gpu: the one that nodes on a GPU run on, by its current stream. progress: of
        the source that was read last, for schedules without an input. Where samples have left all
        values, the outputs are smaller; then also the numbers of the samples that are left.
        """
        recording, began, started = tracing.active, 0, Stopwatch()
        selection = Selection(size, self._may_lose)
        if progress is None and self._scheduled:
            progress = _last_progress(values)
        state = _RunState(values, positions, seed, pool, keys, selection, gpu, progress)
        self._bring(state)
        for node in self._steps:
            if pool.cancelled:
                raise StopIteration
            if recording is not None:
                began = recording.start(_title(node))
            valid = self._valid(node, state)
            try:
                outputs = self._call(node, state, valid)
            except GradivaError as error:
                if error.sample is not None and valid is not None:
                    error.sample = int(np.flatnonzero(valid)[error.sample])
                raise self.locate(error, node) from error.__cause__
            if recording is not None:
                recording.call(pool, "operator", _title(node), began, outputs)
            if self.statistics is not None:
                self.statistics.record(node, outputs)
            for output, batch in enumerate(outputs):
                values[node, output] = batch
            for value in self._last_use.get(node, ()):
                values.pop(value, None)
        outputs = tuple(values[edge.node, edge.output] for edge in self.graph.outputs)
        self.fusion.ran(started)
        left = state.selection.valid
        if left is None:
            return outputs, None
        return tuple(with_mask(narrowed(one, left), None) for one in outputs), np.flatnonzero(left)

    def _valid(self, node: Node, state: _RunState) -> BoolVector | None:
        """The samples that a node works on; None for all that were read."""
        if self._together:
            return state.selection.mask(self._scopes.get(node))
        if not self._may_lose:
            return None
        inputs = (state.values.get((edge.node, edge.output)) for edge in node.inputs)
        masks = [one.valid for one in inputs if one is not None and one.valid is not None]
        return functools.reduce(np.logical_and, masks) if masks else None

    def _bring(self, state: _RunState) -> None:
        """Copy the batches of sources to the devices that need them."""
        for (node, output), batch in state.values.items():
            wanted = node.type[output].device
            if isinstance(node.operator, SourceOperator) and batch.device.device_type != wanted:
                device = state.device_of(node)
                try:
                    made = execute(copy, (batch,), {}, len(batch), state.pool, device=device)
                except GradivaError as error:
                    raise self.locate(error, node) from error.__cause__
                state.values[node, output] = made[0]

    def _call(self, node: Node, state: _RunState, valid: BoolVector | None) -> Outputs:
        scope = self._scopes.get(node)
        if node.operator is split:
            return part(node, scope, state.selection, state.values)
        if node.operator is merge:
            device = state.device_of(node)
            return (join(node, scope, state.selection, state.values, state.pool, device),)
        size = state.selection.size if valid is None else int(np.count_nonzero(valid))
        if node.operator is constant:
            outputs: Outputs = (constant_batch(node, size),)
        elif node.operator is fused:
            outputs = self._group(node, state, size, valid)
        else:
            outputs = self._execute(node, state, size, valid)
        if not self._may_lose:
            return outputs
        left = outputs[0].valid if outputs else None
        if left is not None and left is not valid and self._together:
            state.selection.lose(scope, left)
        left = valid if left is None else left
        return outputs if left is None else tuple(with_mask(one, left) for one in outputs)

    def _execute(
        self, node: Node, state: _RunState, size: int, valid: BoolVector | None
    ) -> Outputs:
        scope, pool, device = self._scopes.get(node), state.pool, state.device_of(node)
        shared = node.operator.random and bool(node.attribute("shared"))
        place = self._place(node, state, None if shared else valid)
        narrow = valid if self._may_lose else None
        inputs, given = resolve(node, state.values, size, narrow, place)
        key, positions = None, state.positions[None]
        for edge in node.inputs:
            if edge.argument == "key":
                key, positions = self._drawn(edge.node, state, None if shared else valid)
        if node.operator.random:
            own = next((batch.positions for batch in inputs if batch.positions is not None), None)
            if shared and size:
                if own is None or scope is not None:
                    own = positions  # of the whole batch, independent of the branch
                inputs = tuple(repeated(batch, 1) for batch in inputs)
                given = {
                    name: repeated(value, 1) if isinstance(value, Batch) else value
                    for name, value in given.items()
                }
                outputs = execute(
                    node.operator, inputs, given, 1, pool, key, own[:1], device=device
                )
                return tuple(repeated(batch, size) for batch in outputs)
            positions = positions[:size] if own is None else own
        return execute(node.operator, inputs, given, size, pool, key, positions, device)

    def _group(self, node: Node, state: _RunState, size: int, valid: BoolVector | None) -> Outputs:
        """Run a fused group; in parts if the data do not fit the fused kernels."""
        inside: Values = {}
        drawn: dict[Node, tuple[Any, Any]] = {}
        for member in node.members:
            for edge in member.inputs:
                if edge.node.operator is not parameter:
                    continue
                outer = node.inputs[edge.node.attribute("number")]
                if outer.node.operator is random_key:
                    drawn[edge.node] = self._drawn(outer.node, state, valid)
                else:
                    narrow = valid if self._may_lose else None
                    inside[edge.node, edge.output] = value_of(outer, state.values, size, narrow)
        pool, device, began, samples = state.pool, state.device_of(node), Stopwatch(), size

        # As many members as possible run fused; the first that does not fit runs alone, and so on.
        rest = part = node.members
        fusing, partly, why = True, False, None
        kept: BoolVector | None = None
        """Which samples of the group the decoder has left."""
        while rest:
            made: Batch | None = None
            place = functools.partial(self._place, state=state, valid=valid)
            try:
                while fusing and made is None and len(part) > 1:
                    try:
                        made = run_group(
                            part, inside, drawn, size, pool, self.locate, place, device, self._plans
                        )
                    except NotFusableError as error:
                        why = why or (error.reason, error.detail)  # the error itself keeps frames
                        fusing = error.first is not None and device is CPU
                        part = part[: error.first]
                if made is None:
                    part = rest[:1]
                    made = self._alone(part[0], inside, drawn, size, pool, place, device)
            except GradivaError as error:
                if error.sample is not None and kept is not None:
                    error.sample = int(np.flatnonzero(kept)[error.sample])
                raise
            batch = made
            if why is None:
                self.fusion.fused(node, samples, began)
                return (batch,)
            partly = partly or len(part) > 1
            left = batch.valid
            if left is not None and left is not valid:  # the decoder has lost samples
                kept = left if valid is None else left[valid]
                drawn = {leaf: (key, own[kept]) for leaf, (key, own) in drawn.items()}
                inside = {edge: narrowed(value, left) for edge, value in inside.items()}
                size, valid = len(batch), left
            elif valid is not None:
                batch = with_mask(batch, valid)
            inside[part[-1], 0] = batch
            if self.statistics is not None:
                self.statistics.record(part[-1], (batch,))
            rest = part = rest[len(part) :]
        assert why is not None
        (self.fusion.partly if partly else self.fusion.separate)(node, samples, began, *why)
        return (batch,)

    def _alone(
        self,
        member: Node,
        inside: Values,
        drawn: dict[Node, tuple[Any, Any]],
        size: int,
        pool: WorkerPool,
        place: Callable[[Node], Place | None],
        device: Device,
    ) -> Batch:
        """The output of one member of a group."""
        key, own = next(
            (drawn[edge.node] for edge in member.inputs if edge.argument == "key"), (None, None)
        )
        try:
            inputs, given = resolve(member, inside, size, None, place(member))
            first = inputs[0].positions
            own = own if first is None else first
            return execute(member.operator, inputs, given, size, pool, key, own, device)[0]
        except GradivaError as error:
            raise self.locate(error, member) from error.__cause__

    def _place(self, node: Node, state: _RunState, valid: BoolVector | None) -> Place | None:
        """The place of the schedules of a node, where no input has one."""
        if node not in self._scheduled:
            return None
        slot, positions, progress = node.attribute("slot"), state.positions[None], state.progress
        if slot is not None:
            _, positions, progress = state.keys[slot]
        if progress is None:
            return None
        return Place(progress, positions if valid is None else positions[valid])

    def _drawn(
        self, node: Node, state: _RunState, valid: BoolVector | None
    ) -> tuple[RandomKey, Positions]:
        """The key of a `random_key` node, and the positions of the samples in the mask; of all
        samples of the step without one."""
        slot, own = node.attribute("slot"), node.attribute("seed")
        if slot is not None:
            key, positions, _ = state.keys[slot]
        else:
            positions = state.positions[None]
            for source in node.inputs:
                positions = state.positions.get(source.node, positions)
            key = RandomKey(state.seed if own is None else own, node.attribute("number"))
        return key, positions if valid is None else positions[valid]

    def locate(self, error: GradivaError, node: Node) -> GradivaError:
        """The error with the node's name and the user's line, unless it has them already."""
        if error.location is not None:
            return error
        lines = self.graph.locations.get(node, ())
        name = self.graph.names.get(node)
        operator = self.graph.origins.get(node, node.operator.name)
        error.operator = f"{operator} ({name})" if name else operator
        return error.complete(location=lines[0] if lines else None)


def _title(node: Node) -> str:
    """The name of a node in a timeline; for a group the names of its first and last members."""
    if not node.members:
        return node.operator.name
    return f"{node.members[0].operator.name} ... {node.members[-1].operator.name}"
