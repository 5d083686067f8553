"""Kernels compile for real GPUs, on machines without one; and the cache of what comes out."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from gradiva.eager.cuda import nvrtc
from gradiva.eager.cuda.launch import KernelSource
from gradiva.eager.cuda.nvrtc import ARCHITECTURES, UNKNOWN, Cubin, compile_unit, why_no_nvrtc
from gradiva.eager.jit import kernel_cache
from gradiva.eager.operators.operator import operators
from gradiva.eager.support.errors import OperatorRuntimeError

from .harness import all_launches, planned, with_gpu_kernels

REASON = why_no_nvrtc()
needs_nvrtc = pytest.mark.skipif(REASON is not None, reason=REASON or "")

TRIED = ("crop_mirror_normalize", "flip", "hsv", "random.normal")
TINY = KernelSource(
    "tiny", 'extern "C" __global__ void tiny(float* a) { a[0] = a[1] * a[2] + a[3]; }', 16
)


def require_small(unit: KernelSource, architecture: int) -> None:
    """The kernel compiles, within its limit of registers, and keeps all values in them."""
    cubin = compile_unit(unit, architecture)
    assert cubin.code[:4] == b"\x7fELF"
    assert cubin.registers <= unit.registers, (unit.kernel, architecture)
    assert cubin.spilled == 0, (unit.kernel, architecture)


@needs_nvrtc
@pytest.mark.parametrize("name", TRIED)
def test_compiles(name: str) -> None:
    """One call of some operators; test_everything_compiles has all."""
    cases = operators[name].case_maker()[:1]  # type: ignore[misc]
    unit = planned(operators[name], cases)[0].launches[0].unit
    for architecture in ARCHITECTURES:
        require_small(unit, architecture)


@needs_nvrtc
@pytest.mark.full
@pytest.mark.parametrize("name", with_gpu_kernels())
def test_everything_compiles(name: str) -> None:
    """All types that the cases of an operator need, for the oldest and the newest GPUs."""
    units = {launch.unit for launch in all_launches(planned(operators[name]))}
    assert units
    for unit in units:
        for architecture in (ARCHITECTURES[0], ARCHITECTURES[-1]):
            require_small(unit, architecture)


@needs_nvrtc
def test_limits_are_measured() -> None:
    """A kernel that needs more registers than there are is seen to spill."""
    names = [f"v{k}" for k in range(300)]
    loads = "".join(f"float {name} = a[{k} * n];" for k, name in enumerate(names))
    stores = "".join(f"a[{k}] = {name} + {names[-1 - k]};" for k, name in enumerate(names))
    head = 'extern "C" __global__ void __launch_bounds__(1024) large(float* a, int n)'
    text = f"{head} {{ {loads} {stores} }}"
    cubin = compile_unit(KernelSource("large", text, 64), 90)
    assert cubin.spilled > 0


@needs_nvrtc
def test_products_and_sums_are_rounded_one_by_one() -> None:
    """The options forbid a fused multiply-add; without them the compiler makes one."""
    made = []
    for options in (nvrtc._OPTIONS, ()):
        _, program = nvrtc._nvrtc.nvrtcCreateProgram(TINY.text.encode(), b"t.cu", 0, None, None)
        words = [b"--gpu-architecture=compute_90"]
        words += [option.encode() for option in options if "ptxas" not in option]
        (status,) = nvrtc._nvrtc.nvrtcCompileProgram(program, len(words), words)
        assert int(status) == 0
        made.append(nvrtc._text(program, "PTX").decode())
        nvrtc._nvrtc.nvrtcDestroyProgram(program)
    strict, loose = made
    assert "fma.rn.f32" in loose
    assert "fma" not in strict
    assert "mul" in strict
    assert "ftz" not in strict


@needs_nvrtc
def test_messages_name_the_file() -> None:
    text = r"tiny does not compile for sm_90:\nx\.cuh\(3\)"
    with pytest.raises(OperatorRuntimeError, match=text):
        compile_unit(KernelSource("tiny", '#line 3 "x.cuh"\nnonsense', 16), 90)


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """An empty cache in `tmp_path`, and a compiler that notes what it is asked for."""
    asked: list[int] = []

    def compile(unit: KernelSource, architecture: int) -> Cubin:
        asked.append(architecture)
        return Cubin(b"code" * architecture, 7, 0)

    monkeypatch.setattr(nvrtc, "_compile", compile)
    monkeypatch.setattr(nvrtc, "folder_to_keep_in", lambda: tmp_path)
    monkeypatch.setattr(nvrtc, "nvrtc_version", lambda: (12, 9))
    monkeypatch.setattr(nvrtc, "_ready", {})
    return asked


def again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a new process would have it."""
    monkeypatch.setattr(nvrtc, "_ready", {})


