"""The house: what stays unloaded, how long files are. `lint-imports` checks who imports whom."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.everything import EVERYTHING

ROOT = Path(__file__).parents[2]
LAYERS = ("eager", "ops", "capture", "gradiva")
LAZY = {"jit.py": {"numba", "numba.extending"}, "tensor.py": {"torch"}}


def files(layer: str) -> Iterator[Path]:
    for path in sorted((ROOT / layer).rglob("*.py")):
        if layer != "gradiva" or not {"eager", "ops", "capture"} & set(
            path.relative_to(ROOT).parts
        ):
            yield path


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.full
def test_function_level_imports_are_the_named_ones(layer: str) -> None:
    for path in files(layer):
        tree = ast.parse(path.read_text())
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef):
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    names = {alias.name for alias in node.names}
                    assert names <= LAZY.get(path.name, set()), f"{path}: {names}"


@pytest.mark.parametrize("layer", [*LAYERS, "tests"])
def test_files_are_small(layer: str) -> None:
    """200 lines are a wish, 300 a smell."""
    for path in files(layer):
        assert len(path.read_text("utf-8").splitlines()) <= 500, path


def test_packages_are_small() -> None:
    """They have at most 20 modules of their own, `__init__` counted."""
    for layer in LAYERS:
        for init in (ROOT / layer).rglob("__init__.py"):
            assert len(list(init.parent.glob("*.py"))) <= 20, init.parent


@pytest.mark.full
@pytest.mark.parametrize("imports", ["import gradiva", EVERYTHING])
def test_no_part_of_a_user_program_is_loaded_early(imports: str) -> None:
    script = (
        f"import sys\n{imports}\n"
        "heavy = {'numba', 'cupy', 'cv2', 'PIL', 'simplejpeg', 'tqdm', 'torch', 'fsspec'}\n"
        "heavy |= {'asyncio', 'aiohttp'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert run.stdout == "[]\n"


@pytest.mark.parametrize("layer", ["eager", "ops", "capture"])
def test_bare_imports_are_refused(layer: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", f"import {layer}"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert run.returncode != 0
    assert f"import gradiva.{layer}" in run.stderr


def test_folders_are_packages() -> None:
    """So they are installed, with the sources of GPU kernels that lie in them."""
    found = [path for layer in LAYERS[:3] for path in (ROOT / layer).rglob("*.*")]
    folders = {path.parent for path in found if path.suffix in (".py", ".cuh")}
    assert len(folders) > 50
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []
    assert '\n"*" = ["*.cuh"]\n' in (ROOT / "pyproject.toml").read_text("utf-8")


def test_private_parts_of_numba_have_one_place() -> None:
    """Numba may change them with any version: two modules use them, one of which compiles."""
    private = re.compile(
        r"numba\.(core|np|_\w+|typed|parfors)\b|llvmlite\.|\.(_cache|_rebuild|_reduce|_getvalue)\b"
        r"|CACHE_DIR|make_array\(|get_dummy_value|_can_compile|\.(overloads|targetctx|fndesc)\b"
        r"|typeof_pyval|magic_tuple|call_internal"
    )
    users = {
        path.relative_to(ROOT).as_posix()
        for layer in LAYERS
        for path in files(layer)
        if private.search(path.read_text("utf-8"))
    }
    assert users == {"eager/jit/numba_adapter.py", "eager/jit/numba_compiler.py"}


@pytest.mark.full
@pytest.mark.parametrize("layer", LAYERS)
def test_modules_say_what_they_are(layer: str) -> None:
    for path in files(layer):
        text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        assert text.split("\n")[0].strip(), path
