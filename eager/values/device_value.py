"""The common part of batches and tensors: a device, and the protocols for sharing memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, SupportsInt

import numpy as np

from gradiva.eager.support.errors import Location
from gradiva.eager.types.device import CPU, Device, DeviceLike

from .buffers import (
    capsule_of,
    cuda_interface,
    device_of,
    dlpack_device,
    gpu_named,
    host_capsule_of,
    on_cpu,
)
from .value import Value

if TYPE_CHECKING:
    from typing_extensions import Self


class DeviceValue(Value):
    """A value in memory. Batch and Tensor say which memory, and what it is as one array.

    drawn_at: the user's line where random values that it depends on were drawn, None if there are
    none (see `drawn`).
    """

    __slots__ = ("_exported", "drawn_at")

    drawn_at: Location | str | None

    @property
    def _memory(self) -> Any:
        raise NotImplementedError

    def _whole(self) -> Any:
        raise NotImplementedError

    def to_device(self, device: DeviceLike, force_copy: bool = False) -> Self:
        raise NotImplementedError

    @property
    def device(self) -> Device:
        """The device of the elements."""
        return device_of(self._memory)

    def cpu(self) -> Self:
        """The value in host memory, itself if it is there. Waits for the GPU."""
        return self.to_device(CPU)

    def gpu(self, index: int | None = None) -> Self:
        """The value on a GPU, itself if it is there. index: which GPU; by default the current
        one. Raises OperatorRuntimeError."""
        return self.to_device(gpu_named(self.device, index))

    def all(
        self, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
    ) -> Any:
        """Whether all elements are true, or all along `axis`, as `numpy.all` of the array; of a
        batch whose shapes differ, all of all samples. Waits for the GPU."""
        return self._reduced("all", axis, out, keepdims, where)

    def any(
        self, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
    ) -> Any:
        """Whether an element is true, or one along `axis`, as `numpy.any` of the array; of a
        batch whose shapes differ, one of all samples. Waits for the GPU."""
        return self._reduced("any", axis, out, keepdims, where)

    def _reduced(self, name: str, axis: Any, out: Any, keepdims: bool, where: Any) -> Any:
        # NumPy's functions of these names call the methods.
        array: Any = np.asarray(self.cpu())
        return getattr(array, name)(axis=axis, out=out, keepdims=keepdims, where=where)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """For a value on a GPU with one shape; raises AttributeError on the CPU."""
        if on_cpu(self._memory):
            return cuda_interface(self._memory)
        if getattr(self, "_exported", None) is None:
            # The user of the address keeps this value alive, not an array that was made for it.
            self._exported = self._whole()
        return cuda_interface(self._exported)

    def __dlpack__(self, stream: SupportsInt | None = None, **options: Any) -> Any:
        """A DLPack capsule on the same memory. stream: on a GPU, the one that the consumer will
        work on. Raises BufferError for another device than the value's (`dl_device`),
        OperatorValueError for a batch of different shapes."""
        array = self._whole()
        if not on_cpu(array):
            return capsule_of(array, stream, options)
        return host_capsule_of(array, options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack_device(self._memory)
