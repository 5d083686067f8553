"""`nvidia.dali` served by gradiva: one identity, in child processes too; and nothing stays."""

from __future__ import annotations

import importlib
import importlib.util
import multiprocessing.spawn
import os
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import gradiva
from gradiva import compat
from gradiva.compat.dali.facts import VERSION
from gradiva.plugin import pytorch

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def aliased(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Installed, where the real package is out of sight."""
    namespace: Any = sys.modules.get("nvidia")
    real = getattr(namespace, "dali", None)
    for name in list(sys.modules):
        if f"{name}.".startswith("nvidia.dali."):
            monkeypatch.delitem(sys.modules, name)
    compat.install()
    yield
    compat.uninstall()
    if real is not None:
        namespace.dali = real


def run(*arguments: str, folder: Path, path: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        check=False,
        text=True,
        timeout=300,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(path)},
    )


def write(folder: Path, text: str, name: str = "script.py") -> Path:
    path = folder / name
    path.write_text(textwrap.dedent(text), "utf-8")
    return path


def test_modules_are_gradivas_own() -> None:
    names: dict[str, Any] = {}
    exec(
        textwrap.dedent("""
        import nvidia.dali as dali
        import nvidia.dali.fn as fn
        import nvidia.dali.plugin.pytorch
        import nvidia.dali.experimental.dynamic as ndd
        from nvidia.dali import Pipeline, ops, pipeline_def, types
        from nvidia.dali.auto_aug.core import augmentation
        from nvidia.dali.fn.experimental import peek_image_shape
        from nvidia.dali.ops.random import CoinFlip
        from nvidia.dali.plugin.pytorch import DALIGenericIterator
        """),
        names,
    )
    assert names["fn"] is gradiva.fn is names["dali"].fn
    assert names["nvidia"].dali is names["dali"]
    assert names["types"] is gradiva.types
    assert names["Pipeline"] is gradiva.Pipeline
    assert names["DALIGenericIterator"] is pytorch.DALIGenericIterator
    assert names["ndd"].resize is gradiva.resize
    assert gradiva.fn.__spec__ is not None
    assert (gradiva.fn.__name__, gradiva.fn.__spec__.name) == ("gradiva.fn", "gradiva.fn")
    assert importlib.import_module("nvidia.dali.math") is gradiva.math
    assert importlib.reload(names["fn"]) is gradiva.fn
    for name in ("random", "readers", "math", "io.file"):
        found = importlib.import_module(f"nvidia.dali.experimental.dynamic.{name}")
        assert found.__name__ == f"gradiva.{name}"


def test_the_version_is_that_of_the_names() -> None:
    dali = importlib.import_module("nvidia.dali")
    assert dali.__version__ == VERSION != gradiva.__version__
    assert f"DALI {VERSION}" in (ROOT / "README.md").read_text("utf-8")
    assert f"DALI {VERSION}" in (ROOT / "docs" / "differences.md").read_text("utf-8")
    assert {"fn", "Pipeline"} <= set(dir(dali))
    assert dali.compat is compat


def test_all_names_at_once() -> None:
    names: dict[str, Any] = {}
    exec("from nvidia.dali import *", names)
    assert names["pipeline_def"] is gradiva.pipeline_def


def test_pickles_that_name_its_classes() -> None:
    text = b"cnvidia.dali.plugin.base_iterator\nLastBatchPolicy\n."
    assert pickle.loads(text) is pytorch.LastBatchPolicy


def test_what_is_not_there() -> None:
    with pytest.raises(
        ModuleNotFoundError, match=r"'nvidia\.dali\.plugin\.abc' .*pytorch"
    ) as found:
        importlib.import_module("nvidia.dali.plugin.abc")
    assert found.value.name == "nvidia.dali.plugin.abc"
    assert importlib.util.find_spec("nvidia.dali.plugin.abc") is None
    dali = importlib.import_module("nvidia.dali")
    with pytest.raises(AttributeError, match=r"no attribute 'pipelne_def'.*mean pipeline_def"):
        dali.pipelne_def  # noqa: B018
    assert not hasattr(dali, "nothing_like_it")


def test_an_error_inside_of_a_module_passes() -> None:
    class Broken:
        def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
            if name == "gradiva.plugin.numpy":
                raise ModuleNotFoundError("No module named 'absent'", name="absent")

    # Undone before the alias is uninstalled: else its finders would come back with the old list.
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(sys.modules, "gradiva.plugin.numpy", raising=False)
        patch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
        with pytest.raises(ModuleNotFoundError, match="absent"):
            importlib.import_module("nvidia.dali.plugin.numpy")


def test_a_list_of_finders_that_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Finders that come back after `uninstall` are all that does: children are told again."""
    before = list(sys.meta_path)
    compat.uninstall()
    monkeypatch.setattr(sys, "meta_path", before)
    assert compat.installed()
    unaware = multiprocessing.spawn.get_preparation_data
    compat.install()
    assert multiprocessing.spawn.get_preparation_data is not unaware
    compat.uninstall()
    assert not compat.installed()
    assert multiprocessing.spawn.get_preparation_data is unaware


def test_the_real_package_is_never_mixed_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    compat.uninstall()
    monkeypatch.setitem(sys.modules, "nvidia.dali", ModuleType("nvidia.dali"))
    with pytest.raises(gradiva.OperatorRuntimeError, match="is loaded already, from None"):
        compat.install()
    assert not compat.installed()


def test_uninstalled_without_a_trace() -> None:
    prepare, finders = multiprocessing.spawn.get_preparation_data, list(sys.meta_path)
    compat.install()
    assert sys.meta_path == finders
    importlib.import_module("nvidia.dali.fn")
    compat.uninstall()
    compat.uninstall()
    assert not compat.installed()
    assert len(sys.meta_path) == len(finders) - 2
    assert multiprocessing.spawn.get_preparation_data is not prepare
    assert [name for name in sys.modules if name.startswith("nvidia.dali")] == []


@pytest.mark.core
@pytest.mark.full
def test_without_any_part_of_nvidia(tmp_path: Path) -> None:
    """Processes of all kinds have it, with no package `nvidia`; parts of it may come later."""
    (tmp_path / "more" / "nvidia" / "part").mkdir(parents=True)
    write(tmp_path / "more" / "nvidia" / "part", "value = 3", "__init__.py")
    script = write(
        tmp_path,
        """
        import multiprocessing
        import sys
        from importlib.machinery import PathFinder

        import gradiva

        class Without:
            def find_spec(self, name, path=None, target=None):
                return None if name == "nvidia" else PathFinder.find_spec(name, path, target)

        sys.meta_path = [Without() if one is PathFinder else one for one in sys.meta_path]
        gradiva.compat.install()
        import nvidia.dali.fn as fn
        from nvidia.dali import types

        def work(number):
            import nvidia.dali
            return number, nvidia.dali.fn is gradiva.fn, types.FLOAT is gradiva.types.FLOAT

        if __name__ == "__main__":
            try:
                import nvidia.part
            except ModuleNotFoundError as error:
                print(error.name)
            sys.path.append("more")
            import nvidia.part
            print(nvidia.part.value, nvidia.dali.fn is fn)
            for method in ("fork", "spawn", "forkserver"):
                with multiprocessing.get_context(method).Pool(1) as pool:
                    print(method, pool.map(work, [7]))
        """,
    )
    done = run("-W", "ignore", str(script), folder=tmp_path)
    lines = [f"{method} [(7, True, True)]" for method in ("fork", "spawn", "forkserver")]
    assert done.stdout.splitlines() == ["nvidia.part", "3 True", *lines]
    assert done.stderr == ""


@pytest.mark.full
def test_it_is_loaded_when_it_is_asked_for(tmp_path: Path) -> None:
    program = (
        "import sys, gradiva; found = 'gradiva.compat.alias' in sys.modules;"
        "print(found, gradiva.compat.installed())"
    )
    assert run("-c", program, folder=tmp_path).stdout == "False False\n"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        gradiva.nothing  # type: ignore[attr-defined]  # noqa: B018
