"""What has no inputs, in files: constants and external sources."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.capture.graph.graph import Node
from gradiva.eager.support.errors import OperatorValueError
from gradiva.eager.types.dtypes import DType, float32, float64

from .edges import EdgeName
from .model import Writer

_LARGEST = (1 << 63) - 1


def write_source(writer: Writer, node: Node) -> None:
    """Write an external source, without what feeds it: one operator for each of its outputs."""
    name = writer.graph.names.get(node)
    given = dict(node.attributes)
    for output, type in enumerate(node.type):
        arguments: dict[str, Any] = {
            key: given[key] for key in ("repeat_last", "blocking", "no_copy") if key in given
        }
        if given.get("dtype") is not None and type.dtype is not None:
            arguments["dtype"] = type.dtype
        if given.get("ndim") is not None and type.ndim is not None:
            arguments["ndim"] = type.ndim
        if type.layout:
            arguments["layout"] = type.layout
        single = name if name is None or len(node.type) == 1 else f"{name}_{output}"
        writer.call(node, "ExternalSource", [], [], arguments, 1, single, output)


def write_constant(writer: Writer, node: Node) -> EdgeName:
    """Write a constant and return its name. Raises OperatorValueError for numbers that the format
    would change."""
    value: np.ndarray[Any, Any] = node.attribute("value")
    dtype = DType.from_numpy(value.dtype)
    if dtype is float64:
        # The format holds numbers in float32, and knows no constants of a wider type.
        with np.errstate(over="ignore"):
            narrow = value.astype(np.float32)
        if not np.array_equal(narrow.astype(np.float64), value, equal_nan=True):
            raise OperatorValueError(
                "the format holds constants in float32, which would change this one; cast it"
            )
    arguments: dict[str, Any] = {}
    if value.dtype.kind == "f" and value.size:
        arguments["fdata"] = [float(item) for item in value.ravel()]
    else:
        numbers = [int(item) for item in value.ravel()]
        if numbers and max(numbers) > _LARGEST:
            raise OperatorValueError("the format holds integers up to 2**63 - 1")
        arguments["idata"] = numbers
    arguments["shape"] = list(value.shape)
    arguments["dtype"] = float32 if dtype is float64 else dtype
    if node.attribute("layout"):
        arguments["layout"] = node.attribute("layout")
    name = writer.call(node, "Constant", [], [], arguments, 1)[0]
    if dtype is float64:
        return writer.call(node, "Cast", [name], [], {"dtype": float64}, 1)[0]
    return name
