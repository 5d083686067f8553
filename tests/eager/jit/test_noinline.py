"""Kernels that are compiled once, and called by the machine code of those that use them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numba.core.caching import NullCache

from gradiva.eager.jit.jit import Kernel, jit, noinline
from gradiva.eager.jit.kernel_digest import kernel_digest
from tests.eager.jit.package_copy import ROOT, run_script


@noinline
def total(values: Any, factor: int) -> Any:
    """Of array and tuple arguments, with a result."""
    one, other = values
    result = 0.0
    for k in range(one.size):
        result += one[k] * other[k]
    return result * factor


@noinline
def scale(values: Any, factor: float) -> None:
    """Without a result; it makes slices, and has them filled."""
    values[1:] = values[1:] * factor


@jit
def between(values: Any) -> Any:
    """Is compiled into those that call it."""
    return total((values, values[::-1]), 2)


@jit
def outer(values: Any) -> Any:
    scale(values, 0.5)
    return between(values)


def test_values_and_types() -> None:
    for kind in (np.float64, np.float32, np.int64):
        values: Any = np.arange(8, dtype=kind) * 2
        expected = values.copy()
        expected[1:] = expected[1:] * 0.5
        assert outer(values) == 2 * (expected * expected[::-1]).sum()
        assert np.array_equal(values, expected)


def test_callers_hold_a_call_by_name() -> None:
    """And nothing of the code that is called."""
    dispatcher = Kernel(cast(Kernel, outer).function).dispatcher()
    dispatcher._cache = NullCache()
    dispatcher(np.arange(4.0))
    (code,) = dispatcher.inspect_llvm().values()
    named = set(re.findall(r"declare .*@\"?gradiva\.(\w+)-", code))
    assert named == {"total", "scale"}
    assert not re.findall(r"define .*(total|scale)", code)


def test_it_is_part_of_the_digest() -> None:
    function = cast(Kernel, total).function

    def calling(kernel: Kernel) -> str:
        scope = {**between_function.__globals__, "total": kernel}
        return kernel_digest(type(between_function)(between_function.__code__, scope, "between"))

    between_function = cast(Kernel, between).function
    assert calling(Kernel(function)) != calling(Kernel(function, noinline=True))
    assert calling(Kernel(function, noinline=True)) == calling(Kernel(function, noinline=True))


def test_errors_pass() -> None:
    """What a noinline kernel raises, its caller raises."""
    with pytest.raises(IndexError, match="no such place"):
        calls_failing(5)
    assert calls_failing(2) == 2


@noinline
def failing(place: int) -> int:
    if place > 3:
        raise IndexError("no such place")
    return place


@jit
def calls_failing(place: int) -> int:
    return failing(place)


# Kept: the caller, what it calls by name, and what is in its own code.
KEPT = """
import json, pathlib, sys
import numpy as np, gradiva
from gradiva.eager.jit import kernel_cache
from gradiva.eager.jit import jit as compiler
from gradiva.eager.jit.jit import compiled_kernels, jit, noinline
compiler._is_ours = lambda dispatcher: dispatcher.py_func.__module__ == "__main__"
def tripled(value): return 3 * value
tripled = noinline(tripled)
def between(value): return tripled(value) + 1
between = jit(between)
def outer(values):
    result = 0.0
    for value in values:
        result += between(value)
    return result
outer = jit(outer)
assert outer(np.arange(3.0)) == 12.0
folder = kernel_cache.cache_folder()
files = {path.name.split("-")[0]: path for path in folder.iterdir() if path.name != "unfinished"}
for name in sys.argv[1:]:
    for file in files[name].iterdir():
        file.unlink()
print(json.dumps([sorted(name for name, _ in compiled_kernels), sorted(files)]))
"""


@pytest.mark.full
def test_what_code_calls_is_loaded_with_it(tmp_path: Path) -> None:
    """Also by way of a kernel that is compiled into it; what is lost is compiled again."""
    names = ["between", "outer", "tripled"]
    assert run_script(KEPT, ROOT, tmp_path) == [names, names]
    assert run_script(KEPT, ROOT, tmp_path) == [[], names]
    assert run_script(KEPT, ROOT, tmp_path, "tripled") == [[], names]
    assert run_script(KEPT, ROOT, tmp_path, "outer", "between") == [["tripled"], names]
    assert run_script(KEPT, ROOT, tmp_path) == [["between", "outer"], names]


@pytest.mark.full
def test_other_code_of_the_same_name_is_not_called(tmp_path: Path) -> None:
    assert run_script(KEPT, ROOT, tmp_path)[0]
    edited = KEPT.replace("3 * value", "4 * value").replace("== 12.0", "== 15.0")
    assert run_script(edited, ROOT, tmp_path)[0] == ["between", "outer", "tripled"]
