"""Checkpoints of pipelines: the state of all sources after the last batch that the user received.

Prefetched batches do not count: the states are recorded with each batch that is read, and become
the states of the pipeline when the user receives that batch. Random operators have no state.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gradiva.capture.graph.fingerprint import difference, fingerprint, shares_steps, user_nodes
from gradiva.capture.graph.graph import Graph, Node
from gradiva.eager.contexts.checkpoint_files import (
    UNFIT_VALUES,
    CheckpointError,
    load,
    looks_like_content,
    pack,
    save,
    set_state,
    unpack,
)
from gradiva.eager.contexts.json_codec import from_json_value, to_json_value
from gradiva.eager.support.errors import (
    GradivaError,
    Location,
    OperatorRuntimeError,
    annotate_error,
    describe,
    fresh,
    wrong_type,
    wrong_value,
)
from gradiva.ops.readers.core.source import SourceOperator

from .source_plan import SourcePlan
from .source_states import source_key

if TYPE_CHECKING:
    from .pipeline import Pipeline

__all__ = ["Restored", "checkpoint", "read_checkpoint"]

Content = dict[str, Any]


def checkpoint(
    pipe: Pipeline,
    filename: str | os.PathLike[str] | None = None,
    context: dict[str, Any] | None = None,
) -> bytes:
    """The place of this pipeline after the last batch that was returned, for the argument
    `checkpoint` of a pipeline with the same graph, which goes on from there bit by bit.

    filename: a file to write it to as well, atomically; the one before it is kept as
    `<filename>.previous`. context: data of your own (numbers, strings, lists, dicts, arrays)
    to be saved with it, found in `checkpoint_context` of the restored pipeline.

    Raises OperatorRuntimeError if the pipeline was made without enable_checkpointing=True, a
    source cannot tell its state, or the file cannot be written; OperatorTypeError for a state
    or context that is no plain data.
    """
    executor = pipe._built().executor
    with annotate_error("Pipeline.checkpoint"):
        states, ended = executor.source_states()
        plan, graph = executor.plan, pipe._recorded()
        if states is None:
            raise OperatorRuntimeError(
                "this pipeline makes no checkpoints: it was made without enable_checkpointing=True"
            )
        if plan.states.fingerprint is None:
            plan.states.fingerprint = fingerprint(graph)
        sources = {}
        for node, source in plan.sources.items():
            state = states.by_source[source_key(node)]
            if isinstance(state, GradivaError):
                raise plan.program.locate(fresh(state), node)
            if isinstance(state, BaseException):
                raise OperatorRuntimeError(
                    f"`{node.operator.name}` cannot tell its state: {state!r}"
                ) from state
            sources[source_key(node)] = {
                "operator": node.operator.name,
                "state": to_json_value(state, f"the state of `{node.operator.name}`"),
                "data": source.contents(),
            }
        if context is not None and not isinstance(context, dict):
            raise wrong_type("context", "a dict", describe(context))
        text = pack(
            {
                "kind": "pipeline",
                "batch_size": plan.batch_size,
                "seed": plan.seed,
                "iteration": states.iteration,
                "ended": ended,
                "graph": plan.states.fingerprint,
                "sources": sources,
                "context": to_json_value(context, "`context`"),
                **({"compose_warps": True} if pipe._options.compose_warps else {}),
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
            raise wrong_type(
                "", "what Pipeline.checkpoint returned, or the name of its file", describe(given)
            )
        return Restored(content)
    except GradivaError as error:
        raise error.complete(argument="checkpoint") from error.__cause__


class Restored:
    """A checkpoint that was read, to be restored in a pipeline of the same graph."""

    def __init__(self, content: Content) -> None:
        self._content = content
        kinds = {"batch_size": int, "seed": int, "iteration": int, "ended": bool}
        kinds |= {"graph": dict, "sources": dict}
        for name, kind in kinds.items():
            value = content.get(name)
            sane = not isinstance(value, int) or -(2**63) <= value < 2**64
            if type(value) is not kind or not sane:
                raise CheckpointError(f"the checkpoint has no `{name}` that makes sense")
        if not 0 <= content["iteration"] * content["batch_size"] < 2**62:  # positions of samples
            raise CheckpointError("the checkpoint has no `iteration` that makes sense")
        self.seed: int = content["seed"]
        try:
            self.context: Any = from_json_value(content.get("context"))
        except UNFIT_VALUES as error:
            raise CheckpointError(f"the checkpoint has no context: {error!r}") from None

    def check(
        self, graph: Graph, batch_size: int, seed: int | None, compose_warps: bool = False
    ) -> None:
        """Raise an error for a pipeline that would not continue as the saved one.

        graph: as it was recorded. seed: the explicit one. Raises CheckpointError, which names the
        first operator that differs; OperatorValueError for another seed, batch size or
        `compose_warps`.
        """
        try:
            found = difference(self._content["graph"], graph)
        except UNFIT_VALUES as error:
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
        # Readers that share steps know their place in the epoch, whatever the size of batches.
        any_size = all(map(shares_steps, _sources(graph)))
        for name, is_now, was in (
            ("batch_size", batch_size, batch_size if any_size else self._content["batch_size"]),
            ("seed", self.seed if seed is None else seed, self.seed),
            ("compose_warps", compose_warps, self._content.get("compose_warps") is True),
        ):
            if is_now != was:
                raise wrong_value(
                    name,
                    f"{was}, as in the checkpoint",
                    str(is_now),
                    f"the checkpoint belongs to a pipeline with another {name}",
                )

    def put_into(self, plan: SourcePlan) -> bool:
        """Restore the sources; returns whether the end of the data had been reached.

        Raises CheckpointError if they read other data than the saved ones.
        """
        sources = self._content["sources"]
        for node, source in plan.sources.items():
            try:
                saved = sources[source_key(node)]
                data, state = saved["data"], from_json_value(saved["state"])
            except UNFIT_VALUES as error:
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
                set_state(source, state)
                source.expect(plan.batch_size)
            except GradivaError as error:
                raise plan.program.locate(error, node) from error.__cause__
        plan.iteration = self._content["iteration"]
        return bool(self._content["ended"])


def _sources(graph: Graph) -> list[Node]:
    return [node for node in graph.nodes if isinstance(node.operator, SourceOperator)]


def _lines_of(graph: Graph, number: int) -> tuple[Location, ...]:
    """The user's lines of an operator, by its number in the fingerprint."""
    nodes = user_nodes(graph)
    return graph.locations.get(nodes[number], ()) if number < len(nodes) else ()
