"""The wheel: setuptools' own, with machine code in it."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import os
import subprocess
import sys
import zipfile
from importlib.metadata import requires, version
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement

from tests.eager.jit.package_copy import ROOMS, ROOT, run_script

RECORD = "gradiva-1.dist-info/RECORD"


def building() -> ModuleType:
    """`building/prebuild.py`, which is no part of the package."""
    spec = importlib.util.spec_from_file_location("prebuild", ROOT / "building" / "prebuild.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_files_are_added_and_recorded(tmp_path: Path) -> None:
    wheel = tmp_path / "gradiva-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("gradiva/__init__.py", "x = 1")
        archive.writestr(RECORD, f"gradiva/__init__.py,sha256=abc,5\n{RECORD},,\n")
    building().add_files(wheel, {"gradiva/prebuilt/one-1/name": b"code"})
    assert sorted(path.name for path in tmp_path.iterdir()) == [wheel.name]
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert names == ["gradiva/__init__.py", "gradiva/prebuilt/one-1/name", RECORD]
        assert archive.read("gradiva/__init__.py") == b"x = 1"
        assert archive.read("gradiva/prebuilt/one-1/name") == b"code"
        digest = base64.urlsafe_b64encode(hashlib.sha256(b"code").digest()).decode().rstrip("=")
        assert archive.read(RECORD).decode().splitlines() == [
            "gradiva/__init__.py,sha256=abc,5",
            f"{RECORD},,",
            f"gradiva/prebuilt/one-1/name,sha256={digest},4",
        ]


def test_no_wheel_without_the_code_fails(tmp_path: Path) -> None:
    """What cannot run is an error that the backend knows: it leaves the wheel as it is."""
    wheel = tmp_path / "gradiva-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("gradiva/__init__.py", "raise ImportError('no numba')")
    with pytest.raises(subprocess.SubprocessError):
        building().compiled(wheel, str(tmp_path))


FIRST_BATCH = """
import json, pathlib
from gradiva import fn, pipeline_def
from gradiva.commands import warmup
from gradiva.eager.jit.jit import compiled_kernels
warmup.run_recipes()
print(json.dumps([str(pathlib.Path(warmup.__file__).parents[2]), len(compiled_kernels)]))
"""


@pytest.mark.full
def test_usual_pipelines_compile_nothing_after_an_install(tmp_path: Path) -> None:
    """A wheel as setuptools makes it, with what is added, unpacked as pip does it."""
    wheel = tmp_path / "gradiva-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for room in ROOMS:
            place = "gradiva" if room == "gradiva" else f"gradiva/{room}"
            for path in (ROOT / room).rglob("*"):
                inside = path.relative_to(ROOT / room)
                linked = room == "gradiva" and inside.parts[0] in ROOMS
                if path.is_file() and not linked and "__pycache__" not in path.parts:
                    archive.write(path, f"{place}/{inside.as_posix()}")
        archive.writestr(RECORD, "")
    made = building()
    files = made.compiled(wheel, str(tmp_path / "building"))
    assert len(files) > 30
    made.add_files(wheel, files)
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    for path in (installed / "gradiva", *(installed / "gradiva" / "prebuilt").rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    (installed / "gradiva" / "prebuilt").chmod(0o755)
    assert run_script(FIRST_BATCH, installed, tmp_path / "empty") == [str(installed), 0]
    assert not list((tmp_path / "empty").rglob("*-*/*"))


def test_what_the_build_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The versions that are installed, for the machine code serves no others; else any allowed."""
    made = building()
    here = [f"{name}=={version(name)}" for name in made.NEEDED]
    assert made.needed() == here
    monkeypatch.setattr(made, "distributions", lambda path: [])
    numba, llvmlite, numpy, simplejpeg, pillow = made.needed()
    assert numba.startswith("numba>=")
    assert llvmlite == "llvmlite"
    assert numpy.startswith("numpy>=")
    assert simplejpeg.startswith("simplejpeg>=")
    assert pillow.startswith("pillow>=")


def test_it_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    made = building()
    monkeypatch.delenv("GRADIVA_PREBUILD", raising=False)
    assert made.is_wanted()
    monkeypatch.setenv("GRADIVA_PREBUILD", "0")
    assert not made.is_wanted()


@pytest.mark.full
def test_a_build_has_all_that_its_pipelines_import(tmp_path: Path) -> None:
    """Where of the dependencies only those that it asks for are there."""
    made = building()
    modules = {"opencv-python-headless": "cv2", "pillow": "PIL", "protobuf": "google.protobuf"}
    stated = [Requirement(text) for text in requires("gradiva") or ()]
    names = [one.name for one in stated if one.marker is None]
    absent = [modules.get(one, one) for one in names if one not in made.NEEDED]
    assert "cv2" in absent
    script = f"import sys\nsys.modules.update(dict.fromkeys({absent!r}))\n{made.SCRIPT}"
    environment = {**os.environ, "GRADIVA_CACHE": str(tmp_path), "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment, timeout=300)
    assert len(list(tmp_path.glob("gradiva/resample_range-*/*"))) > 0
