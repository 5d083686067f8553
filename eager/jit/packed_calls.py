"""Kernels that kernels call by address, with arguments that were laid out beforehand.

A call of a kernel from Python takes the interpreter and turns each array into what compiled code
knows of it: some ten microseconds, which threads that share a batch would spend again for each
range of samples. Here that is done once for a batch: a call is a row of words, which a loop of
compiled code hands to the kernel with a range. Threads share the ranges by a counter in memory, so
that none of them asks for the interpreter before all is done.

The first word of a row is the address of what takes it apart, the second that of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from gradiva.eager.runtime.host_memory import address_of
from gradiva.eager.types.arrays import Int64Array

from . import numba_adapter, numba_compiler
from .jit import Kernel, load_numba, register_intrinsic

KernelCall: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...]]
"""A kernel, and all its arguments but the last two, which are a range of samples. One thread makes
the call from Python (`run_calls`); for several it is packed."""


class NotPackableError(TypeError):
    """A call that cannot be packed: it has to be made from Python."""


class PerThread(NamedTuple):
    """An argument that each thread has for itself: the part of an array with its number, or the
    address of that alone."""

    parts: np.ndarray[Any, Any]
    address: bool = False


def run_calls(calls: Sequence[KernelCall], begin: int, end: int) -> None:
    """Make calls for a range of samples from Python, one after the other."""
    for kernel, arguments in calls:
        kernel(*arguments, begin, end)


class PackedCall(NamedTuple):
    """A call of a kernel by each of several threads. rows: (lanes, words); arguments: what they
    point to."""

    rows: Int64Array
    arguments: tuple[Any, ...]


def pack_call(kernel: Callable[..., Any], arguments: tuple[Any, ...], threads: int) -> PackedCall:
    """The call of a kernel by `threads` threads. Raises NotPackableError for what is no kernel or
    returns something, and for arguments other than arrays, numbers, None and tuples of them."""
    if not isinstance(kernel, Kernel):
        raise NotPackableError(f"no kernel: {kernel!r}")
    words, steps = [0, 0], list[tuple[int, int]]()
    plain = _laid(arguments, words, steps)
    try:
        known = kernel, numba_adapter.fingerprint(plain)
    except Exception as error:
        raise NotPackableError(f"Numba has no short name for the arguments: {error}") from error
    found = _entries.get(known)
    if found is None:
        entry = numba_compiler.packed_entry(load_numba(), kernel.dispatcher(), (*plain, 0, 0))
        if entry is None:
            raise NotPackableError(f"{kernel} returns something")
        found = _entries[known] = entry
    words[:2] = found
    row = np.array(words, np.int64)
    if threads == 1:
        return PackedCall(row[np.newaxis], arguments)
    rows = np.empty((threads, len(words)), np.int64)
    rows[:] = row
    for place, step in steps:
        rows[:, place] += np.arange(threads) * step
    return PackedCall(rows, arguments)


_entries: dict[tuple[Any, bytes], tuple[int, int]] = {}
"""The first two words of a row, by the kernel and the types of its arguments."""


def _laid(value: Any, words: list[int], steps: list[tuple[int, int]]) -> Any:
    """What the kernel is given for an argument, by the first thread, and behind `words` the same as
    Numba hands it on, in 64 bits each: of an array who owns it and counts its holders (nobody),
    elements, bytes of one, address, extents, strides. steps: takes the places of words that differ
    between threads, and by how much."""
    if isinstance(value, PerThread):
        steps.append((len(words) + (0 if value.address else 4), value.parts.strides[0]))
        value = address_of(value.parts) if value.address else value.parts[0]
    if isinstance(value, np.ndarray):
        words += 0, 0, value.size, value.itemsize, address_of(value), *value.shape, *value.strides
        return value
    if type(value) is tuple:
        return tuple([_laid(part, words, steps) for part in value])
    if value is None:
        words.append(0)
        return None
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise NotPackableError("an integer of more than 64 bits, or without a sign")
    if isinstance(value, int | np.integer):
        number = int(value)
        words.append(number - (1 << 64) if number >= 1 << 63 else number)
        return value
    if isinstance(value, float | np.float32):
        bits = value.view(np.int32) if isinstance(value, np.float32) else _bits_of(value)
        words.append(int(bits))
        return value
    raise NotPackableError(f"no argument for a row of words: {type(value).__name__}")


def _bits_of(value: float) -> np.int64:
    return np.float64(value).view(np.int64)


def call_packed(row: int, begin: int, end: int) -> int:
    """Make the call at the address of a row, for a range; for kernels only. Returns 0, or another
    number where the kernel has raised."""
    raise NotImplementedError


@register_intrinsic(call_packed)
def _call_packed_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `call_packed`."""
    ir, _ = numba_adapter.llvm()
    integer = numba.types.int64

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(word, [word] * 3)
        entry = builder.load(builder.inttoptr(values[0], word.as_pointer()))
        return builder.call(builder.inttoptr(entry, kind.as_pointer()), values)

    def call(typing_context, row, begin, end):  # type: ignore[no-untyped-def]
        return integer(integer, integer, integer), generate

    return call


def take_next(counter: Int64Array) -> int:
    """The number in an array of one, which is one more for the next to ask, in any thread; for
    kernels only."""
    raise NotImplementedError


@register_intrinsic(take_next)
def _take_next_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `take_next`: an atomic instruction."""
    ir, _ = numba_adapter.llvm()

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        place = numba_adapter.first_element(context, builder, signature.args[0], values[0])
        one = ir.Constant(ir.IntType(64), 1)
        return builder.atomic_rmw("add", place, one, "monotonic")

    def call(typing_context, counter):  # type: ignore[no-untyped-def]
        return numba.types.int64(counter), generate

    return call
