"""Tracebacks that contain locations only.

A frame keeps its variables, and the frames of its callers with theirs, as long as it is referenced.
So an error that is kept with its traceback keeps whole batches alive. If a frame of the traceback
refers to the error, too, only the garbage collector can free them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any


def bare(
    trace: TracebackType | None, without: tuple[str, ...] | None = None
) -> TracebackType | None:
    """A traceback with the same locations, whose frames have no variables and no callers.

    without: prefixes of the names of modules whose locations are left out.
    """
    places: list[tuple[CodeType, int, Any]] = []
    while trace is not None:
        frame = trace.tb_frame
        module = frame.f_globals.get("__name__")
        if without is None or not str(module).startswith(without):
            places.append((frame.f_code, trace.tb_lineno, module))
        trace = trace.tb_next
    result = None
    for code, line, module in reversed(places):
        result = TracebackType(result, _frame(code, line, module), 0, line)
    return result


def _frame(code: CodeType, line: int, module: Any) -> FrameType:
    """A frame that never ran, with the names of `code`."""
    first = code.co_firstlineno
    facts: dict[str, Any] = {"co_filename": code.co_filename, "co_name": code.co_name}
    if sys.version_info >= (3, 11):
        facts["co_linetable"] = _one_line(line - first)
    named = _never.__code__.replace(co_firstlineno=first, **facts)
    frame: FrameType = FunctionType(named, {"__name__": module})().gi_frame
    return frame


def _never() -> Iterator[None]:
    """A generator that was not started has a frame, without callers."""
    yield


def _one_line(ahead: int) -> bytes:
    """The table of lines of `_never`, if all of it stands so many lines after the first one, in
    columns that nobody knows: those of its own would be underlined. Format: CPython's
    Objects/locations.md."""
    table, units = bytearray(), len(_never.__code__.co_code) // 2
    number = ahead << 1 if ahead >= 0 else -ahead << 1 | 1
    while units > 0:
        count = min(units, 8)
        table.append(0x80 | 13 << 3 | count - 1)
        while number >= 64:
            table.append(0x40 | number & 63)
            number >>= 6
        table.append(number)
        number, units = 0, units - count
    return bytes(table)
