"""What a kernel is compiled from, as a digest: its code, and all that this code reaches.

Followed are the global names that the code loads: other kernels, functions, constants, names in
modules; and for extensions of Numba (`register_extension`, `register_intrinsic`) what makes them.
Code is compared as Python compiled it, so a comment or another function of the file changes
nothing. Libraries are known by their versions (`eager/jit/numba_compiler.py`).
"""

from __future__ import annotations

import enum
import functools
import hashlib
import opcode
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final, cast

import numpy as np

from gradiva.eager.types.dtypes import DType

extensions: dict[FunctionType, FunctionType] = {}
"""By function that kernels call and an extension implements: the function that makes its bodies."""

_PLAIN: Final = frozenset({type(None), bool, int, float, complex, str, bytes, type(Ellipsis)})
# Bytes of code, and by how many bits their argument is more than the number of a name.
_LOADS: Final = (
    (opcode.opmap["LOAD_GLOBAL"], 1 if sys.version_info >= (3, 11) else 0),
    (opcode.opmap["LOAD_NAME"], 0),
)
_EXTENDED: Final = opcode.EXTENDED_ARG
_LIBRARIES: Final = sys.stdlib_module_names | {"numpy", "numba", "llvmlite"}


class UndescribedError(Exception):
    """A kernel uses a value of which nobody can say whether it is the same in another process."""


def kernel_digest(function: Callable[..., Any]) -> str:
    """A digest of all that a kernel is compiled from. Raises UndescribedError."""
    digest = hashlib.blake2b(sys.version.encode(), digest_size=12)
    for part in _Walk(function).parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def reached_functions(function: Callable[..., Any]) -> list[FunctionType]:
    """All functions whose code has a part in the digest. Raises UndescribedError."""
    return list(_Walk(function).numbers)


class _Walk:
    """From a function to all that it reaches, each function once, in an order of its own."""

    def __init__(self, start: Callable[..., Any]) -> None:
        self.numbers: dict[FunctionType, int] = {}
        self.parts: list[bytes] = []
        self._pending: list[FunctionType] = []
        self._number(cast(FunctionType, start))
        while self._pending:
            self._follow(self._pending.pop())

    def _number(self, function: FunctionType) -> str:
        """The function by its number; its code follows if it is new."""
        # What a kernel calls of an extension is what the extension makes.
        function = extensions.get(function, function)
        if function not in self.numbers:
            self.numbers[function] = len(self.numbers)
            self._pending.append(function)
        return f"function {self.numbers[function]}"

    def _follow(self, function: FunctionType) -> None:
        name, code = f"{function.__module__}.{function.__qualname__}", function.__code__
        given = function.__defaults__, function.__kwdefaults__
        self._add(name, "is given", given)
        for variable, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self._add(name, variable, cell.cell_contents)
        self.parts.append(_code_text(code))
        if not name.startswith("gradiva."):
            self.parts.append(_file_digest(code.co_filename))
        for used in sorted(global_names(function)):
            if used not in function.__globals__:
                continue  # of Python itself
            value = function.__globals__[used]
            self._add(name, used, value)
            self._add_attributes(name, used, value, _attributes(code), set())

    def _add(self, function: str, name: str, value: Any) -> None:
        try:
            self.parts.append(f"{function} {name} {self._described(value)}".encode())
        except UndescribedError as error:
            raise UndescribedError(f"{function} uses {name}, {error}") from None

    def _add_attributes(
        self, function: str, name: str, module: Any, wanted: set[str], seen: set[int]
    ) -> None:
        """Those of a module, and of modules in it, that the code may read."""
        if not isinstance(module, ModuleType) or _of_a_library(module.__name__):
            return
        if id(module) not in seen:
            seen.add(id(module))
            for attribute in sorted(wanted & vars(module).keys()):
                value, dotted = vars(module)[attribute], f"{name}.{attribute}"
                self._add(function, dotted, value)
                self._add_attributes(function, dotted, value, wanted, seen)

    def _described(self, value: Any) -> str:
        kind = type(value)
        if kind in _PLAIN:
            return f"{kind.__name__} {value!r}"
        if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
            flags = value.flags
            layout = f"{value.dtype} {value.shape} {flags.c_contiguous} {flags.f_contiguous}"
            return f"array {layout} {hashlib.sha256(value.tobytes()).hexdigest()}"
        if isinstance(value, tuple | list):
            return f"{kind.__qualname__} [{', '.join(map(self._described, value))}]"
        if isinstance(value, frozenset | set):
            return f"{kind.__qualname__} {{{', '.join(sorted(map(self._described, value)))}}}"
        if isinstance(value, Mapping):
            return f"{kind.__qualname__} {self._described(list(value.items()))}"
        if isinstance(value, enum.Enum):
            return f"{kind.__qualname__}.{value.name} {self._described(value.value)}"
        return self._named(value)

    def _named(self, value: Any) -> str:
        """Functions, modules, classes, and what a library has made."""
        if isinstance(value, ModuleType):
            return f"module {value.__name__}"
        name = f"{getattr(value, '__module__', None)}.{getattr(value, '__qualname__', None)}"
        if _of_a_library(name) and not name.endswith(".None"):
            return f"{type(value).__name__} {name}"
        if isinstance(value, type):
            return f"class {name} {self._class(value)}"
        if isinstance(value, FunctionType):
            return self._number(value)
        for attribute in ("function", "py_func"):  # of a kernel; of what Numba has made
            inner = getattr(value, attribute, None)
            if isinstance(inner, FunctionType):
                named = ("inline", "noinline", "targetoptions")
                options = [getattr(value, option, None) for option in named]
                return f"{self._described(options)} {self._number(inner)}"
        if isinstance(value, DType):  # `np.float32`, beside a module that has a `float32` too
            return f"DType {value.name}"
        if isinstance(value, np.dtype | np.ufunc):
            return f"{type(value).__qualname__} {value!r}"
        raise UndescribedError(f"a value of the type {type(value).__qualname__}")

    def _class(self, value: type) -> str:
        if issubclass(value, tuple) and hasattr(value, "_fields"):
            return self._described(value._fields)
        if issubclass(value, enum.Enum):
            return self._described([(member.name, member.value) for member in value])
        methods = {name: it for name, it in vars(value).items() if isinstance(it, FunctionType)}
        return self._described([[base.__qualname__ for base in value.__bases__], methods])


