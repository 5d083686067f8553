"""GPU kernels on the CPU: the same source, compiled by g++ under shim.h, run as a program."""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gradiva.eager.cuda.launch import Launch, OutputArg, Scratch

from .objects import COMPILER, NO_COMPILER, ShimError, program_of

__all__ = ["COMPILER", "NO_COMPILER", "ShimError", "buffers_of", "key_of", "run_launches"]


def run_launches(
    launches: Sequence[Launch], folder: Path, *, backward: bool = False, sanitize: bool = False
) -> None:
    """Run launches, in order, and write what they made into the arrays of their `OutputArg`s.

    backward: threads and blocks in falling order. sanitize: under AddressSanitizer and UBSan.
    Raises ShimError.
    """
    units = sorted({launch.unit for launch in launches})
    program = program_of(units, sanitize)
    given, made = folder / "launches", folder / "results"
    buffers = buffers_of(launches)
    numbers = {key: number for number, key in enumerate(buffers)}
    with given.open("wb") as file:
        file.write(struct.pack("<q", len(buffers)))
        for data, written in buffers.values():
            content = data.tobytes() if isinstance(data, np.ndarray) else b"\xa5" * data.nbytes
            file.write(struct.pack("<2q", written, data.nbytes) + content)
        file.write(struct.pack("<q", len(launches)))
        for launch in launches:
            words = units.index(launch.unit), launch.blocks, len(launch.arguments)
            file.write(struct.pack("<3q", *words))
            for argument in launch.arguments:
                if isinstance(argument, np.generic):
                    file.write(struct.pack("<2q", -1, argument.nbytes) + argument.tobytes())
                else:
                    file.write(struct.pack("<2q", numbers[key_of(argument)], 0))
    # Fibers change stacks, which the search for uses after a return takes for an error.
    environment = {**os.environ, "ASAN_OPTIONS": "detect_stack_use_after_return=0"}
    command = [str(program), str(given), str(made), "b" if backward else "f"]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if run.returncode:
        raise ShimError(f"it ended with {run.returncode}\n{run.stderr[:4000]}")
    results = made.read_bytes()
    place = 0
    for data, written in buffers.values():
        if written:
            if isinstance(data, np.ndarray):
                values = np.frombuffer(results[place : place + data.nbytes], data.dtype)
                data[...] = values.reshape(data.shape)
            place += data.nbytes
    assert place == len(results)


def key_of(argument: Any) -> tuple[int, int]:
    """What tells buffers apart: arrays by their memory, since there may be several views of it."""
    data = argument.data if isinstance(argument, OutputArg) else argument
    if isinstance(data, Scratch):
        return id(data), -1
    return data.ctypes.data, data.nbytes


def buffers_of(launches: Sequence[Launch]) -> dict[tuple[int, int], tuple[Any, bool]]:
    """The arrays and scratch memory of all launches, and whether any of them writes there."""
    found: dict[tuple[int, int], tuple[Any, bool]] = {}
    for launch in launches:
        for argument in launch.arguments:
            if not isinstance(argument, np.generic):
                wrote = found.get(key_of(argument), (None, False))[1]
                out = isinstance(argument, OutputArg)
                data = argument.data if isinstance(argument, OutputArg) else argument
                found[key_of(argument)] = data, wrote or out
    return found
