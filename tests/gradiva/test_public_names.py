"""The public modules show all operators, each from where it is declared."""

from __future__ import annotations

import importlib

import pytest

from building import make_operator_table
from building.make_names import (
    FILES,
    FOLDER,
    WITHOUT_SCHEMA,
    declared,
    formatted,
    imported,
    lazy_files,
    missing,
    places_in,
    table,
    written,
)
from gradiva import capture
from gradiva.eager.operators.operator import operators


@pytest.fixture(scope="module")
def operators_of() -> dict[str, dict[str, str]]:
    """By package, the public operators and the modules that declare them."""
    return declared()


@pytest.mark.parametrize("file", FILES)
def test_up_to_date(file: str, operators_of: dict[str, dict[str, str]]) -> None:
    """If this fails: `python -m building.make_names`."""
    path, wanted = FOLDER / file, operators_of[FILES[file]]
    assert wanted
    assert missing(path.read_text("utf-8"), wanted) == {}
    module = importlib.import_module(
        "gradiva." + file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    )
    names = getattr(module, "__all__", dir(module))
    assert set(wanted) - set(names) == set()


def test_the_table_of_names_is_up_to_date() -> None:
    """If this fails: `python -m building.make_names`."""
    assert {*lazy_files()} >= {"gradiva", "gradiva.compat", "gradiva.fn", "gradiva.fn.readers"}
    assert formatted(table()) == (FOLDER / "_names.py").read_text("utf-8")
    lines = (FOLDER.parent / "capture" / "__init__.py").read_text("utf-8")
    assert vars(capture)["_places"] == places_in(lines)


def test_places_are_read_from_lines_for_type_checkers() -> None:
    text = """
if TYPE_CHECKING:
    from gradiva import fn as fn
    from gradiva.eager.types.dtypes import bool_ as bool_
    from gradiva.eager.types.dtypes import int8 as _other
    from gradiva.fn._shared_operators import *

    ops: Any
    short = _other
"""
    assert places_in(text) == {
        "bool_": "gradiva.eager.types.dtypes:bool_",
        "fn": "gradiva.fn",
        "ops": "gradiva.ops",
        "short": "gradiva.eager.types.dtypes:int8",
    }


@pytest.mark.full
def test_all_operators_are_found() -> None:
    """Those that the registry has, and a module for each of their packages."""
    for package, names in declared().items():
        for name, module in names.items():
            assert operators[f"{package}.{name}".lstrip(".")].__module__ == module
    ours = {
        name
        for name, one in operators.items()
        if one.schema and one.__module__.startswith("gradiva.ops.") and not name.startswith("_")
    }
    found = {
        f"{package}.{name}".lstrip(".") for package in declared() for name in declared()[package]
    }
    assert found == {*ours, *WITHOUT_SCHEMA}
    elsewhere = {"readers", "experimental.readers", "experimental.inputs"}
    assert set(declared()) == {*FILES.values(), *elsewhere}


def test_what_is_out_of_date_is_written() -> None:
    text = '"""Some."""\n\nfrom gradiva.ops.old import one, two\n\n__all__ = ["one", "two"]\n'
    wanted = {"one": "gradiva.ops.new", "two": "gradiva.ops.old", "three": "gradiva.ops.more"}
    assert set(missing(text, wanted)) == {"one", "three"}
    found = imported(written(text, wanted, exported=False))
    assert {name: module for name, (_, module) in found.items()} == wanted


def test_lazy_operators_are_written_beside_the_others() -> None:
    block = "if TYPE_CHECKING:\n    from gradiva.ops.a import a as a\n"
    text = f"from typing import TYPE_CHECKING\n\n{block}"
    wanted = {"a": "gradiva.ops.a", "b": "gradiva.ops.b"}
    found = written(text, wanted, exported=True)
    assert found == text.replace(":\n", ":\n    from gradiva.ops.b import b as b\n")


@pytest.mark.full
def test_the_table_of_operators_is_up_to_date() -> None:
    """If this fails: `python -m building.make_operator_table`."""
    text = make_operator_table.PAGE.read_text("utf-8")
    assert make_operator_table.table() in text
    assert make_operator_table.written(text) == text
    assert make_operator_table.written(text.replace("`resize`, ", "")) == text
