"""`SourceStates`: the states of all sources after each batch, for checkpoints."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

from gradiva.capture.graph.graph import Node
from gradiva.eager.support.errors import without_frames
from gradiva.ops.readers.core.source import Source


class States(NamedTuple):
    """The iteration, and the state of each source, or the error that asking for it raised."""

    iteration: int
    by_source: dict[str, Any]


class SourceStates:
    """What was recorded for the batches that were read. Off until `begin` is called.

    `record` is called in the thread that reads, `deliver` in the user's.
    """

    def __init__(self, sources: Mapping[Node, Source]) -> None:
        self._sources = sources
        self._waiting: deque[States] = deque()
        self._last: States | None = None
        """Those that were recorded last."""
        self.delivered: States | None = None
        """Those after the batch that the user got last; None while this is off."""
        self.fingerprint: dict[str, Any] | None = None
        """That of the graph, once it was needed."""

    def begin(self, iteration: int) -> None:
        """What comes next is the first batch after these states."""
        self._waiting.clear()
        self.delivered = self._last = self._now(iteration)

    def reset(self, iteration: int) -> None:
        """The sources were reset."""
        if self.delivered is not None:
            self.begin(iteration)

    def record(self, iteration: int, moved: bool = True) -> None:
        """All sources were read for a batch, or have failed. moved: False if what comes next is
        what came before: a batch that is asked for again."""
        if self.delivered is not None:
            if moved or self._last is None:
                self._last = self._now(iteration)
            self._waiting.append(self._last)

    def deliver(self) -> None:
        """The next batch, or its error, is the user's."""
        if self.delivered is not None:
            self.delivered = self._waiting.popleft()

    def _now(self, iteration: int) -> States:
        states: dict[str, Any] = {}
        for node, source in self._sources.items():
            try:
                states[source_key(node)] = source.get_state()
            except Exception as error:  # noqa: BLE001  it concerns who asks for a checkpoint
                states[source_key(node)] = without_frames(error)
        return States(iteration, states)


def source_key(node: Node) -> str:
    """What a source is called: its number among what has effects, which no pass changes."""
    return str(node.attribute("effect"))
