"""Small questions about pieces of Python source."""

from __future__ import annotations

import ast

__all__ = ["assigned", "is_number", "loaded"]


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
