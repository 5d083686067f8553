"""Writing outputs that are in no cache.

A store to memory that is in no cache reads it first, and pushes out what is there. A third of the
time of a large copy is that reading. Non-temporal stores leave it out: for what is larger than the
caches anyhow, and is written whole. Others can ask for the lines that they are going to write:
CPUs do that themselves, but for the first lines of each page.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from gradiva.eager.jit import numba_adapter
from gradiva.eager.jit.jit import jit, register_intrinsic
from gradiva.eager.types.arrays import Array, Int64Array, Number

__all__ = [
    "AHEAD",
    "copy_nontemporal",
    "fetch_line",
    "fill_nontemporal",
    "finish_lines",
    "move_nontemporal",
    "use_nontemporal",
]

_LARGE: Final = 1 << 24
_LONG: Final = 1 << 14
"""The ends of a piece share lines with its neighbors, and are stored slowly."""
_LINE: Final = 64
"""Bytes that are stored at once, at an address that is a multiple of them."""

AHEAD: Final = 1 << 11
"""How many bytes before they are written lines are asked for: time enough for them to come."""


def use_nontemporal(output: Array, *elements: Int64Array) -> bool:
    """Whether an output goes past the caches: it is large, and the pieces that it is made of, of so
    many elements, are long."""
    least = -(-_LONG // output.itemsize)
    return output.nbytes >= _LARGE and all(bool((count >= least).all()) for count in elements)


def put_line(source: Array, at: int, target: Array, to: int) -> None:
    """Copy 64 bytes to a place that is aligned to as many; for kernels only."""
    raise NotImplementedError


@register_intrinsic(put_line)
def _put_line_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `put_line`."""
    ir, _ = numba_adapter.llvm()

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        source, at, target, to = values
        width = signature.args[0].dtype.bitwidth
        vector = ir.VectorType(ir.IntType(width), 8 * _LINE // width)

        def vector_at(number: int, array: Any, place: Any) -> Any:
            base = numba_adapter.first_element(context, builder, signature.args[number], array)
            return builder.bitcast(builder.gep(base, [place]), vector.as_pointer())

        found = builder.load(vector_at(0, source, at), align=width // 8)
        stored = builder.store(found, vector_at(2, target, to), align=_LINE)
        once = builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
        stored.set_metadata("nontemporal", once)
        return numba_adapter.no_value(context)

    def call(typing_context, source, at, target, to):  # type: ignore[no-untyped-def]
        word = numba.types.int64
        return numba.types.none(source, word, target, word), generate

    return call


def fetch_line(target: Array, at: int) -> None:
    """Ask for the line of an element that is soon written, or lies behind the end; for kernels
    only."""
    raise NotImplementedError


@register_intrinsic(fetch_line)
def _fetch_line_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `fetch_line`."""
    ir, _ = numba_adapter.llvm()
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        target, at = values
        base = numba_adapter.first_element(context, builder, signature.args[0], target)
        place = builder.bitcast(builder.gep(base, [at]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", (byte,), kind)
        to_write, soon, data = number(1), number(3), number(1)
        builder.call(fetch, [place, to_write, soon, data])
        return numba_adapter.no_value(context)

    def call(typing_context, target, at):  # type: ignore[no-untyped-def]
        return numba.types.none(target, numba.types.int64), generate

    return call


def finish_lines() -> None:
    """Let what `put_line` has stored be seen before what comes later; for kernels only."""
    raise NotImplementedError


@register_intrinsic(finish_lines)
def _finish_lines_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `finish_lines`."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        builder.fence("seq_cst")
        return numba_adapter.no_value(context)

    def call(typing_context):  # type: ignore[no-untyped-def]
        return numba.types.none(), generate

    return call


@jit
def _unaligned(target: Array, to: int) -> int:
    """Elements up to the next place that is aligned."""
    size = target.itemsize
    return (-(target.ctypes.data // size + to)) % (_LINE // size)


@jit
def copy_nontemporal(source: Array, at: int, target: Array, to: int, count: int) -> None:
    """Copy `count` elements, unsigned integers, from `at` to `to`; then call `finish_lines`."""
    step = _LINE // target.itemsize
    first = min(_unaligned(target, to), count)
    last = first + (count - first) // step * step
    for k in range(first):
        target[to + k] = source[at + k]
    for k in range(first, last, step):
        put_line(source, at + k, target, to + k)
    for k in range(last, count):
        target[to + k] = source[at + k]


@jit
def move_nontemporal(source: Array, at: int, target: Array, to: int, count: int) -> None:
    """`copy_nontemporal` alone: what comes later sees it."""
    copy_nontemporal(source, at, target, to, count)
    finish_lines()


@jit
def fill_nontemporal(target: Array, to: int, count: int, value: Number) -> None:
    """Write `count` elements, unsigned integers, from `to` on."""
    step = _LINE // target.itemsize
    line = np.full(step, value, target.dtype)
    first = min(_unaligned(target, to), count)
    last = first + (count - first) // step * step
    for k in range(first):
        target[to + k] = value
    for k in range(first, last, step):
        put_line(line, 0, target, to + k)
    for k in range(last, count):
        target[to + k] = value
    finish_lines()
