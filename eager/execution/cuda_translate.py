"""Row kernels as CUDA C++: one declaration, for Numba and for the GPU.

A small part of Python is translated: assignments, `for ... in range`, `while`, `if`, arithmetic
with bits and bounds, subscripts, conversions, and calls of other kernels. All else raises
`UntranslatableError`, which names the line. Types follow from the C++ side, arithmetic.cuh, where
what Numba would compute otherwise is an error of compilation.
"""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from functools import lru_cache
from types import FunctionType
from typing import Any, cast

import numpy as np

from gradiva.eager.jit.jit import Kernel
from gradiva.eager.rows.convert import convert_sat
from gradiva.eager.support.errors import OperatorRuntimeError

from .cuda_syntax import BINARY, BUILTINS, CASTS, MATHS, NOT_FINITE, assigned, is_number, loaded


class UntranslatableError(OperatorRuntimeError):
    """A kernel says something that has no translation."""


@lru_cache(maxsize=256)
def translated(function: FunctionType) -> dict[str, str]:
    """C++ by name: all that the function calls, and the function. Raises UntranslatableError."""
    done: dict[str, str] = {}
    _Translator(function, done).add()
    return done


def translation_of(*kernels: Any) -> str:
    """C++: kernels marked with `jit`, for `.cuh` files that call their `translated_name`."""
    texts: dict[str, str] = {}
    for kernel in kernels:
        texts.update(translated(kernel.function))
    return "\n".join(texts.values())


def translated_name(function: FunctionType) -> str:
    """The name of its translation, with those of its file and its folder."""
    where = "_".join(function.__module__.split(".")[-2:])
    return f"row_{where}_{function.__name__}"


