"""`except` in compiled functions. Calls are computed after the function has returned, so a handler
in the function does not see their errors. If an error would have been caught by a handler, its
message says so."""

from __future__ import annotations

import ast
import linecache

from gradiva.eager.support.errors import GradivaError, Location


def explain_handler(error: GradivaError) -> None:
    """Add a note to an error if its line stands inside a `try` whose `except` would have caught
    it."""
    if error.location is None:
        return
    line = _handler_around(error.location, {kind.__name__ for kind in type(error).__mro__})
    if line is None:
        return
    text = (
        f"the handler in line {line} has not seen this, because a compiled function computes after "
        "it has returned: call `evaluate()` on the result where the error is to be caught"
    )
    if text not in error.problem:
        error.problem = f"{error.problem}; {text}" if error.problem else text


def _handler_around(location: Location, caught: set[str]) -> int | None:
    """The line of the innermost handler around a line of a function that catches one of these
    classes, or all errors. None if there is no such handler, or no source code."""
    finder = _Finder(location.line, caught)
    linecache.checkcache(location.code.co_filename)
    try:
        finder.visit(ast.parse("".join(linecache.getlines(location.code.co_filename))))
    except (SyntaxError, ValueError, RecursionError):
        return None
    return finder.found


class _Finder(ast.NodeVisitor):
    def __init__(self, line: int, caught: set[str]) -> None:
        self._line, self._caught = line, caught
        self._handler: int | None = None
        """The line of the handler around the visited statement."""
        self.found: int | None = None
        """The line of the handler around the innermost statement that has the line."""

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt) and self._line in range(
            node.lineno, (node.end_lineno or node.lineno) + 1
        ):
            self.found = self._handler
        super().generic_visit(node)

    def _visit_under(self, handler: int | None, nodes: list[ast.stmt]) -> None:
        before, self._handler = self._handler, handler
        for node in nodes:
            self.visit(node)
        self._handler = before

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._visit_under(None, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815  its name is the standard library's

    def visit_Try(self, node: ast.Try) -> None:
        lines = [one.lineno for one in node.handlers if self._catches(one.type)]
        self._visit_under(lines[0] if lines else self._handler, node.body)
        for handler in node.handlers:
            self._visit_under(self._handler, handler.body)
        self._visit_under(self._handler, node.orelse)
        self._visit_under(self._handler, node.finalbody)

    def visit_With(self, node: ast.With) -> None:
        calls = [item.context_expr for item in node.items]
        kinds = [
            kind
            for call in calls
            if isinstance(call, ast.Call) and _last_name(call.func) == "suppress"
            for kind in call.args
        ]
        suppressed = any(map(self._catches, kinds))
        self._visit_under(node.lineno if suppressed else self._handler, node.body)

    def _catches(self, kind: ast.expr | None) -> bool:
        if isinstance(kind, ast.Tuple):
            return any(map(self._catches, kind.elts))
        return kind is None or _last_name(kind) in self._caught


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
