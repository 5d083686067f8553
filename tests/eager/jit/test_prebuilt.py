"""Kernels that came with the package: loaded where they fit and are safe, else compiled."""

from __future__ import annotations

import os
import shutil
import stat
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradiva.eager.jit import kernel_cache, prebuilt
from gradiva.eager.jit.jit import Kernel, jit
from tests.eager.jit.package_copy import ROOT, copy_package, edit_functions, run_script
from tests.eager.jit.test_kernel_cache import forget
from tests.eager.jit.test_kernel_digest import CAST
from tests.tiers import few


def _quadrupled(value: int) -> int:
    return 4 * value


def loaded() -> bool:
    """Whether the kernel's code is found, and not compiled; it works in both cases."""
    kernel = jit(_quadrupled)
    assert isinstance(kernel, Kernel)
    assert kernel(2) == 8
    return not sum(kernel.dispatcher().stats.cache_misses.values())


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package's folder of kernels, with one in it, and an empty cache."""
    built = tmp_path / "package" / "prebuilt"
    monkeypatch.setattr(prebuilt, "PREBUILT", built)
    monkeypatch.setenv("GRADIVA_CACHE", str(tmp_path / "built"))
    forget(monkeypatch)
    assert not loaded()
    shutil.copytree(tmp_path / "built" / "gradiva", built)
    for path in (built.parent, built, *built.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    prebuilt._names.cache_clear()
    monkeypatch.setenv("GRADIVA_CACHE", str(tmp_path / "cache"))
    forget(monkeypatch)
    return built


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("_quadrupled-*/*"))


def test_what_came_with_the_package_is_loaded(package: Path) -> None:
    """And nothing is written for it."""
    assert loaded()
    assert not (package.parents[1] / "cache").exists()


def test_it_needs_no_cache(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is anything told; what it lacks is compiled, and told."""
    monkeypatch.setenv("GRADIVA_CACHE", "/dev/null/no folder")
    forget(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert loaded()
    with pytest.warns(RuntimeWarning, match="no folder for compiled kernels"):
        assert jit(_quadrupled)(2.5) == 10.0  # type: ignore[arg-type]


def open_to_others(path: Path) -> None:
    path.chmod(path.stat().st_mode | 0o020)


def linked(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


HARMS: list[tuple[str, Callable[[Path], None]]] = [
    (place, harm)
    for place in ("package", "folder", "kernel", "file")
    for harm in (open_to_others, linked)
    if (place, harm) != ("package", linked)
]


@pytest.mark.parametrize(("place", "harm"), HARMS)
def test_nothing_is_loaded_that_others_can_write(
    package: Path, place: str, harm: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package's folder, that of all kernels, that of one, and the file."""
    (file,) = files(package)
    places = {"package": package.parent, "folder": package, "kernel": file.parent, "file": file}
    harm(places[place])
    monkeypatch.setattr("pickle.loads", no_pickles)
    assert not loaded()


def no_pickles(*_: Any) -> Any:
    raise AssertionError("unpickled")


def test_nothing_is_loaded_that_belongs_to_others(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user's own files and the administrator's are taken."""
    real, other = os.getuid(), os.getuid() + 1
    for user, expected in ((other, real == 0), (real, True)):
        prebuilt._names.cache_clear()
        with monkeypatch.context() as patch:
            patch.setattr(os, "getuid", lambda user=user: user)
            (file,) = files(package)
            assert bool(prebuilt.prebuilt_folder(file.parent.name)) == expected
            assert prebuilt._is_safe(file.stat(), stat.S_ISREG) == expected


def test_what_is_damaged_is_compiled_and_left(package: Path) -> None:
    (file,) = files(package)
    damaged = bytearray(file.read_bytes())
    damaged[300] ^= 4
    file.write_bytes(damaged)
    assert not loaded()
    assert file.read_bytes() == damaged
    assert loaded()
    assert len(files(package.parents[1] / "cache" / "gradiva")) == 1


@pytest.mark.parametrize("facts", ["numba", "numpy", "llvmlite", "processor"])
def test_other_versions_and_processors_compile(
    package: Path, facts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert loaded()
    if facts == "processor":
        codegen = jit(_quadrupled).dispatcher().targetctx.codegen()  # type: ignore[attr-defined]
        monkeypatch.setattr(type(codegen), "magic_tuple", lambda self: ("x86", "other", "+more"))
    else:
        monkeypatch.setattr(__import__(facts), "__version__", "another version")
    assert not loaded()


def test_another_python_compiles(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.version", "3.99.0 (another one)")
    assert not loaded()


FILES = ["ops/arrays/cast.py", "eager/rows/convert.py", "eager/rows/row_kernel.py"]


@pytest.mark.full
@pytest.mark.parametrize("file", few(FILES, count=1))
def test_an_edited_file_compiles(tmp_path: Path, file: str) -> None:
    """Each file that a kernel is made of; `test_kernel_digest.py` has them all."""
    copy, cache = copy_package(tmp_path / "package"), tmp_path / "cache"
    assert run_script(CAST, copy, cache)[1]
    shutil.copytree(cache / "gradiva", copy / "gradiva" / "prebuilt")
    assert run_script(CAST, copy, tmp_path / "empty") == [[2, 3, 255, 0], []]
    assert not (tmp_path / "empty").exists()
    edit_functions(copy / file)
    assert run_script(CAST, copy, tmp_path / "empty")[0] == [2, 3, 255, 0]
    assert list((tmp_path / "empty" / "gradiva").glob("*-*/*"))


def test_the_folder_is_where_the_build_puts_it() -> None:
    assert Path(__file__).parents[3] / "gradiva" == ROOT / "gradiva"
    assert prebuilt.PREBUILT.parent.name == "gradiva"
    assert (prebuilt.PREBUILT.parent / "py.typed").exists()
    assert kernel_cache.KernelFolder("name-1", None).is_prebuilt is False
