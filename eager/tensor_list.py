"""What pipelines hand out: a Batch and a Tensor that also answer as scripts of pipeline mode ask.

In pipeline mode `shape()`, `layout()` and `ndim()` are calls, in dynamic mode they are properties.
Here they are both: a list, string or number that returns itself when it is called.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .batch import Batch, batch_on
from .bfloat16 import is_bfloat16
from .device import Device, require_device
from .dtypes import DType, DTypeLike
from .errors import OperatorTypeError, OperatorValueError, blaming, describe
from .layouts import check_layout
from .provenance import Provenance
from .subscripts import sample_number
from .tensor import Tensor, tensor_on

__all__ = ["TensorCPU", "TensorGPU", "TensorListCPU", "TensorListGPU"]


class _Text(str):
    __slots__ = ()

    def __call__(self) -> str:
        return str(self)


class _Number(int):
    def __call__(self) -> int:
        return int(self)


class _Shape(tuple[int, ...]):
    __slots__ = ()

    def __call__(self) -> list[int]:
        return list(self)


class _Shapes(list[tuple[int, ...]]):
    def __call__(self) -> list[tuple[int, ...]]:
        return list(self)


class TensorCPU(Tensor):
    """One sample in host memory. `shape`, `layout` and `ndim` are values and may be called.

    data: an array, or an object with DLPack, used where it is; layout: one letter per axis.
    Raises OperatorTypeError or OperatorValueError.
    """

    __slots__ = ()

    layout: _Text

    def __init__(self, data: Any, layout: str | None = None, is_pinned: bool = False) -> None:
        with blaming("TensorCPU"):
            given = tensor_on(data, layout=layout)
        super().__init__(np.asarray(given), _Text(given.layout), given.provenance)

    @property
    def shape(self) -> _Shape:
        return _Shape(self._array.shape)

    @property
    def ndim(self) -> _Number:
        return _Number(self._array.ndim)

    def as_cpu(self) -> TensorCPU:
        return self

    def data_ptr(self) -> int:
        """The address of the first element."""
        return int(self._array.ctypes.data)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if is_bfloat16(self._array.dtype):
            # It has no name there: NumPy would see bytes. It asks for `__array__` instead.
            raise AttributeError("bfloat16 has no array interface")
        interface: dict[str, Any] = self._array.__array_interface__
        return interface

    def copy_to_external(self, ptr: Any) -> None:
        """Copy the elements to an address: an integer, or a pointer of ctypes."""
        _copy_out(self._array, ptr)

    def get_property(self, key: str) -> str | None:
        """`layout`, or `source_info`: None if the sample has none."""
        if key not in ("layout", "source_info"):
            raise OperatorValueError(
                operator="TensorCPU.get_property",
                argument="key",
                expected="'layout' or 'source_info'",
                got=describe(key),
            )
        return (str(self.layout) if key == "layout" else self.source_info()) or None

    def set_layout(self, layout: str | None) -> None:
        """Give the axes other letters. Raises OperatorValueError."""
        self.layout = _checked("TensorCPU.set_layout", layout, self._array.ndim)

    def reinterpret(self, new_type: DTypeLike) -> None:
        """Read the same bytes as elements of another type of the same size."""
        self._array = self._array.view(_of_size(new_type, self._array.dtype.itemsize))

    def squeeze(self, dim: int | None = None) -> bool:
        """Drop axes of extent 1: all of them, or `dim`. Returns whether there were any."""
        axes = range(self._array.ndim) if dim is None else [dim % max(1, self._array.ndim)]
        gone = {axis for axis in axes if self._array.shape[axis] == 1}
        letters = [letter for axis, letter in enumerate(self.layout) if axis not in gone]
        self._array = self._array.squeeze(tuple(gone))
        self.layout = _Text("".join(letters))
        return bool(gone)


class TensorListCPU(Batch):
    """A batch in host memory. `shape`, `layout` and `ndim` are values and may be called.

    data: an array whose first axis is the batch, a list of arrays or TensorCPU, a Batch, or an
    object with DLPack; layout: of a sample. Raises OperatorTypeError or OperatorValueError.
    """

    __slots__ = ()

    def __init__(
        self,
        data: Any,
        layout: str | None = None,
        is_pinned: bool = False,
        contiguous: bool = True,
    ) -> None:
        with blaming("TensorListCPU"):
            self._take(batch_on(data, layout=layout))

    def _take(self, batch: Batch) -> None:
        super().__init__(batch.data, batch.geometry, batch.type, batch.provenance)

    @staticmethod
    def of(batch: Batch) -> TensorListCPU:
        """The same samples, as pipelines hand them out."""
        made = TensorListCPU.__new__(TensorListCPU)
        made._take(batch)
        return made

    @property
    def shape(self) -> _Shapes:
        return _Shapes(super().shape)

    @property
    def layout(self) -> _Text:
        return _Text(self.type.layout or "")

    @property
    def ndim(self) -> _Number:
        return _Number(self.geometry.ndim)

    def __getitem__(self, index: Any) -> TensorCPU:
        """A sample, on the same memory. Raises IndexError."""
        if isinstance(index, bool) or not hasattr(index, "__index__"):
            raise OperatorTypeError(
                operator="TensorListCPU", expected="the number of a sample", got=describe(index)
            )
        return self._tensor(sample_number(int(index), len(self)))

    def _tensor(self, index: int) -> TensorCPU:
        made = TensorCPU.__new__(TensorCPU)
        where: Provenance | None = self.provenance.select([index]) if self.provenance else None
        Tensor.__init__(made, self.array(index), _Text(self.type.layout or ""), where)
        return made

    def __iter__(self) -> Iterator[TensorCPU]:
        return (self._tensor(index) for index in range(len(self)))

    def as_cpu(self) -> TensorListCPU:
        return self

    def is_dense_tensor(self) -> bool:
        """Whether all samples have one shape."""
        return self.geometry.uniform

    def as_tensor(self) -> TensorCPU:
        """One tensor with a leading axis N. Raises OperatorValueError for a ragged batch."""
        with blaming("TensorListCPU.as_tensor"):
            array = self.as_array()
        return TensorCPU(array, "N" + self.layout if self.layout else None)

    def as_reshaped_tensor(self, new_shape: Sequence[int]) -> TensorCPU:
        """One tensor of the given shape. Raises OperatorValueError if it does not fit."""
        with blaming("TensorListCPU.as_reshaped_tensor"):
            array = self.as_array()
            try:
                return TensorCPU(array.reshape([int(extent) for extent in new_shape]))
            except (ValueError, TypeError):
                raise OperatorValueError(
                    argument="new_shape",
                    expected=f"{array.size} elements in all",
                    got=describe(new_shape),
                ) from None

    def data_ptr(self) -> int:
        """The address of the first element of a dense batch."""
        with blaming("TensorListCPU.data_ptr"):
            if not self.geometry.dense:
                raise OperatorValueError(
                    "the samples do not follow each other in memory; use as_tensor()"
                )
        return int(self.data.ctypes.data)

    def copy_to_external(self, ptr: Any) -> None:
        """Copy the elements of all samples, one after the other, to an address."""
        flat = [array.reshape(-1) for array in self.arrays()]
        _copy_out(np.concatenate(flat) if flat else self.data[:0], ptr)

    def set_layout(self, layout: str | None) -> None:
        """Give the axes other letters. Raises OperatorValueError."""
        text = _checked("TensorListCPU.set_layout", layout, self.geometry.ndim)
        self.type = self.type.with_(layout=str(text))

    def reinterpret(self, new_type: DTypeLike) -> None:
        """Read the same bytes as elements of another type of the same size."""
        wanted = _of_size(new_type, self.data.dtype.itemsize)
        self.data = self.data.view(wanted)
        self.type = self.type.with_(dtype=DType.from_numpy(wanted))

    def reset(self) -> None:
        """Let go of the samples: the list is empty afterwards."""
        with blaming("TensorListCPU.reset"):
            self._take(batch_on([], self.dtype, layout=str(self.layout)))

    @staticmethod
    def from_dlpack_list(
        list_of_objects: Sequence[Any],
        layout: str | None = None,
        contiguous: bool = False,  # noqa: ARG004  it always is
    ) -> TensorListCPU:
        """A list of samples from objects with `__dlpack__`."""
        return TensorListCPU([np.from_dlpack(item) for item in list_of_objects], layout)


def _checked(operator: str, layout: str | None, ndim: int) -> _Text:
    try:
        return _Text(check_layout(layout or "", ndim))
    except (TypeError, ValueError) as error:
        raise OperatorValueError(str(error), operator=operator, argument="layout") from None


def _of_size(wanted: DTypeLike, size: int) -> np.dtype[Any]:
    dtype = DType.of(wanted).numpy
    if dtype.itemsize != size:
        raise OperatorValueError(
            operator="reinterpret",
            argument="new_type",
            expected=f"a type of {size} bytes",
            got=f"{dtype}, of {dtype.itemsize}",
        )
    return dtype


def _copy_out(array: np.ndarray[Any, Any], ptr: Any) -> None:
    address = getattr(ptr, "value", ptr)
    if isinstance(ptr, ctypes._Pointer):
        address = ctypes.cast(ptr, ctypes.c_void_p).value
    if not isinstance(address, int) or address == 0:
        raise OperatorTypeError(
            operator="copy_to_external", argument="ptr", expected="an address", got=describe(ptr)
        )
    source = np.ascontiguousarray(array)
    ctypes.memmove(address, source.ctypes.data, source.nbytes)


class _OnGPU:
    """A class of values on a GPU: it exists, so that `isinstance` can be asked."""

    def __init__(self, *args: Any, **options: Any) -> None:
        require_device(Device("gpu"))


class TensorGPU(_OnGPU):
    """One sample in the memory of a GPU; this version makes none."""


class TensorListGPU(_OnGPU):
    """A batch in the memory of a GPU; this version makes none."""
