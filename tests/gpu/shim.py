"""GPU kernels on the CPU: the same source, compiled by g++ under shim.h, run as a program."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gradiva.eager.gpu.launch import THREADS, Launch, Out, Unit
from gradiva.eager.kernel_cache import cache_folder

HEADER = Path(__file__).parent / "shim.h"
COMPILER = shutil.which("g++")
NO_COMPILER = "there is no g++ to run GPU kernels on the CPU with"
SANITIZERS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
OPTIONS = ("-std=c++17", "-O1", "-ffp-contract=off", "-Wall", "-Wno-unknown-pragmas")


class ShimError(Exception):
    """A kernel did not compile, or the program that ran it was stopped; what it said."""


def run_launches(
    launches: Sequence[Launch], folder: Path, *, backward: bool = False, sanitize: bool = False
) -> None:
    """Run launches, in order, and write what they made into the arrays of their `Out`s.

    Each launch reads the arrays as they are now, not what launches before it write. backward:
    threads and blocks in falling order. sanitize: under AddressSanitizer and UBSan. Raises
    ShimError.
    """
    units = sorted({launch.unit for launch in launches})
    program = build(units, folder, sanitize)
    given, made = folder / "launches", folder / "results"
    with given.open("wb") as file:
        file.write(struct.pack("<q", len(launches)))
        for launch in launches:
            words = units.index(launch.unit), launch.blocks, len(launch.arguments)
            file.write(struct.pack("<3q", *words))
            for argument in launch.arguments:
                kind, array = kind_of(argument)
                file.write(struct.pack("<2q", kind, array.nbytes) + array.tobytes())
    # Fibres change stacks, which the search for uses after a return takes for an error.
    environment = {**os.environ, "ASAN_OPTIONS": "detect_stack_use_after_return=0"}
    command = [str(program), str(given), str(made), "b" if backward else "f"]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if run.returncode:
        raise ShimError(f"it ended with {run.returncode}\n{run.stderr[:4000]}")
    results = made.read_bytes()
    place = 0
    for launch in launches:
        for argument in launch.arguments:
            if isinstance(argument, Out):
                size = argument.data.nbytes
                values = np.frombuffer(results[place : place + size], argument.data.dtype)
                argument.data[...] = values.reshape(argument.data.shape)
                place += size
    assert place == len(results)


def kind_of(argument: Any) -> tuple[int, np.ndarray[Any, Any]]:
    """0: a value, 1: an array that is read, 2: one that is written; and its bytes."""
    if isinstance(argument, Out):
        return 2, argument.data
    return (1 if isinstance(argument, np.ndarray) else 0), np.asarray(argument)


def build(units: Sequence[Unit], folder: Path, sanitize: bool) -> Path:
    """The program that runs these kernels; kept with the other compiled kernels."""
    assert COMPILER is not None, NO_COMPILER
    text = program_text(units)
    options = OPTIONS + (SANITIZERS if sanitize else ())
    key = repr((text, options, HEADER.read_text("utf-8")))
    name = f"shim-{hashlib.sha256(key.encode()).hexdigest()[:24]}"
    base = cache_folder()
    kept = (folder if base is None else base / "shim") / name
    kept.parent.mkdir(mode=0o700, exist_ok=True)
    if not kept.exists():
        source, part = folder / "kernels.cpp", folder / "kernels"
        source.write_text(text, "utf-8")
        words = [COMPILER, *options, f"-I{HEADER.parent}", str(source), "-o", str(part)]
        run = subprocess.run(words, capture_output=True, text=True, check=False)
        if run.returncode:
            raise ShimError(run.stderr[:4000])
        placed = kept.with_name(f"{name}.{os.getpid()}")
        shutil.copy2(part, placed)
        placed.replace(kept)
    return kept


def program_text(units: Sequence[Unit]) -> str:
    """C++: each kernel in a namespace of its own, and a table of them."""
    parts = ['#include "shim.h"\n']
    entries = []
    for number, unit in enumerate(units):
        parts.append(f"namespace unit{number} {{\n{unit.text}\n#undef THREADS\n")
        parts.append(f"void run(void** given) {{ shim::call({unit.kernel}, given); }}\n}}\n")
        barriers = "true" if "__syncthreads" in unit.text else "false"
        entries.append(f"{{unit{number}::run, {barriers}}}")
    parts.append(f"static const shim::Entry entries[] = {{{', '.join(entries)}}};\n")
    parts.append(
        "int main(int count, char** words) "
        f"{{ return shim::run(entries, {THREADS}, count, words); }}\n"
    )
    return "".join(parts)
