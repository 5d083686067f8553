"""What an operator's GPU kernel returns: which kernel to launch, on what. Plain data.

Planning needs no GPU, so it is tested without one: the tests run the same launches on the CPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from gradiva.eager.support.errors import OperatorRuntimeError, OperatorValueError

if TYPE_CHECKING:
    from gradiva.eager.rows.row_chain import RowStep

THREADS: Final = 256
SPAN: Final = 2048
"""Elements that a block takes; prelude.cuh knows it by the same name."""

_HEAD: Final = 3
"""Numbers before those of the samples in the table of `Blocks`."""

_SOURCES: Final = Path(__file__).parent
_MOST: Final = 1 << 31
_NAMES: Final = {
    "bool": "bool", "uint8": "u8", "int8": "i8", "uint16": "u16", "int16": "i16", "uint32": "u32",
    "int32": "i32", "uint64": "u64", "int64": "i64", "float16": "f16", "float32": "f32",
    "float64": "f64",
}  # fmt: skip


class NoGpuKernelError(OperatorRuntimeError):
    """An operator has a GPU kernel, but not for what this call asks of it."""


class KernelSource(NamedTuple):
    """One compilation: `text` is all of its source, `kernel` the name of the one kernel in it.

    registers: the most it may take on any architecture; a test fails beyond that, and for spills.
    """

    kernel: str
    text: str
    registers: int


class OutputArg(NamedTuple):
    """An argument of a launch that the kernel writes: the slab of an output, or a `Scratch`."""

    data: Any


class Scratch:
    """Memory on the device that lives between the launches of one call: what one of them writes
    (`OutputArg(scratch)`) the next ones read. At first it holds anything. size: in elements."""

    __slots__ = ("dtype", "nbytes", "size")

    def __init__(self, size: int, dtype: np.dtype[Any]) -> None:
        self.size = size
        self.dtype = dtype
        self.nbytes = size * dtype.itemsize


class Launch(NamedTuple):
    """One launch for a whole batch. blocks: how many, of THREADS threads each; none: no launch.

    arguments: in the order of the kernel's. Arrays are given as pointers to their first element
    (tables are in host memory, and copied); an `OutputArg` is written; NumPy scalars go by value.
    """

    unit: KernelSource
    blocks: int
    arguments: tuple[Any, ...]


class Epilogue(NamedTuple):
    """What is done to the pixels that a kernel makes, while they are in registers, and where they
    go: `steps` of a chain, first over `channels` values that lie side by side (a pixel, or, where
    all are treated alike, part of one); data, offsets: of the target; planes: whether channels
    become planes."""

    steps: Sequence[RowStep]
    channels: int
    data: Any
    offsets: NDArray[np.int64]
    planes: bool = False

    @property
    def made(self) -> int:
        """Values that come out side by side."""
        return self.steps[-1].made if self.steps else self.channels


@dataclass(frozen=True)
class CudaKernel:
    """A kernel in a `.cuh` file, which is compiled for the types that a call needs.

    name: of the kernel, in `files[-1]`; files: what it is compiled from, in this order, after
    prelude.cuh and convert.cuh. Files of this folder are named, others are paths; None stands for
    what is generated for a call. registers: see `KernelSource`.
    """

    name: str
    files: tuple[str | Path | None, ...]
    registers: int = 64
    _units: dict[tuple[tuple[str, str], ...], KernelSource] = field(
        default_factory=dict, compare=False, repr=False
    )

    def unit(self, types: Mapping[str, str], generated: str = "") -> KernelSource:
        """The kernel for some types: C++ names of types by the names that the file uses.

        generated: C++ for the place that `files` keeps for it.
        """
        key = (*types.items(), ("", generated))
        found = self._units.get(key)
        if found is None:
            parts = [_text(_SOURCES / name) for name in ("prelude.cuh", "convert.cuh")]
            parts += [f"typedef {meant} {name};\n" for name, meant in types.items()]
            parts += [generated if f is None else _text(_SOURCES / f) for f in self.files]
            text = f"#define THREADS {THREADS}\n" + "".join(parts)
            found = self._units[key] = KernelSource(self.name, text, self.registers)
        return found


def launches_of(made: Launch | Sequence[Launch]) -> Sequence[Launch]:
    """What a GPU kernel returned, one launch or several, as several."""
    return (cast(Launch, made),) if isinstance(made, Launch) else made


@lru_cache(maxsize=64)
def _text(path: Path) -> str:
    """A file, under its own name in the compiler's messages."""
    return f'#line 1 "{path.name}"\n' + path.read_text("utf-8")


