"""Memory at an address, for kernels: words that are read from it wherever it begins, and copies."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from gradiva.eager.jit import numba_adapter
from gradiva.eager.jit.jit import register_intrinsic


def word_from(address: Any) -> Any:
    """The eight bytes at an address as uint64, the first of them lowest; for kernels only."""
    raise NotImplementedError


def byte_from(address: Any) -> Any:
    """The byte at an address as uint64; for kernels only."""
    raise NotImplementedError


@register_intrinsic(word_from)
def _word_from_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `word_from`."""
    return _loading(numba, 64)


@register_intrinsic(byte_from)
def _byte_from_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `byte_from`."""
    return _loading(numba, 8)


def _loading(numba: Any, bits: int) -> Callable[..., Any]:
    ir, _ = numba_adapter.llvm()
    kind = numba.types.uint64

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        part, word = ir.IntType(bits), ir.IntType(64)
        pointer = builder.inttoptr(values[0], part.as_pointer())
        value = builder.load(pointer, align=1)
        if bits == 64:
            return value if sys.byteorder == "little" else builder.bswap(value)
        return builder.zext(value, word)

    def call(typing_context, address):  # type: ignore[no-untyped-def]
        return kind(numba.types.int64), generate

    return call


def copy_bytes(source: Any, target: Any, count: Any) -> None:
    """Copy some bytes from one address to another, in vectors; for kernels only.

    For pieces of less than about a hundred bytes, for which a call of C's function takes longer.
    """
    raise NotImplementedError


@register_intrinsic(copy_bytes)
def _copy_bytes_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `copy_bytes`."""
    ir, cgutils = numba_adapter.llvm()
    word, byte = ir.IntType(64), ir.IntType(8)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        source, target, count = values
        done = builder.append_basic_block("copied")
        for width in (16, 8, 4, 1):  # the widest that fits; the last one may copy some bytes again
            kind = ir.VectorType(byte, width).as_pointer()
            size = ir.Constant(word, width)

            def move(place: Any, kind: Any = kind) -> None:
                whence, whither = (
                    builder.inttoptr(builder.add(base, place), kind) for base in (source, target)
                )
                builder.store(builder.load(whence, align=1), whither, align=1)

            with builder.if_then(builder.icmp_signed(">=", count, size)):
                last = builder.sub(count, size)
                zero = ir.Constant(word, 0)
                with cgutils.for_range_slice(builder, zero, last, size, inc=True) as (place, _):
                    move(place)
                move(last)
                builder.branch(done)
        builder.branch(done)
        builder.position_at_end(done)
        return numba_adapter.no_value(context)

    def call(typing_context, source, target, count):  # type: ignore[no-untyped-def]
        size = numba.types.int64
        return numba.types.none(size, size, size), generate

    return call
