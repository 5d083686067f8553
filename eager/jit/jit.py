"""Numba, loaded on first need: `@jit` marks a kernel that is compiled when it is first called.

Kernels are compiled without fastmath and without parallel loops, release the GIL, and are cached
on disk, in a folder of the user's own. `docs/kernels.md` says which rules keep bits equal.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any, Final, ParamSpec, TypeVar, cast

import numpy as np

from .kernel_cache import kernel_folder
from .kernel_digest import extensions, global_names, kernel_digest
from .numba_compiler import (
    NoinlineKernel,
    c_callback,
    compiler_lock,
    keep_compiled,
    noinline_call,
    on_compile,
    part_compiler,
)

__all__ = [
    "Kernel",
    "NotThereError",
    "always_inline",
    "compile_entry",
    "compiled_kernels",
    "compiling",
    "idle_seconds",
    "jit",
    "load_intrinsic",
    "load_numba",
    "loaded_only",
    "noinline",
    "register_extension",
    "register_intrinsic",
]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_OPTIONS: Final = {"fastmath": False, "error_model": "numpy"}
_INSIDE: Final = {"no_cpython_wrapper": True}
"""Of kernels that other kernels call: entries for Python would be compiled into each of these."""

_lock = threading.RLock()
"""Who has it, makes dispatchers, or loads Numba."""
_announced = False
_listening = False
_collects = False
_unregistered: list[FunctionType] = []
_intrinsics: dict[FunctionType, Any] = {}
_since: dict[int, float] = {}
_ended = float("-inf")
compiled_kernels: list[tuple[str, float]] = []
"""Name and seconds of each kernel compiled (not loaded from the cache) in this process."""


class NotThereError(Exception):
    """A kernel that would have to be compiled."""


class _Mode(threading.local):
    """Of one thread."""

    loads_only = False


_mode = _Mode()


@contextmanager
def loaded_only() -> Iterator[None]:
    """A block that raises NotThereError where a kernel was not compiled before."""
    before, _mode.loads_only = _mode.loads_only, True
    try:
        yield
    finally:
        _mode.loads_only = before


class Kernel:
    """A Python function that turns into compiled code when it is first called."""

    def __init__(
        self, function: FunctionType, inline: bool = False, noinline: bool = False
    ) -> None:
        self.function = function
        self.inline = inline
        self.noinline = noinline_call if noinline else None  # what its callers are made of, too
        self._compiled: Any = None
        self._inside: Any = None
        self._noinline: NoinlineKernel | None = None
        self.made_elsewhere: Callable[[tuple[Any, ...]], bool] | None = None
        """Waits for another process that compiles its noinline code for these types, if there is
        one."""
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__

    def __call__(self, *args: Any) -> Any:
        return (self._compiled or self.dispatcher())(*args)

    def dispatcher(self) -> Any:
        """The Numba dispatcher; imports Numba on first use."""
        with compiling():
            if self._compiled is None:
                self._compiled = _compile(self)
            return self._compiled

    def inside(self) -> Any:
        """What stands for the kernel in those that call it."""
        with compiling():
            if self._inside is None:
                self._inside = _compile(self, inside=True)
                if self.noinline:
                    function = self.function
                    name = f"{function.__name__}-{kernel_digest(function)}"
                    self._noinline = NoinlineKernel(name, self._inside, self._wait)
                    self._inside = noinline_call(_numba(), function, self._noinline)
            return self._inside

    def noinline_code(self, kinds: tuple[Any, ...]) -> None:
        """Compile what others call of a noinline kernel, for arguments of these types."""
        self.inside()
        assert self._noinline is not None
        self._noinline.code(kinds)

    def _wait(self, kinds: tuple[Any, ...]) -> None:
        """Called before its noinline code is compiled or loaded."""
        if self.made_elsewhere is not None and self.made_elsewhere(kinds):
            self.made_elsewhere = None

    def __repr__(self) -> str:
        return f"<kernel {self.function.__module__}.{self.function.__qualname__}>"


def jit(function: Callable[P, R]) -> Callable[P, R]:
    """Mark `function` as a kernel: nopython, no GIL, no fast math, cached on disk.

    Kernels may call other kernels of any module; scalars, NumPy arrays and tuples of them are
    their only values. `Call.for_slabs` and `Call.for_samples` run one over the samples of a batch,
    as `kernel(..., begin, end)`.

    Indices are not checked: a wrong one reads or overwrites other memory, or ends the process. With
    NUMBA_BOUNDSCHECK=1 in the environment when the program starts, it raises IndexError: test new
    kernels with it.

    Example:
        @extension.jit
        def add_levels(values, levels, begin, end):  # float32 (N, k); float32 (N,)
            for sample in range(begin, end):
                for k in range(values.shape[1]):
                    values[sample, k] += levels[sample]
    """
    return cast("Callable[P, R]", Kernel(cast(FunctionType, function)))


def always_inline(function: Callable[P, R]) -> Callable[P, R]:
    """Mark `function` as a kernel whose code is put into those that call it, before anything is
    optimized: a loop around it vectorizes as if it stood there."""
    return cast("Callable[P, R]", Kernel(cast(FunctionType, function), inline=True))


def noinline(function: Callable[P, R]) -> Callable[P, R]:
    """Mark `function` as a kernel that is compiled once, and called by those that use it: for large
    ones, which would be optimized again in each of these, and do much in one call."""
    return cast("Callable[P, R]", Kernel(cast(FunctionType, function), noinline=True))


def _compile(kernel: Kernel, inside: bool = False) -> Any:
    numba = _numba()
    # Numba resolves global names when it compiles: hand it a copy of the function whose globals
    # hold dispatchers in place of our lazy kernels.
    function = kernel.function
    scope: dict[str, Any] = {}
    for name in global_names(function):
        value = function.__globals__.get(name)
        if isinstance(value, Kernel):
            scope[name] = value.inside()
        elif isinstance(value, FunctionType) and value in _intrinsics:
            scope[name] = load_intrinsic(value)
    copy = _copied(function, scope, function.__qualname__)
    inline = "always" if kernel.inline else "never"
    options = {**_OPTIONS, "nogil": True, "inline": inline, "no_cfunc_wrapper": True}
    compiler: dict[str, Any] = {}
    if inside:
        options |= _INSIDE
        if not kernel.noinline:
            compiler["pipeline_class"] = part_compiler()
    dispatcher = numba.njit(**options, **compiler)(copy)
    # The cached code of a part differs from the cached noinline code of the same kernel.
    _keep(numba, dispatcher, function, {**options, "part": bool(compiler)})
    return dispatcher


def _copied(function: FunctionType, names: dict[str, Any], qualified: str) -> FunctionType:
    """The function with some of its global names bound to other things."""
    scope = {**function.__globals__, **names}
    copy = FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__module__ = function.__module__
    copy.__qualname__ = qualified
    return copy


def _keep(numba: Any, compiled: Any, function: FunctionType, options: dict[str, Any]) -> None:
    """Cache what is compiled from `function` in our own folder, if there is one."""
    keep_compiled(numba, compiled, kernel_folder(function), options)


def compile_entry(
    kernel: Kernel, entry: FunctionType, source: np.dtype[Any], target: np.dtype[Any]
) -> tuple[int, Any]:
    """A row kernel's address for these dtypes, and the object that keeps its machine code alive.

    `entry` is the C function to make: it calls the kernel by the name `row`.
    """
    dispatcher = kernel.inside()
    numba = _numba()
    types = numba.types
    word = types.int64
    signature = types.void(
        types.CPointer(numba.from_dtype(source)),
        types.CPointer(numba.from_dtype(target)),
        *[word] * 5,
        types.CPointer(types.float32),
        word,
    )
    # The cache tells functions apart by their qualified names.
    function = kernel.function
    name = f"{entry.__name__}.{function.__module__}.{function.__qualname__}"
    copy = _copied(entry, {"row": dispatcher, "carray": numba.carray}, name)
    with compiling():
        compiled = c_callback(numba, copy, signature, {**_OPTIONS, "nopython": True})
        described = _copied(entry, {"row": kernel}, name)
        _keep(numba, compiled, described, {**_OPTIONS, "callback": True})
        compiled.compile()
    return compiled.address, compiled


def register_extension(stub: Callable[..., Any]) -> Callable[[T], T]:
    """Decorator for `extend(numba)`, which gives Numba the function `stub` for use in kernels.

    It is called once, before the first kernel is compiled, and returns what `numba.extending`'s
    `overload(stub)` decorates. Kernels that call the stub are compiled again when `extend` changes.
    """

    def register(extend: T) -> T:
        extensions[cast(FunctionType, stub)] = cast(FunctionType, extend)
        _unregistered.append(cast(FunctionType, stub))
        return extend

    return register


def register_intrinsic(stub: Callable[..., Any]) -> Callable[[T], T]:
    """Like `register_extension` for a stub that only kernels of ours call: `extend` returns what
    `numba.extending.intrinsic` decorates, and no function is compiled around its code."""

    def register(extend: T) -> T:
        extensions[cast(FunctionType, stub)] = cast(FunctionType, extend)
        _intrinsics[cast(FunctionType, stub)] = None
        return extend

    return register


def load_intrinsic(stub: Callable[..., Any]) -> Any:
    """What stands for a stub of `register_intrinsic` in what Numba compiles."""
    function = cast(FunctionType, stub)
    with compiling() as numba:
        if _intrinsics[function] is None:
            define = cast(Callable[[Any], Any], extensions[function])
            _intrinsics[function] = numba.extending.intrinsic(define(numba))
        return _intrinsics[function]


@contextmanager
def compiling() -> Iterator[Any]:
    """A block in which no other thread compiles; gives Numba.

    Numba's lock is taken first, then ours, always in this order: Numba has its own while it asks
    our kernels for what they call.
    """
    numba = _numba()
    with compiler_lock(), _lock:
        yield numba


def load_numba() -> Any:
    """Numba, with our settings, for what is compiled of the user's and not kept."""
    return _numba()


