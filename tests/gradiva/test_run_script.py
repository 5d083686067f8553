"""`gradiva run`: a script sees what it sees when Python runs it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gradiva.__main__ import main
from tests.gradiva.test_compat_alias import run, write
from tests.tiers import few

SEES = """
import atexit, os, sys
import nvidia.dali
print(sys.argv, __name__, __file__, __package__, __spec__ is None or __spec__.name, __doc__)
print(sys.path[0], sys.modules["__main__"].__dict__ is globals())
atexit.register(lambda: print("at exit", sys.modules["__main__"].helper.__name__))
import helper
print(helper.__name__)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, SEES, "script.py")
    write(tmp_path, "from nvidia.dali import fn", "helper.py")
    (tmp_path / "package").mkdir()
    write(tmp_path / "package", "", "__init__.py")
    write(tmp_path / "package", SEES, "__main__.py")
    return tmp_path


def gradiva_run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return run("-m", "gradiva", "run", *arguments, folder=folder)


@pytest.mark.core
@pytest.mark.parametrize(
    "what", few([["script.py"], ["-m", "package"], ["-m", "package.__main__"]], count=1)
)
@pytest.mark.full
def test_as_python_does(what: list[str], folder: Path) -> None:
    stub = folder / "stub" / "nvidia" / "dali"
    stub.mkdir(parents=True)
    write(stub, "from . import fn", "__init__.py")
    write(stub, "", "fn.py")
    arguments = [*what, "--first", "-m", "x", "--help"]
    done = gradiva_run(*arguments, folder=folder)
    plain = run(*arguments, folder=folder, path=folder / "stub")
    assert plain.stderr == done.stderr == ""
    assert done.stdout == plain.stdout
    assert "at exit" in done.stdout


@pytest.mark.full
@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("import sys; sys.exit(7)", 7, ""),
        ("raise SystemExit('enough')", 1, "enough\n"),
        ("import sys; sys.exit()", 0, ""),
        (
            "def f():\n    raise KeyError('x')\nf()",
            1,
            'Traceback (most recent call last):\n  File "{file}", line 3, in <module>\n    f()\n'
            "  File \"{file}\", line 2, in f\n    raise KeyError('x')\nKeyError: 'x'\n",
        ),
        ("if True\n", 1, '  File "{file}", line 1\n    if True\nSyntaxError: '),
        ("raise KeyboardInterrupt", -2, "Traceback (most recent call last):\n"),
        (
            "from nvidia.dali.types import FLOATS",
            1,
            "gradiva: did you mean FLOAT or FLOAT64 or FLOAT16?\n",
        ),
        (
            "import nvidia.dali.plugin.caffe",
            1,
            'Traceback (most recent call last):\n  File "{file}", line 1, in <module>\n'
            "    import nvidia.dali.plugin.caffe\n"
            "ModuleNotFoundError: No module named 'nvidia.dali.plugin.caffe' in gradiva",
        ),
    ],
    ids=["exit", "message", "nothing", "error", "syntax", "interrupt", "name", "module"],
)
def test_how_it_ends(text: str, status: int, said: str, tmp_path: Path) -> None:
    file = write(tmp_path, text)
    done = gradiva_run("script.py", folder=tmp_path)
    assert done.returncode == status
    marks = re.compile(r"^ *[\^~]+\n", re.MULTILINE)  # newer Pythons have more of them
    shown = marks.sub("", done.stderr)
    assert said.format(file=file) in shown
    assert (done.stderr == "") == (said == "")
    assert "run_script" not in done.stderr
    assert "importlib" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing.py"], "gradiva run: nothing.py cannot be opened: No such file or directory\n"),
        (["-m", "nothing_here"], "gradiva run: there is no module nothing_here that can be run\n"),
        (["-m"], "gradiva run: -m needs the name of a module\n"),
        (["-x"], "gradiva run: there is no option -x; the script's own follow its name\n"),
        ([], "usage: gradiva run SCRIPT.py [ARGUMENT ...]\n"),
    ],
)
def test_what_cannot_be_run(
    arguments: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("gradiva.compat.run_script.install", lambda: None)
    monkeypatch.setattr(sys, "argv", sys.argv)
    assert main(["run", *arguments]) == 2
    assert capsys.readouterr().err.startswith(said)


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--help"]) == 0
    assert "run -m MODULE" in capsys.readouterr().out
