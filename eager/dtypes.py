"""Element types, image types and interpolation types, under the names users know."""

from __future__ import annotations

import enum
from typing import Any, TypeAlias

import numpy as np

__all__ = [
    "DALIDataType",
    "DType",
    "DTypeLike",
    "ImageType",
    "InterpType",
    "bool_",
    "dtypes",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]


class DType:
    """The type of one element: `name`, its NumPy dtype, the type id of the file format, range.

    There is one object per type, so `is` and `==` agree.
    """

    __slots__ = ("id", "is_float", "is_signed", "itemsize", "name", "numpy")

    def __init__(self, name: str, type_id: int, numpy: np.dtype[Any]) -> None:
        self.name = name
        self.id = type_id
        self.numpy = numpy
        self.itemsize = numpy.itemsize
        self.is_float = numpy.kind == "f"
        self.is_signed = numpy.kind in "fi"

    @property
    def is_integer(self) -> bool:
        return self.numpy.kind in "iu"

    @property
    def is_bool(self) -> bool:
        return self.numpy.kind == "b"

    @property
    def bits(self) -> int:
        return 8 * self.itemsize

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str | tuple[Any, ...]:
        return (DType.parse, (self.name,))

    @staticmethod
    def parse(name: str) -> DType:
        """The type called `name` ("uint8", "float32", "float", ...); raises ValueError."""
        try:
            return _BY_NAME[name.lower()]
        except KeyError:
            known = ", ".join(dtype.name for dtype in dtypes)
            raise ValueError(f"expected one of {known}, got {name!r}") from None

    @staticmethod
    def from_type_id(type_id: int) -> DType:
        """The type with the number `type_id` in serialized pipelines; raises ValueError."""
        for dtype in dtypes:
            if dtype.id == type_id:
                return dtype
        raise ValueError(f"no element type has the number {type_id}")

    @staticmethod
    def from_numpy(dtype: np.dtype[Any]) -> DType:
        """The type that a NumPy dtype stands for; raises TypeError."""
        found = _BY_NUMPY.get(dtype)
        if found is None:
            found = _BY_NUMPY.get(dtype.newbyteorder("="))
        if found is None:
            raise TypeError(f"expected a boolean, integer or float type, got {dtype}")
        return found

    @staticmethod
    def of(value: DTypeLike) -> DType:
        """The type that `value` names: a DType, a name, a NumPy dtype or scalar type, bool, int
        (int32) or float (float32). Raises TypeError or ValueError."""
        if isinstance(value, DType):
            return value
        if isinstance(value, np.dtype):
            return DType.from_numpy(value)
        if isinstance(value, str):
            return DType.parse(value)
        if value is float:
            return float32
        if value is int:
            return int32
        try:
            return DType.from_numpy(np.dtype(value))
        except TypeError:
            raise TypeError(f"expected an element type such as uint8, got {value!r}") from None


DTypeLike: TypeAlias = "DType | str | type | np.dtype[Any]"

uint8 = DType("uint8", 0, np.dtype(np.uint8))
uint16 = DType("uint16", 1, np.dtype(np.uint16))
uint32 = DType("uint32", 2, np.dtype(np.uint32))
uint64 = DType("uint64", 3, np.dtype(np.uint64))
int8 = DType("int8", 4, np.dtype(np.int8))
int16 = DType("int16", 5, np.dtype(np.int16))
int32 = DType("int32", 6, np.dtype(np.int32))
int64 = DType("int64", 7, np.dtype(np.int64))
float16 = DType("float16", 8, np.dtype(np.float16))
float32 = DType("float32", 9, np.dtype(np.float32))
float64 = DType("float64", 10, np.dtype(np.float64))
bool_ = DType("bool", 11, np.dtype(np.bool_))

dtypes = (
    uint8,
    uint16,
    uint32,
    uint64,
    int8,
    int16,
    int32,
    int64,
    float16,
    float32,
    float64,
    bool_,
)
_BY_NUMPY = {dtype.numpy: dtype for dtype in dtypes}
_BY_NAME = {dtype.name: dtype for dtype in dtypes}
_BY_NAME |= {"float": float32, "double": float64, "half": float16, "bool_": bool_, "int": int32}


class DALIDataType:
    """Element types under the names of the pipeline API; the members are `DType` objects."""

    UINT8, UINT16, UINT32, UINT64 = uint8, uint16, uint32, uint64
    INT8, INT16, INT32, INT64 = int8, int16, int32, int64
    FLOAT16, FLOAT, FLOAT64, BOOL = float16, float32, float64, bool_


class ImageType(enum.IntEnum):
    """Colour space and channel order of an image."""

    RGB = 0
    BGR = 1
    GRAY = 2
    YCbCr = 3
    ANY_DATA = 4


class InterpType(enum.IntEnum):
    """Interpolation filters of the resampling operators."""

    INTERP_NN = 0
    INTERP_LINEAR = 1
    INTERP_CUBIC = 2
    INTERP_LANCZOS3 = 3
    INTERP_TRIANGULAR = 4
    INTERP_GAUSSIAN = 5
