"""The declarations of nvJPEG against the header and the library of the wheel. No GPU is needed."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradiva.eager.support.errors import OperatorRuntimeError
from gradiva.ops.decoders.jpeg.gpu import library as library_module
from gradiva.ops.decoders.jpeg.gpu.allocators import Allocator
from gradiva.ops.decoders.jpeg.gpu.declarations import (
    FLAG_SMOOTH,
    FLAG_STRICT,
    PROTOTYPES,
    Backend,
    DeviceAllocator,
    Output,
    PinnedAllocator,
    Status,
    Subsampling,
)
from gradiva.ops.decoders.jpeg.gpu.library import Library, NvjpegError, open_library, wheel_files

WHEELS = list(wheel_files())
wheel = pytest.mark.skipif(not WHEELS, reason="no nvJPEG wheel is installed (nvidia-nvjpeg-cu12)")
PREFIXES = {
    "NVJPEG_STATUS_": Status,
    "NVJPEG_CSS_": Subsampling,
    "NVJPEG_OUTPUT_": Output,
    "NVJPEG_BACKEND_": Backend,
}


def header(path: Path) -> str:
    """The header beside a library, without comments."""
    text = (path.parent.parent / "include" / "nvjpeg.h").read_text()
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)


def c_name(prefix: str, member: Any) -> str:
    return f"{prefix}{member.name.removeprefix('CSS_')}"


def code(argument: str) -> str:
    """The letter that stands for a C argument in PROTOTYPES."""
    if "*" in argument:
        return "P"
    kind = argument.replace("const ", "").split()
    kind = kind[:-1] if len(kind) > 1 else kind
    if kind[-1] in ("size_t", "int"):
        return "U" if "unsigned" in kind else {"size_t": "Z", "int": "I"}[kind[-1]]
    enums = (
        "libraryPropertyType",
        "nvjpegBackend_t",
        "nvjpegOutputFormat_t",
        "nvjpegChromaSubsampling_t",
    )
    return "I" if kind[-1] in enums else "P"  # all other types are handles


@pytest.fixture(params=list(map(str, WHEELS)) or [""], ids=lambda path: Path(path).name or "none")
def installed(request: pytest.FixtureRequest) -> Path:
    if not request.param:
        pytest.skip("no nvJPEG wheel is installed (nvidia-nvjpeg-cu12)")
    return Path(request.param)


def test_functions_are_declared_as_in_the_header(installed: Path) -> None:
    text = header(installed)
    for name, codes in PROTOTYPES.items():
        found = re.search(rf"nvjpegStatus_t NVJPEGAPI {name}\((.*?)\);", text, re.S)
        assert found, name
        assert "".join(code(part.strip()) for part in found[1].split(",")) == codes, name


def test_numbers_are_those_of_the_header(installed: Path) -> None:
    numbers = dict(re.findall(r"(NVJPEG_\w+)\s*=\s*(-?\w+)", header(installed)))
    for prefix, members in PREFIXES.items():
        for member in members:
            assert int(numbers[c_name(prefix, member)], 0) == member, member
    assert re.search(r"NVJPEG_FLAGS_BITSTREAM_STRICT\s+1<<2", header(installed))
    assert re.search(r"NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION\s+1<<5", header(installed))
    assert (FLAG_STRICT, FLAG_SMOOTH) == (1 << 2, 1 << 5)
    # A status that this version has and we do not would lack a name in errors.
    statuses = [int(n) for name, n in numbers.items() if name.startswith("NVJPEG_STATUS_")]
    assert sorted(statuses) == sorted(Status)


CHECK = """
#include <stddef.h>
#include "nvjpeg.h"
#define SAME(a, b) _Static_assert((a) == (b), #a)
SAME(sizeof(nvjpegImage_t), 64);
SAME(offsetof(nvjpegImage_t, channel), 0);
SAME(offsetof(nvjpegImage_t, pitch), 32);
SAME(sizeof(((nvjpegImage_t*)0)->pitch[0]), 8);
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_structures_and_functions_as_a_compiler_sees_them(installed: Path, tmp_path: Path) -> None:
    """The header is compiled; it needs two small pieces of CUDA's own, which stand in here."""
    (tmp_path / "cuda_runtime_api.h").write_text("typedef struct CUstream_st *cudaStream_t;\n")
    (tmp_path / "library_types.h").write_text(
        "typedef enum { MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL } libraryPropertyType;\n"
    )
    lines = [CHECK]
    for kind, name in (
        (DeviceAllocator, "nvjpegDevAllocatorV2_t"),
        (PinnedAllocator, "nvjpegPinnedAllocatorV2_t"),
    ):
        lines.append(f"SAME(sizeof({name}), {ctypes.sizeof(kind)});")
        for field, *_ in kind._fields_:
            lines.append(f"SAME(offsetof({name}, {field}), {getattr(kind, field).offset});")
    for prefix, members in PREFIXES.items():
        lines += [f"SAME({c_name(prefix, member)}, {int(member)});" for member in members]
    for enum in ("Status", "Backend", "OutputFormat", "ChromaSubsampling"):
        lines.append(f"SAME(sizeof(nvjpeg{enum}_t), {ctypes.sizeof(ctypes.c_int)});")
    kinds = {"P": "void*", "I": "int", "U": "unsigned", "Z": "size_t"}
    for name, codes in PROTOTYPES.items():
        # A call with one value per argument: the compiler counts them and checks pointer or number.
        values = ", ".join(f"({kinds[letter]})0" for letter in codes)
        lines.append(f"int call_{name}(void) {{ return {name}({values}); }}")
    source = tmp_path / "check.c"
    source.write_text("\n".join(lines) + "\n")
    include = installed.parent.parent / "include"
    subprocess.run(
        [
            "cc",
            "-c",
            "-Werror",
            f"-I{tmp_path}",
            f"-I{include}",
            str(source),
            "-o",
            str(tmp_path / "check.o"),
        ],
        check=True,
        capture_output=True,
        text=True,
    )


