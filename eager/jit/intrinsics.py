"""Functions for kernels that Numba has no words for: extensions of it, in LLVM's terms.

- `without_refcount`: arrays whose slices are not counted. Numba counts who holds an array: each
  slice that is made and dropped adds and subtracts, by an atomic instruction each. In a kernel that
  makes ten slices per row that was a fifth of the time. Its arguments live as long as the call, so
  nothing has to be counted.
- `call_row`: a row kernel, called by its address.
- `filter_four`: the innermost loop of `resize`, which filters four lines of pixels at once, in
  vectors of four lanes. LLVM makes vectors of it by itself only sometimes, and then takes the
  overlapping loads of neighboring taps apart. So this loop is written in LLVM's vectors, which
  every target has: each lane is one channel, multiplied and added in the order of the taps, as in
  `filter_row` (`ops/image/resample/rows.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from gradiva.eager.types.arrays import Array, Float32Array, Int64Array

from . import numba_adapter
from .jit import register_extension

__all__ = ["call_row", "filter_four", "without_refcount"]

A = TypeVar("A")

_LINES: Final = 4
_LANES: Final = 4


def without_refcount(array: A) -> A:
    """The same array, without an owner; for kernels only, and for arrays that outlive the call."""
    raise NotImplementedError


@register_extension(without_refcount)
def _without_refcount_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `without_refcount`."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return numba_adapter.ownerless_array(context, builder, signature.return_type, values[0])

    def call(typing_context, array):  # type: ignore[no-untyped-def]
        return array(array), generate

    without_owner = numba.extending.intrinsic(call)

    def pick(array):  # type: ignore[no-untyped-def]
        def body(array):  # type: ignore[no-untyped-def]
            return without_owner(array)

        return body

    return pick


def call_row(
    address: int,
    source: int,
    target: int,
    pixels: int,
    source_pitch: int,
    target_pitch: int,
    channels: int,
    made: int,
    parameters: int,
    count: int,
) -> None:
    """Call a row kernel by address; for kernels only."""
    raise NotImplementedError


@register_extension(call_row)
def _call_row_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `call_row`: a call through a pointer that is known at run time."""
    ir, _ = numba_adapter.llvm()
    integer = numba.types.int64

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [word] * 9)
        builder.call(builder.inttoptr(values[0], kind.as_pointer()), values[1:])
        return numba_adapter.no_value(context)

    def call(  # type: ignore[no-untyped-def]
        typing_context,
        address,
        source,
        target,
        pixels,
        source_pitch,
        target_pitch,
        channels,
        made,
        parameters,
        count,
    ):
        return numba.types.none(*[integer] * 10), generate

    by_address = numba.extending.intrinsic(call)

    def pick(  # type: ignore[no-untyped-def]
        address,
        source,
        target,
        pixels,
        source_pitch,
        target_pitch,
        channels,
        made,
        parameters,
        count,
    ):
        def body(  # type: ignore[no-untyped-def]
            address,
            source,
            target,
            pixels,
            source_pitch,
            target_pitch,
            channels,
            made,
            parameters,
            count,
        ):
            by_address(
                address,
                source,
                target,
                pixels,
                source_pitch,
                target_pitch,
                channels,
                made,
                parameters,
                count,
            )

        return body

    return pick


def filter_four(
    source: Array,
    at: Int64Array,
    heads: Int64Array,
    weights: Float32Array,
    taps: int,
    first: int,
    last: int,
    step: int,
    target: Float32Array,
    to: Int64Array,
) -> None:
    """Output pixels `first .. last - 1` of four lines; for kernels only.

    Line i begins at element `at[i]` of source and goes to `to[i]` of target. Pixel x reads `taps`
    pixels of `step` elements (3 or 4) from element `heads[x]` of its line. Four elements are read
    and written per pixel, whatever `step` is: with 3, the fourth belongs to the next pixel, which
    overwrites it; both arrays need one element more than what is asked for.
    """
    raise NotImplementedError


@register_extension(filter_four)
def _filter_four_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `filter_four`."""
    ir, cgutils = numba_adapter.llvm()
    lanes = ir.VectorType(ir.FloatType(), _LANES)
    indices = ir.VectorType(ir.IntType(32), _LANES)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        source, at, heads, weights, taps, first, last, step, target, to = (
            # Of an array, the address of its first element.
            numba_adapter.first_element(context, builder, kind, value)
            if isinstance(kind, numba.types.Array)
            else value
            for kind, value in zip(signature.args, values, strict=True)
        )
        kind = signature.args[0].dtype
        one = ir.Constant(taps.type, 1)

        def line(base: Any, places: Any, number: int) -> Any:
            """Where the line of this number begins."""
            place = builder.gep(places, [ir.Constant(taps.type, number)])
            return builder.gep(base, [builder.load(place)])

        lines = [(line(source, at, i), line(target, to, i)) for i in range(_LINES)]
        sums = [cgutils.alloca_once(builder, lanes) for _ in range(_LINES)]

        def pixel(line: Any, place: Any) -> Any:
            """Four elements as float32."""
            pointer = builder.gep(line, [place])
            width = kind.bitwidth
            if width == 32:
                whole = builder.bitcast(pointer, lanes.as_pointer())
                return builder.load(whole, align=4)
            vector = ir.VectorType(ir.IntType(width), _LANES)
            number = builder.load(builder.bitcast(pointer, vector.as_pointer()), align=width // 8)
            wide = builder.sext if kind.signed else builder.zext
            return builder.sitofp(wide(number, indices), lanes)

        def weight(number: Any) -> Any:
            """One weight in all lanes."""
            found = builder.load(builder.gep(weights, [number]))
            start = ir.Constant(lanes, ir.Undefined)
            alone = builder.insert_element(start, found, ir.Constant(ir.IntType(32), 0))
            return builder.shuffle_vector(alone, start, ir.Constant(indices, None))

        with cgutils.for_range_slice(builder, first, last, one, inc=True) as (x, _):
            head = builder.load(builder.gep(heads, [x]))
            base = builder.mul(x, taps)
            w = weight(base)
            for (line, _), total in zip(lines, sums, strict=True):
                builder.store(builder.fmul(w, pixel(line, head)), total)
            with cgutils.for_range_slice(builder, one, taps, one, inc=True) as (tap, _):
                w = weight(builder.add(base, tap))
                place = builder.add(head, builder.mul(tap, step))
                for (line, _), total in zip(lines, sums, strict=True):
                    product = builder.fmul(w, pixel(line, place))
                    builder.store(builder.fadd(builder.load(total), product), total)
            place = builder.mul(x, step)
            for (_, line), total in zip(lines, sums, strict=True):
                out = builder.bitcast(builder.gep(line, [place]), lanes.as_pointer())
                builder.store(builder.load(total), out, align=4)
        return numba_adapter.no_value(context)

    def call(  # type: ignore[no-untyped-def]
        typing_context, source, at, heads, weights, taps, first, last, step, target, to
    ):
        word = numba.types.int64
        signature = numba.types.none(source, at, heads, weights, word, word, word, word, target, to)
        return signature, generate

    by_lanes = numba.extending.intrinsic(call)

    def pick(  # type: ignore[no-untyped-def]
        source, at, heads, weights, taps, first, last, step, target, to
    ):
        def body(  # type: ignore[no-untyped-def]
            source, at, heads, weights, taps, first, last, step, target, to
        ):
            by_lanes(source, at, heads, weights, taps, first, last, step, target, to)

        return body

    return pick
