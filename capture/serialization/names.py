"""Names and types: what the file format calls our operators and the kinds of their arguments."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from gradiva.eager.operators import argument_types as kinds
from gradiva.eager.operators.argument_types import argument_type
from gradiva.eager.operators.arguments import Argument
from gradiva.eager.operators.operator import OperatorBase, operators
from gradiva.eager.support.errors import OperatorValueError
from gradiva.eager.types.dtypes import DType, ImageType, InterpType
from gradiva.ops.math.arithmetic import Arithmetic

INTERP_TYPE = 22
"""The number of the element type of interpolation types, which are plain numbers here."""

ENUMERATIONS = frozenset({20, 21, INTERP_TYPE})
"""The numbers of the element types whose values are members of enumerations."""

_SECOND_NAMES = {"_Shape": "Shapes"}
"""Names that are only read."""

_EXPRESSIONS = {"shl": "lshift", "shr": "rshift"}

_INTS = (
    int,
    kinds.Ints,
    kinds.IntArg,
    kinds.IntsArg,
    kinds.RaggedIntsArg,
    kinds.UnevenIntsArg,
    ImageType,
    kinds.InterpArg,
    InterpType,
    kinds.DTypeLike,
)
_FLOATS = (
    float,
    kinds.Floats,
    kinds.FloatArg,
    kinds.DoubleArg,
    kinds.FloatsArg,
    kinds.DoublesArg,
    kinds.RaggedFloatsArg,
    kinds.UnevenFloatsArg,
    kinds.MatrixArg,
    kinds.FloatArrayArg,
)
_STRINGS = str, kinds.Strings, kinds.Path, kinds.Paths, kinds.Layout
_ELEMENTS = {
    **{argument_type(one): "int64" for one in _INTS},
    **{argument_type(one): "float" for one in _FLOATS},
    **{argument_type(one): "string" for one in _STRINGS},
    argument_type(bool): "bool",
}


_OWN_SCHEMAS = {
    "readers___TFRecord": "readers.tfrecord",
    "readers__GradivaTFRecord": "readers.tfrecord",
}
"""Names for operators that have no class of this name."""


def schema_of(operator: OperatorBase) -> str | None:
    """What the format calls an operator, if it has a place for it."""
    own = (schema for schema, name in _OWN_SCHEMAS.items() if operators.get(name) is operator)
    return operator.schema or next(own, None)


def find_operator(schema: str) -> OperatorBase:
    """Our operator for a name of the format, of older versions too. Raises OperatorValueError."""
    if schema in _OWN_SCHEMAS:
        return operators[_OWN_SCHEMAS[schema]]
    wanted = _SECOND_NAMES.get(schema, schema)
    for operator in operators.values():
        if operator.schema and wanted in (operator.schema, *map(_schema, operator.formerly)):
            return operator
    raise OperatorValueError(f"gradiva has no operator for `{schema}`")


def _schema(name: str) -> str:
    """What the format called an operator that had this name in scripts."""
    *packages, last = name.split(".")
    return "__".join([*packages, "".join(map(str.capitalize, last.split("_")))])


def expression_name(operator: OperatorBase) -> str:
    """What the expressions of the format call an arithmetic operator or mathematical function."""
    name = operator.name.removeprefix("math.")
    return _EXPRESSIONS.get(name, name)


@functools.cache
def expression_operators() -> dict[str, OperatorBase]:
    """Arithmetic operators and mathematical functions by their names in expressions."""
    return {
        expression_name(operator): operator
        for operator in operators.values()
        if isinstance(operator, Arithmetic)
    }


def element_type(argument: Argument | None, value: Any) -> str:
    """The type of an argument's value, or of the elements of a vector. Raises TypeError."""
    if argument is not None and argument.kind in _ELEMENTS:
        return _ELEMENTS[argument.kind]
    if argument is not None and argument.kind.element in (np.int64, np.float32):
        return "int64" if argument.kind.element is np.int64 else "float"
    first = next(iter(value), 0) if isinstance(value, list | tuple) else value
    for kind, name in ((bool, "bool"), (int, "int64"), (float, "float"), (str, "string")):
        if isinstance(first, kind):
            return name
    if isinstance(first, DType):
        return "int64"
    raise TypeError(f"{first!r} has no place in the file format")


def to_single(value: float) -> float:
    """A number as the format holds it, in float32. Raises OverflowError."""
    with np.errstate(over="ignore"):
        single = float(np.float32(value))
    if np.isinf(single) and not np.isinf(value):
        raise OverflowError(f"{value} is out of the range of float32, in which files hold numbers")
    return single


def from_single(value: float) -> float:
    """A number of a file: the one with the fewest digits among those that it may stand for, which
    is what the user wrote unless that had more than float32 holds."""
    return float(str(np.float32(value)))
