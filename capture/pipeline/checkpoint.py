"""Checkpoints of pipelines: the place in all sources after the last batch that was handed out.

What is made ahead does not count: the state of the sources is noted down with each batch that is
read for, and is the pipeline's once that batch is handed out. Random operators have no state.
"""

from __future__ import annotations

import os
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from gradiva.capture.graph.fingerprint import difference, fingerprint, told
from gradiva.capture.graph.graph import Graph, Node
from gradiva.eager.checkpoints.files import (
    CheckpointError,
    load,
    looks_like_content,
    pack,
    save,
    unpack,
)
from gradiva.eager.checkpoints.json_codec import from_plain, to_plain
from gradiva.eager.support.errors import (
    GradivaError,
    Location,
    OperatorRuntimeError,
    OperatorTypeError,
    OperatorValueError,
    describe,
    fresh,
    without_frames,
)

if TYPE_CHECKING:
    from .executor import Executor
    from .source_plan import Plan

__all__ = ["Marks", "Restored", "checkpoint", "read_checkpoint"]

Content = dict[str, Any]


class _Mark(NamedTuple):
    """A place: the iteration, and the state of each source, or the error that asking for it
    raised."""

    iteration: int
    states: dict[str, Any]


class Marks:
    """The places after the batches that were read for. Off until `begin` is called.

    `note` is called in the thread that reads, `hand_out` in the user's.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = weakref.proxy(plan)  # who has the plan has this
        self._waiting: deque[_Mark] = deque()
        self.delivered: _Mark | None = None
        self.graph: Content | None = None
        """The fingerprint of the graph, once it was needed."""

    def begin(self) -> None:
        """What comes next is the first batch after this place."""
        self._waiting.clear()
        self.delivered = self._now()

    def again(self) -> None:
        """The sources were reset."""
        if self.delivered is not None:
            self.begin()

    def note(self, moved: bool = True) -> None:
        """All sources were read for a batch, or have failed. moved: False if what comes next is
        what came before: a batch that is asked for again."""
        if self.delivered is not None:
            before = self._waiting[-1] if self._waiting else self.delivered
            self._waiting.append(self._now() if moved else before)

    def hand_out(self) -> None:
        """The next batch, or its error, is the user's."""
        if self.delivered is not None:
            self.delivered = self._waiting.popleft()

    def _now(self) -> _Mark:
        states: dict[str, Any] = {}
        for node, source in self._plan.sources.items():
            try:
                states[_key(node)] = source.get_state()
            except Exception as error:  # noqa: BLE001  it concerns who asks for a checkpoint
                states[_key(node)] = without_frames(error)
        return _Mark(self._plan.iteration, states)


def _key(node: Node) -> str:
    """What a source is called: its number among what has effects, which no pass changes."""
    return str(node.attribute("effect"))


def checkpoint(
    executor: Executor,
    graph: Graph,
    filename: str | os.PathLike[str] | None = None,
    context: Content | None = None,
) -> bytes:
    """The checkpoint of a pipeline, written to a file too if one is named.

    graph: as it was recorded. context: plain data of the user's. Raises OperatorRuntimeError if the
    pipeline makes none, a source cannot tell its state or the file cannot be written;
    OperatorTypeError for a state or context that is no plain data.
    """
    plan = executor.plan
    mark, ended = executor.place()
    if mark is None:
        raise OperatorRuntimeError(
            "this pipeline makes no checkpoints: it was made without enable_checkpointing=True"
        )
    if plan.marks.graph is None:
        plan.marks.graph = fingerprint(graph)
    sources = {}
    for node, source in plan.sources.items():
        state = mark.states[_key(node)]
        if isinstance(state, GradivaError):
            raise plan.program.locate(fresh(state), node)
        if isinstance(state, BaseException):
            raise OperatorRuntimeError(
                f"`{node.operator.name}` cannot tell its state: {state!r}"
            ) from state
        sources[_key(node)] = {
            "operator": node.operator.name,
            "state": to_plain(state, f"the state of `{node.operator.name}`"),
            "data": source.contents(),
        }
    if context is not None and not isinstance(context, dict):
        raise OperatorTypeError(argument="context", expected="a dict", got=describe(context))
    text = pack(
        {
            "kind": "pipeline",
            "batch_size": plan.batch_size,
            "seed": plan.seed,
            "iteration": mark.iteration,
            "ended": ended,
            "graph": plan.marks.graph,
            "sources": sources,
            "context": to_plain(context, "`context`"),
        }
    )
    if filename is not None:
        save(filename, text)
    return text.encode("ascii")


