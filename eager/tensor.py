"""One sample: an n-dimensional array with a layout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, SupportsInt, TypeAlias

import numpy as np

from . import display
from .device import CPU, Device, DeviceLike, require_cpu
from .device import device as to_device
from .dtypes import DType, DTypeLike
from .errors import OperatorTypeError, OperatorValueError, blaming, describe
from .layouts import check_layout
from .provenance import Provenance
from .subscripts import parse, result_type, view
from .value import SampleType, Value

if TYPE_CHECKING:
    import torch

__all__ = ["ArrayLike", "Tensor", "as_tensor", "tensor", "to_array"]

ArrayLike: TypeAlias = Any
"""A Tensor, NumPy array, scalar, (nested) list of numbers, bytes, str, or an object with
`__dlpack__`, `__array__` or `__array_interface__` whose memory is on the CPU."""


class Tensor(Value):
    """One sample: `dtype`, `shape`, `layout`, `device`, and NumPy and DLPack views without copies.

    Make one with `tensor` (copies) or `as_tensor` (does not, where it can). Tensors are not
    modified by operators.
    """

    __slots__ = ("__weakref__", "_array", "layout", "provenance")

    def __init__(
        self,
        array: np.ndarray[Any, Any],
        layout: str = "",
        provenance: Provenance | None = None,
    ) -> None:
        self._array = array
        self.layout = layout
        self.provenance = provenance

    @property
    def dtype(self) -> DType:
        return DType.from_numpy(self._array.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._array.shape)

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def size(self) -> int:
        return self._array.size

    @property
    def itemsize(self) -> int:
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        return self._array.nbytes

    @property
    def device(self) -> Device:
        return CPU

    @property
    def type(self) -> SampleType:
        """dtype, rank, layout and device, as operators see them."""
        return SampleType(self.dtype, self.ndim, self.layout, "cpu")

    def source_info(self) -> str:
        """The file or key the sample came from, or the empty string."""
        return (self.provenance.name(0) if self.provenance else None) or ""

    def evaluate(self) -> Tensor:
        """Return the tensor itself: a tensor made in eager mode is there already."""
        return self

    def cpu(self) -> Tensor:
        return self

    def gpu(self, index: int | None = None) -> Tensor:
        return self.to_device(Device("gpu", index or 0))

    def to_device(self, device: DeviceLike, force_copy: bool = False) -> Tensor:
        """The tensor on `device`; a copy only if `force_copy`. Raises OperatorRuntimeError."""
        require_cpu(to_device(device))
        return Tensor(self._array.copy(), self.layout, self.provenance) if force_copy else self

    def torch(self, copy: bool = False) -> torch.Tensor:
        """A torch tensor on the same memory, or on a copy of it."""
        import torch

        return torch.from_dlpack(self._array.copy() if copy else self._array)

    def item(self) -> Any:
        """The only element as a Python value. Raises ValueError if there is not exactly one."""
        return self._array.item()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy or (dtype is not None and np.dtype(dtype) != self._array.dtype):
            return self._array.astype(dtype or self._array.dtype)
        return self._array

    def __dlpack__(self, stream: SupportsInt | None = None, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __getitem__(self, ranges: Any) -> Tensor:
        """A view: integers, ranges, `...`, None (a whole axis) and newaxis; the layout loses the
        axes that integers take. Numbers may be tensors; with a batch of numbers, one per sample,
        the result is a batch. Raises OperatorTypeError or OperatorValueError."""
        with blaming("subscript"):
            items, given = parse(ranges)
            if not given:
                type = result_type(self.type, items)
                return Tensor(view(self._array, items), type.layout or "", self.provenance)
        return self.slice[ranges]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[index] for index in range(len(self._array)))

    def __len__(self) -> int:
        return len(self._array)

    def __bool__(self) -> bool:
        return bool(self._array)

    def __int__(self) -> int:
        return int(self._array)

    def __index__(self) -> int:
        return self._array.__index__()

    def __float__(self) -> float:
        return float(self._array)

    def __repr__(self) -> str:
        return display.tensor_text(self)

    def _repr_html_(self) -> str:
        return display.html([self])


def to_array(data: ArrayLike) -> np.ndarray[Any, Any]:
    """A NumPy array on the same memory where possible. Python ints become int32 (int64 if they do
    not fit), floats float32. Raises OperatorTypeError."""
    if isinstance(data, np.ndarray):
        return data
    if isinstance(data, Tensor):
        return data._array
    if isinstance(data, str):
        data = data.encode()
    if isinstance(data, bytes | bytearray | memoryview):
        return np.frombuffer(data, np.uint8)
    if hasattr(data, "__cuda_array_interface__"):
        raise OperatorTypeError(
            expected="data in host memory (this version of gradiva has no GPU backend yet)",
            got=describe(data),
        )
    try:
        if hasattr(data, "__dlpack__") and not isinstance(data, np.generic):
            return np.from_dlpack(data)
        array = np.asarray(data)
    except Exception as error:
        raise OperatorTypeError(expected="an array", got=f"{describe(data)}: {error}") from error
    if not isinstance(data, np.generic) and not hasattr(data, "__array__"):
        array = _from_python(array)
    if array.dtype.kind not in "biuf":
        raise OperatorTypeError(expected="an array of numbers or booleans", got=describe(data))
    return array


def _from_python(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int64:
        small = not array.size or (array.min() >= -(2**31) and array.max() < 2**31)
        return array.astype(np.int32) if small else array
    return array


def prepare(
    array: np.ndarray[Any, Any], dtype: DTypeLike | None, layout: str | None
) -> tuple[np.ndarray[Any, Any], str]:
    """The array C-contiguous, in native byte order and in the wanted dtype; the layout checked."""
    try:
        wanted = DType.of(array.dtype if dtype is None else dtype).numpy
        array = np.asarray(array, wanted, order="C")
        return array, check_layout(layout or "", array.ndim)
    except (TypeError, ValueError) as error:
        kind = OperatorTypeError if isinstance(error, TypeError) else OperatorValueError
        raise kind(str(error)) from None


def tensor(
    data: ArrayLike,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    layout: str | None = None,
    pad: bool = False,
) -> Tensor:
    """A Tensor with a copy of `data`.

    data: see `ArrayLike`; a Batch of equal shapes, or of any shapes with `pad=True`, becomes one
    tensor with a leading axis. dtype: element type to convert to. layout: such as "HWC".
    Raises OperatorTypeError or OperatorValueError.
    """
    view = as_tensor(data, dtype, device, layout, pad)
    return Tensor(view._array.copy(), view.layout, view.provenance)


def as_tensor(
    data: ArrayLike,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    layout: str | None = None,
    pad: bool = False,
) -> Tensor:
    """Like `tensor`, but on the same memory if `data` is contiguous and has the right dtype."""
    require_cpu(to_device(device or CPU))
    if layout is None and isinstance(data, Value):
        layout = getattr(data, "layout", "")
        if hasattr(data, "batch_size"):
            layout = ""
    if pad and hasattr(data, "padded"):
        data = data.padded()
    provenance = data.provenance if isinstance(data, Tensor) else None
    array, layout = prepare(to_array(data), dtype, layout)
    return Tensor(array, layout, provenance)
