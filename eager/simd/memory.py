"""Memory at an address, for kernels: words that are read from it wherever it begins."""

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
