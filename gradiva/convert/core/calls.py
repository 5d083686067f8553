"""Calls of gradiva as lines of source code."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from typing import Any

__all__ = ["Name", "call", "function", "written"]

_WIDTH = 92
"""Columns of a line, inside of a function."""


class Name(str):
    """An expression, which is written as it is, in place of a value."""

    __slots__ = ()


def written(value: Any) -> str:
    """A value as Python writes it: None, numbers, texts, lists and tuples of them, and `Name`.

    Nothing else is written, so that a configuration file can bring no code of its own. Raises
    TypeError for other values.
    """
    if isinstance(value, Name):
        return str(value)
    if isinstance(value, str) and value.isidentifier():
        return f'"{value}"'
    if value is None or isinstance(value, bool | str):
        return repr(value)
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float):
        number = float(value)
        return repr(number) if math.isfinite(number) else f"float({str(number)!r})"
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, tuple):
        ended = "," if len(value) == 1 else ""
        return f"({', '.join(map(written, value))}{ended})"
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return written(value.item())
    raise TypeError(f"no number and no text: {value!r}")


def call(called: str, /, *inputs: str, **arguments: Any) -> str:
    """`called(inputs, name=value)`; a call that is too long for a line has one argument in each.

    inputs: expressions. arguments: values, see `written`; those that are `...` are left out.
    """
    parts = [*inputs]
    parts += [f"{name}={written(value)}" for name, value in arguments.items() if value is not ...]
    line = f"{called}({', '.join(parts)})"
    if len(line) <= _WIDTH - len("images = "):
        return line
    return f"{called}(\n" + "".join(f"{_indented(part)},\n" for part in parts) + ")"


def _indented(text: str) -> str:
    return textwrap.indent(text, "    ")


def function(name: str, parameters: Iterable[str], lines: Iterable[str], returned: str) -> str:
    """A function of these lines."""
    body = "\n".join([*lines, f"return {returned}"])
    return f"def {name}({', '.join(parameters)}):\n{textwrap.indent(body, '    ')}"
