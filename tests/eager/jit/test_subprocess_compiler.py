"""A kernel that another process compiles: it is taken from there, or compiled here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.jit import subprocess_compiler
from gradiva.eager.jit.background_kernel import at_once, prepares_at_once
from gradiva.eager.jit.subprocess_compiler import SubprocessCompiler
from gradiva.ops.image.resize import cpu

from . import subprocess_kernel

SCRIPT = """
import json, os, sys
import numpy as np
from gradiva.eager.jit import subprocess_compiler, jit
from gradiva.eager.jit.jit import compiled_kernels
from tests.eager.jit import subprocess_kernel
jit._is_ours = lambda dispatcher: dispatcher.py_func.__module__ == subprocess_kernel.__name__
subprocess_compiler._PATIENCE = float(sys.argv[2])
os.getloadavg = lambda: (0.0, 0.0, 0.0)
def fits(types, dtype):
    return str(types[0].dtype) == dtype
compiles = getattr(subprocess_kernel, sys.argv[1])
helper = subprocess_compiler.SubprocessCompiler(subprocess_kernel.added, compiles, fits)
helper.begin(sys.argv[3])
began = helper._process is not None
helper.begin(sys.argv[3])
result = int(subprocess_kernel.twice_added(np.arange(4, dtype=sys.argv[3]), 5))
print(json.dumps([began, helper._process is None, result, [name for name, _ in compiled_kernels]]))
"""


def run(
    cache: Path,
    name: str,
    patience: float = 60.0,
    dtype: str = "uint8",
    variables: dict[str, str] | None = None,
) -> tuple[bool, bool, int, list[str]]:
    """Whether a process was begun, and has ended; the result; what was compiled here."""
    own = {"GRADIVA_CACHE": str(cache), "GRADIVA_NUM_THREADS": "2", **(variables or {})}
    made = subprocess.run(
        [sys.executable, "-c", SCRIPT, name, str(patience), dtype],
        env={**os.environ, **own},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    assert not made.stderr
    began, ended, result, compiled = json.loads(made.stdout)
    return began, ended, result, compiled


@pytest.mark.full
def test_it_is_taken_from_there(tmp_path: Path) -> None:
    assert run(tmp_path, "compiles") == (True, True, 22, ["twice_added"])
    # It is there now, and so is what calls it.
    assert run(tmp_path, "compiles") == (False, True, 22, [])
    # Of another dtype there is nothing, but nobody knows that before.
    assert run(tmp_path, "compiles", dtype="int16")[::3] == (False, ["added", "twice_added"])


@pytest.mark.full
@pytest.mark.parametrize(("name", "patience"), [("fails", 60.0), ("hangs", 0.1)])
def test_it_is_compiled_here(tmp_path: Path, name: str, patience: float) -> None:
    assert run(tmp_path, name, patience) == (True, True, 22, ["added", "twice_added"])


@pytest.mark.full
@pytest.mark.parametrize(
    "variables", [{"GRADIVA_NUM_THREADS": "1"}, {"GRADIVA_COMPILES_BESIDE": "1"}]
)
def test_where_nothing_is_gained(tmp_path: Path, variables: dict[str, str]) -> None:
    compiled = ["added", "twice_added"]
    assert run(tmp_path, "compiles", variables=variables) == (False, True, 22, compiled)


class Begun(SimpleNamespace):
    """Notes what would be started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        super().__init__(commands=[])
        self.folder: Any = SimpleNamespace(is_prebuilt=False, path=tmp_path / "kernel")
        monkeypatch.delenv("GRADIVA_COMPILES_BESIDE", raising=False)
        monkeypatch.setenv("GRADIVA_NUM_THREADS", "2")
        monkeypatch.setattr(subprocess_compiler, "kernel_folder", lambda _: self.folder)
        monkeypatch.setattr(subprocess_compiler, "prepares_at_once", lambda: False)
        monkeypatch.setattr(os, "getloadavg", lambda: (0.5, 0, 0), raising=False)
        monkeypatch.setattr(subprocess, "Popen", self.start)

    def start(self, command: list[str], **_options: Any) -> Any:
        self.commands.append(command)
        return SimpleNamespace(poll=lambda: 0, wait=lambda *_: 0, kill=None)

    def helper(self) -> SubprocessCompiler:
        kernel = SimpleNamespace(function=None, made_elsewhere=None)
        return SubprocessCompiler(kernel, subprocess_kernel.compiles, lambda types, dtype: True)  # type: ignore[arg-type]


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Begun:
    return Begun(monkeypatch, tmp_path)


