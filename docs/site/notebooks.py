"""`python -m docs.site.notebooks`: the tutorials as notebooks with their outputs.

Written to `build/notebooks`, for readers and for the pages of the site. What was built of the same
text before is left as it is; `--fresh` runs all of them again. A tutorial whose package is not
installed, such as PyTorch, is left out. Needs `pip install -e ".[docs]"`.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from gradiva.eager.support.lazy_import import lazy_module

from .registry import ROOT

__all__ = ["FOLDER", "NEEDS", "TUTORIALS", "build", "built", "main"]

jupytext = lazy_module("jupytext", "jupytext")
nbclient = lazy_module("nbclient", "nbclient")
nbformat = lazy_module("nbformat", "nbformat")

TUTORIALS = sorted((ROOT / "tutorials").glob("*.py"))
FOLDER = ROOT / "build" / "notebooks"
NEEDS = {
    "09_pytorch": "torch",
    "10_jax": "jax",
    "11_tensorflow": "tensorflow",
    "12_action_clips": "av",
}
"""Packages that are not there wherever the tutorials run."""
_SECONDS = 600
"""For a cell: kernels may be compiled in it."""


def build(path: Path, folder: Path = FOLDER) -> Path:
    """Run a tutorial from top to bottom, and write it as a notebook. Raises
    `nbclient.exceptions.CellExecutionError` for a cell that fails."""
    notebook = jupytext.read(path)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    notebook.metadata["gradiva"] = {"source": _digest(path)}
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), before]))
    try:
        with tempfile.TemporaryDirectory() as scratch:
            client = nbclient.NotebookClient(
                notebook,
                timeout=_SECONDS,
                kernel_name="python3",
                resources={"metadata": {"path": scratch}},
                record_timing=False,
            )
            client.execute()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    target = folder / f"{path.stem}.ipynb"
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, target)
    return target


def built(path: Path, folder: Path = FOLDER) -> dict[str, Any] | None:
    """The notebook of a tutorial, None if there is none of this text."""
    target = folder / f"{path.stem}.ipynb"
    if not target.is_file():
        return None
    notebook: dict[str, Any] = json.loads(target.read_text("utf-8"))
    same = notebook["metadata"].get("gradiva", {}).get("source") == _digest(path)
    return notebook if same else None


def _digest(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()


def is_possible(path: Path) -> bool:
    """Whether what a tutorial needs is installed."""
    needed = NEEDS.get(path.stem)
    return needed is None or importlib.util.find_spec(needed) is not None


def main(arguments: list[str] | None = None) -> int:
    """Build the notebooks. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m docs.site.notebooks", description=__doc__)
    parser.add_argument("names", nargs="*", help="such as 01_dynamic_mode; by default all")
    parser.add_argument("--to", type=Path, default=FOLDER, help="the folder")
    parser.add_argument("--fresh", action="store_true", help="run what was built before, too")
    given = parser.parse_args(arguments)
    unknown = set(given.names) - {path.stem for path in TUTORIALS}
    if unknown:
        parser.error(f"there is no tutorial {', '.join(sorted(unknown))}")
    for path in TUTORIALS:
        if given.names and path.stem not in given.names:
            continue
        if not is_possible(path):
            print(f"{path.stem}: left out, {NEEDS[path.stem]} is not installed", file=sys.stderr)
        elif given.fresh or built(path, given.to) is None:
            print(build(path, given.to), file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
