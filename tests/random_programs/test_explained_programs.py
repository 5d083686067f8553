"""Random programs with what `explain` says of them: it is what the kernels did, and the bits are
those of dynamic mode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from gradiva import capture
from tests.random_programs.program_drawing import WIDE, draw_program
from tests.random_programs.program_runs import (
    comparable,
    record,
    run_captured,
    run_compiled,
    run_eager,
    run_recorded,
    turns_of,
)
from tests.random_programs.programs import Program
from tests.random_programs.test_damaged_programs import damaged_program
from tests.random_programs.what_ran import watched
from tests.tiers import examples

pytestmark = [pytest.mark.core, pytest.mark.filterwarnings("ignore:samples that cannot be read")]


def check(program: Program, totals: Counter[str]) -> None:
    wanted = run_eager(program)
    if not any(isinstance(turn, tuple) for turn in wanted[:-1]):
        with watched() as ran:
            pipe = record(program)
            assert run_recorded(program, pipe) == turns_of(wanted), program
            explained = pipe.explain()
        ran.check(explained)
        for group in explained:
            totals.update(groups=1, batches=group.batches, fused=group.fused, in_parts=group.partly)
        filled = sum(1 for batches in program.turns if len(batches[0]))
        # A group inside of a branch runs only where it has samples.
        assert all(group.batches <= filled for group in explained)
        totals["in_all"] += sum(group.batches == filled for group in explained)
    with watched() as ran:
        compiled = capture.compile(program)
        found = run_compiled(program, compiled)
    assert comparable("compiled", found, wanted) == comparable("compiled", wanted, wanted), program
    ran.check(compiled.explain())
    loops: list[Any] = []
    with watched() as ran:
        found = run_captured(program, loops.append)
    assert found == wanted, program
    for loop in loops:
        if loop.graph is not None:
            ran.check(loop.explain().groups, loop.graph.nodes)


def checked(seeds: range, draw: Callable[[int], Program | None]) -> Counter[str]:
    totals: Counter[str] = Counter()
    for seed in seeds:
        program = draw(seed)
        if program is not None:
            check(program, totals)
    print(totals)
    return totals


@pytest.mark.full
@pytest.mark.parametrize("first", [300, 350, WIDE + 300])
def test_what_is_told_is_what_ran(first: int) -> None:
    totals = checked(range(first, first + examples(40)), draw_program)
    assert totals["fused"] >= 1, totals
    assert totals["in_all"] == totals["groups"], totals


@pytest.mark.full
@pytest.mark.parametrize("first", [200, 250])
def test_what_is_told_of_damaged_files_is_what_ran(first: int) -> None:
    totals = checked(range(first, first + examples(30)), damaged_program)
    assert totals["fused"] >= 1, totals
