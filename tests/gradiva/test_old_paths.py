"""Old import paths: one module under two names, however it is asked for."""

from __future__ import annotations

import importlib
import importlib.util
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import gradiva
from gradiva.compat import old_paths
from gradiva.compat.aliases import ALIASES, CLASS_PACKAGES
from gradiva.compat.dali.schemas import OpSchema
from gradiva.compat.old_paths import real_name

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.tiny


def run(program: str, *folders: str) -> str:
    """What a program prints in a fresh process."""
    whole = f"import sys; sys.path[:0] = {[*folders]!r}\n{program}"
    return subprocess.run(
        [sys.executable, "-c", whole],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        timeout=60,
    ).stdout.strip()


WITHOUT = {"gradiva.plugin.mxnet": "mxnet"}
"""Paths that need a package which is seldom installed."""


@pytest.mark.parametrize("path", ALIASES)
def test_an_old_path_is_the_module_itself(path: str) -> None:
    if path in WITHOUT:
        pytest.importorskip(WITHOUT[path])
    found = importlib.import_module(path)
    assert found is importlib.import_module(ALIASES[path])
    package, _, name = path.rpartition(".")
    assert getattr(importlib.import_module(package), name) is found
    assert found.__spec__ is not None
    assert found.__spec__.name == found.__name__ == ALIASES[path]


def test_modules_in_packages_come_along() -> None:
    assert real_name("gradiva.namespaces.schemas") == "gradiva.compat.dali.schemas"
    assert real_name("gradiva.ops.places") == "gradiva._names"
    assert real_name("gradiva.backends") is None
    schemas = importlib.import_module("gradiva.namespaces.schemas")
    assert schemas.OpSchema is OpSchema
    again = importlib.reload(schemas)
    assert again is schemas
    assert importlib.import_module("gradiva.namespaces.schemas") is schemas
    vars(schemas)["OpSchema"] = OpSchema  # reloading has made another one


@pytest.mark.parametrize(
    "program",
    [
        "import gradiva.namespaces.class_names as one",
        "from gradiva.namespaces import class_names as one",
        "import importlib; one = importlib.import_module('gradiva.namespaces.class_names')",
        "import gradiva.compat.dali, gradiva.namespaces.class_names as one",
    ],
)
def test_each_way_of_importing(program: str) -> None:
    """In a fresh process each: this module is one that imports little."""
    assert run(f"{program}\nprint(one.__name__)") == "gradiva.compat.dali.class_names"


@pytest.mark.full
@pytest.mark.parametrize(
    "program",
    [
        "import gradiva.pipeline; one = gradiva.pipeline.experimental",
        "import gradiva; one = gradiva.pipeline.experimental",
    ],
)
def test_modules_that_their_package_imports(program: str) -> None:
    assert run(f"{program}\nprint(one.__name__)") == "gradiva.compat.dali.pipeline.experimental"


def test_pickles_of_old_paths() -> None:
    data = pickle.dumps(OpSchema, 0).replace(b"gradiva.compat.dali.", b"gradiva.namespaces.")
    assert b"gradiva.namespaces.schemas" in data
    assert pickle.loads(data) is OpSchema
    program = f"import pickle; print(pickle.loads({data!r}).__module__)"
    assert run(program) == "gradiva.compat.dali.schemas"


@pytest.mark.parametrize("name", ["gradiva.pipeline.nothing", "gradiva.nothing", "gradiva.ops.no"])
def test_modules_that_are_not_there(name: str) -> None:
    assert importlib.util.find_spec(name) is None
    with pytest.raises(ModuleNotFoundError, match=f"No module named '{name}'"):
        importlib.import_module(name)
    with pytest.raises(AttributeError, match="module 'gradiva' has no attribute 'nothing'"):
        gradiva.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_as_a_program() -> None:
    command = [sys.executable, "-W", "error", "-m", "gradiva.sysconfig"]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def test_a_folder_that_an_older_version_has_left(tmp_path: Path) -> None:
    """It would be a namespace package."""
    (tmp_path / "gradiva" / "sysconfig" / "__pycache__").mkdir(parents=True)
    program = "import gradiva\ngradiva.__path__.append({!r})\nimport gradiva.sysconfig as one\n"
    program = program.format(str(tmp_path / "gradiva"))
    assert run(program + "print(one.__name__)") == "gradiva.compat.dali.sysconfig"


def test_a_folder_of_a_package_that_has_classes_alone(tmp_path: Path) -> None:
    """Wheels have stub files there."""
    (tmp_path / "io" / "file").mkdir(parents=True)
    program = (
        "import gradiva.ops\ngradiva.ops.__path__.append({!r})\nfrom gradiva.ops.io import file"
    )
    found = run(program.format(str(tmp_path)) + "\nprint(file.Read.__name__)")
    assert found == "Read"


@pytest.mark.full
@pytest.mark.parametrize("root", ["gradiva", "nvidia.dali"])
def test_threads_that_import_one_module_by_two_names(root: str) -> None:
    """They do not wait for each other, and see no unfinished module."""
    program = """
import threading, gradiva.compat
gradiva.compat.install()
found, start = [], threading.Barrier(8)
def ask(name):
    start.wait()
    module = __import__(name, fromlist=["x"])
    found.append((module.__name__, module.__spec__.name, hasattr(module, "Pipeline")))
names = ["%s.pipeline", "gradiva.compat.dali.pipeline"] * 4
threads = [threading.Thread(target=ask, args=(name,)) for name in names]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(found), *set(found))
"""
    name = "gradiva.compat.dali.pipeline"
    assert run(program % root) == f"8 {(name, name, True)}"


def test_installing_again_adds_nothing() -> None:
    before = list(sys.meta_path)
    old_paths.install()
    assert sys.meta_path == before


def test_packages_of_operators_have_classes() -> None:
    for package in CLASS_PACKAGES:
        module = importlib.import_module(f"gradiva.ops.{package}".rstrip("."))
        assert {"__getattr__", "__dir__"} <= {*vars(module)}, package
        assert importlib.reload(importlib.import_module("gradiva.ops.decoders")).Image
    source = importlib.util.find_spec("gradiva.ops.decoders")
    assert source is not None
    assert source.loader is not None
    assert "Decoders" in (source.loader.get_source("gradiva.ops.decoders") or "")  # type: ignore[attr-defined]