def _numba() -> Any:
    with _lock:
        return _loaded_numba()


def _loaded_numba() -> Any:
    global _listening
    if "numba" not in sys.modules:
        # SVML's functions differ in the last bit from the scalar ones used at the ends of loops.
        os.environ["NUMBA_DISABLE_INTEL_SVML"] = "1"
        os.environ.setdefault("NUMBA_SLP_VECTORIZE", "1")
    import numba
    import numba.extending

    if getattr(numba.config, "USING_SVML", False):
        warnings.warn(
            "Numba was imported before gradiva and uses SVML, whose functions may round otherwise: "
            "import gradiva first, or set NUMBA_DISABLE_INTEL_SVML=1, for the same bits everywhere",
            stacklevel=2,
        )
    if not _listening:
        _listening = True
        on_compile(numba, _compile_started, _compile_ended)
    while _unregistered:
        stub = _unregistered.pop(0)
        numba.extending.overload(stub)(extensions[stub](numba))
    return numba


def _compile_started(dispatcher: Any) -> None:
    global _collects
    if _is_ours(dispatcher):
        if _mode.loads_only:
            raise NotThereError(dispatcher.py_func.__name__)
        if not _since:
            # What Numba makes of a kernel lives until it is compiled: looking for garbage in it was
            # a fourteenth of the time. One thread compiles at a time.
            _collects = gc.isenabled()
            gc.disable()
        _since[id(dispatcher)] = time.perf_counter()
        _announce()


