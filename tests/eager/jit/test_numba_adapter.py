"""What intrinsics and checks use of Numba's own parts; `pyproject.toml` says for which versions."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradiva.eager.jit.jit import load_numba
from gradiva.eager.jit.numba_adapter import (
    array_part,
    can_compile,
    compile_error,
    first_element,
    fixed_tuple,
    has_feature,
    llvm,
    local_array,
    no_value,
    ownerless_array,
    vector_root,
    vector_type,
)

numba = load_numba()


def twice(value: Any) -> Any:
    return value + value


def intrinsic(generate: Callable[..., Any], kind: Callable[[Any], Any]) -> Any:
    """A compiled function of one array: `generate` makes its code, `kind` says what it returns."""

    def call(typing_context, array):  # type: ignore[no-untyped-def]
        return kind(array)(array), generate

    made = numba.extending.intrinsic(call)

    def body(array: Any) -> Any:
        return made(array)

    return numba.njit(body)


def test_code_reads_and_writes_elements() -> None:
    """`first_element`, in LLVM's own terms."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        ir, cgutils = llvm()
        first = first_element(context, builder, signature.args[0], values[0])
        word = ir.IntType(64)
        total = cgutils.alloca_once_value(builder, ir.Constant(word, 0))
        zero, three, one = (ir.Constant(word, k) for k in (0, 3, 1))
        with cgutils.for_range_slice(builder, zero, three, one, inc=True) as (k, _):
            element = builder.load(builder.gep(first, [k]))
            builder.store(builder.add(builder.load(total), element), total)
        return builder.load(total)

    add_three = intrinsic(generate, lambda array: array.dtype)
    assert add_three(np.array([5, 7, 11, 1000])) == 23
    assert add_three(np.arange(10)[6:]) == 21


def test_code_returns_nothing() -> None:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        ir, _ = llvm()
        first = first_element(context, builder, signature.args[0], values[0])
        builder.store(ir.Constant(ir.IntType(64), 42), first)
        return no_value(context)

    array = np.arange(3)
    assert intrinsic(generate, lambda array: numba.types.none)(array) is None
    assert array.tolist() == [42, 1, 2]


@pytest.mark.full
def test_arrays_without_an_owner_are_not_counted() -> None:
    """Their slices hold nothing, and the values are the same."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return ownerless_array(context, builder, signature.return_type, values[0])

    ownerless = intrinsic(generate, lambda array: array).py_func

    def total(array: Any) -> Any:
        part = ownerless_kernel(array)[2:]
        result = 0
        for k in range(part.size):
            result += part[k]
        return result

    ownerless_kernel = numba.njit(ownerless)
    compiled = numba.njit(total)
    array = np.arange(6)
    before = sys.getrefcount(array)
    assert compiled(array) == 14
    assert sys.getrefcount(array) == before

    def without(array: Any) -> Any:
        return array[2:]

    kept = numba.njit(without)(array)
    assert kept.base is not None
    loose = numba.njit(lambda array: ownerless_kernel(array)[2:])(array)
    assert loose.base is None
    assert loose.tolist() == [2, 3, 4, 5]


@pytest.mark.full
def test_arrays_of_a_call() -> None:
    """Each has room of its own, also where two are alike."""
    kind = numba.types.float64[::1]

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return local_array(context, builder, kind, 5)

    def call(typing_context):  # type: ignore[no-untyped-def]
        return kind(), generate

    local = numba.extending.intrinsic(call)

    def sums(count: Any) -> Any:
        one, other = local(), local()
        for k in range(len(one)):
            one[k], other[k] = k * count, -k
        return one.sum(), other[1:].sum(), one.size, one.strides[0]

    assert numba.njit(sums)(2) == (20.0, -10.0, 5, 8)


def test_parts_of_arrays() -> None:
    """`array_part`: the elements of a slice, written too, with nothing counted."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return array_part(context, builder, signature.return_type, *values)

    def call(typing_context, array, first, size):  # type: ignore[no-untyped-def]
        return array(array, numba.int64, numba.int64), generate

    made = numba.extending.intrinsic(call)

    def part(array: Any, first: int, size: int) -> Any:
        found = made(array, first, size)
        found[0] = -1
        return found

    array = np.arange(8, dtype=np.int16)
    found = numba.njit(part)(array, 2, 3)
    assert found.tolist() == [-1, 3, 4]
    assert found.base is None
    assert found.strides == (2,)
    assert array.tolist() == [0, 1, -1, 3, 4, 5, 6, 7]


@pytest.mark.full
def test_tuples_of_a_fixed_size() -> None:
    fixed = fixed_tuple()

    def viewed(array: Any, shape: Any) -> Any:
        return array.reshape(fixed(shape, 2)).shape

    assert numba.njit(viewed)(np.arange(6), np.array([2, 3])) == (2, 3)


def test_vectors() -> None:
    """`vector_type`, made once; `vector_root`: of each lane."""
    four = vector_type(numba, 4)
    assert vector_type(numba, 4) is four
    assert vector_type(numba, 4, 64) is not four
    ir, _ = llvm()

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vector = ir.Constant(context.get_value_type(four), ir.Undefined)
        for lane in range(4):
            vector = builder.insert_element(vector, values[0], ir.Constant(ir.IntType(32), lane))
        return vector_root(builder, vector)

    def last(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.extract_element(values[0], ir.Constant(ir.IntType(32), 3))

    def spread_call(typing_context, number):  # type: ignore[no-untyped-def]
        return four(numba.float32), generate

    def last_call(typing_context, vector):  # type: ignore[no-untyped-def]
        return numba.float32(vector), last

    roots, lane = (numba.extending.intrinsic(call) for call in (spread_call, last_call))
    made = numba.njit(lambda number: lane(roots(number)))(2.0)
    assert made == np.sqrt(np.float32(2))


def test_features() -> None:
    """`has_feature`: what the CPU has that is compiled for."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        found = has_feature(context, "avx2"), has_feature(context, "no such feature")
        return llvm()[0].Constant(llvm()[0].IntType(64), 2 * found[0] + found[1])

    def call(typing_context):  # type: ignore[no-untyped-def]
        return numba.int64(), generate

    features = numba.extending.intrinsic(call)
    has = importlib.import_module("llvmlite.binding").get_host_cpu_features().get("avx2", False)

    def found() -> Any:
        return features()

    assert numba.njit(found)() == 2 * has


def test_which_functions_can_be_compiled_for_new_types() -> None:
    assert can_compile(twice)
    assert can_compile(numba.njit(twice))
    assert not can_compile(numba.njit("int64(int64)")(twice))


def test_what_cannot_be_compiled() -> None:
    with pytest.raises(compile_error()):
        numba.njit(twice)(object())
