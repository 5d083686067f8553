"""Vectors of eight numbers for kernels: the same arithmetic on eight things side by side.

LLVM makes vectors of a loop only if it can prove that its arrays are apart, or test it cheaply: not
in a Fourier transform, which reads and writes eight or more places at a time. So such a kernel is
written in vectors, which every target has (LLVM splits them where registers are narrower). Each
lane is rounded as a number alone would be: nothing is contracted, nothing is reordered.

A vector holds eight float32 numbers, or eight float64 ones (`widen`). Vectors are local variables
of kernels, and no kernel takes or returns them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from gradiva.eager.jit import numba_adapter
from gradiva.eager.jit.jit import register_intrinsic
from gradiva.eager.types.arrays import Array

LANES: Final = 8


def load(array: Array, at: int) -> Any:
    """Eight elements of a contiguous float32 array, from number `at` on."""
    raise NotImplementedError


@register_intrinsic(load)
def _load_in_kernels(numba: Any) -> Callable[..., Any]:
    vector = numba_adapter.vector_type(numba, LANES)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = numba_adapter.first_element(context, builder, signature.args[0], values[0])
        pointer = builder.gep(pointer, [values[1]])
        whole = context.get_value_type(vector).as_pointer()
        return builder.load(builder.bitcast(pointer, whole), align=4)

    def call(typing_context, array, at):  # type: ignore[no-untyped-def]
        return vector(array, numba.types.int64), generate

    return call


def store(array: Array, at: int, values: Any) -> None:
    """Write a vector to eight elements of a contiguous float32 array, from number `at` on."""
    raise NotImplementedError


@register_intrinsic(store)
def _store_in_kernels(numba: Any) -> Callable[..., Any]:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = numba_adapter.first_element(context, builder, signature.args[0], values[0])
        pointer = builder.gep(pointer, [values[1]])
        whole = builder.bitcast(pointer, values[2].type.as_pointer())
        builder.store(values[2], whole, align=4)
        return numba_adapter.no_value(context)

    def call(typing_context, array, at, values):  # type: ignore[no-untyped-def]
        return numba.types.none(array, numba.types.int64, values), generate

    return call


def gather(array: Array, at: int, step: int) -> Any:
    """Elements `at`, `at + step`, `at + 2 * step`, ... of a contiguous float32 array."""
    raise NotImplementedError


@register_intrinsic(gather)
def _gather_in_kernels(numba: Any) -> Callable[..., Any]:
    vector = numba_adapter.vector_type(numba, LANES)
    ir, _ = numba_adapter.llvm()

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = numba_adapter.first_element(context, builder, signature.args[0], values[0])
        place, made = values[1], ir.Constant(context.get_value_type(vector), ir.Undefined)
        for lane in range(LANES):
            number = builder.load(builder.gep(pointer, [place]))
            made = builder.insert_element(made, number, ir.Constant(ir.IntType(32), lane))
            place = builder.add(place, values[2])
        return made

    def call(typing_context, array, at, step):  # type: ignore[no-untyped-def]
        return vector(array, numba.types.int64, numba.types.int64), generate

    return call


def spread(number: Any) -> Any:
    """One float32 number in all lanes; a float64 number in those of float64."""
    raise NotImplementedError


@register_intrinsic(spread)
def _spread_in_kernels(numba: Any) -> Callable[..., Any]:
    ir, _ = numba_adapter.llvm()

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        start = ir.Constant(context.get_value_type(signature.return_type), ir.Undefined)
        alone = builder.insert_element(start, values[0], ir.Constant(ir.IntType(32), 0))
        indices = ir.Constant(ir.VectorType(ir.IntType(32), LANES), None)
        return builder.shuffle_vector(alone, start, indices)

    def call(typing_context, number):  # type: ignore[no-untyped-def]
        return numba_adapter.vector_type(numba, LANES, number.bitwidth)(number), generate

    return call


def add(a: Any, b: Any) -> Any:
    """a + b."""
    raise NotImplementedError


@register_intrinsic(add)
def _add_in_kernels(numba: Any) -> Callable[..., Any]:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.fadd(*values)

    def call(typing_context, a, b):  # type: ignore[no-untyped-def]
        return a(a, a), generate

    return call


def sub(a: Any, b: Any) -> Any:
    """a - b."""
    raise NotImplementedError


@register_intrinsic(sub)
def _sub_in_kernels(numba: Any) -> Callable[..., Any]:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.fsub(*values)

    def call(typing_context, a, b):  # type: ignore[no-untyped-def]
        return a(a, a), generate

    return call


def mul(a: Any, b: Any) -> Any:
    """a * b."""
    raise NotImplementedError


@register_intrinsic(mul)
def _mul_in_kernels(numba: Any) -> Callable[..., Any]:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.fmul(*values)

    def call(typing_context, a, b):  # type: ignore[no-untyped-def]
        return a(a, a), generate

    return call


def square_root(a: Any) -> Any:
    """The square root of each lane, correctly rounded."""
    raise NotImplementedError


@register_intrinsic(square_root)
def _square_root_in_kernels(numba: Any) -> Callable[..., Any]:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return numba_adapter.vector_root(builder, values[0])

    def call(typing_context, a):  # type: ignore[no-untyped-def]
        return a(a), generate

    return call


def total(a: Any) -> Any:
    """((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)), by the numbers of the lanes."""
    raise NotImplementedError


@register_intrinsic(total)
def _total_in_kernels(numba: Any) -> Callable[..., Any]:
    ir, _ = numba_adapter.llvm()

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        parts = [
            builder.extract_element(values[0], ir.Constant(ir.IntType(32), lane))
            for lane in range(LANES)
        ]
        while len(parts) > 1:
            parts = [builder.fadd(*parts[k : k + 2]) for k in range(0, len(parts), 2)]
        return parts[0]

    def call(typing_context, a):  # type: ignore[no-untyped-def]
        return numba.types.float32(a), generate

    return call


def widen(a: Any) -> Any:
    """float32 lanes as float64."""
    raise NotImplementedError


@register_intrinsic(widen)
def _widen_in_kernels(numba: Any) -> Callable[..., Any]:
    double = numba_adapter.vector_type(numba, LANES, 64)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.fpext(values[0], context.get_value_type(double))

    def call(typing_context, a):  # type: ignore[no-untyped-def]
        return double(a), generate

    return call


def narrow(a: Any) -> Any:
    """float64 lanes rounded to float32."""
    raise NotImplementedError


@register_intrinsic(narrow)
def _narrow_in_kernels(numba: Any) -> Callable[..., Any]:
    single = numba_adapter.vector_type(numba, LANES)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.fptrunc(values[0], context.get_value_type(single))

    def call(typing_context, a):  # type: ignore[no-untyped-def]
        return single(a), generate

    return call
