"""What Python's operators and functions are in C++, and small questions about Python source."""

from __future__ import annotations

import ast
import math
from typing import Any, Final

import numpy as np

BINARY: Final = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide",
    ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater", ast.GtE: "greater_equal",
    ast.Eq: "equal", ast.NotEq: "not_equal", ast.BitAnd: "bit_and", ast.BitOr: "bit_or",
    ast.LShift: "shift_left", ast.RShift: "shift_right",
}  # fmt: skip
CASTS: Final = {
    "float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64", "uint8": "u8",
    "uint16": "u16", "uint32": "u32", "uint64": "u64",
}  # fmt: skip
NOT_FINITE: Final = {"np.inf": "0x7F800000u", "np.nan": "0x7FC00000u"}
BUILTINS: Final = {"abs": abs, "int": int, "max": max, "min": min}
MATHS: Final[dict[Any, str]] = {
    math.sqrt: "square_root",
    math.frexp: "mantissa_exponent",
    math.ldexp: "times_power_of_two",
    np.floor: "rounded_down",
    np.nextafter: "next_after",
    np.sqrt: "square_root",
    abs: "absolute",
    max: "maximum",
    min: "minimum",
    int: "i64",
}


def loaded(node: ast.expr) -> ast.expr:
    """What a statement such as `a += 1` writes to, read."""
    copy = ast.parse(ast.unparse(node), mode="eval").body
    return ast.copy_location(copy, node)


def is_number(node: ast.expr) -> bool:
    try:
        return isinstance(ast.literal_eval(node), int)
    except ValueError:
        return False


def assigned(statements: list[ast.stmt]) -> dict[str, ast.expr]:
    """The names that these statements assign to, not those inside of them; and the first value."""
    found: dict[str, ast.expr] = {}
    for node in statements:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, node.value)
    return found
