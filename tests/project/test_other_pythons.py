"""What `.ci/other_pythons.py` decides: which Pythons, which versions, and the end of a hang."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "other_pythons.py"


@pytest.fixture(name="script")
def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("other_pythons", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_oldest_versions_come_from_the_lower_bounds(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    requirements = [
        "numpy>=1.26",
        "pytest>=8; extra == 'test'",
        'typing-extensions>=4.10.1; extra == "test"',
        "cuda-bindings<13,>=12.9; platform_system == 'Linux' and extra == 'test'",
        "types-tqdm; extra == 'test'",
        "jupyterlab>=4; extra == 'notebook'",
    ]
    monkeypatch.setattr(script, "requires", lambda name: requirements)
    assert script.oldest_allowed() == [
        "numpy==1.26.*",
        "pytest==8.0.*",
        "typing-extensions==4.10.*",
        "cuda-bindings==12.9.*",
    ]


def test_which_pythons_are_found(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One of each minor version that is supported, from the path and from pyenv."""
    told = {
        "bin/python3.12": "cpython final 3 12 4",
        "bin/python3.13": "",  # what pyenv puts there for a version that is not in use
        "bin/python3.15": "cpython beta 3 15 0",
        "bin/pyenv": f"{tmp_path}/pyenv",
        "pyenv/versions/old/bin/python": "cpython final 3 9 18",
        "pyenv/versions/a/bin/python": "cpython final 3 12 1",
        "pyenv/versions/b/bin/python": "cpython final 3 14 0",
        "pyenv/versions/other/bin/python": "pypy final 3 11 9",
    }
    for name, text in told.items():
        program = tmp_path / name
        program.parent.mkdir(parents=True, exist_ok=True)
        said = text if name == "bin/pyenv" else f"{text} {program}"
        program.write_text(f"#!/bin/sh\necho {said}\n" if text else "#!/bin/sh\nexit 1\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(script, "metadata", lambda name: {"Requires-Python": ">=3.10"})
    assert script.find_pythons() == [
        ((3, 12, 4), str(tmp_path / "bin/python3.12")),
        ((3, 14, 0), str(tmp_path / "pyenv/versions/b/bin/python")),
    ]


@pytest.mark.parametrize("beforehand", [False, True])
@pytest.mark.parametrize("kind", ["oldest", "newest"])
def test_a_python_without_numba_is_passed_over(
    script: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    beforehand: bool,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """And a run that fails makes the whole fail. What was installed before is not installed again,
    but by the run after the next."""
    versions = [script.Python((3, minor, 0), f"python3.{minor}") for minor in (1, 2, 98, 99)]
    current = ""
    ran, made = [], list[str]()

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        nonlocal current
        if "venv" in command:
            current = command[0]
            made.append(current)
            Path(command[-1]).mkdir(exist_ok=True)
        refused = "numba" in command and current in ("python3.1", "python3.99")
        error = "ERROR: No matching distribution found for numba" if refused else ""
        return subprocess.CompletedProcess(command, int(refused), "", error)

    def run_tests(python: str, which: str) -> tuple[str, bool]:
        ran.append((python, which))
        return "FAILED", False

    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "find_pythons", lambda: versions)
    monkeypatch.setattr(script, "oldest_allowed", lambda: ["numpy==1.26.*"])
    monkeypatch.setattr(script, "run_tests", run_tests)
    monkeypatch.setattr(subprocess, "run", run)
    expected = ["python3.1", "python3.2"] if kind == "oldest" else ["python3.99", "python3.98"]
    if beforehand:
        assert script.main(["--install-only", kind]) == 0
        assert (made, ran) == (expected, [])
    assert script.main([kind]) == 1
    assert made == expected
    assert ran == [("Python 3.2.0" if kind == "oldest" else "Python 3.98.0", kind)]
    assert script.main([kind]) == 1
    assert made == expected * 2
    assert "there is no build of Numba for it" in capsys.readouterr().out


def test_a_run_that_hangs_shows_its_stacks(script: ModuleType) -> None:
    program = "def hangs():\n print('ready', flush=True)\n input()\nhangs()"
    with subprocess.Popen(
        [sys.executable, "-X", "faulthandler", "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"ready\n"
        assert script.end(process) != 0
        stacks = process.stderr.read().decode()
    assert "Fatal Python error: Aborted" in stacks
    assert "in hangs" in stacks
