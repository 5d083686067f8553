"""One sample: an n-dimensional array with a layout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.support.errors import (
    OperatorTypeError,
    OperatorValueError,
    annotate_error,
    user_location,
)
from gradiva.eager.support.layouts import as_layout
from gradiva.eager.types.bfloat16 import is_bfloat16
from gradiva.eager.types.device import DeviceLike, check_device
from gradiva.eager.types.device import device as to_device
from gradiva.eager.types.dtypes import DType, DTypeLike
from gradiva.eager.types.provenance import Provenance
from gradiva.eager.types.sample_type import SampleType

from .buffers import Exported, check_on_host, gpu_array, moved, on_cpu, same_dtype
from .device_value import DeviceValue
from .indexing import parse, result_type, view
from .interop import ArrayLike, checked, image_layout, is_array, pad_arrays, prepare, to_array
from .random_origin import EagerRandomOrigin, random_origin_among
from .shown import to_html, to_text
from .value import Value, ufuncs

if TYPE_CHECKING:
    import torch
    from typing_extensions import Self

__all__ = [
    "ArrayLike",
    "Tensor",
    "array_of",
    "as_tensor",
    "as_torch",
    "prepare",
    "tensor",
    "tensor_on",
    "to_array",
]


class Tensor(DeviceValue):
    """One sample: `dtype`, `shape`, `layout`, `device`, and NumPy and DLPack views without copies.

    Make one with `tensor` (copies) or `as_tensor` (does not, where it can); `Tensor(...)` is as
    `as_tensor`. Tensors are not modified by operators.
    """

    __slots__ = ("__weakref__", "_array", "layout", "provenance")

    def __init__(
        self,
        data: ArrayLike,
        dtype: DTypeLike | None = None,
        device: DeviceLike | None = None,
        layout: str | None = None,
        copy: bool = False,
    ) -> None:
        """As `as_tensor`; with `copy`, as `tensor`."""
        with annotate_error("Tensor"):
            made = tensor_on(data, dtype, device, layout)
        array = made._array.copy() if copy else made._array
        self._hold(array, made.layout, made.provenance, made.drawn_at)

    def _hold(
        self,
        array: np.ndarray[Any, Any],
        layout: str,
        provenance: Provenance | None,
        drawn_at: EagerRandomOrigin,
    ) -> None:
        self._array = array
        self.layout = layout
        self.provenance = provenance
        self.drawn_at = drawn_at

    @staticmethod
    def over(
        array: np.ndarray[Any, Any],
        layout: str = "",
        provenance: Provenance | None = None,
        drawn_at: EagerRandomOrigin = None,
    ) -> Tensor:
        """The tensor that an array is, which is taken as it is."""
        made = Tensor.__new__(Tensor)
        made._hold(array, layout, provenance, drawn_at)
        return made

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
    def _memory(self) -> Any:
        return self._array

    @property
    def type(self) -> SampleType:
        """dtype, rank, layout and device, as operators see them."""
        return SampleType(self.dtype, self.ndim, self.layout, self.device.device_type)

    def source_info(self) -> str:
        """The file or key the sample came from, or the empty string."""
        return (self.provenance.name(0) if self.provenance else None) or ""

    def evaluate(self) -> Tensor:
        """Return the tensor itself: a tensor of eager mode has been computed already."""
        return self

    def to_device(self, device: DeviceLike, force_copy: bool = False) -> Self:
        """The tensor on `device`; a copy if it is not there, or with `force_copy`. Raises
        OperatorRuntimeError."""
        array = moved(self._array, to_device(device), force_copy)
        if array is self._array:
            return self
        return Tensor.over(array, self.layout, self.provenance, self.drawn_at)  # type: ignore[return-value]

    def torch(self, copy: bool = False) -> torch.Tensor:
        """A torch tensor on the same memory; on a copy of it with `copy`, and where torch cannot
        have the memory, because it is read-only or runs backwards."""
        return as_torch(self._array, copy)

    def numpy(self) -> np.ndarray[Any, Any]:
        """A NumPy array on the same memory, as `np.asarray(tensor)` is. Raises OperatorTypeError
        for a tensor on a GPU: take `.cpu()` of it."""
        return np.asarray(self)

    def item(self) -> Any:
        """The only element as a Python value. Raises OperatorValueError if there is not exactly
        one."""
        if self._array.size != 1:
            raise OperatorValueError(
                "only a tensor of one element is a number", got=f"{self._array.size} elements"
            )
        return self._host.item()

    @property
    def _host(self) -> np.ndarray[Any, Any]:
        """The elements in host memory, for which it waits."""
        return self.cpu()._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return array_of(check_on_host(self, self._array)._array, dtype, copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """`array + tensor` is as `tensor + array`; other functions of NumPy take the array."""
        alone = all(isinstance(one, Tensor) or not isinstance(one, Value) for one in inputs)
        if not alone or (ufunc in ufuncs and method == "__call__" and not options):
            return super().__array_ufunc__(ufunc, method, *inputs, **options)
        arrays = [np.asarray(one) if isinstance(one, Tensor) else one for one in inputs]
        return getattr(ufunc, method)(*arrays, **options)

    def _whole(self) -> Any:
        return self._array

    def __getitem__(self, ranges: Any) -> Tensor:
        """A view: integers, ranges, `...`, None (a whole axis) and newaxis; the layout loses the
        axes that integers take. Numbers may be tensors; with a batch of numbers, one per sample,
        the result is a batch. Raises OperatorTypeError or OperatorValueError."""
        with annotate_error("subscript"):
            items, given = parse(ranges)
            if not given and on_cpu(self._array):
                layout = result_type(self.type, items).layout or ""
                part = view(self._array, items)
                return Tensor.over(part, layout, self.provenance, self.drawn_at)
        return self.slice[ranges]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[index] for index in range(len(self._array)))

    def __len__(self) -> int:
        return len(self._array)

    def __bool__(self) -> bool:
        return bool(self._host)

    def __int__(self) -> int:
        return int(self._number())

    def __index__(self) -> int:
        return self._number().__index__()

    def __float__(self) -> float:
        return float(self._number())

    def _number(self) -> np.ndarray[Any, Any]:
        """The only element, also of shape (1,), as labels of readers are. Raises
        OperatorTypeError."""
        if self._array.size != 1:
            raise OperatorTypeError(
                "only a tensor of one element is a number",
                got=f"{self._array.size} elements",
                location=user_location(),
            )
        return self._host.reshape(())

    def __repr__(self) -> str:
        return to_text.get()(self)

    def _repr_html_(self) -> str:
        return to_html.get()(self)


def array_of(array: np.ndarray[Any, Any], dtype: Any, copy: bool | None) -> np.ndarray[Any, Any]:
    """What `__array__` returns, by NumPy's rules. Raises ValueError if a copy is needed but
    forbidden."""
    if dtype is not None and np.dtype(dtype) != array.dtype:
        if copy is False:
            raise ValueError(f"{array.dtype} becomes {np.dtype(dtype)} by a copy only")
        return array.astype(dtype)
    return array.copy() if copy else array


def as_torch(array: np.ndarray[Any, Any], copy: bool) -> torch.Tensor:
    """A torch tensor on the memory of an array if it can be and no copy is asked for."""
    import torch

    if not on_cpu(array):
        made: torch.Tensor = torch.from_dlpack(Exported(array))
        return made.clone() if copy else made
    if copy or not array.flags.writeable or any(step < 0 for step in array.strides):
        array = array.copy()
    if is_bfloat16(array.dtype):
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def tensor(
    data: ArrayLike,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    layout: str | None = None,
    pad: bool = False,
) -> Tensor:
    """A Tensor with a copy of `data`.

    data: see `ArrayLike`; a Batch of equal shapes becomes one tensor with a leading axis, N in the
    layout. pad: a Batch or a list of samples of any shapes becomes one, filled up with 0. dtype:
    element type to convert to, as `cast` does. layout: such as "HWC"; by
    default that of a Tensor, "HWC" or "HW" for an image of Pillow. Raises OperatorTypeError or
    OperatorValueError.
    """
    with annotate_error("tensor"):
        view = tensor_on(data, dtype, device, layout, pad)
        return Tensor.over(view._array.copy(), view.layout, view.provenance, view.drawn_at)


def as_tensor(
    data: ArrayLike,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    layout: str | None = None,
    pad: bool = False,
) -> Tensor:
    """Like `tensor`, but on the same memory if `data` is contiguous and has the right dtype."""
    with annotate_error("as_tensor"):
        return tensor_on(data, dtype, device, layout, pad)


def tensor_on(
    data: ArrayLike,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    layout: str | None = None,
    pad: bool = False,
) -> Tensor:
    """`as_tensor` for callers that report errors themselves."""
    where = None if device is None else check_device(to_device(device))
    drawn = random_origin_among((data,))
    if layout is None and isinstance(data, Value):
        layout = getattr(data, "layout", "")
        if hasattr(data, "batch_size"):
            # The samples are stacked along a new axis.
            layout = f"N{layout}" if layout and "N" not in layout else ""
    if pad and hasattr(data, "padded"):
        data = data.padded()
    elif pad and isinstance(data, Iterable) and not is_array(data) and not isinstance(data, bytes):
        data = pad_arrays(data, dtype) if not isinstance(data, str | bytearray) else data
    provenance = data.provenance if isinstance(data, Tensor) else None
    array = gpu_array(data)
    if array is None:
        array = to_array(data, dtype is not None)
        layout = image_layout(data, array.ndim) if layout is None else layout
        array, layout = prepare(array, dtype, layout)
    else:
        same_dtype(array, dtype)
        layout = checked(as_layout, layout or "", array.ndim)
    made = Tensor.over(array, layout, provenance, drawn)
    return made if where is None else made.to_device(where)
