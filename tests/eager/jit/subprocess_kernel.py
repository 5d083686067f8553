"""A noinline kernel, and functions that compile it in another process, or do not."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from gradiva.eager.jit.jit import jit, noinline
from gradiva.eager.jit.subprocess_compiler import compile_noinline


@noinline
def added(values: Any, number: int) -> Any:
    """The sum of an array and a number."""
    total = np.int64(number)
    for value in values:
        total += value
    return total


@jit
def twice_added(values: Any, number: int) -> Any:
    """What calls it."""
    return 2 * added(values, number)


def compiles(dtype: str) -> None:
    compile_noinline(added, np.zeros(1, dtype), 1)


def fails(_dtype: str) -> None:
    os._exit(3)


def hangs(_dtype: str) -> None:
    time.sleep(1000)
