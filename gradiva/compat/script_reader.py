"""Reads a script, without running it, and follows the names that come from `nvidia.dali`.

It follows imports, assignments, attributes of `self`, calls of classes and of functions that
`pipeline_def` decorates. What it cannot follow (names made by strings, values in containers), it
passes over: it never guesses.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.compat.meanings import (
    Call,
    Factory,
    Meaning,
    Name,
    Object,
    Own,
    OwnClass,
    catches_imports,
    imported_by_call,
    is_ours,
    is_super_init,
    keywords_of,
    stored_attributes,
)
from gradiva.compat.names import ABSENT, SOURCE

__all__ = ["read"]

_PIPELINE = f"{SOURCE}.Pipeline"
_PIPELINE_DEF = f"{SOURCE}.pipeline_def"


class _Reader(ast.NodeVisitor):
    """Visits statements for their effect, and expressions for what they mean, too."""

    def __init__(
        self,
        used: Callable[[str, int, bool], None],
        called: Callable[[Call, bool], None],
        resolve: Callable[[str], Any],
    ) -> None:
        self._used, self._called, self._resolve = used, called, resolve
        self._scopes: list[dict[str, Meaning]] = [{}]
        self._class: OwnClass | None = None  # whose body this is
        self._method_of: OwnClass | None = None
        self._stored: set[str] = set()
        self._later: list[Callable[[], None]] = []
        self._optional = False

    def read(self, tree: ast.Module) -> None:
        self._stored = set(stored_attributes(tree))
        self.visit(tree)
        while self._later:  # bodies of functions: by then all names of the module are known
            self._later.pop(0)()

    # Imports

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if not is_ours(alias.name):
                self._bind(alias.asname or alias.name.partition(".")[0], None)
                continue
            self._used(alias.name, node.lineno, self._optional)
            if alias.asname:
                self._bind(alias.asname, Name(alias.name))
            else:
                root = alias.name.partition(".")[0]
                self._bind(root, Name(root))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        for alias in node.names:
            path = f"{module}.{alias.name}"
            if node.level or not is_ours(path):
                self._bind(alias.asname or alias.name, None)
            elif alias.name == "*":
                found = self._resolve(module)
                public = getattr(found, "__all__", None) or dir(found)
                for name in () if found is ABSENT else public:
                    if not name.startswith("_"):
                        self._bind(name, Name(f"{module}.{name}"))
            else:
                self._used(path, node.lineno, self._optional)
                self._bind(alias.asname or alias.name, Name(path))

    def visit_Try(self, node: ast.Try) -> None:
        before, self._optional = self._optional, self._optional or catches_imports(node)
        for statement in node.body:
            self.visit(statement)
        self._optional = before
        for part in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(part)

    # Names

    def _bind(self, name: str, meaning: Meaning) -> None:
        self._scopes[-1][name] = meaning

    def visit_Name(self, node: ast.Name) -> Meaning:
        if isinstance(node.ctx, ast.Load):
            for scope in reversed(self._scopes):
                if node.id in scope:
                    found = scope[node.id]
                    if isinstance(found, Name):
                        self._used(found.path, node.lineno, self._optional)
                    return found
        return None

    def visit_Attribute(self, node: ast.Attribute) -> Meaning:
        owner = self.visit(node.value)
        if not isinstance(node.ctx, ast.Load):
            return None
        if isinstance(owner, Name):
            path = f"{owner.path}.{node.attr}"
            self._used(path, node.lineno, self._optional)
            return Name(path)
        if isinstance(owner, Own):
            if node.attr in owner.kind.attributes:
                return owner.kind.attributes[node.attr]
            if not owner.kind.pipeline or node.attr in owner.kind.names:
                return None
        elif not isinstance(owner, Object) or owner.path != _PIPELINE:
            return None
        if node.attr in self._stored:
            return None
        path = f"{_PIPELINE}.{node.attr}"
        self._used(path, node.lineno, self._optional)
        return Name(path)

    def visit_Call(self, node: ast.Call) -> Meaning:
        function = self.visit(node.func)
        for argument in (*node.args, *(one.value for one in node.keywords)):
            self.visit(argument)
        given = keywords_of(node)
        if isinstance(function, Name | Object):
            self._called(Call(function.path, node.lineno, given), self._optional)
            return self._made(function.path) if isinstance(function, Name) else None
        if isinstance(function, Own) and function.is_class:
            return Own(function.kind, False)
        if isinstance(function, Factory):
            if function.own is not None:
                call = Call(_PIPELINE_DEF, node.lineno, given, function.own)
                self._called(call, self._optional)
            return Object(_PIPELINE)
        module = imported_by_call(node)
        if module is not None:
            self._used(module, node.lineno, self._optional)
            return Name(module)
        inside = self._method_of
        if inside is not None and inside.pipeline and is_super_init(node.func):
            self._called(Call(_PIPELINE, node.lineno, given), self._optional)
        return None

    def _made(self, path: str) -> Meaning:
        found = self._resolve(path)
        if not isinstance(found, type):
            return None
        return Object(_PIPELINE if found is Pipeline else path)

    # Assignments

    def visit_Assign(self, node: ast.Assign) -> None:
        meaning = self.visit(node.value)
        for target in node.targets:
            self._assign(target, meaning, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.annotation)
        if node.value is not None:
            self._assign(node.target, self.visit(node.value), node.value)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Meaning:
        meaning: Meaning = self.visit(node.value)
        self._assign(node.target, meaning, node.value)
        return meaning

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            meaning = self.visit(item.context_expr)
            if meaning == Object(_PIPELINE):
                self._called(Call(f"{_PIPELINE}.__enter__", node.lineno, {}), self._optional)
            if item.optional_vars is not None:
                self._assign(item.optional_vars, meaning, item.context_expr)
        for statement in node.body:
            self.visit(statement)

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self._assign(node.target, None, node.iter)
        for statement in (*node.body, *node.orelse):
            self.visit(statement)

    def _assign(self, target: ast.expr, meaning: Meaning, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            nothing = isinstance(value, ast.Constant) and value.value is None
            if not nothing or target.id not in self._scopes[-1]:
                self._bind(target.id, meaning)
        elif isinstance(target, ast.Attribute):
            owner = self.visit(target.value)
            if isinstance(owner, Own):
                owner.kind.names.add(target.attr)
                owner.kind.attributes[target.attr] = meaning
        elif isinstance(target, ast.Tuple | ast.List):
            for one in target.elts:
                self._assign(one, None, value)
        elif isinstance(target, ast.Starred):
            self._assign(target.value, None, value)
        else:
            self.visit(target)

    # Functions and classes

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        decorators = [(self.visit(one), one) for one in node.decorator_list]
        arguments = node.args
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                self.visit(default)
        own = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        names = frozenset(one.arg for one in own)
        meaning: Meaning = None
        for found, decorator in decorators:
            if self._decorates(found, decorator).endswith(".pipeline_def"):
                meaning = Factory(None if arguments.kwarg else names)
        self._bind(node.name, meaning)
        scope: dict[str, Meaning] = dict.fromkeys(names)
        for extra in (arguments.vararg, arguments.kwarg):
            if extra is not None:
                scope[extra.arg] = None
        if self._class is not None and own:
            scope[own[0].arg] = Own(self._class, False)
        scopes, inside = [*self._scopes, scope], self._class or self._method_of
        self._later.append(lambda: self._body(node, scopes, inside))

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def _decorates(self, found: Meaning, node: ast.expr) -> str:
        """The path of a decorator, called or not; "" if it is none of ours."""
        if isinstance(node, ast.Call):
            used, self._used = self._used, _ignore  # it was told of already
            found = self.visit(node.func)
            self._used = used
        return found.path if isinstance(found, Name) else ""

    def _body(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        scopes: list[dict[str, Meaning]],
        inside: OwnClass | None,
    ) -> None:
        self._scopes, self._class, self._method_of = scopes, None, inside
        for statement in node.body:
            self.visit(statement)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        names = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        self._scopes = [*self._scopes, dict.fromkeys(one.arg for one in names)]
        self.visit(node.body)
        self._scopes = self._scopes[:-1]

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        pipeline, names = False, set[str]()
        for base in node.bases:
            meaning = self.visit(base)
            if isinstance(meaning, Name):
                pipeline |= self._resolve(meaning.path) is Pipeline
            elif isinstance(meaning, Own):
                pipeline |= meaning.kind.pipeline
                names |= meaning.kind.names
        names |= {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
        # Where it has other bases, they may have any name.
        made = OwnClass(pipeline and len(node.bases) == 1, names)
        outer, self._class = self._class, made
        self._scopes = [*self._scopes, {}]
        for statement in node.body:
            self.visit(statement)
        names |= self._scopes[-1].keys()
        self._scopes, self._class = self._scopes[:-1], outer
        self._bind(node.name, Own(made, True))


def _ignore(path: str, line: int, optional: bool) -> None:
    """Told of a name, do nothing."""


def read(
    tree: ast.Module,
    used: Callable[[str, int, bool], None],
    called: Callable[[Call, bool], None],
    resolve: Callable[[str], Any],
) -> None:
    """Tell `used` of each name with its line, and `called` of each call; the last argument of both
    is whether the script catches an ImportError there. resolve: what a path is, or ABSENT."""
    _Reader(used, called, resolve).read(tree)
