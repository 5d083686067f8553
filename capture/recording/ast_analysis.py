"""What statements assign to, and where control leaves them: facts about a function's own scope."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence

RUNTIME = "__gradiva__"
RETURNED = "__gradiva_returned__"

_OWN_SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_MOST_COPIES = 256
_MOST_BLOCKS = 18
"""Python compiles 20 blocks within each other; a branch becomes one, of which two are spared."""

_BLOCKS = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.AsyncFor, ast.AsyncWith)


def walk(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The nodes below, in the order of the source, without the insides of functions and classes."""
    for node in nodes:
        yield node
        if not isinstance(node, _OWN_SCOPE):
            yield from walk(list(ast.iter_child_nodes(node)))


def has_own(nodes: Sequence[ast.AST], kinds: tuple[type[ast.AST], ...]) -> bool:
    """Whether there is such a node, not counting inner functions."""
    return any(isinstance(node, kinds) for node in walk(nodes))


def assigned_names(statements: Sequence[ast.stmt]) -> dict[str, int]:
    """The variables that get a value or lose it, and the last line that does so."""
    found: dict[str, int] = {}
    hidden: set[str] = set()  # of comprehensions, which have variables of their own
    for node in walk(statements):
        if isinstance(node, ast.comprehension):
            hidden.update(one.id for one in ast.walk(node.target) if isinstance(one, ast.Name))
    for node in walk(statements):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            if node.id not in hidden or _is_bound_outside(node.id, statements):
                found[node.id] = line
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[node.name] = line
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                found[(alias.asname or alias.name).partition(".")[0]] = line
        elif isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
            found[node.name] = line
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found[node.rest] = line
    return found


def _is_bound_outside(name: str, statements: Sequence[ast.stmt]) -> bool:
    """Whether a name that a comprehension uses for itself is also a variable."""
    inner = {
        id(one)
        for node in walk(statements)
        if isinstance(node, ast.comprehension)
        for one in ast.walk(node.target)
    }
    return any(
        isinstance(node, ast.Name)
        and node.id == name
        and not isinstance(node.ctx, ast.Load)
        and id(node) not in inner
        for node in walk(statements)
    )


def assigned_members(statements: Sequence[ast.stmt]) -> dict[str, tuple[ast.expr, int]]:
    """Attributes and items of variables that get a value, such as `a.b` and `d["k"]`, by their
    text, and the last line that does so."""
    found: dict[str, tuple[ast.expr, int]] = {}
    for node in walk(statements):
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            key = node.slice if isinstance(node, ast.Subscript) else ast.Constant(node.attr)
            if _is_plain(node.value) and isinstance(key, ast.Constant | ast.Name):
                found[ast.unparse(node)] = (node, node.lineno)
    return found


def _is_plain(owner: ast.expr) -> bool:
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    return isinstance(owner, ast.Name)


def lower_jumps(
    statements: list[ast.stmt],
    kind: type[ast.stmt],
    around: int = 0,
    inside: bool = False,
    copies: int = 1,
) -> list[ast.stmt]:
    """The statements with those after an `if` that may return moved into its branches.

    So a `return` (or, in a loop, `continue`) is the last thing that its branch does, and needs no
    jump: it becomes an assignment (or nothing). Where that would take too many copies or blocks
    (around: those that this stands in), it keeps its jump, which no symbol can take.
    """
    done: list[ast.stmt] = []
    for index, statement in enumerate(statements):
        if isinstance(statement, kind):
            return [*done, _as_assignment(statement) if inside else statement]
        if isinstance(statement, ast.If) and _jumps([statement], kind):
            rest = statements[index + 1 :]
            open_body, open_else = not _ends(statement.body), not _ends(statement.orelse)
            more = copies * 2 if rest and open_body and open_else else copies
            inner = max(map(_blocks, (statement.body, statement.orelse, rest)))
            if more > _MOST_COPIES or around + 1 + inner > _MOST_BLOCKS:
                done.append(statement)
                continue
            body = [*statement.body, *(rest if open_body else [])]
            again = copy.deepcopy(rest) if open_body else rest
            orelse = [*statement.orelse, *(again if open_else else [])]
            made = ast.If(
                statement.test,
                lower_jumps(body, kind, around + 1, True, more),
                lower_jumps(orelse, kind, around + 1, True, more),
            )
            done.append(ast.copy_location(made, statement))
            if kind is ast.Return and not inside:
                end = ast.parse(f"return {RUNTIME}.returned({RETURNED})").body[0]
                done.append(relocated(end, statement))
            return done
        done.append(statement)
    return done


def _blocks(statements: Sequence[ast.AST]) -> int:
    """How many blocks stand within each other in these statements."""
    return max(
        (
            isinstance(one, _BLOCKS) + _blocks(list(ast.iter_child_nodes(one)))
            for one in statements
            if isinstance(one, ast.stmt | ast.ExceptHandler) and not isinstance(one, _OWN_SCOPE)
        ),
        default=0,
    )


def _as_assignment(statement: ast.stmt) -> ast.stmt:
    if isinstance(statement, ast.Return):
        value = statement.value or ast.Constant(None)
        made: ast.stmt = ast.Assign([ast.Name(RETURNED, ast.Store())], value)
        ast.copy_location(made, statement)
        return ast.fix_missing_locations(made)
    return ast.copy_location(ast.Pass(), statement)


def relocated(node: ast.stmt, where: ast.AST) -> ast.stmt:
    """The node and all below it with the place of another in the source."""
    for inner in ast.walk(node):
        if "lineno" in inner._attributes:
            put_at(inner, where)
    return node


def put_at(node: ast.AST, where: ast.AST) -> None:
    """Give a node the first line of another; a call is reported at the line where what is called
    ends."""
    ast.copy_location(node, where)
    node.end_lineno, node.end_col_offset = node.lineno, node.col_offset  # type: ignore[attr-defined]


def _jumps(statements: Sequence[ast.stmt], kind: type[ast.stmt]) -> bool:
    """Whether a branch of these ifs may leave by such a statement; loops, `with` and `try` keep
    theirs."""
    return any(
        isinstance(statement, kind)
        or (
            isinstance(statement, ast.If)
            and (_jumps(statement.body, kind) or _jumps(statement.orelse, kind))
        )
        for statement in statements
    )


def _ends(statements: Sequence[ast.stmt]) -> bool:
    """Whether nothing after these statements is reached."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.If):
        return _ends(last.body) and _ends(last.orelse)
    return isinstance(last, ast.Return | ast.Raise | ast.Continue | ast.Break)
