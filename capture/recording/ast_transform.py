"""Rewrites the syntax tree of a function: `if`, `and`, `or`, `not`, `a if c else b`, `a < b < c`
and calls become calls of `dispatch`.

An `if` statement runs both of its branches in place, one after the other, when its condition is a
symbol:

    choice = runtime.If(test, (runtime.target("x", (2, 4), lambda: x),))
    if choice.first:
        with choice.branch(0):
            x = a
    if choice.second:
        if choice.symbolic:
            (x,) = choice.before()
        with choice.branch(1):
            x = b
    if choice.symbolic:
        (x,) = choice.merge()

Every node keeps its line, so that errors and debuggers show the user's own code.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from .ast_analysis import (
    RETURNED,
    RUNTIME,
    assigned_members,
    assigned_names,
    has_own,
    lower_jumps,
    walk,
)
from .ast_templates import at, call, fill, later

_SUSPENDS = (ast.Yield, ast.YieldFrom, ast.Await)


def rewrite_function(node: ast.FunctionDef | ast.Lambda) -> None:
    """Rewrite the body of a function in place."""
    _Rewriter().function(node)


class _Rewriter(ast.NodeTransformer):
    """State of the function that is being rewritten; `_in_function` is False in a class body."""

    def __init__(self) -> None:
        self._count = 0
        self._in_function = False
        self._merged: frozenset[str] = frozenset()
        self._ifs: tuple[str, ...] = ()
        self._loop = 0

    def function(self, node: ast.FunctionDef | ast.Lambda) -> None:
        state = self._in_function, self._merged, self._ifs, self._loop
        self._in_function, self._ifs, self._loop = True, (), 0
        if isinstance(node, ast.Lambda):
            node.body = self._expression(node.body)
        elif not has_own(node.body, _SUSPENDS):
            node.body = self._body(node)
        self._in_function, self._merged, self._ifs, self._loop = state

    def _body(self, node: ast.FunctionDef) -> list[ast.stmt]:
        body = lower_jumps(node.body, ast.Return)
        ifs = [one for one in walk(body) if isinstance(one, ast.If)]
        changed = {name for one in ifs for name in assigned_names([*one.body, *one.orelse])}
        self._merged = self._merged | changed
        made = self._block(body)
        if RETURNED in changed:
            made.insert(_after_docstring(made), at(node, f"{RETURNED} = {RUNTIME}.NOTHING"))
        return made

    def _block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in statements:
            new = self.visit(statement)
            made += new if isinstance(new, list) else [new]
        return made

    def _expression(self, node: ast.expr) -> ast.expr:
        made = self.visit(node)
        assert isinstance(made, ast.expr)
        return made

    # Statements

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if not any(_names_marker(decorator) for decorator in node.decorator_list):
            self.function(node)
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        state, self._in_function = self._in_function, False
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef):
                self.visit(statement)
        self._in_function = state
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.target = self.visit(node.target)
        if node.value is not None:
            node.value = self._expression(node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name) and node.target.id in self._merged:
            return [at(node, f"{RUNTIME}.use({node.target.id})"), node]
        return node

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self._count += 1
        name = f"{RUNTIME[:-2]}_if_{self._count}__"
        targets = _target_arguments(node)
        test = self._expression(node.test)
        self._ifs = (*self._ifs, name)
        body, orelse = self._block(node.body), self._block(node.orelse)
        self._ifs = self._ifs[:-1]
        names = _targets(node)
        target = f"({', '.join(names)}{',' if names else ''})"
        first, before, second, merged = (
            at(node, f"if {name}.first:\n with {name}.branch(0): pass"),
            at(node, f"if {name}.symbolic: {target} = {name}.before()"),
            at(node, f"if {name}.second:\n with {name}.branch(1): pass"),
            at(node, f"if {name}.symbolic: {target} = {name}.merge()"),
        )
        fill(first, body, [])
        fill(second, orelse or [ast.copy_location(ast.Pass(), node)], [before])
        return [at(node, f"{name} = {RUNTIME}.If(TEST, ({targets}))", test), first, second, merged]

    def visit_For(self, node: ast.For) -> ast.AST:
        node.iter = self._expression(node.iter)
        return self._loop_of(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        node.test = self._expression(node.test)
        return self._loop_of(node)

    def _loop_of(self, node: ast.For | ast.While) -> ast.AST:
        outer, self._loop = self._loop, len(self._ifs)
        body = lower_jumps(node.body, ast.Continue, len(self._ifs) + 1)
        node.body = self._block(body) or [ast.Pass()]
        self._loop = outer
        node.orelse = self._block(node.orelse)
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        return self._leaving(node, "return", self._ifs)

    def visit_Break(self, node: ast.Break) -> ast.AST | list[ast.stmt]:
        return self._leaving(node, "break", self._ifs[self._loop :])

    def visit_Continue(self, node: ast.Continue) -> ast.AST | list[ast.stmt]:
        return self._leaving(node, "continue", self._ifs[self._loop :])

    def _leaving(
        self, node: ast.stmt, statement: str, around: tuple[str, ...]
    ) -> ast.AST | list[ast.stmt]:
        if not around:
            return node
        return [at(node, f"{RUNTIME}.leave({', '.join([repr(statement), *around])})"), node]

    # Expressions

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.function(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and node.id in self._merged and self._in_function:
            return call(node, "use", ast.copy_location(ast.Name(node.id, ast.Load()), node))
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if self._in_function and not _is_ours(node.func):
            if isinstance(node.func, ast.Attribute) and node.func.end_lineno is not None:
                # Python reports the call of a method at the line where its name ends.
                node.lineno = node.func.end_lineno
                node.col_offset = node.func.end_col_offset or 0
            node.func = call(node.func, "call", node.func)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        if not self._in_function or has_own(node.values[1:], (ast.NamedExpr, *_SUSPENDS)):
            return node
        function = "and_" if isinstance(node.op, ast.And) else "or_"
        result = node.values[-1]
        for value in reversed(node.values[:-1]):
            result = call(node, function, value, later(result))
        return result

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) and self._in_function:
            return call(node, "not_", node.operand)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        sides = [node.body, node.orelse]
        if not self._in_function or has_own(sides, (ast.NamedExpr, *_SUSPENDS)):
            return node
        return call(node, "choose", node.test, *map(later, sides))

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        inner = has_own(node.comparators, (ast.NamedExpr, *_SUSPENDS))
        if len(node.ops) < 2 or not self._in_function or inner:
            return node
        steps: list[ast.expr] = []
        for op, operand in zip(node.ops, node.comparators, strict=True):
            pair = ast.Tuple([ast.Constant(type(op).__name__), later(operand)], ast.Load())
            steps.append(ast.copy_location(pair, operand))
            ast.fix_missing_locations(pair)
        return call(node, "chain", node.left, *steps)


def _names_marker(decorator: ast.expr) -> bool:
    return "do_not_convert" in (getattr(decorator, "id", None), getattr(decorator, "attr", None))


def _is_ours(function: ast.expr) -> bool:
    """Whether this is a call that `lower_jumps` has inserted."""
    owner = getattr(function, "value", None)
    return isinstance(owner, ast.Name) and owner.id == RUNTIME


def _after_docstring(statements: list[ast.stmt]) -> int:
    first = statements[0]
    constant = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return int(constant)


def _targets(node: ast.If) -> list[str]:
    return list(assigned_names([*node.body, *node.orelse]))


def _target_arguments(node: ast.If) -> str:
    """The targets that the branches assign to, as the text of arguments."""
    names, others = assigned_names(node.body), assigned_names(node.orelse)
    made = [
        f"{RUNTIME}.target({_shown(name)!r}, ({names.get(name)}, {others.get(name)}), "
        f"lambda: {name})"
        for name in _targets(node)
    ]
    changed = {*names, *others}
    here, there = assigned_members(node.body), assigned_members(node.orelse)
    for text, (place, _) in {**here, **there}.items():
        if any(one.id in changed for one in ast.walk(place) if isinstance(one, ast.Name)):
            continue  # not the same place in both branches
        assert isinstance(place, ast.Attribute | ast.Subscript)
        item = isinstance(place, ast.Subscript)
        key = ast.unparse(place.slice) if isinstance(place, ast.Subscript) else repr(place.attr)
        lines = tuple(side[text][1] if text in side else None for side in (here, there))
        made.append(
            f"{RUNTIME}.target({text!r}, {lines}, lambda: {ast.unparse(place.value)}, "
            f"{'item' if item else 'attribute'!r}, lambda: {key})"
        )
    return "".join(f"{one}, " for one in made)


def _shown(name: str) -> str:
    return "the returned value" if name == RETURNED else name
