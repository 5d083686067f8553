"""Conditionals in files that are edited while the program runs: the code that runs counts."""

from __future__ import annotations

import ast
import dis
import importlib.machinery
import importlib.util
import linecache
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

from gradiva import GradivaError, OperatorRuntimeError, fn, pipeline_def
from gradiva.capture.recording.source_text import text_of

TEXT = """
def helper(x):
    {helper}


def program(x, offset=OFFSET):
    if x > 1:
        x = x * {factor}
    else:
        x = x - offset
    return helper(x)
"""


class Edited:
    """A module of a user's, and its file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "edited_module.py"
        self.times = 1000

    def write(self, factor: int = 2, helper: str = "return x", before: str = "OFFSET = 1") -> None:
        self.text(before + TEXT.format(factor=factor, helper=helper))

    def text(self, text: str) -> None:
        self.path.write_text(text)
        self.times += 10
        os.utime(self.path, (self.times, self.times))  # as Python looks at whole seconds

    def load(self) -> ModuleType:
        module = importlib.import_module("edited_module")
        return importlib.reload(module) if self.times != 1010 else module


@pytest.fixture
def edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Edited]:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield Edited(tmp_path)
    sys.modules.pop("edited_module", None)


def results(function: Any) -> list[int]:
    """What a function of a user's makes of 0, 1, 2, 3, sample by sample."""

    @pipeline_def(batch_size=4, num_threads=1, device_id=None, enable_conditionals=True)
    def pipe() -> Any:
        data = fn.external_source(lambda: [np.int32(number) for number in range(4)])
        return function(data)

    with pipe() as made:
        return [int(one) for one in np.asarray(made.run()[0].as_array()).ravel()]


def plain(function: Any) -> list[int]:
    """The same by Python alone."""
    return [int(function(np.int32(number))) for number in range(4)]


def test_reloaded(edited: Edited) -> None:
    edited.write()
    assert results(edited.load().program) == [-1, 0, 4, 6]
    edited.write(factor=5)
    module = edited.load()
    assert results(module.program) == plain(module.program) == [-1, 0, 10, 15]
    edited.write(factor=7, helper="return x + 1 if x > 0 else x")
    module = edited.load()
    assert results(module.program) == plain(module.program) == [-1, 0, 15, 22]


def test_reloaded_with_lines_above(edited: Edited) -> None:
    edited.write(factor=3)
    assert results(edited.load().program) == [-1, 0, 6, 9]
    edited.write(factor=4, before="import os\n\n\nOFFSET = 2")
    assert results(edited.load().program) == [-2, -1, 8, 12]


def test_edited_elsewhere_and_not_reloaded(edited: Edited) -> None:
    """The lines have moved, and what stands where the function was is another one."""
    edited.write()
    module = edited.load()
    before = "OFFSET = 1\n\n\ndef other(x):\n    if x > 0:\n        x = x * 100\n    return x\n\n"
    edited.write(before=before)
    linecache.clearcache()
    assert results(module.program) == [-1, 0, 4, 6]


@pytest.mark.parametrize("cached", [False, True], ids=["unread", "read before"])
def test_edited_and_not_reloaded(edited: Edited, cached: bool) -> None:
    edited.write()
    module = edited.load()
    linecache.clearcache()
    if cached:
        assert results(module.program) == [-1, 0, 4, 6]
    edited.write(factor=5)
    if cached:  # the text of the code that runs is still there
        assert results(module.program) == [-1, 0, 4, 6]
        return
    with pytest.raises(OperatorRuntimeError, match="source of program in its file is not that of"):
        results(module.program)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert results(edited.load().program) == [-1, 0, 10, 15]


def test_edited_helper_and_not_reloaded(edited: Edited) -> None:
    edited.write(helper="return x + 1 if x > 0 else x")
    module = edited.load()
    edited.write(helper="return x + 2 if x > 0 else x")
    linecache.clearcache()
    with pytest.raises(OperatorRuntimeError, match="source of helper in its file"):
        results(module.program)


def test_half_edited(edited: Edited) -> None:
    edited.write()
    module = edited.load()
    linecache.clearcache()
    edited.text("def program(x:\n")
    with pytest.raises(OperatorRuntimeError, match="source of program in its file"):
        results(module.program)
    edited.path.unlink()
    linecache.clearcache()
    with pytest.warns(UserWarning, match="cannot be read"), pytest.raises(GradivaError):
        results(module.program)