def test_the_library_has_what_is_declared(installed: Path) -> None:
    library = open_library(str(installed))
    major = int(re.search(r"NVJPEG_VER_MAJOR (\d+)", header(installed))[1])  # type: ignore[index]
    assert library.version[0] == major
    assert str(major) in installed.name


def test_errors_of_the_library_have_names(installed: Path) -> None:
    library = open_library(str(installed))
    with pytest.raises(
        NvjpegError,
        match=r"nvjpegJpegStreamCreate returned "
        r"NVJPEG_STATUS_INVALID_PARAMETER \(2\)",
    ) as caught:
        library.create("nvjpegJpegStreamCreate", None)
    assert caught.value.about_one_image
    with pytest.raises(ctypes.ArgumentError):
        library("nvjpegDestroy", 1.5)


@wheel
def test_the_installed_library_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_module, "_loaded", None)
    found = library_module.load()
    assert Path(found.path).name.startswith("libnvjpeg.so.")
    assert library_module.load() is found


def test_without_a_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_module, "_loaded", None)
    monkeypatch.setattr(library_module, "_candidates", lambda: iter(["/nowhere/libnvjpeg.so.12"]))
    with pytest.raises(OperatorRuntimeError, match=r"pip install 'gradiva\[cuda12\]'.*/nowhere/"):
        library_module.load()


def test_a_library_without_a_function_is_refused() -> None:
    with pytest.raises(OperatorRuntimeError, match="has no function nvjpeg"):
        Library(object(), "libother.so")


def test_every_status_makes_a_clear_error() -> None:
    for status in Status:
        assert f"NVJPEG_STATUS_{status.name} ({status.value})" in str(NvjpegError("f", status))
    assert str(NvjpegError("f", 99)) == "f returned a status without a name (99)"
    assert not NvjpegError("f", 99).about_one_image
    assert not NvjpegError("f", Status.ALLOCATOR_FAILURE).about_one_image
    assert NvjpegError("f", Status.BAD_JPEG).about_one_image


@pytest.mark.parametrize("pinned", [False, True])
def test_allocators_through_their_c_functions(pinned: bool) -> None:
    asked = []

    def allocate(size: int, stream: int) -> tuple[int, Any]:
        asked.append((size, stream))
        if size > 1000:
            raise MemoryError("no more")
        block = np.empty(size, np.uint8)
        return block.ctypes.data, block

    allocator = Allocator(allocate, pinned=pinned)
    table = (PinnedAllocator if pinned else DeviceAllocator).from_address(allocator.address)
    kind = "pinned" if pinned else "dev"
    malloc, free = getattr(table, f"{kind}_malloc"), getattr(table, f"{kind}_free")
    out = ctypes.c_void_p()
    assert malloc(None, ctypes.byref(out), 64, 5) == 0
    assert out.value
    assert allocator.blocks == 1
    assert free(None, out, 64, 5) == 0
    assert allocator.blocks == 0
    assert free(None, out, 64, 5) != 0
    assert free(None, None, 0, None) == 0
    assert malloc(None, ctypes.byref(out), 2000, None) != 0
    assert isinstance(allocator.problem, MemoryError)
    assert asked == [(64, 5), (2000, 0)]
