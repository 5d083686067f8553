"""The generic operator test: the cases of every operator, turned into checks.

The checks are in `gradiva/extension/checks.py`, since users put their operators through them too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
import gradiva.eager.values.value
import gradiva.plugin.numba.fn  # declares an operator
from gradiva.capture.graph.graph import Edge
from gradiva.capture.recording.recorder import Recorder
from gradiva.eager.operators.cases import Case
from gradiva.eager.operators.interpreter import interpreter
from gradiva.eager.operators.operator import OperatorBase, operators
from gradiva.extension import checks
from gradiva.extension.modes import CaseCalls
from gradiva.ops.readers.core.source import SourceOperator
from tests.needs import calls_opencv, needs_opencv
from tests.tiers import SLOW_OPERATORS, few, is_quick

CASES = {
    name: list(operator.case_maker()) if operator.case_maker else []
    for name, operator in sorted(operators.items())
}


def params(bad: bool) -> list[Any]:
    """The cases of all operators: those that must raise, or the others."""
    found = []
    for name, operator in sorted(operators.items()):
        cases = [case for case in CASES[name] if (case.raises is not None) == bad]
        # One case of each operator shows that it works, or fails; the others are for `-m full`.
        smoke = next((case for case in cases if "empty" not in case.name), None)
        if name in SLOW_OPERATORS:
            smoke = None
        for case in cases:
            # One process compiles the kernels of an operator, and of those named like it.
            marks = [pytest.mark.xdist_group(name.partition(".")[0])]
            if calls_opencv(name) or case.arguments.get("compat") == "opencv":
                marks.append(needs_opencv)
            if case is not smoke:
                if is_quick():
                    continue
                marks.append(pytest.mark.full)
            name_of_case = f"{name}-{case.name}".replace(" ", "_")
            found.append(pytest.param(operator, case, id=name_of_case, marks=marks))
    return found


GOOD, BAD = params(bad=False), params(bad=True)


def test_every_operator_has_cases() -> None:
    """An operator that user code can call declares cases, a failing and an empty one among them."""
    arithmetic = set(gradiva.eager.values.value.arithmetic) - {"add"}
    for name, operator in operators.items():
        if (
            isinstance(operator, SourceOperator)
            or operator.__module__ == "gradiva.capture.graph.builtin_ops"
        ):
            continue
        if name in arithmetic or not operator.__module__.startswith("gradiva."):
            continue
        if name in ("_conditional.split", "_conditional.merge"):  # a program runs them
            continue
        assert operator.case_maker is not None, name
        cases = CASES[name]
        assert len(cases) >= 5, name
        assert any(case.raises for case in cases), name
        assert any("empty" in case.name for case in cases), name


@pytest.mark.parametrize(("operator", "case"), GOOD)
def test_case(operator: OperatorBase, case: Case) -> None:
    """All checks of one case. What fails names its check: "flip, case 'default', check 'types'"."""
    made = checks.check_case(operator, case)
    assert {"threads", "unknown types"} <= set(made)
    # A source of a pipeline delivers no empty batches.
    assert ("captured" in made) == (CaseCalls(operator, case).size > 0)


@pytest.mark.parametrize(("operator", "case"), BAD)
def test_errors(operator: OperatorBase, case: Case) -> None:
    """A bad call gives the promised error, with the line here that led to it."""
    assert checks.check_error(operator, case)
    assert case.raises is not None
    with pytest.raises(case.raises, match=r"test_operators\.py"):
        operator(*case.inputs, **case.arguments)  # type: ignore[operator]


@pytest.mark.parametrize("name", few(sorted(operators), every=8))
def test_misspelled_argument(name: str) -> None:
    operator: Any = operators[name]
    if (
        operator.__module__ == "gradiva.capture.graph.builtin_ops"
        or name in gradiva.eager.values.value.arithmetic
    ):
        return
    with pytest.raises(TypeError, match="there is no argument `bogus_argument`"):
        operator.bind((), {"bogus_argument": 1})


@pytest.mark.parametrize("name", few(sorted(operators), every=8))
def test_device(name: str) -> None:
    """Asking for a GPU where there is none raises an error that says so."""
    operator: Any = operators[name]
    if isinstance(operator, SourceOperator) or not operator.case_maker or not operator.common:
        return
    case = next(case for case in operator.case_maker() if case.raises is None)
    if name in gradiva.eager.values.value.arithmetic:
        return
    with pytest.raises(gradiva.OperatorRuntimeError, match="is not available: "):
        operator(*case.inputs, **case.arguments, device="gpu")


def test_symbols_have_no_data() -> None:
    recorder = Recorder()
    with interpreter(recorder):
        files, _ = gradiva.fn.readers.file(file_root="/data")
        node = gradiva.flip(gradiva.decoders.image(files))
    assert isinstance(node.edge, Edge)
    for misuse in (bool, len, float, np.asarray):
        with pytest.raises(TypeError, match=r"`flip`, made at .*test_operators.py"):
            misuse(node)
