"""The pieces of syntax that are put in place of the user's."""

from __future__ import annotations

import ast

from .ast_analysis import RUNTIME, put_at, relocated


def at(where: ast.AST, text: str, test: ast.expr | None = None) -> ast.stmt:
    """A statement of ours with the place of the user's; `test` stands where the text has TEST."""
    made = relocated(ast.parse(text).body[0], where)
    if test is not None:
        assert isinstance(made, ast.Assign)
        assert isinstance(made.value, ast.Call)
        made.value.args[0] = test
    return made


def fill(statement: ast.stmt, body: list[ast.stmt], before: list[ast.stmt]) -> None:
    """Put statements into `if ...: with ...:`."""
    assert isinstance(statement, ast.If)
    block = statement.body[0]
    assert isinstance(block, ast.With)
    block.body = body
    statement.body = [*before, block]


def call(where: ast.expr, function: str, *arguments: ast.expr) -> ast.Call:
    """A call of a function of `dispatch`, with the place of the user's expression."""
    named = ast.Attribute(ast.Name(RUNTIME, ast.Load()), function, ast.Load())
    made = ast.Call(named, list(arguments), [])
    for node in (made, named, named.value):
        put_at(node, where)
    return made


def later(value: ast.expr) -> ast.Lambda:
    """`lambda: value`."""
    nothing = ast.arguments(
        posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[]
    )
    return ast.copy_location(ast.Lambda(nothing, value), value)
