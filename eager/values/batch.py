"""A batch: N samples of one type in one slab of memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from gradiva.eager.cuda.cupy_runtime import gpu_of
from gradiva.eager.runtime.host_memory import allocate
from gradiva.eager.support.errors import (
    OperatorTypeError,
    OperatorValueError,
    annotate_error,
    user_location,
)
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.types.device import CPU, Device, DeviceLike, check_device
from gradiva.eager.types.device import device as to_device
from gradiva.eager.types.dtypes import DType, DTypeLike
from gradiva.eager.types.provenance import Provenance
from gradiva.eager.types.sample_type import SampleType

from .buffers import check_on_host, device_of, moved, stacked
from .collate import BatchFields, converted, from_array, from_samples, repeated
from .device_value import DeviceValue
from .indexing import chosen_samples, sample_number
from .interop import ArrayLike, SupportsDLPack, in_low_corners, is_array
from .random_origin import EagerRandomOrigin, random_origin_among
from .shown import to_html, to_text
from .tensor import Tensor, array_of, as_torch

if TYPE_CHECKING:
    import torch
    from typing_extensions import Self

ONE_SHAPE = "samples of one shape"
"""What an error expects where the samples of a batch are to become one array."""


class Batch(DeviceValue):
    """N samples of one dtype, rank and layout; their shapes may differ (a ragged batch).

    Make one with `batch` (copies) or `as_batch` (does not, where it can); `Batch(...)` is as
    `as_batch`. data: 1-D array (or DeviceArray), the slab with all samples; batch_shape: shapes and
    places in it; provenance: files and positions of samples, where known; valid: of a batch that
    has lost samples (`on_error="skip"`), which of the samples of its step it holds, until it
    reaches the user; None for all.
    """

    __slots__ = ("__weakref__", "batch_shape", "data", "provenance", "type", "valid")

    def __init__(
        self,
        tensors: Iterable[ArrayLike] | SupportsDLPack,
        dtype: DTypeLike | None = None,
        device: DeviceLike | None = None,
        layout: str | None = None,
        copy: bool = False,
    ) -> None:
        """As `as_batch`; with `copy`, as `batch`."""
        with annotate_error("Batch"):
            made = batch_on(tensors, dtype, device, layout)
            if copy and _is_shared(made, tensors):
                made = made.to_device(made.device, force_copy=True)
        self._hold(made.data, made.batch_shape, made.type, made.provenance, made.drawn_at)

    def _hold(
        self,
        data: np.ndarray[Any, Any],
        batch_shape: BatchShape,
        type: SampleType,
        provenance: Provenance | None,
        drawn_at: EagerRandomOrigin,
    ) -> None:
        self.data = data
        self.batch_shape = batch_shape
        self.type = type
        self.provenance = provenance
        self.drawn_at = drawn_at
        self.valid: np.ndarray[Any, np.dtype[np.bool_]] | None = None

    @classmethod
    def over(
        cls,
        data: np.ndarray[Any, Any],
        batch_shape: BatchShape,
        type: SampleType,
        provenance: Provenance | None = None,
        drawn_at: EagerRandomOrigin = None,
    ) -> Self:
        """The batch of the samples that lie in `data`, 1-D, as `batch_shape` says: the slab is
        taken as it is. provenance: files and positions of samples, where known."""
        made = cls.__new__(cls)
        made._hold(data, batch_shape, type, provenance, drawn_at)
        return made

    @property
    def geometry(self) -> BatchShape:
        """The older name of `batch_shape`, for operators outside of gradiva."""
        return self.batch_shape

    @staticmethod
    def empty(
        batch_shape: BatchShape,
        type: SampleType,
        provenance: Provenance | None = None,
        device: Device = CPU,
    ) -> Batch:
        """A batch whose samples are not initialized. Raises MemoryError."""
        assert type.dtype is not None
        dtype: np.dtype[Any] = type.dtype.numpy
        data: Any
        if device.device_type == "cpu":
            data = allocate(batch_shape.size, dtype)
        else:
            type = type.with_(device="gpu")
            data = gpu_of(device).empty(batch_shape.size, dtype)
        return Batch.over(data, batch_shape, type, provenance)

    @staticmethod
    def broadcast(
        sample: ArrayLike,
        batch_size: int,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> Batch:
        """`batch_size` samples that all are `sample`, without copies.

        Raises OperatorTypeError for a batch, OperatorValueError for a negative number.
        """
        where = check_device(to_device(device or CPU))
        if isinstance(sample, Batch):
            raise OperatorTypeError(argument="sample", expected="one sample", got="a Batch")
        return Batch.over(*repeated(sample, batch_size, dtype)).to_device(where)

    @property
    def batch_size(self) -> int:
        return len(self.batch_shape)

    def __len__(self) -> int:
        return len(self.batch_shape.offsets)

    @property
    def device(self) -> Device:
        """The device of the elements."""
        data: Any = self.data
        return CPU if isinstance(data, np.ndarray) else data.device

    @property
    def dtype(self) -> DType:
        assert self.type.dtype is not None
        return self.type.dtype

    @property
    def ndim(self) -> int:
        return self.batch_shape.ndim

    @property
    def layout(self) -> str:
        return self.type.layout or ""

    @property
    def _memory(self) -> Any:
        return self.data

    @property
    def shape(self) -> list[tuple[int, ...]]:
        """The shape of each sample."""
        return [tuple(shape) for shape in self.batch_shape.shapes.tolist()]

    @property
    def nbytes(self) -> int:
        """Bytes of all samples, without padding between them."""
        return int(self.batch_shape.volumes.sum()) * self.dtype.itemsize

    @property
    def positions(self) -> np.ndarray[Any, np.dtype[np.int64]] | None:
        """The place of each sample in its source's endless stream, or None."""
        return self.provenance.positions if self.provenance else None

    @property
    def indices(self) -> np.ndarray[Any, np.dtype[np.int64]] | None:
        """The number of each sample in the data set of its reader, or None."""
        return self.provenance.indices if self.provenance else None

    def source_info(self) -> list[str]:
        """The file or key of each sample (the empty string where there is none)."""
        where = self.provenance
        return [(where.name(i) if where else None) or "" for i in range(len(self))]

    def array(self, sample: int) -> np.ndarray[Any, Any]:
        """A view on one sample."""
        offset = int(self.batch_shape.offsets[sample])
        shape = self.batch_shape.shape(sample)
        volume = 1
        for extent in shape:
            volume *= extent
        return self.data[offset : offset + volume].reshape(shape)

    def arrays(self) -> list[np.ndarray[Any, Any]]:
        """Views on all samples."""
        return self.batch_shape.views(self.data)

    def at(self, sample: int) -> np.ndarray[Any, Any]:
        """One sample as a NumPy array, without a copy. Raises IndexError."""
        return self.array(sample_number(sample, len(self)))

    @overload
    def select(self, sample_range: int) -> Tensor: ...
    @overload
    def select(self, sample_range: slice | Sequence[int]) -> Batch: ...
    def select(self, sample_range: Any) -> Batch | Tensor:
        """One sample (an integer) as a Tensor, or several (a slice, `...`, a list of numbers or a
        mask) as a Batch; negative numbers count from the end. The memory stays where it is.

        Raises IndexError for samples that are not there, OperatorTypeError for other subscripts.
        """
        if sample_range is ...:
            return self
        chosen, drawn = (
            chosen_samples(sample_range, len(self)),
            random_origin_among((self, sample_range)),
        )
        if isinstance(chosen, int):
            return self._tensor(chosen, drawn)
        where = self.provenance.select(chosen) if self.provenance else None
        return Batch.over(self.data, self.batch_shape.select(chosen), self.type, where, drawn)

    def __getitem__(self, ranges: Any) -> Any:
        """A batch is not subscripted itself: samples or parts of samples could be meant."""
        raise OperatorTypeError(
            "a batch takes no subscript: batch.at(i) or batch.tensors[i] is one sample, "
            "batch.select(...) takes some of them, batch.slice[...] a part of each",
            location=user_location(),
        )

    @property
    def tensors(self) -> Sequence[Tensor]:
        """The samples, as a sequence of Tensors on the batch's memory."""
        return [self._tensor(index) for index in range(len(self))]

    def _tensor(self, index: int, drawn_at: EagerRandomOrigin = None) -> Tensor:
        where = self.provenance.select([index]) if self.provenance else None
        return Tensor.over(self.array(index), self.layout, where, drawn_at or self.drawn_at)

    def __iter__(self) -> Iterator[Tensor]:
        return (self._tensor(index) for index in range(len(self)))

    def evaluate(self) -> Batch:
        """Return the batch itself: a batch of eager mode has been computed already."""
        return self

    as_cpu = DeviceValue.cpu

    def to_device(self, device: DeviceLike, force_copy: bool = False) -> Self:
        """The batch on `device`, a copy with `force_copy`. Raises OperatorRuntimeError."""
        data = moved(self.data, to_device(device), force_copy)
        if data is self.data:
            return self
        type = self.type.with_(device=device_of(data).device_type)
        return Batch.over(data, self.batch_shape, type, self.provenance, self.drawn_at)  # type: ignore[return-value]

    def as_array(self) -> np.ndarray[Any, Any]:
        """All samples as one array with a leading batch axis: a view if the batch is dense. Of a
        batch on a GPU, a DeviceArray.

        Raises OperatorValueError if the shapes differ: use `tensors`, or `padded()`.
        """
        shapes = self.batch_shape.shapes
        count = len(self)
        if not self.batch_shape.uniform:
            raise OperatorValueError(
                "the samples of this batch have different shapes, so they are not one array; "
                "resize them to one size, or use batch.tensors, batch.at(i), batch.padded() or "
                "batch.torch(pad=True)",
                expected=ONE_SHAPE,
                got=_two_shapes(shapes),
            )
        shape = (count, *(shapes[0].tolist() if count else [0] * self.ndim))
        if self.batch_shape.dense:
            return self.data[: self.batch_shape.size].reshape(shape)
        whole: np.ndarray[Any, Any] = stacked([self.array(i) for i in range(count)], self.data)
        return whole.reshape(shape)

    def numpy(self, pad: bool = False) -> np.ndarray[Any, Any]:
        """All samples as one NumPy array with a leading batch axis, as `np.asarray(batch)` is: a
        view if the batch is dense. pad: fill samples up to the largest, with 0.

        Raises OperatorValueError if the shapes differ and `pad` was not given, OperatorTypeError
        for a batch on a GPU: take `.cpu()` of it.
        """
        return self.padded() if pad else np.asarray(self)

    def padded(self, fill: float = 0) -> np.ndarray[Any, Any]:
        """One array that holds every sample in its low corner, the rest being `fill`. On a GPU
        the operator `pad` does that: raises OperatorTypeError."""
        if self.batch_shape.uniform or not len(self):
            return self.as_array()
        return in_low_corners(check_on_host(self, self.data).arrays(), fill)

    def torch(self, copy: bool | None = None, pad: bool = False) -> torch.Tensor:
        """One torch tensor with a leading batch axis, on the same memory if the batch is dense.

        copy: True for memory of its own, False for an error if the memory cannot be shared. pad:
        fill samples up to the largest, with 0. Raises OperatorValueError.
        """
        array = self.padded() if pad else self.as_array()
        if self.device is not CPU:
            return as_torch(array, bool(copy))
        made = not np.may_share_memory(array, self.data) and array.size > 0
        if copy is False and (made or not array.flags.writeable):
            raise OperatorValueError(
                "this batch is not one array that torch can share; leave out `copy`",
                argument="copy",
            )
        return as_torch(array, bool(copy) and not made)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False and not self.batch_shape.dense:
            raise ValueError("the samples of this batch become one array by a copy only")
        return array_of(check_on_host(self, self.data).as_array(), dtype, copy)

    def _whole(self) -> Any:
        return self.as_array()

    def _reduced(self, name: str, axis: Any, out: Any, keepdims: bool, where: Any) -> Any:
        plain = axis is None and out is None and not keepdims and where is True
        if plain and not self.batch_shape.uniform:
            found = [getattr(array, name)() for array in self.cpu().arrays()]
            return getattr(np.array(found), name)()
        return super()._reduced(name, axis, out, keepdims, where)

    def __bool__(self) -> bool:
        raise TypeError(
            "a batch is neither true nor false; look at its samples, or len(batch). `if` chooses "
            "for each sample in a pipeline alone (pipeline_def(enable_conditionals=True)); "
            "elsewhere compute both values, and choose by `mask * a + (mask == 0) * b`"
            f"\n  at {user_location()}"
        )

    def __repr__(self) -> str:
        return to_text.get()(self)

    def _repr_html_(self) -> str:
        return to_html.get()(self)


