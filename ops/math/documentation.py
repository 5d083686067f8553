"""What help says of the operators of Python and of the mathematical functions, with an example."""

from __future__ import annotations

_PYTHON = {
    "add": ("int32([7, 9])", "+ 1", "[8, 10]"),
    "sub": ("int32([7, 9])", "- 1", "[6, 8]"),
    "mul": ("int32([7, 9])", "* 2", "[14, 18]"),
    "fdiv": ("int32([7, 9])", "/ 2", "[3.5, 4.5]"),
    "div": ("int32([7, 9])", "// 2", "[3, 4]"),
    "mod": ("int32([7, 9])", "% 4", "[3, 1]"),
    "pow": ("int32([7, 9])", "** 2", "[49, 81]"),
    "bitand": ("int32([7, 9])", "& 1", "[1, 1]"),
    "bitor": ("int32([7, 9])", "| 8", "[15, 9]"),
    "bitxor": ("int32([7, 9])", "^ 1", "[6, 8]"),
    "shl": ("int32([7, 9])", "<< 1", "[14, 18]"),
    "shr": ("int32([7, 9])", ">> 1", "[3, 4]"),
    "eq": ("int32([7, 9])", "== 7", "[True, False]"),
    "neq": ("int32([7, 9])", "!= 7", "[False, True]"),
    "lt": ("int32([7, 9])", "< 8", "[True, False]"),
    "leq": ("int32([7, 9])", "<= 7", "[True, False]"),
    "gt": ("int32([7, 9])", "> 8", "[False, True]"),
    "geq": ("int32([7, 9])", ">= 9", "[False, True]"),
}
_PYTHON_UNARY = {
    "minus": ("-{}", "int32([7, -9])", "[-7, 9]"),
    "plus": ("+{}", "int32([7, -9])", "[7, -9]"),
    "abs": ("abs({})", "int32([7, -9])", "[7, 9]"),
    "bitnot": ("~{}", "uint8([0, 254])", "[255, 1]"),
}
_FUNCTIONS = {
    "fabs": ("float32([1.5, -2])", "[1.5, 2.0]"),
    "sqrt": ("float32([1, 4])", "[1.0, 2.0]"),
    "rsqrt": ("float32([1, 4])", "[1.0, 0.5]"),
    "cbrt": ("float32([8, -27])", "[2.0, -3.0]"),
    "exp": ("float32([0, 1])", "[1.0, 2.7183]"),
    "log": ("float32([1, 10])", "[0.0, 2.3026]"),
    "log2": ("float32([1, 8])", "[0.0, 3.0]"),
    "log10": ("float32([1, 100])", "[0.0, 2.0]"),
    "sin": ("float32([0, 1])", "[0.0, 0.8415]"),
    "cos": ("float32([0, 1])", "[1.0, 0.5403]"),
    "tan": ("float32([0, 1])", "[0.0, 1.5574]"),
    "asin": ("float32([0, 1])", "[0.0, 1.5708]"),
    "acos": ("float32([0, 1])", "[1.5708, 0.0]"),
    "atan": ("float32([0, 1])", "[0.0, 0.7854]"),
    "sinh": ("float32([0, 1])", "[0.0, 1.1752]"),
    "cosh": ("float32([0, 1])", "[1.0, 1.5431]"),
    "tanh": ("float32([0, 1])", "[0.0, 0.7616]"),
    "asinh": ("float32([0, 1])", "[0.0, 0.8814]"),
    "acosh": ("float32([1, 2])", "[0.0, 1.317]"),
    "atanh": ("float32([0, 0.5])", "[0.0, 0.5493]"),
    "ceil": ("float32([1.2, -1.2])", "[2.0, -1.0]"),
    "floor": ("float32([1.2, -1.2])", "[1.0, -2.0]"),
    "min": ("float32([1, 5]), 3", "[1.0, 3.0]"),
    "max": ("float32([1, 5]), 3", "[3.0, 5.0]"),
    "fpow": ("int32([2, 3]), -1", "[0.5, 0.3333]"),
    "atan2": ("float32([1, -1]), 0", "[1.5708, -1.5708]"),
}
_BROADCAST = """
    Returns:
        Samples of the broadcast shapes.

    Raises:
        OperatorTypeError: {}, and for layouts that differ.
        OperatorValueError: for shapes that do not broadcast, with the sample.
"""
_SAME = """
    Returns:
        Samples of the same shapes and layout.

    Raises:
        OperatorTypeError: {}.
"""
_LACKING = "for dtypes that do not have it"
_EXAMPLE = """
    Example:
        {}  # {}
    """


def python_documentation(name: str, symbol: str) -> str:
    """The docstring of the operator behind a symbol of Python."""
    if name in _PYTHON:
        value, operation, result = _PYTHON[name]
        return (
            f"""Compute `left {symbol} right`, element by element, with broadcasting per sample.

    Args:
        left, right: batches, tensors, arrays or numbers, of any dtype that has this operation, of
            any rank and layout.
"""
            + _BROADCAST.format(_LACKING)
            + _EXAMPLE.format(f"gradiva.as_tensor(np.{value}) {operation}", result)
        )
    form, value, result = _PYTHON_UNARY[name]
    return (
        f"""Compute `{form.format("input")}` for each element.

    Args:
        input: any dtype that has this operation, of any rank and layout.
"""
        + _SAME.format(_LACKING)
        + _EXAMPLE.format(form.format(f"gradiva.as_tensor(np.{value})"), result)
    )


def function_documentation(name: str, meaning: str, operands: tuple[str, ...]) -> str:
    """The docstring of a mathematical function of one or two operands."""
    arguments, result = _FUNCTIONS[name]
    if len(operands) == 1:
        said = "a batch, a tensor, an array or a number, of any rank and layout, but no booleans."
        rest = _SAME.format("for booleans")
    else:
        said = "batches, tensors, arrays or numbers, of any rank and layout, but not all booleans."
        rest = _BROADCAST.format("for booleans alone")
    return (
        f"{meaning}\n\n    Args:\n        {', '.join(operands)}: {said}\n"
        + rest
        + _EXAMPLE.format(f"gradiva.math.{name}(np.{arguments})", result)
    )


def clamp_documentation() -> str:
    """The docstring of `math.clamp`."""
    return (
        """Limit values to a range.

    A bound `hi` below `lo` is the result everywhere. NaN stays NaN.

    Args:
        value: a batch, a tensor, an array or a number, of any dtype, rank and layout.
        lo: the lowest value that a result has.
        hi: the highest value that a result has. They are not all booleans.
"""
        + _BROADCAST.format("for booleans alone")
        + _EXAMPLE.format("gradiva.math.clamp(np.float32([-1, 0.5, 2]), 0, 1)", "[0.0, 0.5, 1.0]")
    )