def _compile_ended(dispatcher: Any) -> None:
    global _ended
    if _is_ours(dispatcher):
        since = _since.pop(id(dispatcher), None)
        if since is None:
            return  # it was not begun
        _ended = time.perf_counter()
        compiled_kernels.append((dispatcher.py_func.__name__, _ended - since))
        if _collects and not _since:
            gc.enable()


def idle_seconds() -> float:
    """For how long no kernel has been compiled; 0 while one is."""
    return 0.0 if _since else time.perf_counter() - _ended


def _is_ours(dispatcher: Any) -> bool:
    function = getattr(dispatcher, "py_func", None)
    return (getattr(function, "__module__", None) or "").startswith("gradiva.")


def _announce() -> None:
    """Say once why a first call takes its time, to a person who looks on."""
    global _announced
    watched = sys.stderr.isatty() or "ipykernel" in sys.modules
    if not _announced and watched and os.environ.get("GRADIVA_QUIET", "") != "1":
        _announced = True
        print(
            "gradiva: compiling kernels, once per machine "
            "(`gradiva warmup` does it ahead of time) ...",
            file=sys.stderr,
        )


_held: list[Any] = []
"""Locks, while this process forks."""


def _before_fork() -> None:
    """Wait for what other threads compile: in the child there are no such threads, and LLVM, Numba
    and modules that are imported would be for ever as they were in the middle of it."""
    while True:
        # While Numba is being imported, its lock is taken with ours held.
        locks = [compiler_lock(), _lock] if _listening else [_lock]
        for lock in locks:
            lock.acquire()
        _held.extend(locks)
        if len(locks) == 2 or not _listening:
            return
        _after_fork()  # Numba was imported meanwhile


def _after_fork() -> None:
    while _held:
        _held.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