def _file_digest(path: str) -> bytes:
    """Of a file of the user's, who may extend Numba in it without telling us."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).digest()
    except OSError:
        return b""  # typed into a shell


def _of_a_library(name: str) -> bool:
    return name.partition(".")[0] in _LIBRARIES


def global_names(function: FunctionType) -> set[str]:
    """The global names that a function's code loads, or the code of a function inside it."""
    return set().union(*map(_loaded, _codes(function.__code__)))


@functools.lru_cache(maxsize=2048)
def _loaded(code: CodeType) -> frozenset[str]:
    # As `dis` would tell, in a fiftieth of the time.
    steps, arguments, names = code.co_code[::2], code.co_code[1::2], code.co_names
    found = set()
    for operation, shift in _LOADS:
        at = steps.find(operation)
        while at >= 0:
            argument, before = arguments[at], at - 1
            while before >= 0 and steps[before] == _EXTENDED:
                argument += arguments[before] << 8 * (at - before)
                before -= 1
            found.add(names[argument >> shift])
            at = steps.find(operation, at + 1)
    return frozenset(found)


def _attributes(code: CodeType) -> set[str]:
    """All names that stand in the code, among them those of attributes."""
    return {name for part in _codes(code) for name in part.co_names}


def _codes(code: CodeType) -> list[CodeType]:
    """The code of a function, and of those inside it."""
    codes = [code]
    for one in codes:
        codes += [constant for constant in one.co_consts if isinstance(constant, CodeType)]
    return codes


@functools.lru_cache(maxsize=2048)
def _code_text(code: CodeType) -> bytes:
    """All of a code that has a meaning: not its file, its lines and its comments."""
    facts = (
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_flags,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        [_constant_text(constant) for constant in code.co_consts],
    )
    return repr(facts).encode() + code.co_code + getattr(code, "co_exceptiontable", b"")


def _constant_text(constant: Any) -> str:
    if isinstance(constant, CodeType):
        return _code_text(constant).hex()
    if isinstance(constant, frozenset):  # in whatever order
        return f"frozenset {sorted(map(_constant_text, constant))}"
    if isinstance(constant, tuple):
        return f"tuple {[_constant_text(one) for one in constant]}"
    return repr(constant)
