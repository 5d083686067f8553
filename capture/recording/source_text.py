"""The text of a function, compared with the code that runs: files are edited while a program runs,
and modules are loaded again."""

from __future__ import annotations
import __future__

import ast
import dis
import functools
import linecache
import warnings
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any, NamedTuple

FUTURE = functools.reduce(
    lambda flags, name: flags | getattr(__future__, name).compiler_flag,
    __future__.all_feature_names,
    0,
)
"""Flags of code by which its compiler is told what it has imported from `__future__`."""
_NOP = dis.opmap["NOP"]


class SourceText(NamedTuple):
    """The text of a file in which a function stands, and how it compiles there: lines are counted
    in this text, which may have grown elsewhere since the function was loaded."""

    text: str
    code: CodeType


def text_of(function: FunctionType) -> SourceText | None:
    """The text that a function was compiled from; None if there is none, or it has changed."""
    code, file = function.__code__, function.__code__.co_filename
    found = _in_text(function, _lines(function))
    if found is None:
        # What Python has kept of the file may be older than the function.
        linecache.checkcache(file)
        found = _in_text(function, _lines(function))
    if found is None and any("@" in name for name in code.co_varnames + code.co_names):
        # pytest rewrites `assert`, with names that no text can have.
        return SourceText(_lines(function), code)
    return found


def is_on_disk(function: FunctionType) -> bool:
    """Whether there is a text where the function says that it is from."""
    file = function.__code__.co_filename
    return not file.startswith("<") and bool(_lines(function).strip())


def has_branches(code: CodeType) -> bool:
    """Whether there are jumps that depend on a value."""
    return any("_IF_" in step.opname for step in dis.get_instructions(code))


def _lines(function: FunctionType) -> str:
    return "".join(linecache.getlines(function.__code__.co_filename, function.__globals__))


_Functions = dict[Any, list[CodeType]]


def _in_text(function: FunctionType, text: str) -> SourceText | None:
    code = function.__code__
    for functions in _ways_to_compile(function, text):
        if alike := functions.get(_key(code)):
            nearest = min(alike, key=lambda one: abs(one.co_firstlineno - code.co_firstlineno))
            return SourceText(text, nearest)
    return None


def _ways_to_compile(function: FunctionType, text: str) -> Iterator[_Functions]:
    """All functions of a text, by what they do. How Python compiles a call depends on whether its
    module imports the name; consoles and notebooks compile statement by statement."""
    flags = function.__code__.co_flags & FUTURE
    yield _functions(text, flags, True)
    yield _functions(text, flags, False)
    loader = getattr(function.__globals__.get("__spec__"), "loader", None)
    if text.strip() and loader is not None and hasattr(loader, "source_to_code"):
        try:  # some loaders put checks of types into functions
            module = loader.source_to_code(text.encode(), function.__code__.co_filename)
            yield _by_key([module])
        except Exception:  # noqa: BLE001  # a loader of somebody's, which may want more
            return


@functools.lru_cache(maxsize=64)
def parsed(text: str) -> ast.Module | None:
    """The tree of a text; None if there is no text, or it cannot be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were given when the module was loaded
            return ast.parse(text) if text.strip() else None
    except (SyntaxError, ValueError, RecursionError):
        return None


@functools.lru_cache(maxsize=64)
def _functions(text: str, flags: int, whole: bool) -> _Functions:
    tree = parsed(text)
    if tree is None:
        return {}
    parts = [tree] if whole else [ast.Module([one], []) for one in tree.body]
    flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # which cells of notebooks may have
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _by_key([compile(one, "", "exec", flags, dont_inherit=True) for one in parts])
    except (SyntaxError, ValueError, RecursionError):
        return {}


def _by_key(modules: list[CodeType]) -> _Functions:
    found: _Functions = {}
    for module in modules:
        for code in _inside(module):
            found.setdefault(_key(code), []).append(code)
    return found


def _inside(code: CodeType) -> Iterator[CodeType]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _inside(one)


@functools.lru_cache(maxsize=1024)
def _key(code: CodeType) -> Any:
    """What code does, wherever it stands. Profilers mark code by instructions that do nothing."""
    steps = code.co_code
    plain = b"".join(steps[at : at + 2] for at in range(0, len(steps), 2) if steps[at] != _NOP)
    return (
        code.co_name,
        (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags),
        (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars),
        plain,
        tuple(_constant(one) for one in code.co_consts),
    )


def _constant(value: Any) -> Any:
    """Equal for the same constants only: 1, 1.0 and True are equal in Python."""
    if isinstance(value, CodeType):
        return _key(value)
    if isinstance(value, tuple):
        return tuple(_constant(one) for one in value)
    if isinstance(value, frozenset):
        return frozenset(_constant(one) for one in value)
    return type(value), repr(value)