def test_text_that_is_run_under_the_name_of_a_file(edited: Edited) -> None:
    """As `exec(compile(...))` and tools that run parts of files do."""
    edited.write()
    for factor in (2, 3):
        space: dict[str, Any] = {"OFFSET": 1}
        text = TEXT.format(factor=factor, helper="return x")
        exec(compile(text, str(edited.path), "exec"), space)
        if factor == 2:
            assert results(space["program"]) == [-1, 0, 4, 6]
        else:
            with pytest.raises(OperatorRuntimeError, match="not that of the code that runs"):
                results(space["program"])


def test_cells_of_one_name() -> None:
    """A notebook's cells: each has its text under a name of its own, one of them with `await`."""
    for number, factor in enumerate((2, 3, 2)):
        text = "import asyncio\nawait asyncio.sleep(0)\n" * (number == 1)
        text += TEXT.format(factor=factor, helper="return x")
        name = f"<cell-{number}>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        tree = "\n" * 2 * (number == 1) + TEXT.format(factor=factor, helper="return x")
        space: dict[str, Any] = {"OFFSET": 1}
        exec(compile(tree, name, "exec"), space)
        assert (
            results(space["program"]) == plain(space["program"]) == [-1, 0, 2 * factor, 3 * factor]
        )


def test_statement_by_statement() -> None:
    """So notebooks compile their cells; Python compiles calls of imported names otherwise."""
    text = (
        "from gradiva import fn\n\n\ndef program(x):\n    if x > 1:\n        x = fn.copy(x * 2)\n"
        "    return x\n"
    )
    name = "<cell-of-statements>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    for whole in (False, True):
        space: dict[str, Any] = {}
        tree = ast.parse(text)
        for part in [tree] if whole else [ast.Module([one], []) for one in tree.body]:
            exec(compile(part, name, "exec"), space)
        assert results(space["program"]) == [0, 1, 4, 6]


def test_errors_show_the_line_as_it_is_now(edited: Edited) -> None:
    for size in (1, 2):
        edited.text(
            f"from gradiva import fn\n\n\ndef program(x):\n    return fn.resize(x, sise={size})\n"
        )
        with pytest.raises(GradivaError, match=f"sise={size}") as caught:
            results(edited.load().program)
        assert f"sise={size}" in str(caught.value)


def test_code_that_tools_have_changed(edited: Edited) -> None:
    """By pytest, which rewrites assertions; by profilers, which add instructions without effect;
    by import hooks, which check types."""

    def asserting(x: Any) -> Any:
        assert x is not None
        if x > 1:
            x = x * 2
        return x

    assert results(asserting) == [0, 1, 4, 6]
    edited.write()
    program = edited.load().program
    code = program.__code__
    padded = code.replace(co_code=code.co_code + bytes([dis.opmap["NOP"], 0]))
    marked = FunctionType(padded, program.__globals__, "program", program.__defaults__)
    assert results(marked) == [-1, 0, 4, 6]


def test_loaders_that_compile_in_their_own_way(edited: Edited) -> None:
    class Checked(importlib.machinery.SourceFileLoader):
        def source_to_code(self, data: Any, path: Any, **options: Any) -> Any:  # type: ignore[override]
            checked = bytes(data).replace(b"if x > 1:", b"print(end=''); \n    if x > 1:")
            return compile(checked, path, "exec", dont_inherit=True)

    edited.write()
    spec = importlib.util.spec_from_file_location(
        "edited_module", edited.path, loader=Checked("edited_module", str(edited.path))
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert results(module.program) == [-1, 0, 4, 6]


def test_constants_that_are_equal(edited: Edited) -> None:
    """1, 1.0 and True are one to Python's `==`, so the bytes of the code are the same."""
    for number in ("1", "1.0", "True"):
        edited.text(f"def program(x):\n    if x > 1:\n        return x * {number}\n    return x\n")
        function = edited.load().program
        source = text_of(function)
        assert source is not None
        assert f"x * {number}" in source.text


def test_functions_that_are_alike(edited: Edited) -> None:
    lines = "def program(x):\n    if x > 1:\n        x = x * 2\n    return x\n\n\n"
    edited.text(lines + "first = program\n\n\n" + lines)
    module = edited.load()
    found = [text_of(one) for one in (module.first, module.program)]
    assert [one.code.co_firstlineno for one in found if one] == [1, 10]


def test_decorated_and_wrapped(edited: Edited) -> None:
    before = (
        "import functools\n\n\ndef twice(function):\n    @functools.wraps(function)\n"
        "    def wrapped(x):\n        return function(function(x)) if x > 1 else function(x)\n"
        "    return wrapped\n\n\nOFFSET = 1\n"
    )
    for factor in (2, 3):
        text = before + TEXT.format(factor=factor, helper="return x")
        edited.text(text.replace("def program", "@twice\ndef program"))
        program = edited.load().program
        assert results(program) == plain(program)
