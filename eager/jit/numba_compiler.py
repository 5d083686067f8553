"""Numba's compiler, and what it leaves: the parts of it that Numba calls its own.

Numba may change them with any version: each has a test, which runs with the oldest and the newest
version that `pyproject.toml` allows. What intrinsics use of it is in `numba_adapter.py`.
"""

from __future__ import annotations

import copy
import hashlib
import importlib
import inspect
import pickle
from collections.abc import Callable
from functools import cache
from typing import Any, Final, Protocol

import numpy as np

from .numba_adapter import llvm

_SETTINGS: Final = (
    "OPT",
    "LOOP_VECTORIZE",
    "SLP_VECTORIZE",
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "USING_SVML",
)
"""What of Numba's configuration changes the machine code, beside the CPU."""


class CompiledStore(Protocol):
    """Where the compiled forms of one function are kept."""

    def read(self, name: str, meaning: str) -> bytes | None:
        """What was written under this name and with this meaning, bit by bit, or None."""

    def write(self, name: str, meaning: str, content: bytes) -> None:
        """Keep it, if that can be done."""

    def refuse(self, reason: str) -> None:
        """Something cannot be kept at all."""


_LOCKS: Final = "numba.core.compiler_lock"


def compiler_lock() -> Any:
    """Who has it, has Numba or LLVM at work."""
    return importlib.import_module(_LOCKS).global_compiler_lock


def keep_compiled(numba: Any, compiled: Any, store: CompiledStore | None, options: object) -> None:
    """Let a dispatcher or a C callback look into `store` before it compiles, if there is one."""
    compiled._cache = _Overloads(numba, store, repr(options))


class _Overloads:
    """A cache, as Numba sees it: the compiled forms of one function by their signatures.

    Numba's own unpickles whatever it finds in its files, and fails where it cannot write them.
    """

    def __init__(self, numba: Any, store: CompiledStore | None, options: str) -> None:
        self._numba = numba
        self._store = store
        self._options = options
        self.cache_path = None

    def load_overload(self, signature: Any, target: Any) -> Any:
        """What was compiled for the signature, ready to be called, or None."""
        target.refresh()
        if self._store is None:
            return None
        meaning = self._meaning(signature, target.codegen())
        content = self._store.read(_name(meaning), meaning)
        if content is None:
            return None
        result = self._numba.core.compiler.CompileResult
        try:
            called, reduced = pickle.loads(content)
            for name in called:
                _noinline[name[0]].require(*name)
            if reduced[0][1] == _PART:
                return _loaded_part(target, *reduced)
            return result._rebuild(target, *reduced)
        except Exception:  # noqa: BLE001  whatever it is: it is compiled again
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep what was compiled for the signature."""
        _set_environments(result)
        if self._store is None:
            return
        meaning = self._meaning(signature, result.codegen)
        reason = _why_not_kept(meaning, result)
        if reason is None:
            try:
                content = self._numba.core.serialize.dumps((_called(result), result._reduce()))
            except Exception as error:  # noqa: BLE001  it is compiled, and can be used
                reason = f"{type(error).__name__}: {error}"
            else:
                self._store.write(_name(meaning), meaning, content)
        if reason is not None:
            self._store.refuse(reason)

    def _meaning(self, signature: Any, codegen: Any) -> str:
        """All that the machine code depends on beside the function."""
        numba = self._numba
        settings = [getattr(numba.config, name, None) for name in _SETTINGS]
        llvmlite = importlib.import_module("llvmlite")
        versions = numba.__version__, llvmlite.__version__, np.__version__
        return repr((versions, settings, codegen.magic_tuple(), self._options, signature))

    def enable(self) -> None:
        """Of Numba's protocol."""

    def disable(self) -> None:
        """Of Numba's protocol."""

    def flush(self) -> None:
        """Of Numba's protocol."""


def _why_not_kept(meaning: str, result: Any) -> str | None:
    if " at 0x" in meaning:
        return "its signature names an object of this process"
    if result.library.has_dynamic_globals:
        return "it uses pointers, or large arrays, that are global"
    if any(not part.can_cache for part in result.lifted):
        return "it uses loops that were compiled on their own"
    return None


def _name(meaning: str) -> str:
    return hashlib.blake2b(meaning.encode(), digest_size=12).hexdigest()


def c_callback(numba: Any, function: Any, signature: Any, options: dict[str, Any]) -> Any:
    """What `numba.cfunc` makes, not yet compiled: `compile()` does it, `address` is the code."""
    module = importlib.import_module("numba.core.ccallback")
    argument_types = signature.args, signature.return_type
    return module.CFunc(function, argument_types, locals={}, options=options)


