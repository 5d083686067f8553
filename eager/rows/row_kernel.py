"""Row kernels: operations on a strip of pixels, compiled once per signature and called by address.

The same machine code serves an operator's own kernel and every fused group that holds it, so their
bits are equal by construction and fusing compiles nothing new.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

import numpy as np

from gradiva.eager.jit.jit import Kernel, compile_entry, compiling, jit
from gradiva.eager.simd.streaming import copy_nontemporal
from gradiva.eager.support.errors import OperatorValueError, describe
from gradiva.eager.types.arrays import F32Vector, Table, U32Vector, Vector

__all__ = [
    "RowKernel",
    "copy",
    "join",
    "reverse",
    "row_kernel",
    "split",
    "split_reversed",
    "stream",
]


class RowKernel:
    """A kernel `function(source, target, parameters)` over one strip, for arrays of any dtypes.

    kind "channelwise": source and target are 1-D, values of one channel or of several that are
    treated alike. kind "mixing": they are 2-D, (channels, pixels), one row per channel. parameters
    is 1-D float32. Kinds "split", "join" and "reverse" move interleaved pixels.
    """

    def __init__(self, function: FunctionType, kind: str) -> None:
        self.kind = kind
        self._kernel = cast(Kernel, jit(function))
        self._entries: dict[tuple[str, str], tuple[int, Any]] = {}
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__

    @property
    def function(self) -> FunctionType:
        """The function as it was written."""
        return self._kernel.function

    def address(self, source: np.dtype[Any], target: np.dtype[Any]) -> int:
        """Where the machine code for these dtypes is; compiled, or loaded, on first need."""
        key = (source.str, target.str)
        found = self._entries.get(key)
        if found is None:
            with compiling():
                found = self._entries.get(key)
                if found is None:
                    found = compile_entry(self._kernel, _ENTRIES[self.kind], source, target)
                    self._entries[key] = found
        return found[0]

    def __repr__(self) -> str:
        return f"<row kernel {self._kernel.function.__module__}.{self.__name__}>"


def row_kernel(kind: str = "channelwise") -> Callable[[Callable[..., None]], RowKernel]:
    """Mark `function(source, target, parameters)` as a row kernel: the arithmetic of one strip of
    values, compiled like `jit`.

    kind: "channelwise", the default: source and target are 1-D and equally long, values of one
        channel, or of all if they are treated alike. "mixing": they are 2-D, (channels, pixels),
        one row per channel, for arithmetic between channels; target has as many rows as the output
        has channels. ("split", "join" and "reverse" are for gradiva's own use.)

    parameters: 1-D float32, the numbers of the sample (of the channel, where they differ) that the
    function under `pixelwise` returns. source and target have the dtypes of input and output
    (float32 for float16). Write every element of `target`. Write constants as `np.float32(...)`: a
    plain number makes the arithmetic float64. `pixelwise` has an example. Raises OperatorValueError
    for another kind.
    """
    if kind not in _ENTRIES:
        raise OperatorValueError(
            "a row kernel is declared with `@row_kernel()`",
            argument="kind",
            expected='"channelwise" or "mixing"',
            got=describe(kind),
        )

    def declare(function: Callable[..., None]) -> RowKernel:
        return RowKernel(cast(FunctionType, function), kind)

    return declare


# What the compiled entries look like from outside: addresses, numbers of pixels, pitches (elements
# from one channel's row to the next) and channels. `row` and `carray` are given when they are
# compiled.

row: Any = None
carray: Any = None


def _channelwise(
    source: Any,
    target: Any,
    pixels: int,
    source_pitch: int,
    target_pitch: int,
    channels: int,
    made: int,
    parameters: Any,
    count: int,
) -> None:
    row(carray(source, (pixels,)), carray(target, (pixels,)), carray(parameters, (count,)))


def _mixing(
    source: Any,
    target: Any,
    pixels: int,
    source_pitch: int,
    target_pitch: int,
    channels: int,
    made: int,
    parameters: Any,
    count: int,
) -> None:
    row(
        carray(source, (channels, source_pitch))[:, :pixels],
        carray(target, (made, target_pitch))[:, :pixels],
        carray(parameters, (count,)),
    )


def _split(
    source: Any,
    target: Any,
    pixels: int,
    source_pitch: int,
    target_pitch: int,
    channels: int,
    made: int,
    parameters: Any,
    count: int,
) -> None:
    row(carray(source, (pixels * channels,)), carray(target, (channels, target_pitch)), pixels)


def _join(
    source: Any,
    target: Any,
    pixels: int,
    source_pitch: int,
    target_pitch: int,
    channels: int,
    made: int,
    parameters: Any,
    count: int,
) -> None:
    row(carray(source, (channels, source_pitch)), carray(target, (pixels * channels,)), pixels)


def _reverse(
    source: Any,
    target: Any,
    pixels: int,
    source_pitch: int,
    target_pitch: int,
    channels: int,
    made: int,
    parameters: Any,
    count: int,
) -> None:
    size = pixels * channels
    row(carray(source, (size,)), carray(target, (size,)), channels)


_ENTRIES: dict[str, FunctionType] = {
    "channelwise": cast(FunctionType, _channelwise),
    "mixing": cast(FunctionType, _mixing),
    "split": cast(FunctionType, _split),
    "join": cast(FunctionType, _join),
    "reverse": cast(FunctionType, _reverse),
}


@row_kernel()
def copy(source: U32Vector, target: U32Vector, parameters: F32Vector) -> None:
    """The strip as it is."""
    target[:] = source


@row_kernel()
def stream(source: Vector, target: Vector, parameters: F32Vector) -> None:
    """The strip as it is, unsigned integers, past the caches; then call `finish_lines`."""
    copy_nontemporal(source, 0, target, 0, source.size)


@row_kernel("split")
def split(source: Vector, target: Table, pixels: int) -> None:
    """Interleaved pixels to one row per channel."""
    channels = target.shape[0]
    if channels == 3:
        a, b, c = target[0], target[1], target[2]
        for x in range(pixels):
            a[x] = source[3 * x]
            b[x] = source[3 * x + 1]
            c[x] = source[3 * x + 2]
    else:
        for channel in range(channels):
            plane = target[channel]
            for x in range(pixels):
                plane[x] = source[channels * x + channel]


@row_kernel("split")
def split_reversed(source: Vector, target: Vector, pixels: int) -> None:
    """Like `split`, the last pixel first."""
    # Indices without a sign need no test for a negative one, which would keep loops scalar.
    channels, size = np.uint64(target.shape[0]), np.uint64(pixels)
    last = size - np.uint64(1)
    if channels == np.uint64(3):
        a, b, c = target[0], target[1], target[2]
        for x in range(size):
            y = np.uint64(3) * x
            a[last - x] = source[y]
            b[last - x] = source[y + np.uint64(1)]
            c[last - x] = source[y + np.uint64(2)]
    else:
        for channel in range(channels):
            plane = target[channel]
            for x in range(size):
                plane[last - x] = source[channels * x + channel]


@row_kernel("join")
def join(source: Table, target: Vector, pixels: int) -> None:
    """One row per channel to interleaved pixels."""
    channels = source.shape[0]
    if channels == 3:
        a, b, c = source[0], source[1], source[2]
        for x in range(pixels):
            target[3 * x] = a[x]
            target[3 * x + 1] = b[x]
            target[3 * x + 2] = c[x]
    else:
        for channel in range(channels):
            plane = source[channel]
            for x in range(pixels):
                target[channels * x + channel] = plane[x]


@row_kernel("reverse")
def reverse(source: U32Vector, target: U32Vector, channels: int) -> None:
    """Interleaved pixels, the last one first."""
    size = source.size
    if channels == 3:
        for x in range(0, size, 3):
            y = size - 3 - x
            target[y] = source[x]
            target[y + 1] = source[x + 1]
            target[y + 2] = source[x + 2]
    else:
        for x in range(0, size, channels):
            y = size - channels - x
            for c in range(channels):
                target[y + c] = source[x + c]
