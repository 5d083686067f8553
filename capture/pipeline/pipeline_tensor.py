"""`PipelineTensor` and `PipelineBatch`: the common part of outputs on the CPU and on a GPU.

In pipeline mode `shape()`, `layout()` and `ndim()` are calls, in dynamic mode they are properties.
Here they are both: a list, string or number that returns itself when it is called.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import numpy as np

from gradiva.eager.support.errors import (
    OperatorValueError,
    annotate_error,
    describe,
    wrong_type,
    wrong_value,
)
from gradiva.eager.support.layouts import as_layout
from gradiva.eager.types.dtypes import DType, DTypeLike
from gradiva.eager.types.provenance import Provenance
from gradiva.eager.values.batch import Batch, batch_on
from gradiva.eager.values.indexing import sample_number
from gradiva.eager.values.random_origin import EagerRandomOrigin
from gradiva.eager.values.tensor import Tensor

__all__ = ["PipelineBatch", "PipelineTensor", "Text"]

T = TypeVar("T", bound="PipelineTensor")


class Text(str):
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


class PipelineTensor(Tensor):
    """One sample of an output."""

    __slots__ = ()

    layout: Text

    def _take(
        self,
        array: Any,
        layout: str,
        provenance: Provenance | None,
        drawn_at: EagerRandomOrigin = None,
    ) -> None:
        self._hold(array, Text(layout), provenance, drawn_at)

    @property
    def shape(self) -> _Shape:
        return _Shape(self._array.shape)

    @property
    def ndim(self) -> _Number:
        return _Number(self._array.ndim)

    def get_property(self, key: str) -> str | None:
        """`layout`, or `source_info`: None if the sample has none."""
        if key not in ("layout", "source_info"):
            raise wrong_value(
                "key",
                "'layout' or 'source_info'",
                describe(key),
                operator=f"{type(self).__name__}.get_property",
            )
        return (str(self.layout) if key == "layout" else self.source_info()) or None

    def set_layout(self, layout: str | None) -> None:
        """Change the layout. Raises OperatorValueError."""
        self.layout = _checked(f"{type(self).__name__}.set_layout", layout, self._array.ndim)

    def reinterpret(self, new_type: DTypeLike) -> None:
        """Reinterpret the bytes as elements of another type of the same size."""
        self._array = self._array.view(_of_size(new_type, self._array.dtype.itemsize))

    def squeeze(self, dim: int | None = None) -> bool:
        """Drop axes of extent 1: all of them, or `dim`. Returns whether there were any."""
        shape = tuple(self._array.shape)
        axes = range(len(shape)) if dim is None else [dim % max(1, len(shape))]
        gone = {axis for axis in axes if shape[axis] == 1}
        letters = [letter for axis, letter in enumerate(self.layout) if axis not in gone]
        left = tuple(extent for axis, extent in enumerate(shape) if axis not in gone)
        self._array = self._array.reshape(left)
        self.layout = Text("".join(letters))
        return bool(gone)


class PipelineBatch(Batch, Generic[T]):
    """A batch of an output."""

    __slots__ = ()

    _sample: type[T]

    def _take(self, batch: Batch) -> None:
        self._hold(batch.data, batch.batch_shape, batch.type, batch.provenance, batch.drawn_at)

    @property
    def shape(self) -> _Shapes:
        return _Shapes(super().shape)

    @property
    def layout(self) -> Text:
        return Text(self.type.layout or "")

    @property
    def ndim(self) -> _Number:
        return _Number(self.batch_shape.ndim)

    def __getitem__(self, index: Any) -> T:
        """A sample, on the same memory. Raises IndexError."""
        if isinstance(index, bool) or not hasattr(index, "__index__"):
            raise wrong_type(
                "", "the number of a sample", describe(index), operator=type(self).__name__
            )
        return self._tensor(sample_number(int(index), len(self)))

    def _tensor(self, index: int, drawn_at: EagerRandomOrigin = None) -> T:
        where: Provenance | None = self.provenance.select([index]) if self.provenance else None
        return self._made(self.array(index), self.type.layout or "", where, drawn_at)

    def _made(
        self,
        array: Any,
        layout: str,
        where: Provenance | None = None,
        drawn_at: EagerRandomOrigin = None,
    ) -> T:
        made = self._sample.__new__(self._sample)
        made._take(array, layout, where, drawn_at or self.drawn_at)
        return made

    def __iter__(self) -> Iterator[T]:
        return (self._tensor(index) for index in range(len(self)))

    def is_dense_tensor(self) -> bool:
        """Whether all samples have one shape."""
        return self.batch_shape.uniform

    def as_tensor(self) -> T:
        """One tensor with a leading axis N. Raises OperatorValueError for a ragged batch."""
        with annotate_error(f"{type(self).__name__}.as_tensor"):
            array = self.as_array()
        return self._made(array, "N" + self.layout if self.layout else "")

    def as_reshaped_tensor(self, new_shape: Any) -> T:
        """One tensor of the given shape. Raises OperatorValueError if it does not fit."""
        with annotate_error(f"{type(self).__name__}.as_reshaped_tensor"):
            array = self.as_array()
            try:
                return self._made(array.reshape(tuple(int(extent) for extent in new_shape)), "")
            except (ValueError, TypeError):
                raise wrong_value(
                    "new_shape", f"{array.size} elements in all", describe(new_shape)
                ) from None

    def _check_dense(self) -> None:
        with annotate_error(f"{type(self).__name__}.data_ptr"):
            if not self.batch_shape.dense:
                raise OperatorValueError(
                    "the samples do not follow each other in memory; use as_tensor()"
                )

    def set_layout(self, layout: str | None) -> None:
        """Change the layout. Raises OperatorValueError."""
        text = _checked(f"{type(self).__name__}.set_layout", layout, self.batch_shape.ndim)
        self.type = self.type.with_(layout=str(text))

    def reinterpret(self, new_type: DTypeLike) -> None:
        """Reinterpret the bytes as elements of another type of the same size."""
        wanted = _of_size(new_type, self.data.dtype.itemsize)
        self.data = self.data.view(wanted)
        self.type = self.type.with_(dtype=DType.from_numpy(wanted))

    def reset(self) -> None:
        """Drop the samples: the list is empty afterwards."""
        with annotate_error(f"{type(self).__name__}.reset"):
            empty = batch_on([], self.dtype, layout=str(self.layout))
            self._take(empty.to_device(self.device))


def _checked(operator: str, layout: str | None, ndim: int) -> Text:
    try:
        return Text(as_layout(layout or "", ndim))
    except (TypeError, ValueError) as error:
        raise OperatorValueError(str(error), operator=operator, argument="layout") from None


def _of_size(wanted: DTypeLike, size: int) -> np.dtype[Any]:
    dtype = DType.of(wanted).numpy
    if dtype.itemsize != size:
        raise wrong_value(
            "new_type",
            f"a type of {size} bytes",
            f"{dtype}, of {dtype.itemsize}",
            operator="reinterpret",
        )
    return dtype
