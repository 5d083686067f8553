"""Functions for kernels that move or mix pixels of three channels by vectors, in LLVM's terms.

LLVM makes vectors of loops over elements, of loops over pixels of three channels hardly ever. What
it is told here is the order of the same operations, so the bits are those of the plain loops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from gradiva.eager.jit import numba_adapter
from gradiva.eager.jit.jit import register_intrinsic
from gradiva.eager.types.arrays import Array, Float32Array

_LANES: Final = 4
_CHANNELS: Final = 3
REVERSED: Final = 16
"""Pixels that `reverse_pixels` moves."""


def blend_three(
    source: Array,
    at: int,
    right: int,
    below: int,
    right_weight: Any,
    below_weight: Any,
    target: Float32Array,
    to: int,
) -> None:
    """Mix a pixel of three channels from four, those at `at`, `at + right`, `at + below` and
    `at + below + right`; for kernels only.

    With p, q the weights along x, and r that of the lower line, of the values a, b and c, d:
    t + ((c * p + d * q) - t) * r, t = a * p + b * q, in float32. Four elements are read of each
    pixel, and four are written.
    """
    raise NotImplementedError


@register_intrinsic(blend_three)
def _blend_three_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `blend_three`: a lane for each channel, the fourth unused."""
    ir, _ = numba_adapter.llvm()
    lanes = ir.VectorType(ir.FloatType(), _LANES)
    indices = ir.VectorType(ir.IntType(32), _LANES)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        source, at, right, below, right_weight, below_weight, target, to = values
        kind = signature.args[0].dtype
        base = numba_adapter.first_element(context, builder, signature.args[0], source)
        result = numba_adapter.first_element(context, builder, signature.args[6], target)

        def everywhere(value: Any) -> Any:
            """A number in all lanes."""
            start = ir.Constant(lanes, ir.Undefined)
            alone = builder.insert_element(start, value, ir.Constant(ir.IntType(32), 0))
            return builder.shuffle_vector(alone, start, ir.Constant(indices, None))

        def pixel(place: Any) -> Any:
            """Four elements as float32."""
            pointer = builder.gep(base, [place])
            if isinstance(kind, numba.types.Float):
                return builder.load(builder.bitcast(pointer, lanes.as_pointer()), align=4)
            width = kind.bitwidth
            vector = ir.VectorType(ir.IntType(width), _LANES)
            number = builder.load(builder.bitcast(pointer, vector.as_pointer()), align=width // 8)
            if width < 32:
                wide = builder.sext if kind.signed else builder.zext
                number = wide(number, indices)
            return builder.sitofp(number, lanes)

        q, r = everywhere(right_weight), everywhere(below_weight)
        p = builder.fsub(everywhere(ir.Constant(ir.FloatType(), 1.0)), q)

        def along(place: Any) -> Any:
            a, b = pixel(place), pixel(builder.add(place, right))
            return builder.fadd(builder.fmul(a, p), builder.fmul(b, q))

        top, low = along(at), along(builder.add(at, below))
        mixed = builder.fadd(top, builder.fmul(builder.fsub(low, top), r))
        pointer = builder.gep(result, [to])
        builder.store(mixed, builder.bitcast(pointer, lanes.as_pointer()), align=4)
        return numba_adapter.no_value(context)

    def call(  # type: ignore[no-untyped-def]
        typing_context, source, at, right, below, right_weight, below_weight, target, to
    ):
        word, single = numba.types.int64, numba.types.float32
        return numba.types.none(source, word, word, word, single, single, target, word), generate

    return call


def reverse_pixels(source: Array, at: int, target: Array, to: int) -> None:
    """Copy `REVERSED` pixels of three channels, the last one first; for kernels only."""
    raise NotImplementedError


@register_intrinsic(reverse_pixels)
def _reverse_pixels_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `reverse_pixels`: one shuffle."""
    ir, _ = numba_adapter.llvm()
    count = REVERSED * _CHANNELS
    order = [_CHANNELS * (REVERSED - 1 - k // _CHANNELS) + k % _CHANNELS for k in range(count)]

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        source, at, target, to = values
        width = signature.args[0].dtype.bitwidth
        vector = ir.VectorType(ir.IntType(width), count)

        def vector_at(number: int, array: Any, place: Any) -> Any:
            base = numba_adapter.first_element(context, builder, signature.args[number], array)
            return builder.bitcast(builder.gep(base, [place]), vector.as_pointer())

        found = builder.load(vector_at(0, source, at), align=width // 8)
        chosen = ir.Constant(ir.VectorType(ir.IntType(32), count), order)
        turned = builder.shuffle_vector(found, ir.Constant(vector, ir.Undefined), chosen)
        builder.store(turned, vector_at(2, target, to), align=width // 8)
        return numba_adapter.no_value(context)

    def call(typing_context, source, at, target, to):  # type: ignore[no-untyped-def]
        word = numba.types.int64
        return numba.types.none(source, word, target, word), generate

    return call


def move_three(source: Array, at: int, target: Array, to: int) -> None:
    """Copy a pixel of three channels and the element after it; for kernels only."""
    raise NotImplementedError


@register_intrinsic(move_three)
def _move_three_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `move_three`: one load and one store."""
    ir, _ = numba_adapter.llvm()

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        source, at, target, to = values
        width = signature.args[0].dtype.bitwidth
        vector = ir.VectorType(ir.IntType(width), _LANES)

        def vector_at(number: int, array: Any, place: Any) -> Any:
            base = numba_adapter.first_element(context, builder, signature.args[number], array)
            return builder.bitcast(builder.gep(base, [place]), vector.as_pointer())

        found = builder.load(vector_at(0, source, at), align=width // 8)
        builder.store(found, vector_at(2, target, to), align=width // 8)
        return numba_adapter.no_value(context)

    def call(typing_context, source, at, target, to):  # type: ignore[no-untyped-def]
        word = numba.types.int64
        return numba.types.none(source, word, target, word), generate

    return call
