"""From a function of the user's to the same function rewritten: its source, closure and globals."""

from __future__ import annotations

import ast
import copy
import functools
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, TypeVar, overload

from gradiva.eager.support.errors import Location, OperatorRuntimeError

from .ast_analysis import RUNTIME
from .ast_transform import rewrite_function
from .source_text import FUTURE, has_branches, is_on_disk, parsed, text_of

__all__ = ["converted", "do_not_convert", "is_users"]

F = TypeVar("F", bound=Callable[..., Any])

_MARK = "__gradiva_do_not_convert__"
_LIBRARIES = tuple(
    {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)
_GENERATOR = 0x20 | 0x80 | 0x200
"""Flags of generators and coroutines, which stay as they are."""


@overload
def do_not_convert(func: F) -> F: ...
@overload
def do_not_convert(func: None = None) -> Callable[[F], F]: ...
def do_not_convert(func: Any = None) -> Any:
    """Leave a function as it is when a pipeline with `enable_conditionals=True` calls it: its `if`
    statements are ordinary ones, and so are those of the functions that it calls.

    A decorator, with or without parentheses. Returns a function that does the same.
    """
    if func is None:
        return do_not_convert
    try:
        # Of this very function: a decorator that copies attributes does not pass it on.
        setattr(func, _MARK, func.__code__)
    except AttributeError:

        def call(*args: Any, **kwargs: Any) -> Any:
            return func(*args, **kwargs)

        return functools.update_wrapper(call, func)
    return func


def is_users(function: FunctionType) -> bool:
    """Whether a function is part of the user's program: not of gradiva, of a library that is
    installed, or marked."""
    if getattr(function, _MARK, None) is function.__code__:
        return False
    module = function.__globals__.get("__name__") or ""
    if module.partition(".")[0] == "gradiva":
        return False
    file = function.__code__.co_filename
    installed = "site-packages" in file or "dist-packages" in file
    return not (installed or file.startswith(("<frozen", *_LIBRARIES)))


def converted(function: FunctionType, runtime: ModuleType, asked: bool = False) -> FunctionType:
    """The function rewritten, or itself if it is no function of the user's or there is nothing to
    rewrite.

    runtime: the module `dispatch`, which the rewritten code calls. asked: whether it is the user's
    own definition of a pipeline, wherever it stands.
    Warns of a function with branches whose source cannot be read: it stays as it is.
    """
    code = function.__code__
    if RUNTIME in code.co_freevars or code.co_flags & _GENERATOR:
        return function
    if not (asked or is_users(function)):
        return function
    source = text_of(function)
    made = None if source is None else _rewritten(code.co_filename, source.code, source.text)
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    if made is not None:
        cells[RUNTIME] = CellType(runtime)
    if made is None or not set(made.co_freevars) <= set(cells):
        if has_branches(code):
            _tell(function, changed=source is None and is_on_disk(function))
        return function
    if RUNTIME not in made.co_freevars:
        return function
    closure = tuple(cells[name] for name in made.co_freevars)
    new = FunctionType(
        made, function.__globals__, function.__name__, function.__defaults__, closure
    )
    new.__kwdefaults__ = function.__kwdefaults__
    new.__qualname__, new.__module__ = function.__qualname__, function.__module__
    new.__doc__, new.__annotations__ = function.__doc__, function.__annotations__
    new.__dict__.update(function.__dict__)
    return new


def _tell(function: FunctionType, changed: bool) -> None:
    """Say of a function with branches that its source is not known; an error if it has changed."""
    code = function.__code__
    if changed:
        raise OperatorRuntimeError(
            f"the source of {function.__qualname__} in its file is not that of the code that runs, "
            "so its `if` statements and logical expressions cannot take symbols: if the file was "
            "edited, load its module again; otherwise mark the function with do_not_convert",
            operator="pipeline_def",
            location=Location(code, code.co_firstlineno),
        )
    warnings.warn_explicit(
        f"the source of {function.__qualname__} cannot be read (or nests about 20 blocks), "
        "so its `if` statements and logical expressions take no symbols: define it in a "
        "file (or split it), or mark it with do_not_convert",
        UserWarning,
        code.co_filename,
        code.co_firstlineno,
    )


@functools.lru_cache(maxsize=1024)
def _rewritten(file: str, code: CodeType, text: str) -> CodeType | None:
    """The code of a function after rewriting; None if its source is not found in the text, or nests
    too many blocks."""
    tree = parsed(text)
    if tree is None:
        return None
    candidates = list(_candidates(tree, code))
    if len(candidates) > 1:
        candidates = _around(candidates, code) or [
            one for one in candidates if _is_source(one, code)
        ]
        texts = {ast.dump(node) for node, _ in candidates}
        candidates = candidates[:1] if len(texts) == 1 else []
    if not candidates:
        return None
    node, owner = copy.deepcopy(candidates[0])
    rewrite_function(node)
    try:
        return _compiled(node, owner, code, file)
    except SyntaxError:  # 20 blocks within each other, and those of our own
        return None


FoundFunction = tuple[ast.FunctionDef | ast.Lambda, str]
"""A function, and the class it is a method of, or the empty string: for names such as `__x`."""


def _candidates(tree: ast.AST, code: CodeType, owner: str = "") -> Iterator[FoundFunction]:
    """The functions that stand where the code says."""
    for node in ast.iter_child_nodes(tree):
        place = None
        if isinstance(node, ast.FunctionDef):
            place = min([node.lineno, *(one.lineno for one in node.decorator_list)]), node.name
        elif isinstance(node, ast.Lambda):
            place = node.lineno, "<lambda>"
        if place == (code.co_firstlineno, code.co_name):
            assert isinstance(node, ast.FunctionDef | ast.Lambda)
            yield node, owner
        yield from _candidates(node, code, node.name if isinstance(node, ast.ClassDef) else owner)


def _around(lambdas: list[FoundFunction], code: CodeType) -> list[FoundFunction]:
    """Of several lambdas in one line, the innermost that has all of the code in its body; none
    where Python does not say in which columns code stands, as before 3.11."""
    if not hasattr(code, "co_positions"):
        return []
    start = code.co_firstlineno, 0  # of instructions that stand for no expression
    columns = {place[::2] for place in code.co_positions() if None not in place} - {start}
    around = {
        (body.lineno, body.col_offset): found
        for found in lambdas
        if isinstance(body := found[0].body, ast.expr)
        and all(
            (body.lineno, body.col_offset) <= place <= (body.end_lineno, body.end_col_offset)
            for place in columns
        )
    }
    return [around[max(around)]] if columns and around else []


def _is_source(found: FoundFunction, code: CodeType) -> bool:
    """Whether this compiles to that code: for several lambdas of one line."""
    node, owner = copy.deepcopy(found)
    made = _compiled(node, owner, code)
    if made is None:
        return False
    names = made.co_names, made.co_varnames, made.co_freevars, made.co_code
    same = names == (code.co_names, code.co_varnames, code.co_freevars, code.co_code)
    # Constants as text: 1, 1.0 and True are equal; nested code has other names around it.
    plain = [
        [repr(one) for one in c.co_consts if not isinstance(one, CodeType)] for c in (made, code)
    ]
    return same and plain[0] == plain[1]


def _compiled(
    node: ast.FunctionDef | ast.Lambda, owner: str, code: CodeType, file: str = ""
) -> CodeType | None:
    """The code of a function alone, with the free variables and flags that the code has."""
    statement: ast.stmt
    if isinstance(node, ast.Lambda):
        statement = ast.copy_location(ast.Expr(node), node)
    else:
        node.decorator_list = []
        statement = node
    if owner:
        around = ast.parse(f"class {owner}: pass").body[0]
        assert isinstance(around, ast.ClassDef)
        around.body = [statement]
        statement = around
    frame = ast.parse(f"def frame({', '.join([*code.co_freevars, RUNTIME])}): pass")
    function = frame.body[0]
    assert isinstance(function, ast.FunctionDef)
    # Else the function's own name, and that of its class, would be local to the frame.
    outer = {name for name in (getattr(node, "name", ""), owner) if name} - {*code.co_freevars}
    function.body = [*([ast.Global(sorted(outer))] if outer else []), statement]
    ast.fix_missing_locations(function)
    made = compile(frame, file, "exec", flags=code.co_flags & FUTURE, dont_inherit=True)
    return _inner(made, code.co_name, 3 if owner else 2)


def _inner(code: CodeType, name: str, depth: int) -> CodeType | None:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            if depth > 1:
                found = _inner(one, name, depth - 1)
                if found is not None:
                    return found
            elif one.co_name == name:
                return one
    return None
