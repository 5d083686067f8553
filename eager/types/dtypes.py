"""Element types, image types and interpolation types, under the names users know."""

from __future__ import annotations

import enum
from typing import Any, TypeAlias

import numpy as np

from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.support.user_warning import warn_user

__all__ = [
    "DType",
    "DTypeLike",
    "ImageType",
    "InterpType",
    "bfloat16",
    "bool_",
    "dtype",
    "dtypes",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "type_id",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

ml_dtypes = lazy_module("ml_dtypes", "gradiva[bfloat16]")


class _Kind(enum.Enum):
    """What the bits of a type mean."""

    signed = 1
    unsigned = 2
    float = 3
    bool = 4
    enum = 5


_Kind.__name__, _Kind.__qualname__ = "Kind", "DType.Kind"  # as users call it
_KINDS = {"i": _Kind.signed, "u": _Kind.unsigned, "f": _Kind.float, "b": _Kind.bool}
_FLOAT_BITS = {2: (5, 10), 4: (8, 23), 8: (11, 52)}
"""Bits of the exponent and of the significand, by bytes."""


class DType:
    """The type of one element: `name`, `kind`, `bits`, its NumPy dtype, the id in stored files.

    exponent_bits, significand_bits: of floats, else None. There is one object per type, so `is`
    and `==` agree.
    """

    __slots__ = (
        "exponent_bits", "id", "is_float", "is_signed", "itemsize", "kind", "name", "numpy",
        "significand_bits",
    )  # fmt: skip

    Kind = _Kind

    def __init__(self, name: str, type_id: int, numpy: np.dtype[Any]) -> None:
        self.name = name
        self.id = type_id
        self.numpy = numpy
        self.itemsize = numpy.itemsize
        self.is_float = numpy.kind == "f"
        self.is_signed = numpy.kind in "fi"
        self.kind = _KINDS[numpy.kind]
        self.exponent_bits: int | None = None
        self.significand_bits: int | None = None
        if self.is_float:
            self.exponent_bits, self.significand_bits = _FLOAT_BITS[numpy.itemsize]

    @property
    def is_integer(self) -> bool:
        return self.kind in (_Kind.signed, _Kind.unsigned)

    @property
    def is_bool(self) -> bool:
        return self.kind is _Kind.bool

    @property
    def bytes(self) -> int:
        return self.itemsize

    @property
    def type_id(self) -> DType | None:
        """The type under its name in pipelines, which is this object; None if it has none."""
        return self

    @property
    def bits(self) -> int:
        return 8 * self.itemsize

    @property
    def value(self) -> int:
        """The number of the type in serialized pipelines, as of a member of an enumeration."""
        return self.id

    def __int__(self) -> int:
        return self.id

    def __call__(self) -> DType:
        """This type: old scripts call `dtype()` on outputs of pipelines. Warns at their line."""
        warn_user("`dtype` is no call: leave the parentheses out", DeprecationWarning)
        return self

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str | tuple[Any, ...]:
        return (DType.parse, (self.name,))

    @staticmethod
    def parse(name: str) -> DType:
        """The type called `name` ("uint8", "float32", "float", ...), or by its first letter and its
        bits ("u8", "i32", "f32", "bf16"); raises ValueError."""
        try:
            return _BY_NAME[name.lower()]
        except (KeyError, AttributeError):
            known = ", ".join(dtype.name for dtype in dtypes)
            raise ValueError(f"expected one of {known}, bfloat16, got {name!r}") from None

    @staticmethod
    def from_type_id(type_id: int | DType) -> DType:
        """The type that is called `type_id` in pipelines (types.UINT8, ...), or that has this
        number in stored ones; raises ValueError."""
        if isinstance(type_id, DType):
            return type_id
        for dtype in dtypes:
            if dtype.id == type_id:
                return dtype
        raise ValueError(f"no element type has the number {type_id}")

    @staticmethod
    def from_fw_type(numpy_type: Any) -> DType:
        """The type that a dtype or scalar type of NumPy, torch or JAX stands for, or bool, int
        (int32) or float (float32); raises TypeError."""
        if isinstance(numpy_type, str):
            raise TypeError(f"expected a type of a framework, got {numpy_type!r}; see DType.parse")
        return DType.of(numpy_type)

    @staticmethod
    def from_numpy(dtype: np.dtype[Any]) -> DType:
        """The type that a NumPy dtype stands for; raises TypeError."""
        found = _BY_NUMPY.get(dtype)
        if found is None:
            found = _BY_NUMPY.get(dtype.newbyteorder("="))
        if found is None and dtype.name == "bfloat16":
            return bfloat16
        if found is None:
            raise TypeError(f"expected a boolean, integer or float type, got {dtype}")
        return found

    @staticmethod
    def of(value: DTypeLike) -> DType:
        """The type that `value` names: a DType, a name, a dtype of NumPy or torch, a scalar type,
        bool, int (int32) or float (float32). Raises TypeError or ValueError."""
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
        if type(value).__module__ == "torch" and str(value)[6:] in _BY_NAME:
            return _BY_NAME[str(value)[6:]]  # torch.uint8 calls itself that
        try:
            if value is None:  # NumPy would take it for float64
                raise TypeError
            return DType.from_numpy(np.dtype(value))
        except TypeError:
            raise TypeError(f"expected an element type such as uint8, got {value!r}") from None


class _BFloat16(DType):
    """NumPy does not know this type; its dtype is made by ml_dtypes when it is first needed."""

    __slots__ = ()

    def __init__(self) -> None:
        self.name, self.id, self.itemsize = "bfloat16", -2, 2
        self.kind, self.is_float, self.is_signed = _Kind.float, True, True
        self.exponent_bits, self.significand_bits = 8, 7

    @property
    def numpy(self) -> np.dtype[Any]:  # type: ignore[override]
        made: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return made

    @property
    def type_id(self) -> None:
        return None


def dtype(value: DTypeLike) -> DType:
    """The element type that `value` names, see `DType.of`. Raises TypeError or ValueError."""
    return DType.of(value)


def type_id(value: DTypeLike) -> DType | None:
    """The type as pipelines call it, types.UINT8 for uint8; None for bfloat16, which they lack."""
    return DType.of(value).type_id


DTypeLike: TypeAlias = DType | str | type | np.dtype[Any]

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
bfloat16 = _BFloat16()
"""Moved and converted, but not computed with; so it is not among `dtypes`."""

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
_BY_NAME |= {f"{dtype.name[0]}{dtype.bits}": dtype for dtype in dtypes if not dtype.is_bool}
_BY_NAME |= {"float": float32, "double": float64, "half": float16, "bool_": bool_, "int": int32}
_BY_NAME |= {"bfloat16": bfloat16, "bf16": bfloat16}


class ImageType(enum.IntEnum):
    """Color space and channel order of an image."""

    RGB = 0
    BGR = 1
    GRAY = 2
    YCbCr = 3
    ANY_DATA = 4


class InterpType(enum.IntEnum):
    """Interpolation filters of the resampling operators. The last three are other libraries', and
    need `compat`."""

    INTERP_NN = 0
    INTERP_LINEAR = 1
    INTERP_CUBIC = 2
    INTERP_LANCZOS3 = 3
    INTERP_TRIANGULAR = 4
    INTERP_GAUSSIAN = 5
    INTERP_BOX = 6
    INTERP_HAMMING = 7
    INTERP_NEAREST_EXACT = 8
