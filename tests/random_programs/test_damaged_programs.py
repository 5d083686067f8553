"""Random programs of files, some of them damaged and replaced: the same bits however they run, and
their groups stay fused."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.capture.compiler.optimize import PASSES
from gradiva.capture.runtime import program as running
from gradiva.capture.runtime.fused_group import run_group
from gradiva.capture.runtime.fusion_report import NotFusableError, Reason
from tests.random_programs.program_drawing import draw_program
from tests.random_programs.program_runs import (
    WAYS,
    comparable,
    run_eager,
    run_pipeline,
    run_plan,
    turns_of,
)
from tests.random_programs.programs import Program, Ref
from tests.tiers import examples, few

pytestmark = [pytest.mark.core, pytest.mark.filterwarnings("ignore:samples that cannot be read")]

EXPECTED = {
    Reason.EMPTY_BATCH,
    Reason.DTYPE,
    Reason.MEMBER,
    Reason.PLANES,
    Reason.PARAMETERS,
    Reason.ROUNDING,
}
"""Why a group of a program without errors may not run fused."""


def damaged_program(seed: int, policy: str = "replace", share: float = 0.4) -> Program | None:
    """The program of a seed with a share of its files damaged, and replaced or left out where they
    are decoded; None if it has no files, or fails for another reason."""
    program = draw_program(seed)
    draw = random.Random(seed)
    for place in range(len(program.turns[0])):
        readers = [step for step in program.steps if Ref(place) in step.inputs]
        if readers and all(step.name.startswith("decoders.") for step in readers):
            program = _damaged(program, place, draw, policy, share)
    if not any("on_error" in step.keywords for step in program.steps):
        return None
    with gradiva.Quarantine() as found:
        fails = any(isinstance(turn, tuple) for turn in run_eager(program)[:-1])
    return None if fails or not len(found) else program


def _damaged(
    program: Program, place: int, draw: random.Random, policy: str, share: float
) -> Program:
    given = {"on_error": policy, "fill_value": draw.choice((0.0, 99.5, 300.0))}
    if policy == "skip":
        del given["fill_value"]
    steps = [
        dataclasses.replace(step, keywords={**step.keywords, **given})
        if Ref(place) in step.inputs
        else step
        for step in program.steps
    ]
    turns = []
    for batches in program.turns:
        files = [np.array(file) for file in batches[place]]
        for k, file in enumerate(files):
            if draw.random() < share:
                files[k] = file[: draw.choice((0, 9, len(file) // 2, len(file) - 20))]
        batch = gradiva.as_batch(files) if files else batches[place]
        turns.append((*batches[:place], batch, *batches[place + 1 :]))
    return dataclasses.replace(program, steps=steps, turns=turns)


def check(seed: int, reasons: Counter[Any]) -> None:
    program = damaged_program(seed)
    if program is None:
        return

    def counted(members: Any, *arguments: Any) -> Any:
        try:
            result = run_group(members, *arguments)
        except NotFusableError as error:
            reasons[error.reason] += 1
            raise
        reasons["fused"] += 1
        reasons["decoded"] += members[0].operator.name.startswith("decoders.")
        return result

    wanted = run_eager(program)
    for way, run in WAYS.items():
        found = comparable(way, run(program), wanted)
        assert found == comparable(way, wanted, wanted), f"{way} of {program}"
    assert run_pipeline(program) == turns_of(wanted), program
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(running, "run_group", counted)
        assert run_plan(program, *PASSES) == turns_of(wanted), program


@pytest.mark.parametrize("first", few(range(0, 200, 25), 0))
@pytest.mark.full
def test_damaged_files_are_replaced(first: int) -> None:
    reasons: Counter[Any] = Counter()
    for seed in range(first, first + examples(25)):
        check(seed, reasons)
    assert reasons["decoded"] >= 1, reasons
    assert {one for one in reasons if isinstance(one, Reason)} <= EXPECTED, reasons


@pytest.mark.full
@pytest.mark.parametrize("first", range(0, 200, 100))
def test_loops_go_on_without_what_is_left_out(first: int) -> None:
    """Where no other batch is needed beside what is left: else dynamic mode refuses the sizes."""
    tried = 0
    for seed in range(first, first + 100):
        program = damaged_program(seed, "skip", 0.15)
        if program is not None:
            wanted = run_eager(program)
            assert WAYS["captured"](program) == wanted, program
            tried += 1
    assert tried >= 1
