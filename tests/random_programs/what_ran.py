"""What fused groups really did while programs ran: told by the kernels, not by the report."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gradiva.capture.caches.cached_samples import Runner
from gradiva.capture.graph.graph import Node
from gradiva.capture.runtime import program as running
from gradiva.capture.runtime.fused_cpu import FusedLoop
from gradiva.capture.runtime.fused_group import run_group
from gradiva.capture.runtime.fusion_report import GroupReport, NotFusableError, Reason
from gradiva.eager.execution.execute import execute

__all__ = ["WhatRan", "watched"]


class WhatRan:
    """The runs of each group, by its node: each a list of what happened, in order.

    An int is an entry into the fused loop with so many members, whose result was used; a string a
    member that ran alone, a pair the reason and detail of a refusal. Runs that end in an error are
    not there.
    """

    def __init__(self) -> None:
        self.runs: dict[Node, list[list[Any]]] = {}
        self._own = threading.local()
        self._lock = threading.Lock()

    def note(self, event: Any) -> None:
        """Within the run of a group, in its thread."""
        events = getattr(self._own, "events", None)
        if events is not None:
            events.append(event)

    @contextmanager
    def group(self, node: Node, size: int) -> Iterator[None]:
        if getattr(self._own, "computes", False):
            yield
            return
        events: list[Any] = []
        self._own.events = events
        try:
            yield
        finally:
            self._own.events = None
        if size:
            with self._lock:
                self.runs.setdefault(node, []).append(events)

    @contextmanager
    def within_cache(self) -> Iterator[None]:
        """What a cache computes is in no report."""
        events, self._own.events = getattr(self._own, "events", None), None
        self._own.computes = True
        try:
            yield
        finally:
            self._own.events, self._own.computes = events, False

    def check(self, explained: Iterable[GroupReport], nodes: Iterable[Node] | None = None) -> None:
        """That reports say the same. nodes: of the graph that they are of, where there are more."""
        told = [_told(group) for group in explained if group.batches]
        chosen = self.runs if nodes is None else [node for node in nodes if node in self.runs]
        counted = [_counted(node, self.runs[node]) for node in chosen]
        assert sorted(told, key=repr) == sorted(counted, key=repr)


def _told(group: GroupReport) -> Any:
    """The numbers of a report, which must agree with each other."""
    assert group.batches == group.fused + group.partly + group.separate
    assert sum(group.reasons.values()) == group.partly + group.separate
    assert all(isinstance(reason, Reason) for reason, _ in group.reasons)
    assert Reason.EMPTY_BATCH not in {reason for reason, _ in group.reasons}
    parts = (
        (group.time_fused, group.fused),
        (group.time_partly, group.partly),
        (group.time_separate, group.separate),
    )
    for timing, count in parts:
        assert 0 <= timing.runs <= count
        assert timing.samples >= timing.runs  # none is empty
        assert (timing.seconds > 0) == (timing.runs > 0)
    text = str(group)
    assert f"fused in {group.fused} of {group.batches} batches" in text
    for (reason, detail), count in group.reasons.items():
        assert f"{count} x {reason.name}: {reason.value}" in text
        assert detail in text
    return group.members, group.fused, group.partly, group.separate, dict(group.reasons)


def _counted(node: Node, runs: list[list[Any]]) -> Any:
    """The same numbers, from what happened."""
    names = tuple(member.operator.name for member in node.members)
    fused = partly = 0
    reasons: Counter[Any] = Counter()
    for events in runs:
        refused = [event for event in events if isinstance(event, tuple)]
        entries = [event for event in events if isinstance(event, int)]
        alone = [event for event in events if isinstance(event, str)]
        assert sum(entries) + len(alone) == len(names), events
        if entries == [len(names)]:
            assert not refused, events
            fused += 1
            continue
        partly += bool(entries)
        reasons[refused[0]] += 1
    return names, fused, partly, len(runs) - fused - partly, dict(reasons)


@contextmanager
def watched() -> Iterator[WhatRan]:
    """Watch the groups of all programs that run meanwhile."""
    seen = WhatRan()
    group, enter = running.Program._group, FusedLoop.run

    def watched_group(program: Any, node: Node, turn: Any, size: int, valid: Any) -> Any:
        with seen.group(node, size):
            return group(program, node, turn, size, valid)

    own = threading.local()

    def watched_run(*arguments: Any) -> Any:
        own.entered = None
        try:
            made = run_group(*arguments)
        except NotFusableError as error:
            seen.note((error.reason, error.detail))
            raise
        assert own.entered is not None, "said to have run fused without an entry into the loop"
        seen.note(own.entered)
        return made

    def watched_alone(operator: Any, *arguments: Any, **given: Any) -> Any:
        made = execute(operator, *arguments, **given)
        seen.note(operator.name)
        return made

    def watched_enter(loop: FusedLoop) -> None:
        enter(loop)
        own.entered = len(loop.calls)

    def watched_compute(*arguments: Any) -> Any:
        with seen.within_cache():
            return compute(*arguments)

    compute = Runner._compute
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Runner, "_compute", watched_compute)
        patched.setattr(running.Program, "_group", watched_group)
        patched.setattr(running, "run_group", watched_run)
        patched.setattr(running, "execute", watched_alone)
        patched.setattr(FusedLoop, "run", watched_enter)
        yield seen