class _Translator:
    """One function; `done` holds the text of functions by name, callees first."""

    def __init__(self, function: FunctionType, done: dict[str, str]) -> None:
        self.function = function
        self.done = done
        self.lines: list[str] = []
        self.scopes: list[set[str]] = [set()]
        self.temporaries = 0
        self.name = translated_name(function)

    def add(self) -> None:
        if self.name in self.done:
            return
        source = textwrap.dedent(inspect.getsource(self.function))
        definition = cast(ast.FunctionDef, ast.parse(source).body[0])
        names = [argument.arg for argument in definition.args.args]
        self.scopes[0].update(names)
        for statement in definition.body:
            self.statement(statement, 1)
        types = ", ".join(f"class T{k}" for k in range(len(names)))
        given = ", ".join(f"T{k} {name}" for k, name in enumerate(names))
        head = f"template <{types}> DEVICE auto {self.name}({given}) {{"
        self.done[self.name] = "\n".join([head, *self.lines, "}\n"])

    def refuse(self, node: ast.AST) -> UntranslatableError:
        text = ast.unparse(node).splitlines()[0]
        line = self.function.__code__.co_firstlineno + getattr(node, "lineno", 1) - 1
        file = self.function.__code__.co_filename.rsplit("/", 1)[-1]
        return UntranslatableError(
            f"the kernel {self.function.__name__} has no translation for the GPU: "
            f"`{text}` ({file}:{line})"
        )

    def put(self, text: str, depth: int) -> None:
        self.lines.append("    " * depth + text)

    def block(self, statements: list[ast.stmt], depth: int) -> None:
        self.scopes.append(set())
        for statement in statements:
            self.statement(statement, depth)
        self.scopes.pop()

    def statement(self, node: ast.stmt, depth: int) -> None:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return  # the docstring
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            self.put(self.expression(node.value) + ";", depth)
        elif isinstance(node, ast.Return):
            value = "" if node.value is None else " " + self.expression(node.value)
            self.put(f"return{value};", depth)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            self.assign(node, node.targets[0], node.value, depth)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.store(node, node.target, self.expression(node.value), depth)
        elif isinstance(node, ast.AugAssign):
            updated = ast.BinOp(loaded(node.target), node.op, node.value)
            self.assign(node, node.target, ast.copy_location(updated, node), depth)
        elif isinstance(node, ast.If):
            self.hoist(node, depth)
            self.put(f"if ({self.expression(node.test)}) {{", depth)
            self.block(node.body, depth + 1)
            if node.orelse:
                self.put("} else {", depth)
                self.block(node.orelse, depth + 1)
            self.put("}", depth)
        elif isinstance(node, ast.For):
            self.loop(node, depth)
        elif isinstance(node, ast.While) and not node.orelse:
            self.put(f"while ({self.expression(node.test)}) {{", depth)
            self.block(node.body, depth + 1)
            self.put("}", depth)
        else:
            raise self.refuse(node)

    def loop(self, node: ast.For, depth: int) -> None:
        called = node.iter
        simple = isinstance(called, ast.Call) and isinstance(node.target, ast.Name)
        if not simple:
            raise self.refuse(node)
        assert isinstance(called, ast.Call)
        assert isinstance(node.target, ast.Name)
        known = isinstance(called.func, ast.Name) and called.func.id == "range"
        if not known or node.orelse:
            raise self.refuse(node)
        first, end, step = self.bounds(node, called.args)
        name, sign = node.target.id, "<" if step > 0 else ">"
        self.put(f"for (i64 {name} = {first}; {name} {sign} {end}; {name} += {step}) {{", depth)
        self.scopes.append({name})
        for statement in node.body:
            self.statement(statement, depth + 1)
        self.scopes.pop()
        self.put("}", depth)

    def bounds(self, node: ast.For, given: list[ast.expr]) -> tuple[str, str, int]:
        """First, end and step of a loop; steps are numbers in the source."""
        step = 1
        if len(given) == 3:
            step = ast.literal_eval(given.pop()) if is_number(given[-1]) else 0
        if not step or len(given) not in (1, 2):
            raise self.refuse(node)
        texts = [f"i64({self.expression(bound)})" for bound in given]
        return texts[0] if len(texts) == 2 else "0", texts[-1], step

    def hoist(self, node: ast.If, depth: int) -> None:
        """Declare before an `if` what both of its branches assign."""
        one, other = assigned(node.body), assigned(node.orelse)
        for name in one:
            if name in other and not any(name in scope for scope in self.scopes):
                self.put(f"decltype({self.expression(one[name])}) {name};", depth)
                self.scopes[-1].add(name)

    def assign(self, node: ast.stmt, target: ast.expr, value: ast.expr, depth: int) -> None:
        if isinstance(target, ast.Tuple):
            if isinstance(value, ast.Call) and len(target.elts) == 2:
                pair = self.hold(value, depth)
                for place, part in zip(target.elts, ("first", "second"), strict=True):
                    self.store(node, place, f"{pair}.{part}", depth)
                return
            if not isinstance(value, ast.Tuple) or len(value.elts) != len(target.elts):
                raise self.refuse(node)
            # All values are there before the first name changes.
            held = [self.hold(one, depth) for one in value.elts]
            for place, text in zip(target.elts, held, strict=True):
                self.store(node, place, text, depth)
            return
        self.store(node, target, self.expression(value), depth)

    def hold(self, value: ast.expr, depth: int) -> str:
        self.temporaries += 1
        name = f"held{self.temporaries}"
        self.put(f"auto {name} = {self.expression(value)};", depth)
        return name

    def store(self, node: ast.stmt, target: ast.expr, text: str, depth: int) -> None:
        if isinstance(target, ast.Name):
            if any(target.id in scope for scope in self.scopes):
                self.put(f"assign({target.id}, {text});", depth)
            else:
                self.scopes[-1].add(target.id)
                self.put(f"auto {target.id} = {text};", depth)
        elif isinstance(target, ast.Subscript):
            strip = self.expression(target.value)
            if isinstance(target.slice, ast.Slice):
                if target.slice.lower or target.slice.upper or target.slice.step:
                    raise self.refuse(node)
                self.put(f"{strip}.fill({text});", depth)
            else:
                self.put(f"{strip}.set({self.expression(target.slice)}, {text});", depth)
        else:
            raise self.refuse(node)

    def expression(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant):
            return self.constant(node, node.value)
        if isinstance(node, ast.Name):
            return self.named(node)
        if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
            pair = f"{self.expression(node.left)}, {self.expression(node.right)}"
            return f"{BINARY[type(node.op)]}({pair})"
        if isinstance(node, ast.UnaryOp):
            return self.unary(node)
        if isinstance(node, ast.BoolOp):
            word = " && " if isinstance(node.op, ast.And) else " || "
            return "(" + word.join(self.expression(value) for value in node.values) + ")"
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in BINARY:
            pair = f"{self.expression(node.left)}, {self.expression(node.comparators[0])}"
            return f"{BINARY[type(node.ops[0])]}({pair})"
        if isinstance(node, ast.IfExp):
            test, one, other = map(self.expression, (node.test, node.body, node.orelse))
            return f"({test} ? {one} : {other})"
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice | ast.Tuple):
            if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
                return f"{self.expression(node.value.value)}.shape({ast.unparse(node.slice)})"
            return f"{self.expression(node.value)}[{self.expression(node.slice)}]"
        if isinstance(node, ast.Attribute) and node.attr == "size":
            return f"{self.expression(node.value)}.size"
        if isinstance(node, ast.Attribute) and ast.unparse(node) in NOT_FINITE:
            return f"f64(FLOAT_OF_BITS({NOT_FINITE[ast.unparse(node)]}))"
        if isinstance(node, ast.Call) and not node.keywords:
            return self.call(node)
        raise self.refuse(node)

    def constant(self, node: ast.expr, value: object) -> str:
        if isinstance(value, bool | np.bool_):
            return "true" if value else "false"
        if isinstance(value, int):
            return f"i64({value})"
        if isinstance(value, np.integer) and value.dtype.name in CASTS:
            return f"{CASTS[value.dtype.name]}({value})"
        # Before `float`, which a float64 of NumPy is too.
        if isinstance(value, np.float32):
            return f"f32({self.floating(node, float(value))})"
        if isinstance(value, float):
            return f"f64({self.floating(node, value)})"
        raise self.refuse(node)

    def floating(self, node: ast.expr, value: float) -> str:
        if not math.isfinite(value):
            raise self.refuse(node)
        return value.hex()

    def named(self, node: ast.Name) -> str:
        if any(node.id in scope for scope in self.scopes):
            return node.id
        value = self.function.__globals__.get(node.id)
        return self.constant(node, value)

    def unary(self, node: ast.UnaryOp) -> str:
        if isinstance(node.op, ast.Not):
            return f"(!{self.expression(node.operand)})"
        if isinstance(node.op, ast.USub):
            return f"negate({self.expression(node.operand)})"
        raise self.refuse(node)

    def call(self, node: ast.Call) -> str:
        called = node.func
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            module = self.function.__globals__.get(called.value.id)
            if module is np and called.attr in CASTS:
                return f"{CASTS[called.attr]}({self.arguments(node)})"
            function = (
                getattr(module, called.attr, None) if module is math or module is np else None
            )
        elif isinstance(called, ast.Name):
            function = self.function.__globals__.get(called.id)
            function = BUILTINS.get(called.id, function)
        else:
            raise self.refuse(node)
        if function is convert_sat:
            return f"convert_like({self.arguments(node)})"
        if isinstance(function, Kernel):
            callee = _Translator(function.function, self.done)
            callee.add()
            return f"{callee.name}({self.arguments(node)})"
        name = next((name for known, name in MATHS.items() if known is function), None)
        if name is None or (function in (min, max) and len(node.args) != 2):
            raise self.refuse(node)
        return f"{name}({self.arguments(node)})"

    def arguments(self, node: ast.Call) -> str:
        return ", ".join(self.expression(argument) for argument in node.args)
