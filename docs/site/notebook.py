"""Tutorials as notebooks show them: what each cell prints, and what its last expression is."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import os
import sys
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import markup

__all__ = ["Notebook", "can_run", "running"]

_NEEDS = {
    "09_pytorch": "torch",
    "10_jax": "jax",
    "11_tensorflow": "tensorflow",
    "12_action_clips": "av",
}


def can_run(path: Path) -> bool:
    """Whether the packages that a tutorial needs are installed."""
    return path.stem not in _NEEDS or importlib.util.find_spec(_NEEDS[path.stem]) is not None


@contextlib.contextmanager
def running(path: Path) -> Iterator[Notebook]:
    """A notebook of this tutorial, in a temporary folder."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        notebook = Notebook(path)
        sys.modules[notebook.module.__name__] = notebook.module
        os.chdir(folder)
        try:
            yield notebook
        finally:
            os.chdir(before)
            sys.modules.pop(notebook.module.__name__)


class Notebook:
    """Runs the cells of a tutorial one after another."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.module = types.ModuleType("tutorial")

    def run(self, code: str, first: int) -> str:
        """Run a cell whose code begins in this line of the file, counted from 1. Returns its output
        as Markdown; "" if there is none."""
        body = ast.parse("\n" * (first - 1) + code).body  # the lines are those of the file
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        printed = io.StringIO()
        value: Any = None
        with contextlib.redirect_stdout(printed):
            exec(compile(ast.Module(body, []), self.path, "exec"), vars(self.module))
            if isinstance(last, ast.Expr):
                whole = compile(ast.Expression(last.value), self.path, "eval")
                value = eval(whole, vars(self.module))
        text = printed.getvalue().strip("\n")
        parts = [markup.fenced(text)] if text else []
        if value is not None:
            parts.append(_shown(value))
        return "\n\n".join(parts)


def _shown(value: Any) -> str:
    """What a notebook shows of a value."""
    for name in ("_repr_html_", "_repr_svg_"):
        if hasattr(value, name):
            return markup.fenced(getattr(value, name)(), "{raw} html")
    return markup.fenced(repr(value))
