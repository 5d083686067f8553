"""The operators of a file, called one by one for the current recorder."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gradiva.capture.recording.data_node import DataNode, WholeBatch
from gradiva.eager.operators.argument_types import DTypeLike, argument_type
from gradiva.eager.operators.operator import Maker, OperatorBase, operators
from gradiva.eager.support.errors import GradivaError, OperatorValueError, wrong_value
from gradiva.eager.types.dtypes import DType
from gradiva.eager.values.tensor import tensor
from gradiva.ops.readers.reader_arguments import DTypes

from . import branches, expressions, subscripts
from .branches import BranchReader, within
from .edges import EdgeName
from .model import StoredOperator
from .names import ENUMERATIONS, find_operator

_MOST_ELEMENTS = 1 << 26
"""A constant may have this many elements, however large its shape is."""
_NO_TYPE = -1


class Replay:
    """Calls stored operators; `values` holds what each edge carries, by name."""

    def __init__(self, sources: Mapping[str, Any]) -> None:
        self.sources = sources
        self.values: dict[str, Any] = {}
        self._branches = BranchReader(self.values)

    def at(self, name: EdgeName) -> Any:
        """What an edge carries, on the device where it is wanted."""
        value = self.values[name]
        return value.to_device(name.device) if isinstance(value, DataNode) else value

    def call(self, stored: StoredOperator) -> None:
        """Call one operator whose inputs are there. Raises OperatorValueError."""
        try:
            branch = self._branches.of(stored)
            with within(branch):
                results = self._call(stored)
        except GradivaError as error:
            raise OperatorValueError(
                f"the stored operator {stored.label!r} cannot be called: {error.problem}".rstrip(
                    ": "
                ),
                operator=error.operator or stored.schema,
                argument=error.argument,
                expected=error.expected,
                got=error.got,
            ) from None
        if not isinstance(results, list | tuple):
            results = [results]
        if len(results) != len(stored.outputs):
            raise wrong_value(
                "",
                str(len(results)),
                str(len(stored.outputs)),
                f"the stored operator {stored.label!r} has another number of outputs",
                operator=stored.schema,
            )
        self.values.update(zip(stored.outputs, results, strict=True))
        if stored.schema != branches.SPLIT:
            for name in stored.outputs:
                self._branches.own(name, branch)

    def _call(self, stored: StoredOperator) -> Any:
        inputs = [self.at(name) for name in stored.inputs]
        given = {name: self.values[edge] for name, edge in stored.per_sample.items()}
        arguments = dict(stored.arguments)
        common: dict[str, Any] = {}
        if stored.name is not None:
            common["name"] = stored.name
        if arguments.pop("preserve", False):
            common["preserve"] = True
        schema = stored.schema
        if stored.device != "cpu" or any(name.device == "gpu" for name in stored.inputs):
            common["device"] = stored.device
        if schema == "Constant":
            made = _constant(arguments, inputs, given)
            if stored.device == "cpu":
                return made
            return operators["copy"].bind((made,), {"device": stored.device})
        if schema == "ExternalSource":
            return self._external_source(stored, arguments, common)
        if schema == expressions.SCHEMA:
            operator, operands = expressions.read_expression(arguments, inputs)
            return operator.bind(operands, common)
        if schema == branches.SPLIT:
            return self._branches.split(stored)
        if schema == branches.MERGE:
            return self._branches.merge(stored)
        if schema == branches.VALIDATE:
            return operators["_conditional.boolean"].bind(tuple(inputs), {**given, **common})
        if schema in (subscripts.TAKE, subscripts.CHECK, subscripts.EXPAND):
            return _subscript(schema, arguments, inputs, given, common)
        if schema == "Reinterpret" and arguments.get("dtype") in ENUMERATIONS and len(inputs) == 1:
            # Members of enumerations are numbers here.
            return inputs[0]
        return _operator(find_operator(schema), arguments, inputs, given, common)

    def _external_source(
        self, stored: StoredOperator, arguments: dict[str, Any], common: dict[str, Any]
    ) -> Any:
        if "dtype" in arguments:
            arguments["dtype"] = _dtype("dtype", arguments["dtype"])
        rank = arguments.get("ndim")
        if rank is not None and (type(rank) is not int or not 0 <= rank <= 32):
            raise wrong_value("ndim", "a number from 0 to 32", repr(rank)[:80])
        common.setdefault("name", stored.label)
        # A file holds no source: where none is given it is fed, by name.
        arguments["source"] = self.sources.get(stored.label)
        return operators["external_source"].bind((), {**arguments, **common})


def _operator(
    operator: OperatorBase,
    arguments: dict[str, Any],
    inputs: list[Any],
    given: dict[str, Any],
    common: dict[str, Any],
) -> Any:
    arguments = operator.modern(arguments, quiet=True)
    for name in list(arguments):
        declared = operator.arguments.get(name)
        if declared is not None and declared.kind is argument_type(DTypeLike):
            if arguments[name] == _NO_TYPE:
                del arguments[name]
            else:
                arguments[name] = _dtype(name, arguments[name])
        elif declared is not None and declared.kind is argument_type(DTypes):
            several = arguments[name] if isinstance(arguments[name], list) else [arguments[name]]
            arguments[name] = [_dtype(name, number) for number in several]
    for name in given:
        declared = operator.arguments.get(name)
        if declared is not None and not declared.per_sample:
            raise OperatorValueError("this argument cannot be given per sample", argument=name)
    if isinstance(operator, Maker) and operator.random:
        common["batch_size"] = WholeBatch()
    return operator.bind(tuple(inputs), {**arguments, **given, **common})


def _dtype(name: str, number: Any) -> DType:
    if type(number) is not int:
        raise wrong_value(name, "the number of an element type", repr(number)[:80])
    try:
        return DType.from_type_id(number)
    except ValueError as error:
        raise OperatorValueError(str(error), argument=name) from None


def _subscript(
    schema: str,
    arguments: dict[str, Any],
    inputs: list[Any],
    given: dict[str, Any],
    common: dict[str, Any],
) -> Any:
    if schema == subscripts.TAKE:
        items, numbers = subscripts.read_subscript(arguments, given)
    else:
        items = (
            subscripts.read_check(arguments)
            if schema == subscripts.CHECK
            else subscripts.read_new_axes(arguments)
        )
        numbers = ()
    return operators["subscript"].bind((*inputs, *numbers), {"ranges": items, **common})


def _constant(arguments: dict[str, Any], inputs: list[Any], given: dict[str, Any]) -> Any:
    """The tensor of a stored constant: one value, or as many as its shape says."""
    integers, reals = arguments.get("idata"), arguments.get("fdata")
    values = integers if integers is not None else reals
    values = values if isinstance(values, list) else [values]
    if inputs or given or (integers is None) == (reals is None):
        raise OperatorValueError("a constant has `idata` or `fdata`, and no inputs")
    if any(isinstance(value, str) or value is None for value in values):
        raise OperatorValueError("the data of a constant are no numbers")
    dtype = _dtype("dtype", arguments.get("dtype", 9 if integers is None else 6))
    shape = arguments.get("shape", [len(values)])
    shape = shape if isinstance(shape, list) else [shape]
    if len(shape) > 32 or any(type(extent) is not int or extent < 0 for extent in shape):
        raise wrong_value("shape", "extents", repr(shape)[:80])
    count = math.prod(shape)
    if len(values) not in (1, count) or (count > _MOST_ELEMENTS and count != len(values)):
        raise wrong_value("shape", f"the shape of {len(values)} values", repr(shape)[:80])
    array = np.empty(shape, dtype.numpy)
    array[...] = np.reshape(_converted(values, dtype), shape if len(values) == count else ())
    layout = arguments.get("layout", "")
    if not isinstance(layout, str):
        raise wrong_value("layout", "a layout", repr(layout)[:80])
    return tensor(array, layout=layout)


def _converted(values: list[Any], dtype: DType) -> Any:
    """Numbers as elements of a type: rounded half away from zero, kept within its range."""
    if dtype.is_float:
        with np.errstate(over="ignore"):
            return np.asarray(values, np.float64).astype(dtype.numpy)
    if dtype.is_bool:
        return np.asarray([bool(value) for value in values], np.bool_)
    limits = np.iinfo(dtype.numpy)
    whole = [0 if value != value else value for value in values]
    kept = [min(max(value, int(limits.min)), int(limits.max)) for value in whole]
    return np.asarray(
        [
            int(math.floor(abs(v) + 0.5) * (1 if v > 0 else -1)) if isinstance(v, float) else v
            for v in kept
        ],
        dtype.numpy,
    )
