"""Sums of bytes in whole numbers, and moves of pixels, in LLVM's vectors (see `intrinsics.py`).

- `weigh_bytes`: the innermost loop of resampling in whole numbers, as Pillow does it. Each lane is
  one value, its sum is in int32, and the order of the sum is of no matter.
- `move_pixels`: pixels of three bytes from one distance to another. NumPy's slices and loops over
  bytes take three times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from gradiva.eager.jit import numba_adapter
from gradiva.eager.jit.jit import register_intrinsic
from gradiva.eager.types.arrays import I32Vector, U8Vector

__all__ = ["LANES", "move_pixels", "weigh_bytes"]

LANES: Final = 24
"""Values that `weigh_bytes` makes at once: three channels of eight pixels."""
_WIDTH: Final = 8


def weigh_bytes(
    source: U8Vector,
    at: int,
    step: int,
    weights: I32Vector,
    first: int,
    count: int,
    places: int,
    target: U8Vector,
    to: int,
) -> None:
    """`target[to + j]` = the sum over k of `weights[first + k] * source[at + k * step + j]`,
    rounded half up by `places` binary places and clipped to a byte, for j from 0 to `LANES` - 1.

    For kernels only; all of that must be inside of the arrays.
    """
    raise NotImplementedError


@register_intrinsic(weigh_bytes)
def _weigh_bytes_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `weigh_bytes`."""
    ir, cgutils = numba_adapter.llvm()
    word = ir.IntType(32)
    lanes, bytes_ = (ir.VectorType(kind, _WIDTH) for kind in (word, ir.IntType(8)))
    parts = range(LANES // _WIDTH)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        source, at, step, weights, first, count, places, target, to = (
            numba_adapter.first_element(context, builder, kind, value)
            if isinstance(kind, numba.types.Array)
            else value
            for kind, value in zip(signature.args, values, strict=True)
        )
        index = at.type

        def everywhere(number: Any) -> Any:
            """A number in all lanes."""
            start = ir.Constant(lanes, ir.Undefined)
            alone = builder.insert_element(start, number, ir.Constant(word, 0))
            return builder.shuffle_vector(alone, start, ir.Constant(lanes, None))

        def part(base: Any, place: Any, number: int) -> Any:
            """Where the eight bytes of this number stand."""
            inside = builder.add(place, ir.Constant(index, _WIDTH * number))
            return builder.bitcast(builder.gep(base, [inside]), bytes_.as_pointer())

        shift = builder.trunc(places, word)
        half = builder.shl(ir.Constant(word, 1), builder.sub(shift, ir.Constant(word, 1)))
        sums = [cgutils.alloca_once(builder, lanes) for _ in parts]
        for total in sums:
            builder.store(everywhere(half), total)
        with cgutils.for_range(builder, count) as loop:
            weight = everywhere(
                builder.load(builder.gep(weights, [builder.add(first, loop.index)]))
            )
            place = builder.add(at, builder.mul(loop.index, step))
            for number, total in zip(parts, sums, strict=True):
                found = builder.load(part(source, place, number), align=1)
                product = builder.mul(weight, builder.zext(found, lanes))
                builder.store(builder.add(builder.load(total), product), total)
        zero, most = everywhere(ir.Constant(word, 0)), everywhere(ir.Constant(word, 255))
        for number, total in zip(parts, sums, strict=True):
            made = builder.ashr(builder.load(total), everywhere(shift))
            made = builder.select(builder.icmp_signed(">", made, zero), made, zero)
            made = builder.select(builder.icmp_signed("<", made, most), made, most)
            builder.store(builder.trunc(made, bytes_), part(target, to, number), align=1)
        return numba_adapter.no_value(context)

    def call(  # type: ignore[no-untyped-def]
        typing_context, source, at, step, weights, first, count, places, target, to
    ):
        size = numba.types.int64
        signature = numba.types.none(source, size, size, weights, size, size, size, target, size)
        return signature, generate

    return call


def move_pixels(
    source: U8Vector, at: int, step: int, target: U8Vector, to: int, pace: int, pixels: int
) -> None:
    """Copy pixels of three bytes, from `source[at]` on in distances of `step`, to `target[to]` on
    in distances of `pace`; for kernels only.

    Four bytes are read and written for each: the fourth belongs to the next pixel, which comes
    later. It must be inside of the arrays, too.
    """
    raise NotImplementedError


@register_intrinsic(move_pixels)
def _move_pixels_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `move_pixels`."""
    ir, cgutils = numba_adapter.llvm()
    word = ir.IntType(32).as_pointer()

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        source, at, step, target, to, pace, pixels = (
            numba_adapter.first_element(context, builder, kind, value)
            if isinstance(kind, numba.types.Array)
            else value
            for kind, value in zip(signature.args, values, strict=True)
        )

        def pixel(base: Any, first: Any, distance: Any, number: Any) -> Any:
            place = builder.add(first, builder.mul(distance, number))
            return builder.bitcast(builder.gep(base, [place]), word)

        with cgutils.for_range(builder, pixels) as loop:
            found = builder.load(pixel(source, at, step, loop.index), align=1)
            builder.store(found, pixel(target, to, pace, loop.index), align=1)
        return numba_adapter.no_value(context)

    def call(typing_context, source, at, step, target, to, pace, pixels):  # type: ignore[no-untyped-def]
        size = numba.types.int64
        return numba.types.none(source, size, size, target, size, size, size), generate

    return call
