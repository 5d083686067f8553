"""Compiling CUDA C++ with NVRTC, which needs no GPU, and keeping what comes out on disk."""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from gradiva.eager.jit.kernel_cache import folder_to_keep_in, keep_file
from gradiva.eager.support.checked_file import read_checked
from gradiva.eager.support.errors import OperatorRuntimeError
from gradiva.eager.support.lazy_import import lazy_module

from .launch import KernelSource
from .requirements import EXTRAS

ARCHITECTURES: Final = (75, 80, 90, 100)
"""What the tests compile every kernel for: Turing, Ampere, Hopper, Blackwell."""

UNKNOWN: Final = -1

_OPTIONS: Final = ("--std=c++17", "--fmad=false", "--ftz=false", "--ptxas-options=-v")
# Without these each multiply and add could become one rounding, and subnormals could vanish.
_USED: Final = re.compile(r"Used (\d+) registers")
_SPILLED: Final = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")

_nvrtc: Any = lazy_module("cuda.bindings.nvrtc", EXTRAS)
_lock = threading.Lock()
_ready: dict[tuple[KernelSource, int], Cubin] = {}


class Cubin(NamedTuple):
    """Machine code of one kernel; registers of a thread, and bytes that did not fit into them, or
    UNKNOWN."""

    code: bytes
    registers: int
    spilled: int


def why_no_nvrtc() -> str | None:
    """Why nothing can be compiled here, in one line; None if NVRTC is there."""
    try:
        nvrtc_version()
    except OperatorRuntimeError as error:
        return str(error)
    return None


def nvrtc_version() -> tuple[int, int]:
    """Raises OperatorRuntimeError, naming what to install, if NVRTC is missing."""
    try:
        status, major, minor = _nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:
        # The library is looked for when the first function is called.
        reason = str(error).strip().splitlines()[0]
        raise OperatorRuntimeError(
            f"GPU kernels need NVRTC, which is missing: pip install {EXTRAS} ({reason})"
        ) from None
    _check(status, "nvrtcVersion")
    return major, minor


def compile_unit(unit: KernelSource, architecture: int) -> Cubin:
    """Machine code for GPUs of this compute capability, 90 for 9.0; from the cache if it is there.

    Raises OperatorRuntimeError with the compiler's messages.
    """
    with _lock:
        found = _ready.get((unit, architecture))
        if found is None:
            found = _kept_or_compiled(unit, architecture)
            _ready[unit, architecture] = found
        return found


def _kept_or_compiled(unit: KernelSource, architecture: int) -> Cubin:
    path = _path(unit, architecture)
    kept = None if path is None else _load(path)
    if kept is not None:
        return kept
    made = _compile(unit, architecture)
    if path is not None:
        _store(path, made)
    return made


def _path(unit: KernelSource, architecture: int) -> Path | None:
    """Where the machine code is kept. The name holds a digest of all that it is made from."""
    base = folder_to_keep_in()
    if base is None:
        return None
    made_from = json.dumps([unit.text, _OPTIONS, architecture, nvrtc_version()])
    digest = hashlib.sha256(made_from.encode()).hexdigest()[:24]
    return base / "cubins" / f"{unit.kernel}-{architecture}-{digest}"


def _load(path: Path) -> Cubin | None:
    """What was stored, if it is whole: a line of two numbers, then the code."""
    content = read_checked(path, path.name)
    if content is None:
        return None
    head, _, code = content.partition(b"\n")
    registers, spilled = head.split()
    with suppress(OSError):
        os.utime(path.parent)  # folders that nobody has used for a month are removed
    return Cubin(code, int(registers), int(spilled))


def _store(path: Path, cubin: Cubin) -> None:
    """Write it whole or not at all; a folder that cannot be written into costs time, no more."""
    head = f"{cubin.registers} {cubin.spilled}\n".encode()
    keep_file(path, path.name, head + cubin.code)


def _compile(unit: KernelSource, architecture: int) -> Cubin:
    nvrtc_version()
    text = unit.text.encode()
    status, program = _nvrtc.nvrtcCreateProgram(text, f"{unit.kernel}.cu".encode(), 0, None, None)
    _check(status, "nvrtcCreateProgram")
    try:
        options = [f"--gpu-architecture=sm_{architecture}".encode()]
        options += [option.encode() for option in _OPTIONS]
        (status,) = _nvrtc.nvrtcCompileProgram(program, len(options), options)
        log = _text(program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
        if int(status):
            raise OperatorRuntimeError(
                f"the GPU kernel {unit.kernel} does not compile for sm_{architecture}:\n{log}"
            )
        code = _text(program, "CUBIN")
    finally:
        _nvrtc.nvrtcDestroyProgram(program)
    used, spilled = _USED.search(log), _SPILLED.search(log)
    if used is None or spilled is None:
        # The driver keeps compiled code, too (in ~/.nv), and then has nothing to say of it.
        return Cubin(code, UNKNOWN, UNKNOWN)
    return Cubin(code, int(used[1]), int(spilled[1]) + int(spilled[2]))


def _text(program: Any, what: str) -> bytes:
    status, size = getattr(_nvrtc, f"nvrtcGet{what}Size")(program)
    _check(status, what)
    result: bytes = b" " * size
    (status,) = getattr(_nvrtc, f"nvrtcGet{what}")(program, result)
    _check(status, what)
    return result


def _check(status: Any, what: str) -> None:
    if int(status):
        raise OperatorRuntimeError(f"NVRTC: {what} failed: {status}")
