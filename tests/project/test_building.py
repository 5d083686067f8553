"""The wheel: setuptools' own, with machine code in it."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib.metadata import requires, version
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement

from tests.eager.jit.package_copy import LAYERS, ROOT, copy_package, run_script

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
        for layer in LAYERS:
            place = "gradiva" if layer == "gradiva" else f"gradiva/{layer}"
            for path in (ROOT / layer).rglob("*"):
                inside = path.relative_to(ROOT / layer)
                linked = layer == "gradiva" and inside.parts[0] in LAYERS
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


BUILD = """
import os, sys
sys.path.insert(0, "building")
import backend
print(os.path.abspath(os.path.join(sys.argv[2], getattr(backend, sys.argv[1])(sys.argv[2]))))
"""
INSTALLED = """
import gradiva, numpy, os, sys
assert gradiva.__file__.startswith(sys.prefix), gradiva.__file__
image = numpy.arange(48, dtype=numpy.uint8).reshape(4, 4, 3)
assert numpy.array_equal(numpy.asarray(gradiva.flip(image, horizontal=1)), image[:, ::-1])
import gradiva.backend, gradiva.pipeline.experimental
from gradiva.compat.differences import rows
from gradiva.compat.dali.facts import facts
assert len(rows()) > 50 and len(facts()) > 100
folder = os.path.dirname(gradiva.__file__)
kernels = [name for _, _, names in os.walk(folder) for name in names if name.endswith(".cuh")]
print(len(kernels), os.path.exists(os.path.join(folder, "py.typed")))
"""
TYPED = """
import gradiva.experimental.dynamic as ndd
from gradiva.backend import TensorListCPU
from gradiva.ops import Resize
from gradiva.ops.experimental.readers import Fits
from gradiva.pipeline import Pipeline, pipeline_def
from gradiva.pipeline.experimental import pipeline_def as the_same
reveal_type(Pipeline)
reveal_type(TensorListCPU)
Resize(size=3), Fits(), ndd.flip
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with a wheel that is made from a source distribution. It
    sees the packages that are installed here, but not the checkout."""
    if int(version("setuptools").split(".")[0]) < 77:
        pytest.skip("setuptools is older than what the build asks for")
    folder = tmp_path_factory.mktemp("built")
    tree = copy_package(folder / "tree")
    for name in ("building", "docs/differences.md", "LICENSE", "MANIFEST.in", "README.md"):
        (tree / name).parent.mkdir(exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tree / name)
    shutil.copy(ROOT / "pyproject.toml", tree)
    with tarfile.open(_built("build_sdist", tree)) as archive:
        archive.extractall(folder / "unpacked")
    (unpacked,) = (folder / "unpacked").iterdir()
    shutil.rmtree(tree)
    wheel = _built("build_wheel", unpacked)
    environment = folder / "environment"
    venv.create(environment, symlinks=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    here = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "here.pth").write_text("\n".join(here))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    return environment / "bin" / "python"


def _built(what: str, tree: Path) -> str:
    made = subprocess.run(
        [sys.executable, "-c", BUILD, what, str(tree.parent)],
        cwd=tree,
        env={**os.environ, "GRADIVA_PREBUILD": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr[-4000:]
    return made.stdout.splitlines()[-1]


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="about an environment of POSIX")
def test_a_wheel_from_a_source_distribution_runs(installed: Path, tmp_path: Path) -> None:
    command = [str(installed), "-I", "-c", INSTALLED]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    kernels = len([path for layer in LAYERS[:3] for path in (ROOT / layer).rglob("*.cuh")])
    assert run.stdout.split() == [str(kernels), "True"]


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="about an environment of POSIX")
def test_type_checkers_know_old_import_paths(installed: Path, tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    (tmp_path / "user.py").write_text(TYPED)
    command = [sys.executable, "-m", "mypy", f"--python-executable={installed}", "user.py"]
    there = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    run = subprocess.run(
        command, cwd=tmp_path, env=there, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout
    for name in ("capture.pipeline.pipeline.Pipeline", "capture.pipeline.outputs.TensorListCPU"):
        assert f"gradiva.{name}" in run.stdout


SENTENCE = r"must be symbolic links .* `git config core\.symlinks true`"


@pytest.mark.full
def test_a_checkout_without_links_says_what_to_do(tmp_path: Path) -> None:
    folder = copy_package(tmp_path)
    for layer in LAYERS[:3]:
        (folder / "gradiva" / layer).unlink()
        (folder / "gradiva" / layer).write_text(f"../{layer}")  # as git writes it there
    run = subprocess.run(
        [sys.executable, "-S", "-c", "import gradiva"],  # without the paths of an editable install
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert re.search(SENTENCE, run.stderr.splitlines()[-1])


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


def test_what_a_wheel_has_besides_is_found_where_nothing_is_installed() -> None:
    """As in the environment in which pip builds: there is no gradiva in it, and no NumPy."""
    script = f"""
import sys
sys.path.insert(0, {str(ROOT / "building")!r})
from contents import contents
print(*contents(), sep="\\n")
"""
    command = [sys.executable, "-I", "-S", "-c", script]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    found = made.stdout.split()
    assert {"gradiva/compat/differences.md", "gradiva/tensors.pyi"} <= set(found)