def test_it_is_started_once(begun: Begun) -> None:
    helper = begun.helper()
    helper.begin("uint8")
    helper.begin("int16")
    assert [command[-3:] for command in begun.commands] == [
        [subprocess_kernel.__name__, "compiles", "uint8"]
    ]
    helper.stop()
    helper.stop()


def test_it_is_not_started_for_what_is_there(begun: Begun, tmp_path: Path) -> None:
    (tmp_path / "kernel").mkdir()
    begun.helper().begin("uint8")
    assert len(begun.commands) == 1, "an empty folder holds nothing"
    (tmp_path / "kernel" / "code").touch()
    begun.helper().begin("uint8")
    begun.folder = SimpleNamespace(is_prebuilt=True, path=tmp_path / "none")
    begun.helper().begin("uint8")
    begun.folder = SimpleNamespace(is_prebuilt=False, path=None)
    begun.helper().begin("uint8")
    begun.folder = None
    begun.helper().begin("uint8")
    assert len(begun.commands) == 1


@pytest.mark.parametrize("executable", ["", None, "/usr/bin/uwsgi", "/opt/photos"])
def test_other_programs_are_not_started(
    begun: Begun, monkeypatch: pytest.MonkeyPatch, executable: str | None
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    begun.helper().begin("uint8")
    assert not begun.commands


def test_a_busy_machine(begun: Begun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (3.0, 0, 0))
    begun.helper().begin("uint8")
    assert not begun.commands


def test_what_else_is_in_the_path(begun: Begun, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python passes over it; and nothing is imported from there before the path is set."""
    monkeypatch.setattr(sys, "path", [*sys.path, Path("/tmp")])
    begun.helper().begin("uint8")
    (command,) = begun.commands
    assert json.loads(command[4]) == sys.path[:-1]
    assert command[1] == "-I"


def test_it_waits_for_its_own_types(begun: Begun) -> None:
    helper = begun.helper()
    helper._fits = lambda types, dtype: types == (dtype,)
    helper.begin("uint8")
    assert not helper._wait(("float32",))
    assert helper._process is not None
    assert helper._wait(("uint8",))
    assert helper._process is None


def test_a_variable_that_makes_no_sense(begun: Begun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADIVA_NUM_THREADS", "many")
    begun.helper().begin("uint8")
    assert not begun.commands


def test_a_process_that_cannot_be_started(begun: Begun, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: Any, **_options: Any) -> Any:
        raise OSError("no memory")

    monkeypatch.setattr(subprocess, "Popen", fail)
    helper = begun.helper()
    helper.begin("uint8")
    assert helper._kernel.made_elsewhere is None


def test_a_child_does_not_wait_for_the_process_of_its_parent(
    begun: Begun, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper = begun.helper()
    helper.begin("uint8")
    process = helper._process
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert not helper._wait(())
    helper.stop()
    assert helper._process is process
    monkeypatch.undo()
    helper.stop()
    assert helper._process is None


def test_where_all_is_compiled_at_once(begun: Begun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess_compiler, "prepares_at_once", lambda: True)
    begun.helper().begin("uint8")
    assert not begun.commands
    with at_once():
        assert prepares_at_once()


def test_the_types_are_those_of_real_calls() -> None:
    """Else what is compiled subprocess_compiler is of no use."""
    images = gradiva.as_batch([np.zeros((40, 50, 3), np.uint8)], layout="HWC")
    gradiva.resize(images, size=(20, 25))
    kernel: Any = cpu._filtered_sample
    before = set(kernel._noinline._symbols)
    assert before
    cpu.compile_filtered("uint8")
    assert set(kernel._noinline._symbols) == before
    for types in before:
        dtype = str(types[0].dtype)
        plain = str(types[5]) == str(types[6]) == "none"
        assert cpu._is_for(types, dtype) == plain
        assert not cpu._is_for(types, "float64")
