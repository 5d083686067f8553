"""Kernels can be read: what they take has a type and a name, and they say what they do."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = ("eager", "ops", "capture")
COMPILED = {"jit", "always_inline", "noinline", "row_kernel"}
"""The decorators of functions that Numba compiles."""
FORMATTED_BY_HAND = 80
"""At most so many places keep the form that their author gave them."""


@cache
def kernels(layer: str) -> list[tuple[str, ast.FunctionDef]]:
    return [
        (f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", node)
        for path in sorted((ROOT / layer).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and decorators(node) & COMPILED
    ]


def decorators(function: ast.FunctionDef) -> set[str]:
    calls = [one.func if isinstance(one, ast.Call) else one for one in function.decorator_list]
    return {ast.unparse(call).rpartition(".")[2] for call in calls}


def typed_names(function: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    """The names of arguments with their annotations, and `return`."""
    given = function.args
    for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs):
        yield argument.arg, ast.unparse(argument.annotation) if argument.annotation else ""
    yield "return", ast.unparse(function.returns) if function.returns else ""


@pytest.mark.full
def test_kernels_are_found() -> None:
    names = {name.rpartition(" ")[2] for layer in LAYERS for name, _ in kernels(layer)}
    assert {"finish_row", "transpose_kernel", "brightness_contrast_row", "philox"} <= names
    assert len(names) > 300


@pytest.mark.parametrize("layer", LAYERS)
def test_what_kernels_take_and_return_has_a_type(layer: str) -> None:
    """The aliases are in `eager/types/arrays.py`."""
    found = [
        f"{name}: {argument}"
        for name, function in kernels(layer)
        for argument, annotation in typed_names(function)
        if not annotation or re.search(r"\bAny\b", annotation)
    ]
    assert found == []


@pytest.mark.parametrize("layer", LAYERS)
def test_kernels_say_what_they_do(layer: str) -> None:
    assert [name for name, function in kernels(layer) if not ast.get_docstring(function)] == []


def test_few_places_are_formatted_by_hand() -> None:
    skipped = 0
    for layer in (*LAYERS, "gradiva", "tests", "benchmarks", "building", "docs"):
        for path in (ROOT / layer).rglob("*.py"):
            linked = layer == "gradiva" and set(LAYERS) & {*path.relative_to(ROOT).parts}
            if not linked:
                skipped += path.read_text("utf-8").count("# fmt: " + "skip")
    assert skipped <= FORMATTED_BY_HAND


def test_the_readme_of_the_tests_names_their_folders() -> None:
    text = (ROOT / "tests" / "README.md").read_text("utf-8")
    folders = [path.name for path in (ROOT / "tests").iterdir() if any(path.glob("*.py"))]
    assert [name for name in folders if f"`{name}`" not in text] == []


def test_packages_have_tests_or_a_line_that_says_what_covers_them() -> None:
    text = (ROOT / "tests" / "README.md").read_text("utf-8")
    missing = []
    for layer in LAYERS:
        for folder in sorted({path.parent for path in (ROOT / layer).rglob("*.py")}):
            package = folder.relative_to(ROOT)
            names = [one for one in (package, *package.parents) if len(one.parts) > 1]
            tested = any(any((ROOT / "tests" / one).glob("test_*.py")) for one in names)
            if names and not tested and not any(f"`{one.as_posix()}`" in text for one in names):
                missing.append(package.as_posix())
    assert missing == []
