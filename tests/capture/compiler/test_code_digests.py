"""Caches see what the operators of a user depend on, also in a notebook."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.capture.compiler.code_digests import code_of_operator
from gradiva.eager.operators.operator import operators

OPERATOR = """
from gradiva import extension as op
{imports}
{given}


@op.operator("digests.plus", same_shapes=True)
def plus(input: op.SampleType, /, **common: op.Unpack[op.Common]) -> op.SampleType:
    "Adds."
    return input


@plus.cpu
def kernel(call: op.Call) -> None:
    for sample in range(call.size):
        call.outputs[0].array(sample)[...] = {change}
"""
SAMPLE = "call.inputs[0].array(sample)"


@pytest.fixture(autouse=True)
def without_the_operator() -> Any:
    yield
    operators.pop("digests.plus", None)


def cell(given: str, change: str, imports: str = "") -> Any:
    """The operator of a notebook, whose cell was run."""
    operators.pop("digests.plus", None)
    module = ModuleType("__notebook__")
    module.__dict__["__name__"] = "__notebook__"
    text = OPERATOR.format(imports=imports, given=given, change=change)
    exec(compile(text, "<cell>", "exec"), module.__dict__)
    return module


FORMS = {
    "a number": ("N = {}", f"{SAMPLE} + N"),
    "an array": ("import numpy\nN = numpy.full(3, {}, 'uint8')", f"{SAMPLE} + N"),
    "a function": ("def add(x): return x + {}", f"add({SAMPLE})"),
    "a function that calls one": (
        "def n(): return {}\ndef add(x): return x + n()",
        f"add({SAMPLE})",
    ),
    "a closure": ("def made(n): return lambda x: x + n\nadd = made({})", f"add({SAMPLE})"),
    "a default": ("def add(x, n={}): return x + n", f"add({SAMPLE})"),
    "a dict": ("N = {{'n': {}}}", f"{SAMPLE} + N['n']"),
    "a class": ("class A:\n    def n(self): return {}", f"{SAMPLE} + A().n()"),
    "an object": ("class A:\n    def n(self): return {}\na = A()", f"{SAMPLE} + a.n()"),
    "Numba": ("import numba\n@numba.njit\ndef add(x): return x + {}", f"add({SAMPLE})"),
}


@pytest.mark.parametrize("form", FORMS)
def test_edits_in_a_notebook(form: str, tmp_path: Path) -> None:
    """An edit of what the kernel uses is a miss; the same text again is a hit where it can be."""
    given, change = FORMS[form]
    batch = gradiva.as_batch(np.full((2, 3), 5, np.uint8))
    digests = []
    for number in (1, 2, 1):
        module = cell(given.format(number), change)
        function = gradiva.capture.compile(
            lambda x, plus=module.plus: gradiva.cache(plus(x), where=str(tmp_path))
        )
        for _ in range(2):
            assert (function(batch).as_array() == 5 + number).all(), form
        digests.append(code_of_operator(module.plus))
    assert digests[0] != digests[1]
    if form != "an object":  # its class cannot be pickled: it is in no module
        assert digests[0] == digests[2]


PIXELWISE = """
from gradiva import extension as op


@op.operator("digests.plus", same_shapes=True)
def plus(
    input: op.SampleType, /, *, amount: op.FloatArg = 1.0, **common: op.Unpack[op.Common]
) -> op.SampleType:
    "Adds."
    return input

LIMIT = {}

@op.row_kernel()
def row(source, target, parameters):
    for i in range(source.shape[0]):
        target[i] = source[i] + LIMIT

def base():
    return {}

@op.pixelwise(plus, row)
def parameters(call):
    return call["amount"].reshape(-1, 1, 1) * base()
"""


def test_edits_of_row_kernels() -> None:
    found = []
    for given in ((1, 1), (2, 1), (1, 2), (1, 1)):
        operators.pop("digests.plus", None)
        module = ModuleType("__notebook__")
        module.__dict__["__name__"] = "__notebook__"
        exec(compile(PIXELWISE.format(*given), "<cell>", "exec"), module.__dict__)
        found.append(code_of_operator(module.plus))
    assert len(set(found)) == 3
    assert found[0] == found[3]


def test_edits_of_imported_modules(tmp_path: Path, monkeypatch: Any) -> None:
    """A module of the user that the operator calls counts as it was loaded."""
    monkeypatch.syspath_prepend(tmp_path)
    helper = tmp_path / "digests_helper.py"
    for imports, change in (
        ("import digests_helper", f"digests_helper.add({SAMPLE})"),
        ("from digests_helper import add", f"add({SAMPLE})"),
    ):
        found = []
        for number in (1, 22, 1):
            helper.write_text(f"N = {number}\n\n\ndef add(x):\n    return x + N\n")
            sys.modules.pop("digests_helper", None)
            importlib.invalidate_caches()
            module = cell("", change, imports)
            helper.write_text("N = 333\n")  # edited after it was loaded
            found.append(code_of_operator(module.plus))
        sys.modules.pop("digests_helper", None)
        assert found[0] == found[2] != found[1]


def test_operators_of_gradiva_have_none() -> None:
    assert code_of_operator(operators["resize"]) == ""