def type_name(dtype: np.dtype[Any]) -> str:
    """The name in C++ of an element type. Raises OperatorRuntimeError if there is none."""
    found = _NAMES.get(dtype.name)
    if found is None:
        name = "bfloat16" if dtype.kind == "V" else dtype.name
        raise OperatorRuntimeError(f"there is no GPU kernel for {name}")
    return found


def refuse_large(volumes: NDArray[np.int64]) -> None:
    """Raise OperatorValueError for samples of 2**31 elements or more: kernels count in 32 bits.
    volumes: int64, (N,), in elements."""
    if len(volumes) and int(volumes.max()) >= _MOST:
        sample = int(volumes.argmax())
        raise OperatorValueError(
            "a sample is too large for a GPU kernel",
            expected=f"fewer than {_MOST} elements",
            got=str(int(volumes[sample])),
            sample=sample,
        )


class Blocks(NamedTuple):
    """How the work on samples is cut into blocks of threads. total: how many.

    table: what `block_at` of prelude.cuh finds the place of a block in. It has a number per sample,
    not per block: the host would need longer to write those than the GPU needs for the pixels.
    """

    total: int
    table: NDArray[np.int64]


def blocks_of(volumes: NDArray[np.int64], span: int | NDArray[np.int64] = SPAN) -> Blocks:
    """The blocks of samples of these many elements, of which each takes `span`, the same for all
    samples or one for each. Raises OperatorValueError for samples of 2**31 elements or more.

    volumes: int64, (N,), in elements; span: elements, or int64, (N,).
    """
    refuse_large(volumes)
    counts = -(-volumes // span)
    ends = counts.cumsum()
    size = len(counts)
    each = int(counts[0]) if size and (counts == counts[0]).all() else 0
    one = span if isinstance(span, int) else 0
    table = np.empty(_HEAD + (size if one else 2 * size), np.int64)
    table[:_HEAD] = size, one, each
    np.subtract(ends, counts, out=table[_HEAD : _HEAD + size])
    if not one:
        table[_HEAD + size :] = span
    return Blocks(int(ends[-1]) if size else 0, table)


def launch_over(
    unit: KernelSource, data: Any, target: Any, table: Any, volumes: NDArray[np.int64], *more: Any
) -> Launch:
    """A launch with blocks for these many elements of each sample.

    unit: the kernel, compiled for the types of the call (`CudaKernel.unit`); data: read, 1-D, all
    samples of the input; target: written, 1-D, or a `Scratch`; table: of structs, a row per sample,
    (N, columns), as `struct_rows` makes it; volumes: int64, (N,), elements that each sample makes;
    more: further arguments. The kernel gets data, target, table, the table of `blocks_of(volumes)`
    and `more`, in this order. Raises OperatorValueError for samples of 2**31 elements or more.
    """
    blocks = blocks_of(volumes)
    return Launch(unit, blocks.total, (data, OutputArg(target), table, blocks.table, *more))


def numbered(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The sample and the number within its sample, from 0, of each of so many things: two arrays,
    int64, as long as the sum of `counts`, which is int64, (N,)."""
    samples = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    numbers = np.arange(len(samples), dtype=np.int64) - np.repeat(counts.cumsum() - counts, counts)
    return samples, numbers


def struct_rows(wide: Sequence[Any], narrow: Sequence[Any]) -> NDArray[np.int32]:
    """A struct for each sample, whose members are these columns: int64, then int32. `blocks_of`
    and `refuse_large` refuse samples that are too large for these.

    wide, narrow: columns, each a number or (N,). Returns int32, (N, 2 x wide + narrow).
    """
    words = np.stack(np.broadcast_arrays(*wide), axis=1).astype(np.int64).view(np.int32)
    halves = np.stack(np.broadcast_arrays(*narrow), axis=1).astype(np.int32)
    return np.concatenate([words, halves], axis=1)
