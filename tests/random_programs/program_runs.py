"""The ways to run a program. Each gives what every turn gave, to compare bit by bit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

import gradiva
from gradiva import capture, fn
from gradiva.capture.compiler.optimize import optimize
from gradiva.capture.graph.graph import Graph
from gradiva.capture.pipeline.source_plan import SourcePlan
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.support.errors import GradivaError
from tests.random_programs.programs import Program

__all__ = [
    "WAYS",
    "comparable",
    "graph_of",
    "record",
    "run_captured",
    "run_compiled",
    "run_eager",
    "run_pipeline",
    "run_plan",
    "run_recorded",
    "turns_of",
]

_LEFT = 0.15
"""The share of turns of a captured loop after which it is left."""

Turn: TypeAlias = Any
"""The outputs as (type, shapes, bytes), or the facts of the error."""


def _bits(value: Any, size: int) -> Any:
    value = value.evaluate()
    if isinstance(value, gradiva.Tensor):
        array = np.asarray(value)
        return str(value.type), [array.shape] * size, [array.tobytes()] * size
    return str(value.type), list(value.shape), [np.asarray(one).tobytes() for one in value]


def _turn(run: Callable[[], Any], size: int) -> Turn:
    try:
        return [_bits(value, size) for value in run()]
    except GradivaError as error:
        return _facts(error)


def _facts(error: GradivaError) -> Turn:
    return (
        type(error),
        error.operator,
        error.argument,
        error.problem,
        error.expected,
        error.got,
        error.sample,
    )


def _state() -> Any:
    return gradiva.random.get_default_rng().state


def _source(program: Program) -> Any:
    """The turns as an external source of dynamic mode."""
    gradiva.random.set_seed(program.seed)
    return gradiva.ExternalSource(iter(program.turns), num_outputs=len(program.turns[0]))


def _in_turns(program: Program, function: Any) -> list[Turn]:
    """A function called in the turns of an external source, then once more outside of any."""
    source = _source(program)
    found = []
    for batches in program.turns:
        program.moments.happen(source)
        given = source()
        found.append(_turn(lambda given=given: function(*given), len(batches[0])))  # type: ignore[misc]
        found.append(_next_value())
    source.close()
    return [*found, *_outside(program, function)]


def _next_value() -> Turn:
    """What the next random call of the turn gives: it shows how many there were before."""
    return np.asarray(gradiva.random.uniform()).tobytes()


def _outside(program: Program, function: Any) -> list[Turn]:
    """A turn without a source, and the state of the generator after it."""
    batches = program.turns[0]
    return [_turn(lambda: function(*batches), len(batches[0])), _state()]


def run_eager(program: Program) -> list[Turn]:
    """In dynamic mode: each turn, and the random value that comes next; then a turn without a
    source, and the state of the generator."""
    return _in_turns(program, program)


def run_deferred(program: Program) -> list[Turn]:
    with gradiva.EvalMode.deferred:
        return _in_turns(program, program)


def run_compiled(program: Program, compiled: Any = None) -> list[Turn]:
    return _in_turns(program, compiled or capture.compile(program))


def run_captured(program: Program, ended: Callable[[Any], None] | None = None) -> list[Turn]:
    """As the body of a captured loop: all but the first turn are computed ahead. At some moments
    the loop is left, and another one goes on. ended: told of the loop at the end of the data."""
    source = _source(program)
    found = []
    loop: Any = source.captured(program.batch_size)
    while (given := next(loop, None)) is not None:
        found.append(_turn(lambda given=given: program(*given), len(given[0])))  # type: ignore[misc]
        found.append(_next_value())
        program.moments.happen(loop, source, given)
        if program.moments.chance(_LEFT):
            program.moments.leave(loop)
            loop = source.captured(program.batch_size)
    if ended is not None:
        ended(loop)
    program.moments.leave(loop, source)
    del loop, source, given
    return [*found, *_outside(program, program)]


def record(program: Program) -> gradiva.Pipeline:
    """The program in a pipeline, which is told the types of its inputs or is not."""
    types = [batch.type for batch in program.turns[0]]
    names: dict[str, Any] = {"layout": [type.layout for type in types]}
    if program.declared:
        names["dtype"] = [type.dtype for type in types]
        names["ndim"] = [type.ndim for type in types]
    pipe = gradiva.Pipeline(program.batch_size, num_threads=1, seed=program.seed, exec_async=False)
    with pipe:
        inputs = fn.external_source(program.turns, num_outputs=len(types), **names)
        pipe.set_outputs(*program(*inputs))
    return pipe


def graph_of(program: Program) -> Graph:
    """The graph as it was recorded. Raises GradivaError."""
    return record(program).graph


def run_pipeline(program: Program) -> list[Turn]:
    try:
        pipe = record(program)
    except GradivaError as error:
        return [_facts(error)] * len(program.turns)
    before = _state()
    found = run_recorded(program, pipe)
    if program.moments.chance(0.5):
        pipe.close()
    program.moments.leave(pipe)
    del pipe
    assert _state() == before, "a pipeline has changed the state of the default generator"
    return found


def run_recorded(program: Program, pipe: gradiva.Pipeline) -> list[Turn]:
    """The turns of a pipeline that `record` has made."""
    found = []
    with warnings.catch_warnings():
        # A program need not use all that it is given.
        warnings.filterwarnings("ignore", "external_source: output")
        for batches in program.turns:
            program.moments.happen(pipe)
            found.append(_turn(pipe.run, len(batches[0])))
    return found


def turns_of(found: list[Turn]) -> list[Turn]:
    """What `run_eager` gave for the turns alone, to compare with a pipeline."""
    return found[:-2:2]


def run_plan(program: Program, *passes: Any, verify: bool = True) -> list[Turn]:
    """As a pipeline that is compiled by these passes only, verified after each."""
    try:
        graph = optimize(graph_of(program), passes, verify=verify)
    except GradivaError as error:
        return [_facts(error)] * len(program.turns)
    pool = WorkerPool(1)
    plan = SourcePlan(graph, program.batch_size, program.seed, pool)
    return [_turn(plan.run, len(batches[0])) for batches in program.turns]


def comparable(way: str, found: list[Turn], eager: list[Turn]) -> list[Turn]:
    """What must be equal to the eager run. Deferred calls fail when they are looked at, after
    later random calls were made: what these find is compared in turns without errors only."""
    if way == "captured":
        return found
    return [
        None if index % 2 and isinstance(eager[index - 1], tuple) else turn
        for index, turn in enumerate(found)
    ]


WAYS = {"deferred": run_deferred, "compiled": run_compiled, "captured": run_captured}
