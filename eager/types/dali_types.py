"""Types under the names of the pipeline API: `types.FLOAT`, `types.DALIDataType["FLOAT"]`."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

from .dtypes import (
    DType,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)


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