def read_checkpoint(given: Any) -> Restored:
    """What the argument `checkpoint` of a pipeline holds.

    given: what `checkpoint` returned, as bytes or text; or the name of a file. Of a file that is
    damaged the one before it is taken, with a warning. Raises CheckpointError (a ValueError),
    CheckpointNotFoundError (a FileNotFoundError) or OperatorTypeError.
    """
    try:
        if isinstance(given, os.PathLike) or (
            isinstance(given, str) and given and not looks_like_content(given)
        ):
            content, _ = load(given, "pipeline")
        elif isinstance(given, str | bytes):
            content = unpack(given, "pipeline")
        else:
            raise OperatorTypeError(
                expected="what Pipeline.checkpoint returned, or the name of its file",
                got=describe(given),
            )
        return Restored(content)
    except GradivaError as error:
        raise error.complete(argument="checkpoint") from error.__cause__


class Restored:
    """A checkpoint that was read, to be put into a pipeline of the same graph."""

    def __init__(self, content: Content) -> None:
        self._content = content
        kinds = {"batch_size": int, "seed": int, "iteration": int, "ended": bool}
        kinds |= {"graph": dict, "sources": dict}
        for name, kind in kinds.items():
            if type(content.get(name)) is not kind:
                raise CheckpointError(f"the checkpoint has no `{name}` that makes sense")
        self.seed: int = content["seed"]
        self.context: Any = from_plain(content.get("context"))

    def check(self, graph: Graph, batch_size: int, seed: int | None) -> None:
        """Refuse a pipeline that would not go on as the saved one.

        graph: as it was recorded. seed: the explicit one. Raises CheckpointError, which names the
        first operator that differs; OperatorValueError for another seed or batch size.
        """
        try:
            found = difference(self._content["graph"], graph)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise CheckpointError(
                f"the checkpoint has no graph that makes sense: {error!r}"
            ) from None
        if found is not None:
            number, text = found
            lines = _lines_of(graph, number)
            raise CheckpointError(
                f"the checkpoint belongs to another graph: {text}",
                location=lines[0] if lines else None,
            )
        for name, is_now, was in (
            ("batch_size", batch_size, self._content["batch_size"]),
            ("seed", self.seed if seed is None else seed, self.seed),
        ):
            if is_now != was:
                raise OperatorValueError(
                    f"the checkpoint belongs to a pipeline with another {name}",
                    argument=name,
                    expected=f"{was}, as in the checkpoint",
                    got=str(is_now),
                )

    def put_into(self, plan: Plan) -> bool:
        """Put the sources into their places; returns whether the end of the data had been met.

        Raises CheckpointError if they read other data than the saved ones.
        """
        sources = self._content["sources"]
        for node, source in plan.sources.items():
            try:
                saved = sources[_key(node)]
                data, state = saved["data"], from_plain(saved["state"])
            except (KeyError, TypeError) as error:
                raise CheckpointError(
                    f"the checkpoint has no state of a source: {error!r}"
                ) from None
            try:
                contents = source.contents()
                if data != contents:
                    raise CheckpointError(
                        "the data are not those that were read before the checkpoint was saved",
                        expected=str(data),
                        got=str(contents),
                    )
                source.set_state(state)
            except GradivaError as error:
                raise plan.program.locate(error, node) from error.__cause__
        plan.iteration = self._content["iteration"]
        return bool(self._content["ended"])


def _lines_of(graph: Graph, number: int) -> tuple[Location, ...]:
    """The user's lines of an operator, by its number in the fingerprint."""
    nodes = told(graph)
    return graph.locations.get(nodes[number], ()) if number < len(nodes) else ()
