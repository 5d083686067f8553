"""An array in a GPU's memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradiva.eager.types.device import Device

from .device_memory import Block, Users
from .streams import LEGACY, DeviceStream


class Foreign:
    """Memory that another library owns. owner: what keeps it alive, until all streams that used it
    are past: its owner knows nothing of them. stream: the one that came after its making."""

    __slots__ = ("address", "owner", "stream", "users")

    def __init__(self, address: int, owner: Any, stream: DeviceStream) -> None:
        self.address = address
        self.owner = owner
        self.stream = stream
        self.users: Users = {stream.key: stream}

    def use(self, stream: DeviceStream) -> None:
        """`stream` reads this memory with what it is given from now on."""
        stream.follow(self.stream)
        self.users[stream.key] = stream

    def __del__(self) -> None:
        # At any moment and in any thread, so nothing is done but to note it down.
        self.stream.gpu.given_back.append((self.owner, self.users))


class DeviceArray:
    """Elements in C order in a GPU's memory: what NumPy's arrays are for batches on the CPU.

    block: the memory, shared by all arrays on it; offset: of the first element, in bytes.
    """

    __slots__ = ("__weakref__", "block", "dtype", "offset", "shape")

    def __init__(
        self, block: Block | Foreign, shape: tuple[int, ...], dtype: np.dtype[Any], offset: int = 0
    ) -> None:
        self.block = block
        self.shape = shape
        self.dtype = dtype
        self.offset = offset

    @property
    def device(self) -> Device:
        return Device("gpu", self.block.stream.gpu.runtime.number)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def address(self) -> int:
        """Of the first element, in the GPU's memory."""
        return self.block.address + self.offset

    def __len__(self) -> int:
        return self.shape[0]

    def view(self, dtype: Any) -> DeviceArray:
        """The same bytes as elements of another type, whose size divides the last axis."""
        other = np.dtype(dtype)
        shape = self.shape
        if other.itemsize != self.dtype.itemsize:
            last = shape[-1] * self.dtype.itemsize
            if last % other.itemsize:
                raise ValueError(f"{last} bytes are no whole number of {other}")
            shape = (*shape[:-1], last // other.itemsize)
        return DeviceArray(self.block, shape, other, self.offset)

    def reshape(self, *shape: Any) -> DeviceArray:
        """The same elements with other axes. Raises ValueError if their number differs."""
        wanted = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        if -1 in wanted:
            rest = math.prod(extent for extent in wanted if extent != -1)
            wanted = tuple(self.size // max(rest, 1) if e == -1 else e for e in wanted)
        if math.prod(wanted) != self.size:
            raise ValueError(f"{self.size} elements have no shape {wanted}")
        return DeviceArray(self.block, wanted, self.dtype, self.offset)

    def __getitem__(self, part: slice) -> DeviceArray:
        """Consecutive elements, or rows, without a copy. Raises TypeError for a number, which NumPy
        and `for` would go on with."""
        if not isinstance(part, slice):
            raise TypeError(f"{self!r} has no elements in host memory: take .get() of it first")
        begin, end, step = part.indices(self.shape[0])
        if step != 1:
            raise ValueError("only consecutive rows are an array")
        row = math.prod(self.shape[1:]) * self.dtype.itemsize
        shape = (max(end - begin, 0), *self.shape[1:])
        return DeviceArray(self.block, shape, self.dtype, self.offset + begin * row)

    def copy(self) -> DeviceArray:
        """The same elements in memory of their own, on the current stream."""
        made: DeviceArray = self.block.stream.gpu.copied(self)
        return made

    def get(self) -> np.ndarray[Any, Any]:
        """The elements in host memory. Waits until they are there."""
        return self.block.stream.gpu.fetched(self)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        # Who asks does not say on which stream it works: mostly it is the default one, or one that
        # waits for that and that waits for it. So the memory is held until that one is past.
        legacy = DeviceStream(self.block.stream.gpu, LEGACY)
        self.block.users[legacy.key] = legacy
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address if self.size else 0, False),
            "version": 3,
            "stream": self.block.stream.handle,
        }

    def __reduce__(self) -> Any:
        raise TypeError(f"an array on {self.device} is not pickled: take .cpu() of it first")

    def __repr__(self) -> str:
        return f"<DeviceArray {self.dtype} {self.shape} on {self.device}>"
