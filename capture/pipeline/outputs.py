"""Outputs of pipelines: a Batch and a Tensor with the methods of pipeline mode, in host memory and
in the memory of a GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradiva.eager.contexts.stream import device_stream
from gradiva.eager.support.errors import annotate_error, describe, wrong_type
from gradiva.eager.types.bfloat16 import is_bfloat16
from gradiva.eager.types.device import CPU, check_device
from gradiva.eager.values.batch import Batch, batch_on
from gradiva.eager.values.buffers import gpu_named, on_cpu
from gradiva.eager.values.poison import poison
from gradiva.eager.values.tensor import tensor_on

from .pipeline_tensor import PipelineBatch, PipelineTensor


class TensorCPU(PipelineTensor):
    """One sample in host memory. `shape`, `layout` and `ndim` are values and may be called.

    data: an array, or an object with DLPack, used where it is; layout: one letter per axis.
    Raises OperatorTypeError or OperatorValueError.
    """

    __slots__ = ()

    def __init__(self, data: Any, layout: str | None = None, is_pinned: bool = False) -> None:
        with annotate_error("TensorCPU"):
            given = tensor_on(data, layout=layout)
        self._take(np.asarray(given), given.layout, given.provenance, given.drawn_at)

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


class TensorListCPU(PipelineBatch[TensorCPU]):
    """A batch in host memory. `shape`, `layout` and `ndim` are values and may be called.

    data: an array whose first axis is the batch, a list of arrays or TensorCPU, a Batch, or an
    object with DLPack; layout: of a sample. Raises OperatorTypeError or OperatorValueError.
    """

    __slots__ = ()
    _sample = TensorCPU

    def __init__(
        self, data: Any, layout: str | None = None, is_pinned: bool = False, contiguous: bool = True
    ) -> None:
        with annotate_error("TensorListCPU"):
            self._take(batch_on(data, layout=layout))

    @staticmethod
    def of(batch: Batch) -> TensorListCPU:
        """The same samples, as a pipeline returns them."""
        made = TensorListCPU.__new__(TensorListCPU)
        made._take(batch)
        return made

    def as_cpu(self) -> TensorListCPU:
        return self

    def data_ptr(self) -> int:
        """The address of the first element of a dense batch."""
        self._check_dense()
        return int(self.data.ctypes.data)

    def copy_to_external(self, ptr: Any) -> None:
        """Copy the elements of all samples, one after the other, to an address."""
        flat = [array.reshape(-1) for array in self.arrays()]
        _copy_out(np.concatenate(flat) if flat else self.data[:0], ptr)

    @staticmethod
    def from_dlpack_list(
        list_of_objects: Sequence[Any],
        layout: str | None = None,
        contiguous: bool = False,  # noqa: ARG004  it always is
    ) -> TensorListCPU:
        """A list of samples from objects with `__dlpack__`."""
        return TensorListCPU([np.from_dlpack(item) for item in list_of_objects], layout)


class TensorGPU(PipelineTensor):
    """One sample in the memory of a GPU; see TensorCPU.

    data: an object with `__cuda_array_interface__` or DLPack on a GPU, used where it is; what is in
    host memory is copied to the current GPU. Raises OperatorRuntimeError if there is no GPU,
    OperatorTypeError or OperatorValueError.
    """

    __slots__ = ()

    def __init__(self, data: Any, layout: str | None = None) -> None:
        with annotate_error("TensorGPU"):
            check_device(gpu_named(CPU, None))
            given = tensor_on(data, layout=layout).gpu()
        self._take(given._array, given.layout, given.provenance, given.drawn_at)

    def as_cpu(self) -> TensorCPU:
        """A copy in host memory. Waits for the GPU."""
        made = TensorCPU.__new__(TensorCPU)
        made._take(self._host, self.layout, self.provenance, self.drawn_at)
        return made

    def data_ptr(self) -> int:
        """The address of the first element, in the GPU's memory."""
        return int(self._memory.address)

    def copy_to_external(
        self,
        ptr: Any,
        cuda_stream: Any = None,
        non_blocking: bool = False,
        use_copy_kernel: bool = False,
    ) -> None:
        """Copy the elements to an address in the GPU's memory, an integer or a pointer of ctypes:
        on a stream (by default the current one), for which this waits unless `non_blocking`.
        use_copy_kernel: accepted; the device's own copies are used."""
        _copy_on_gpu([self._array], ptr, cuda_stream, non_blocking)


