"""Arithmetic in files: one operator with an expression such as `mul(&0 $0:float32)`.

`&n` is input n. `$n:type` is constant n of a list: integers and booleans are in one list, floats
in the other. Expressions are flat: an operand is no expression.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from gradiva.capture.graph.builtin_ops import constant
from gradiva.capture.graph.graph import Node
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.support.errors import OperatorValueError
from gradiva.eager.types.dtypes import DType

from .model import Writer
from .names import expression_name, expression_operators

SCHEMA = "_ArithmeticGenericOp"

_CALL = re.compile(r"\s*([a-z_0-9]+)\s*\(\s*([^()]*?)\s*\)\s*")
_OPERAND = re.compile(r"&([0-9]{1,3})|\$([0-9]{1,3}):([a-z0-9]+)")
_MOST_OPERANDS = 64


def write_expression(writer: Writer, node: Node) -> None:
    """Write an arithmetic node; scalars among its operands become constants of the expression."""
    scalars = [
        edge.node.operator is constant and not edge.node.type[0].ndim for edge in node.inputs
    ]
    inputs: list[str] = []
    operands: list[str] = []
    lists: dict[str, list[Any]] = {"integer_constants": [], "real_constants": []}
    for edge, scalar in zip(node.inputs, scalars, strict=True):
        # The format wants an input at least: where all are scalars, they are written as such.
        if not scalar or all(scalars):
            operands.append(f"&{len(inputs)}")
            inputs.append(writer.edge(edge))
            continue
        value = edge.node.attribute("value")
        real = value.dtype.kind == "f"
        if real and not _same(float(np.float32(value)), float(value)):
            raise OperatorValueError(
                f"the format holds numbers in float32, which would change the operand {value}"
            )
        if not real and int(value) >= 1 << 63:
            raise OperatorValueError("the format holds integers up to 2**63 - 1")
        chosen = lists["real_constants" if real else "integer_constants"]
        operands.append(f"${len(chosen)}:{DType.from_numpy(value.dtype).name}")
        chosen.append(float(value) if real else int(value))
    text = f"{expression_name(node.operator)}({' '.join(operands)})"
    arguments = {"expression_desc": text, **{key: item for key, item in lists.items() if item}}
    writer.call(node, SCHEMA, inputs, [], arguments, 1)


def _same(left: float, right: float) -> bool:
    return left == right or (left != left and right != right)


def read_expression(
    arguments: dict[str, Any], inputs: list[Any]
) -> tuple[OperatorBase, tuple[Any, ...]]:
    """The operator and the operands of a stored expression. Raises OperatorValueError."""
    text = arguments.get("expression_desc")
    if not isinstance(text, str):
        raise OperatorValueError("an arithmetic operator has no `expression_desc`")
    call = _CALL.fullmatch(text)
    if call is None:
        raise OperatorValueError(f"{text[:80]!r} is no expression of one operator")
    operator = expression_operators().get(call[1])
    if operator is None:
        raise OperatorValueError(f"gradiva has no arithmetic operator `{call[1]}`")
    words = call[2].split()
    if len(words) > _MOST_OPERANDS:
        raise OperatorValueError(f"an expression has {len(words)} operands")
    return operator, tuple(_operand(word, arguments, inputs) for word in words)


def _operand(word: str, arguments: dict[str, Any], inputs: list[Any]) -> Any:
    found = _OPERAND.fullmatch(word)
    if found is None:
        raise OperatorValueError(f"{word[:80]!r} is no operand of an expression")
    try:
        if found[1] is not None:
            return inputs[int(found[1])]
        dtype = DType.parse(found[3])
        real = dtype.is_float
        value = arguments["real_constants" if real else "integer_constants"][int(found[2])]
    except (IndexError, KeyError, TypeError):
        raise OperatorValueError(f"the operand {word!r} of an expression is not there") from None
    except ValueError as error:
        raise OperatorValueError(str(error)) from None
    if isinstance(value, str) or (isinstance(value, float) and not real):
        raise OperatorValueError(f"the operand {word!r} of an expression is no number of its type")
    try:
        return np.asarray(value if not real else np.float32(value), dtype.numpy)
    except OverflowError:
        raise OperatorValueError(f"{value} is out of the range of {dtype.name}") from None
