"""Element types, image types and interpolation types, under the names users know."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

__all__ = [
    "DALIDataType",
    "DType",
    "DTypeLike",
    "ImageType",
    "InterpType",
    "OtherType",
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

    @property
    def value(self) -> int:
        """The number of the type in serialized pipelines, as of a member of an enumeration."""
        return self.id

    def __int__(self) -> int:
        return self.id

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


class OtherType(enum.IntEnum):
    """Types of arguments and of what is no number, under the names of the pipeline API."""

    NO_TYPE = -1
    STRING = 12
    FEATURE = 17
    IMAGE_TYPE = 20
    DATA_TYPE = 21
    INTERP_TYPE = 22
    TENSOR_LAYOUT = 23
    PYTHON_OBJECT = 24


class _Types(type):
    """What makes DALIDataType look like an enumeration of DType objects and of OtherType."""

    __members__: dict[str, DType | OtherType]

    def __call__(cls, number: Any) -> Any:
        """The type with this number, or named by this type. Raises ValueError."""
        for member in cls.__members__.values():
            if member is number or member.value == number:
                return member
        raise ValueError(f"no type has the number {number!r}")

    def __getitem__(cls, name: str) -> DType | OtherType:
        return cls.__members__[name]

    def __iter__(cls) -> Iterator[DType | OtherType]:
        return iter(cls.__members__.values())

    def __len__(cls) -> int:
        return len(cls.__members__)

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, DType | OtherType)


class DALIDataType(metaclass=_Types):
    """Types under the names of the pipeline API; element types are `DType` objects.

    DALIDataType(9), DALIDataType["FLOAT"], iteration and `__members__` work as for enumerations.
    """

    UINT8, UINT16, UINT32, UINT64 = uint8, uint16, uint32, uint64
    INT8, INT16, INT32, INT64 = int8, int16, int32, int64
    FLOAT16, FLOAT, FLOAT64, BOOL = float16, float32, float64, bool_
    NO_TYPE, STRING, FEATURE = OtherType.NO_TYPE, OtherType.STRING, OtherType.FEATURE
    IMAGE_TYPE, DATA_TYPE = OtherType.IMAGE_TYPE, OtherType.DATA_TYPE
    INTERP_TYPE, TENSOR_LAYOUT = OtherType.INTERP_TYPE, OtherType.TENSOR_LAYOUT
    PYTHON_OBJECT = OtherType.PYTHON_OBJECT


DALIDataType.__members__ = {
    name: value
    for name, value in vars(DALIDataType).items()
    if isinstance(value, DType | OtherType)
}


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
