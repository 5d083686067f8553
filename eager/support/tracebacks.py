"""Errors in notebooks: the user's line, then what is wrong; no lines of gradiva.

IPython asks an exception for `_render_traceback_`. `%xmode Verbose`, or any other mode than the
usual one, shows the whole traceback.
"""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Iterator
from types import CodeType, TracebackType
from typing import Any

_OURS = ("gradiva.", "IPython.", "ipykernel.", "tqdm.", "concurrent.futures.", "numpy.")
_OURS_WHOLE = ("gradiva", "contextlib", "threading")
_MOST_CALLERS = 6
_PLACES = re.compile(r'\n  File "[^\n]*(\n    [^\n]*)?')


def short_trace(error: Any) -> list[str]:
    """The lines that a notebook prints for a GradivaError."""
    shell = _shell()
    tracer = getattr(shell, "InteractiveTB", None)
    if tracer is not None and tracer.mode not in ("Context", "Plain", "Minimal"):
        lines: list[str] = tracer.structured_traceback(type(error), error, error.__traceback__)
        return lines
    places = list(user_places(error.__traceback__))
    top = error.location
    lines = []
    if top is not None:
        place = (top.code, top.line)
        places = [other for other in places if other != place]
        lines += [_where(*place), *_source(*place), ""]
    elif places:
        place = places.pop()
        lines += [_where(*place), *_source(*place), ""]
    lines += [f"{type(error).__name__}: {_message(error)}"]
    callers = list(reversed(places))
    if callers:
        lines.append("")
    for code, line in callers[:_MOST_CALLERS]:
        lines.append(f"called from {_where(code, line)}: {source_line(code, line).strip()}")
    if len(callers) > _MOST_CALLERS:
        lines.append(f"... and {len(callers) - _MOST_CALLERS} more calls")
    return lines + _cause(error)


def _message(error: Any) -> str:
    """The text of the error without its last line, which names the place shown above, and without
    the places of its cause, which are shown below."""
    text = str(error)
    text = text.removesuffix(f"\n  at {error.location}")
    if error.__cause__ is not None:
        text = _PLACES.sub("", text)
    return text


def _cause(error: Any) -> list[str]:
    """What the user's own code raised inside an operator."""
    cause = error.__cause__
    if cause is None:
        return []
    lines = ["", f"caused by {type(cause).__name__}: {cause}"]
    places = list(user_places(cause.__traceback__))
    if places:
        lines += [_where(*places[-1]), *_source(*places[-1])]
    return lines


def user_places(trace: TracebackType | None) -> Iterator[tuple[CodeType, int]]:
    """Where the user's code stands in a traceback, the outermost first."""
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        code = trace.tb_frame.f_code
        ours = module in _OURS_WHOLE or module.startswith(_OURS)
        if not ours:
            yield code, trace.tb_lineno
        trace = trace.tb_next


def place(code: CodeType, line: int) -> str:
    """`file.py:3`, or in a notebook `Cell In[2], line 3`, for its files are nowhere on disk."""
    cell = _cell(code)
    return f"{code.co_filename}:{line}" if cell is None else f"{cell}, line {line}"


def _cell(code: CodeType) -> str | None:
    """What IPython calls the cell that the code stands in, or None for a file."""
    name_of = getattr(getattr(_shell(), "compile", None), "format_code_name", None)
    named = name_of(code.co_filename) if name_of is not None else None
    return None if named is None else " ".join(named)


def _where(code: CodeType, line: int) -> str:
    inside = "" if code.co_name.startswith("<") else f", in {code.co_name}"
    return f"{_cell(code) or code.co_filename}, line {line}{inside}"


def _source(code: CodeType, line: int) -> list[str]:
    """The line, marked, with the two before it in the same function."""
    first = max(code.co_firstlineno, line - 2)
    lines = []
    for number in range(first, line + 1):
        text = source_line(code, number).rstrip()
        mark = "----> " if number == line else "      "
        if text:
            lines.append(f"{mark}{number} {text}")
    return lines


def source_line(code: CodeType, line: int) -> str:
    """A line of the file that the code is from, as the file is now."""
    linecache.checkcache(code.co_filename)
    return linecache.getline(code.co_filename, line)


def _shell() -> Any:
    """The running IPython, or None."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None