@cache
def part_compiler() -> Any:
    """The `pipeline_class` of dispatchers that only others call: what they compile is made into
    machine code, and optimized, where it stands in those, and not before."""
    base: Any = importlib.import_module("numba.core.compiler").Compiler

    class PartCompiler(base):  # type: ignore[misc]  # Numba has no types
        def compile_extra(self, function: Any) -> Any:
            codegen = self.state.targetctx.codegen()
            self.state.library = _part_library()(codegen, function.__qualname__)
            return super().compile_extra(function)

    return PartCompiler


@cache
def _part_library() -> Any:
    """The class of the code of such a kernel. There is nothing of it that can be called."""
    base: Any = importlib.import_module("numba.core.codegen").JITCodeLibrary

    class PartLibrary(base):  # type: ignore[misc]
        def _optimize_final_module(self) -> None:
            """Those do it who link it."""

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._verify_declare_only_symbols()
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            self._ensure_finalized()
            return 0

        @property
        def codegen(self) -> Any:
            """What holds the environments of functions: those of parts are set with the function
            that they stand in."""
            return _NoEnvironments

        def serialize_using_object_code(self) -> Any:
            self._ensure_finalized()
            return self.name, _PART, self._final_module.as_bitcode()

    return PartLibrary


_PART: Final = "part"
"""What stands in the place where Numba says how it kept the code."""


def _loaded_part(
    target: Any,
    kept: tuple[str, str, bytes],
    facts: Any,
    environment: Any,
    signature: Any,
    objectmode: bool,
    lifted: Any,
    annotation: Any,
    reload: Any,
    environments: list[Any],
) -> Any:
    """What `CompileResult._rebuild` makes of other code."""
    library = _part_library()(target.codegen(), kept[0])
    library._final_module = importlib.import_module("llvmlite.binding").parse_bitcode(kept[2])
    library._finalize_final_module()
    for function in reload:
        function()
    return importlib.import_module("numba.core.compiler").compile_result(
        target_context=target,
        typing_context=target.typing_context,
        library=library,
        environment=environment,
        entry_point=target.get_executable(library, facts, environment),
        fndesc=facts,
        type_annotation=annotation,
        signature=signature,
        objectmode=objectmode,
        lifted=lifted,
        reload_init=reload,
        referenced_envs=environments,
    )


def _set_environments(result: Any) -> None:
    """Set those of the parts in code that was compiled just now."""
    if not isinstance(result.library, _part_library()):
        result.library._ensure_finalized()
        for environment in result._find_referenced_environments():
            result.codegen.set_env(environment.env_name, environment)


class _NoEnvironments:
    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        """There is no place for it."""


class NoinlineKernel:
    """The machine code of a kernel as others call it: by a name, with nothing of it in theirs.

    name: says what it is compiled from; dispatcher: compiles it; before: is called before
    that, with the types.
    """

    def __init__(
        self, name: str, dispatcher: Any, before: Callable[[tuple[Any, ...]], None]
    ) -> None:
        self._name = name
        self._dispatcher = dispatcher
        self._before = before
        self._symbols: dict[tuple[Any, ...], str] = {}
        _noinline[name] = self

    def code(self, kinds: tuple[Any, ...]) -> tuple[str, Any]:
        """The symbol for arguments of these types, and what Numba knows of it. It is there from now
        on, for all that is compiled or loaded."""
        self._before(kinds)
        self._dispatcher.compile(kinds)
        result = self._dispatcher.overloads[kinds]
        symbol = self._symbols.get(kinds)
        if symbol is None:
            address = result.library.get_pointer_to_function(result.fndesc.llvm_func_name)
            symbol = f"{_OUTLINED}{self._name}.{_name(repr(kinds))}"
            _called_by[symbol] = self._name, symbol, kinds
            importlib.import_module("llvmlite.binding").add_symbol(symbol, address)
            self._symbols[kinds] = symbol
        return symbol, result

    def require(self, name: str, symbol: str, kinds: tuple[Any, ...]) -> None:
        """Have it where code that was kept calls it. Raises KeyError if it is another."""
        if self.code(kinds)[0] != symbol:
            raise KeyError(symbol)


_OUTLINED: Final = "gradiva."
_noinline: dict[str, NoinlineKernel] = {}
_called_by: dict[str, tuple[str, str, tuple[Any, ...]]] = {}