def test_cache(tmp_path: Path, counted: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is on disk is compiled no more; another source, architecture or version is."""
    first = compile_unit(TINY, 90)
    assert compile_unit(TINY, 90) is first
    again(monkeypatch)
    assert compile_unit(TINY, 90) == first == Cubin(b"code" * 90, 7, 0)
    assert counted == [90]
    compile_unit(TINY, 80)
    compile_unit(TINY._replace(text="other"), 90)
    assert counted == [90, 80, 90]
    again(monkeypatch)
    monkeypatch.setattr(nvrtc, "nvrtc_version", lambda: (13, 0))
    compile_unit(TINY, 90)
    assert len(counted) == 4
    assert not list((tmp_path / "unfinished").iterdir())


@pytest.mark.parametrize("harm", [lambda data: data[:-1], lambda data: b"", lambda data: b"7 0\nx"])
def test_damaged_files_are_compiled_again(
    tmp_path: Path, counted: list[int], monkeypatch: pytest.MonkeyPatch, harm: Any
) -> None:
    whole = compile_unit(TINY, 90)
    (file,) = (tmp_path / "cubins").iterdir()
    file.write_bytes(harm(file.read_bytes()))
    again(monkeypatch)
    assert compile_unit(TINY, 90) == whole
    assert counted == [90, 90]
    again(monkeypatch)
    compile_unit(TINY, 90)
    assert counted == [90, 90]


def test_a_full_disk(tmp_path: Path, counted: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be kept is used; that is told once."""

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(kernel_cache, "_told", False)
    monkeypatch.setattr(os, "write", full)
    with pytest.warns(RuntimeWarning, match="No space left on device.*GRADIVA_CACHE") as told:
        made = [compile_unit(TINY, architecture).registers for architecture in (90, 80)]
    assert made == [7, 7]
    assert len(told) == 1
    monkeypatch.undo()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_without_a_folder(counted: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "folder_to_keep_in", lambda: None)
    assert compile_unit(TINY, 75).registers == 7


@needs_nvrtc
def test_what_the_driver_has_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then NVRTC says nothing of registers, as it did on a H200; the code is good all the same."""
    real = nvrtc._text

    def silent(program: Any, what: str) -> bytes:
        return b"" if what == "ProgramLog" else real(program, what)

    monkeypatch.setattr(nvrtc, "_text", silent)
    monkeypatch.setattr(nvrtc, "folder_to_keep_in", lambda: tmp_path)
    again(monkeypatch)
    found = compile_unit(TINY, 90)
    assert found.code[:4] == b"\x7fELF"
    assert (found.registers, found.spilled) == (UNKNOWN, UNKNOWN)
    again(monkeypatch)
    assert compile_unit(TINY, 90) == found  # from the cache


def test_without_nvrtc(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line that names what to install."""

    class Missing:
        def nvrtcVersion(self) -> None:  # noqa: N802
            raise RuntimeError("Failed to dlopen libnvrtc.so.12\nmore")

    monkeypatch.setattr(nvrtc, "_nvrtc", Missing())
    text = why_no_nvrtc()
    assert text is not None
    assert "pip install 'gradiva[cuda12]' or 'gradiva[cuda13]'" in text
    assert "\n" not in text
