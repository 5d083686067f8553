"""The house: which room may import which, what stays unloaded, how long files are."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("eager", "ops", "capture", "gradiva")
MAY_IMPORT = {
    "eager": {"eager"},
    "ops": {"eager", "ops"},
    "capture": {"eager", "ops", "capture"},
    "gradiva": {"eager", "ops", "capture", "gradiva"},
}
LAZY = {"jit.py": {"numba", "numba.extending"}, "tensor.py": {"torch"}}


def files(room: str) -> Iterator[Path]:
    for path in sorted((ROOT / room).rglob("*.py")):
        if room != "gradiva" or not {"eager", "ops", "capture"} & set(path.relative_to(ROOT).parts):
            yield path


def imports(path: Path) -> Iterator[tuple[str, ast.AST]]:
    package = ["gradiva", *path.relative_to(ROOT).parts[:-1]]
    if path.relative_to(ROOT).parts[0] == "gradiva":
        package = package[1:]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            yield name, node
            yield from ((f"{name}.{alias.name}", node) for alias in node.names)


@pytest.mark.parametrize("room", ROOMS)
def test_imports_flow_one_way(room: str) -> None:
    for path in files(room):
        for name, _node in imports(path):
            parts = name.split(".")
            if parts[0] != "gradiva":
                continue
            target = parts[1] if len(parts) > 1 and parts[1] in ROOMS else "gradiva"
            assert target in MAY_IMPORT[room], f"{path.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize("room", ROOMS)
def test_function_level_imports_are_the_named_ones(room: str) -> None:
    for path in files(room):
        tree = ast.parse(path.read_text())
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef):
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    names = {alias.name for alias in node.names}
                    assert names <= LAZY.get(path.name, set()), f"{path}: {names}"


@pytest.mark.parametrize("room", [*ROOMS, "tests"])
def test_files_are_small(room: str) -> None:
    for path in files(room):
        most = 500 if room == "tests" else 300
        assert len(path.read_text().splitlines()) <= most, path


def test_no_part_of_a_user_program_is_loaded_early() -> None:
    script = (
        "import sys, gradiva\n"
        "heavy = {'numba', 'cupy', 'cv2', 'PIL', 'simplejpeg', 'tqdm', 'torch'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert run.stdout == "[]\n"


@pytest.mark.parametrize("room", ["eager", "ops", "capture"])
def test_bare_imports_are_refused(room: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", f"import {room}"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert run.returncode != 0
    assert f"import gradiva.{room}" in run.stderr


def test_folders_are_packages() -> None:
    """So they are installed, with the sources of GPU kernels that lie in them."""
    found = [path for room in ROOMS[:3] for path in (ROOT / room).rglob("*.*")]
    folders = {path.parent for path in found if path.suffix in (".py", ".cuh")}
    assert len(folders) > 8
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []
    assert '\n"*" = ["*.cuh"]\n' in (ROOT / "pyproject.toml").read_text("utf-8")


@pytest.mark.parametrize("room", ROOMS)
def test_modules_say_what_they_are(room: str) -> None:
    for path in files(room):
        text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        assert text.split("\n")[0].strip(), path