class TensorListGPU(PipelineBatch[TensorGPU]):
    """A batch in the memory of a GPU; see TensorListCPU and TensorGPU."""

    __slots__ = ()
    _sample = TensorGPU

    def __init__(self, data: Any, layout: str | None = None, contiguous: bool = True) -> None:
        with annotate_error("TensorListGPU"):
            check_device(gpu_named(CPU, None))
            self._take(batch_on(data, layout=layout).gpu())

    @staticmethod
    def of(batch: Batch) -> TensorListGPU:
        """The same samples, as a pipeline returns them."""
        made = TensorListGPU.__new__(TensorListGPU)
        made._take(batch)
        return made

    def as_cpu(self) -> TensorListCPU:  # type: ignore[override]
        """A copy in host memory. Waits for the GPU."""
        return TensorListCPU.of(self.to_device(CPU))

    def data_ptr(self) -> int:
        """The address of the first element of a dense batch, in the GPU's memory."""
        self._check_dense()
        return int(self.data.address)  # type: ignore[attr-defined]

    def copy_to_external(
        self,
        ptr: Any,
        cuda_stream: Any = None,
        non_blocking: bool = False,
        use_copy_kernel: bool = False,
    ) -> None:
        """Copy the elements of all samples, one after the other, to an address in the GPU's memory;
        see TensorGPU."""
        whole = [self.data[: self.batch_shape.size]] if self.batch_shape.dense else self.arrays()
        _copy_on_gpu(whole, ptr, cuda_stream, non_blocking)

    @staticmethod
    def from_dlpack_list(
        list_of_objects: Sequence[Any],
        layout: str | None = None,
        contiguous: bool = False,  # noqa: ARG004  it always is
    ) -> TensorListGPU:
        """A list of samples from objects with `__dlpack__`."""
        return TensorListGPU(list(list_of_objects), layout)


Outputs = tuple[TensorListCPU | TensorListGPU, ...]
"""What a run returns: a batch of each output."""


def to_output(batch: Batch) -> TensorListCPU | TensorListGPU:
    """A batch as a run returns it."""
    return TensorListCPU.of(batch) if on_cpu(batch.data) else TensorListGPU.of(batch)


def release(outputs: Outputs) -> None:
    """These outputs are no longer in use: with `poison`, their memory is overwritten."""
    for batch in outputs:
        poison(batch)


def _address(ptr: Any) -> int:
    address = getattr(ptr, "value", ptr)
    if isinstance(ptr, ctypes._Pointer):
        address = ctypes.cast(ptr, ctypes.c_void_p).value
    if not isinstance(address, int) or address == 0:
        raise wrong_type("ptr", "an address", describe(ptr), operator="copy_to_external")
    return address


def _copy_out(array: np.ndarray[Any, Any], ptr: Any) -> None:
    source = np.ascontiguousarray(array)
    ctypes.memmove(_address(ptr), source.ctypes.data, source.nbytes)


def _copy_on_gpu(arrays: Sequence[Any], ptr: Any, cuda_stream: Any, non_blocking: bool) -> None:
    address = _address(ptr)
    for array in arrays:
        gpu = array.block.stream.gpu
        stream = (
            gpu.stream if cuda_stream is None else device_stream(cuda_stream, gpu.runtime.number)
        )
        gpu.runtime.activate()
        array.block.use(stream)
        if array.nbytes:
            gpu.runtime.copy(address, array.address, array.nbytes, stream.handle)
        address += array.nbytes
    if arrays and not non_blocking:
        stream.synchronize()