def _two_shapes(shapes: np.ndarray[Any, Any]) -> str:
    """The shape of the first sample, and of the first one that has another."""
    other = int((shapes != shapes[0]).any(axis=1).argmax())
    first, second = (tuple(shapes[index].tolist()) for index in (0, other))
    return f"{first} (sample 0) and {second} (sample {other})"


def batch(
    tensors: Iterable[ArrayLike] | SupportsDLPack,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    layout: str | None = None,
) -> Batch:
    """A Batch with a copy of the samples.

    tensors: an iterable of arrays, one per sample, of equal dtype and rank; or one array whose
    first axis is the batch. dtype: element type to convert to, as `cast` does. layout: of a sample,
    such as "HWC". Raises OperatorTypeError or OperatorValueError, naming the sample.
    """
    with annotate_error("batch"):
        made = batch_on(tensors, dtype, device, layout)
        shared = _is_shared(made, tensors)
        return made.to_device(made.device, force_copy=True) if shared else made


def _is_shared(made: Batch, given: Any) -> bool:
    """Whether a batch shares the memory that it was made from."""
    return made.data is given.data if isinstance(given, Batch) else is_array(given)


def as_batch(
    tensors: Iterable[ArrayLike] | SupportsDLPack,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    layout: str | None = None,
) -> Batch:
    """Like `batch`, but one array, tensor or batch is used where it is, without a copy."""
    with annotate_error("as_batch"):
        return batch_on(tensors, dtype, device, layout)


def batch_on(
    tensors: Iterable[ArrayLike] | SupportsDLPack,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    layout: str | None = None,
) -> Batch:
    """`as_batch` for callers that report errors themselves."""
    where = None if device is None else check_device(to_device(device))
    if isinstance(tensors, Batch):
        parts = BatchFields.of(tensors)
        made = converted(parts, dtype, layout)
        found = tensors if made is parts else Batch.over(*made)
    elif is_array(tensors):
        if layout is None and isinstance(tensors, Tensor):
            layout = tensors.layout[1:]  # the first axis becomes the batch
        found = Batch.over(*from_array(tensors, dtype, layout))
    else:
        found = Batch.over(*from_samples(tensors, dtype, layout))
    return found if where is None else found.to_device(where)
