"""The `Example:` in the documentation of every operator: it runs, shows what it says, and calls the
operator."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import os
import warnings
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

import gradiva
from docs.site.docstrings import parse
from docs.site.registry import known
from gradiva.compat.dali.facts import operator_of
from gradiva.eager.operators.operator import OperatorBase
from gradiva.ops.math.arithmetic import BINARY, UNARY
from tests.needs import calls_opencv, needs_opencv
from tests.tiers import SLOW_OPERATORS, is_quick

from .example_files import NEEDING, namespace, shown, write_files

ABSENT = [name for name in NEEDING if importlib.util.find_spec(name) is None]
NEEDS = {"av": ("video", "optical_flow"), "pyarrow": ("parquet",), "h5py": ("hdf5",)}
"""Packages, and what is in the names of operators whose examples need them."""
OPERATORS = {
    name: operator
    for name, operator in known().items()
    if operator.__module__.startswith("gradiva.")
}
SYMBOLS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<",
    ast.RShift: ">>", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">",
    ast.GtE: ">=", ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "~",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("examples")
    write_files(made, ABSENT)
    return made


@pytest.mark.tiny
@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_has_one(name: str) -> None:
    code = _example(OPERATORS[name])
    assert code, "the docstring needs a section `Example:` of a few lines"
    assert len([line for line in code.splitlines() if line.strip()]) <= 8
    assert OPERATORS[name] in _called(code), "the example calls another operator"


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=needs_opencv if calls_opencv(name) else ()) for name in OPERATORS],
)
def test_it_runs_and_shows_what_it_says(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_quick() and name in SLOW_OPERATORS:
        pytest.skip("its kernels take seconds to compile")
    for package, parts in NEEDS.items():
        if package in ABSENT and any(part in name for part in parts):
            pytest.skip(f"{package} is not installed")
    monkeypatch.chdir(folder)
    before = set(os.listdir())
    _run_and_compare(_example(OPERATORS[name]))
    for path in set(os.listdir()) - before:
        Path(path).unlink()


@pytest.mark.parametrize("name", ["imread", "math.abs", "math.pow"])
def test_functions_that_call_operators(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    code = parse(attrgetter(name)(gradiva).__doc__ or "").example
    assert f"gradiva.{name}(" in code
    _run_and_compare(code)


def _run_and_compare(code: str) -> None:
    """Run code statement by statement, and compare values and output with the comments."""
    lines, names = code.splitlines(), namespace()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for statement in ast.parse(code).body:
            said = _said(lines, statement)
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                value = _run(statement, names)
            if said is not None and isinstance(statement, ast.Expr):
                assert shown(value) == said
            elif said is not None and printed.getvalue():
                assert printed.getvalue().strip() == said
            elif isinstance(statement, ast.Expr) and said is None:
                assert value is None, "say in a comment what the value is"


def _example(operator: OperatorBase) -> str:
    return parse(operator.__doc__ or "", operator.__signature__.parameters).example


def _said(lines: list[str], statement: ast.stmt) -> str | None:
    """The comment behind the last line of a statement, or in the line after it."""
    assert statement.end_lineno is not None
    _, mark, text = lines[statement.end_lineno - 1].partition("  # ")
    if mark:
        return text
    after = lines[statement.end_lineno].strip() if statement.end_lineno < len(lines) else ""
    return after[2:] if after.startswith("# ") else None


def _run(statement: ast.stmt, names: dict[str, Any]) -> Any:
    if isinstance(statement, ast.Expr):
        return eval(compile(ast.Expression(statement.value), "example", "eval"), names)
    exec(compile(ast.Module([statement], []), "example", "exec"), names)
    return None


def _called(code: str) -> list[OperatorBase]:
    """The operators that code calls, by names or by symbols."""
    names, tree = namespace(), ast.parse(code)
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom):
            _run(statement, names)
    return [one for node in ast.walk(tree) for one in _operators(node, names)]


def _operators(node: ast.AST, names: dict[str, Any]) -> Iterator[OperatorBase]:
    if isinstance(node, ast.Call):
        function = _value(node.func, names)
        found = operator_of(function) or getattr(function, "operator", None)
        if found is None and getattr(function, "__module__", "") == "gradiva.ops.math.functions":
            found = known()[f"math.{function.__name__}"]
        if function is abs:
            found = known()["abs"]
        if found is not None:
            yield found
    elif isinstance(node, ast.BinOp | ast.UnaryOp):
        yield from _by_symbol(SYMBOLS.get(type(node.op), ""), isinstance(node, ast.UnaryOp))
    elif isinstance(node, ast.Compare):
        yield from _by_symbol(SYMBOLS[type(node.ops[0])], False)
    elif isinstance(node, ast.Subscript):
        yield known()["subscript"]


def _by_symbol(symbol: str, unary: bool) -> Iterator[OperatorBase]:
    table = UNARY if unary else BINARY
    yield from (known()[name] for name, one in table.items() if one == symbol)


def _value(node: ast.expr, names: dict[str, Any]) -> Any:
    """What a dotted name stands for; None for other expressions."""
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, names)
        return None if owner is None else getattr(owner, node.attr, None)
    return names.get(node.id, __builtins__.get(node.id)) if isinstance(node, ast.Name) else None  # type: ignore[attr-defined]