def _called(result: Any) -> list[tuple[str, str, tuple[Any, ...]]]:
    """What code calls by name: which kernel, the symbol, and the types."""
    functions = result.library._final_module.functions
    return [_called_by[one.name] for one in functions if one.name.startswith(_OUTLINED)]


def noinline_call(numba: Any, function: Any, noinline: NoinlineKernel) -> Any:
    """What stands for `function` in kernels that call it: a call by name."""
    plain = numba.types.unliteral

    def call(typing_context: Any, *arguments: Any) -> Any:
        kinds = tuple(plain(argument) for argument in arguments)
        symbol, result = noinline.code(kinds)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            facts = copy.copy(result.fndesc)
            facts.mangled_name = symbol
            return context.call_internal(builder, facts, signature, values)

        return result.signature.return_type(*kinds), generate

    own = inspect.Parameter("typing_context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [own, *inspect.signature(function).parameters.values()]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__name__ = function.__name__
    return numba.extending.intrinsic(call)


_unpackers: dict[str, tuple[int, Any]] = {}


def packed_entry(numba: Any, dispatcher: Any, arguments: tuple[Any, ...]) -> tuple[int, int] | None:
    """For a kernel that returns nothing, else None: the address of a C function `(row, begin,
    end)`, which calls it with the words of a row from the third on and then with `begin` and `end`,
    and the kernel's own address. The words are the other arguments as Numba takes them apart. The
    function returns 0, or another number where the kernel has raised."""
    kinds = tuple(dispatcher.typeof_pyval(one) for one in arguments)
    dispatcher.compile(kinds)
    result, context = dispatcher.overloads[kinds], dispatcher.targetctx
    facts = result.fndesc
    if facts.restype != numba.types.none:
        return None  # what it returns would need room
    kind = context.call_conv.get_function_type(facts.restype, facts.argtypes)
    address = result.library.get_pointer_to_function(facts.llvm_func_name)
    known = str(kind)
    with compiler_lock():
        if known not in _unpackers:
            _unpackers[known] = _unpacker(context, kind)
    return _unpackers[known][0], address


def _unpacker(context: Any, kind: Any) -> tuple[int, Any]:
    """The function of `packed_entry` for one kind of kernel, and what keeps it."""
    ir, _ = llvm()
    word, name = ir.IntType(64), f"gradiva_unpack_{len(_unpackers)}"
    library = context.codegen().create_library(name)
    module = library.create_ir_module(name)
    function = ir.Function(module, ir.FunctionType(word, [word] * 3), name)
    builder = ir.IRBuilder(function.append_basic_block())
    row = builder.inttoptr(function.args[0], word.as_pointer())

    def at(number: int) -> Any:
        return builder.load(builder.gep(row, [ir.Constant(word, number)]))

    def given(number: int, wanted: Any) -> Any:
        left = number - (len(kind.args) - 2)
        value = at(number + 2) if left < -2 else function.args[left]
        if isinstance(wanted, ir.DoubleType):
            return builder.bitcast(value, wanted)
        if isinstance(wanted, ir.FloatType):
            return builder.bitcast(builder.trunc(value, ir.IntType(32)), wanted)
        if isinstance(wanted, ir.IntType):
            return builder.trunc(value, wanted) if wanted.width < 64 else value
        return builder.inttoptr(value, wanted)

    # Where it would put what it returns, and its exception.
    room = [builder.bitcast(builder.alloca(word, 4), wanted) for wanted in kind.args[:2]]
    values = [given(number, wanted) for number, wanted in enumerate(kind.args[2:])]
    called = builder.inttoptr(at(1), kind.as_pointer())
    status = builder.call(called, [*room, *values])
    nothing = ir.Constant(status.type, _NOTHING)
    fine = builder.or_(
        builder.icmp_signed("==", status, ir.Constant(status.type, 0)),
        builder.icmp_signed("==", status, nothing),
    )
    builder.ret(builder.select(fine, ir.Constant(word, 0), ir.Constant(word, 1)))
    library.add_ir_module(module)
    library.finalize()
    return library.get_pointer_to_function(name), library


_NOTHING: Final = -2
"""The status of a function that returns None."""


def on_compile(numba: Any, started: Callable[[Any], None], ended: Callable[[Any], None]) -> None:
    """Have both called with each dispatcher that compiles, and not with those that load."""
    events = importlib.import_module("numba.core.event")
    base: Any = events.Listener

    class Listener(base):  # type: ignore[misc]  # Numba has no types
        def on_start(self, happening: Any) -> None:
            started(happening.data["dispatcher"])

        def on_end(self, happening: Any) -> None:
            ended(happening.data["dispatcher"])

    events.register("numba:compile", Listener())
