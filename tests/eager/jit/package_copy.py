"""A copy of the package, to be edited: what an update of gradiva would put in its place."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
LAYERS = ("eager", "ops", "capture", "gradiva")


def copy_package(folder: Path) -> Path:
    """All sources, without the photographs; returns the folder to import from."""
    leave = shutil.ignore_patterns("__pycache__", "photographs")
    for layer in LAYERS:
        shutil.copytree(ROOT / layer, folder / layer, symlinks=True, ignore=leave)
    return folder


def run_script(script: str, root: Path, cache: Path, *words: str) -> Any:
    """What a new process with the package at `root` prints as its last line, as JSON."""
    environment = {**os.environ, "GRADIVA_CACHE": str(cache), "PYTHONPATH": str(root)}
    run = subprocess.run(
        [sys.executable, "-c", script, *words],
        capture_output=True,
        text=True,
        cwd=root,
        env=environment,
        check=False,
    )
    assert run.returncode == 0, (run.returncode, run.stderr[-4000:])
    return json.loads(run.stdout.splitlines()[-1])


def rewrite(path: Path, content: bytes) -> None:
    """Write a module, and forget its bytecode: Python takes a file of the same size that is written
    within the same second for the same one."""
    path.write_bytes(content)
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)


def edit_functions(path: Path) -> None:
    """Give every function of the file one more statement, which Python's compiler keeps."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = 1 if ast.get_docstring(node) is not None else 0
            node.body[first:first] = ast.parse("_edited = 12345").body
    rewrite(path, ast.unparse(tree).encode())


def edit_text(path: Path, old: str, new: str) -> None:
    """Replace what stands in the file exactly once."""
    text = path.read_text("utf-8")
    assert text.count(old) == 1, (path, old)
    rewrite(path, text.replace(old, new).encode())
