"""Compiles a kernel in another process, while this one compiles the kernels that are needed with
it.

What was never compiled on a machine makes a user wait, and most of that time is Numba's, whose
Python can use one core only. So where a long kernel is needed, is called by others
(`noinline`) and was not kept before, a process is started that compiles it and puts it where
compiled kernels are kept; who comes to it first waits for that process, and takes it from there.

Nothing depends on it: where no process can be started or nothing can be kept, or if it fails or
takes too long, the kernel is compiled here.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, cast

from gradiva.eager.runtime.worker_pool import default_num_threads
from gradiva.eager.support.errors import OperatorValueError

from .background_kernel import prepares_at_once
from .jit import Kernel, load_numba
from .kernel_cache import kernel_folder

_PATIENCE: Final = 0.5
"""It is waited for this part of the time that it has run until then. Where that is not enough, the
machine is busy, and the kernel is sooner compiled here."""
_BUSY: Final = 1.5
"""So many programs for each core, and none is started."""
_MOST: Final = 120
"""Seconds after which such a process ends by itself."""
_CODE: Final = f"""\
import importlib, json, signal, sys
if hasattr(signal, "alarm"):
    signal.alarm({_MOST})
sys.path[:] = json.loads(sys.argv[1])
getattr(importlib.import_module(sys.argv[2]), sys.argv[3])(*sys.argv[4:])
"""
_HELPS: Final = "GRADIVA_COMPILES_BESIDE"
"""Is set in such a process, which starts no other."""


class SubprocessCompiler:
    """Has a noinline kernel compiled by another process.

    compiles: a function of a module, found there by its name, that calls `compile_noinline` with
    this kernel and arguments as those that it is usually called with; it is called with words.
    fits: whether Numba's types are those for these words, `fits(types, *words)`.
    """

    def __init__(
        self, kernel: Callable[..., Any], compiles: Callable[..., None], fits: Callable[..., bool]
    ) -> None:
        self._kernel = cast(Kernel, kernel)
        self._compiles, self._fits = compiles, fits
        self._words: tuple[str, ...] = ()
        self._began = 0.0
        self._lock = threading.Lock()
        self.asked = False
        """Whether `begin` was called."""
        self._process: subprocess.Popen[bytes] | None = None
        self._of = 0
        """The process that has started it; others are its children, and have not."""

    def begin(self, *words: str) -> None:
        """Start the process, the first time, unless the kernel was compiled before or nothing would
        be gained: with one core, or where the user wants one thread."""
        if self.asked:
            return
        with self._lock:
            if self.asked:
                return
            self.asked = True
            if _can_help() and self._is_worth_it():
                self._start(*words)

    def _is_worth_it(self) -> bool:
        folder = kernel_folder(self._kernel.function)
        if folder is None or folder.is_prebuilt or folder.path is None:
            return False
        try:
            return not any(folder.path.iterdir())
        except OSError:
            return True  # it is not there yet

    def _start(self, *words: str) -> None:
        name = self._compiles.__module__, self._compiles.__qualname__
        # Of the folders only those that count; none is looked into before (-I).
        path = json.dumps([folder for folder in sys.path if isinstance(folder, str)])
        command = [sys.executable, "-I", "-c", _CODE, path, *name, *words]
        nothing = subprocess.DEVNULL
        try:
            self._process = subprocess.Popen(
                command,
                stdin=nothing,
                stdout=nothing,
                stderr=nothing,
                env={**os.environ, _HELPS: "1"},
            )
        except (OSError, ValueError):
            return
        self._of, self._words, self._began = os.getpid(), words, time.perf_counter()
        atexit.register(self.stop)
        self._kernel.made_elsewhere = self._wait

    def _wait(self, types: tuple[Any, ...]) -> bool:
        """Wait, if it compiles for these types. Returns whether it did."""
        process = self._process
        if process is None or self._of != os.getpid() or not self._fits(types, *self._words):
            return False
        with suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE * (time.perf_counter() - self._began))
        self.stop()
        return True

    def stop(self) -> None:
        """End the process, if it has not ended."""
        process = self._process
        if process is None or self._of != os.getpid():
            return
        self._process = None
        atexit.unregister(self.stop)
        if process.poll() is None:
            process.kill()
            process.wait()


def _can_help() -> bool:
    """Whether there is a core for another process, and a Python that it can be."""
    if _HELPS in os.environ or prepares_at_once():
        return False
    # Where Python is a part of another program, that would be started.
    if not os.path.basename(sys.executable or "").lower().startswith("python"):
        return False
    try:
        threads = default_num_threads()
    except OperatorValueError:
        return False  # who uses the variable says what is wrong with it
    try:
        return threads > 1 and os.getloadavg()[0] < _BUSY * threads
    except (AttributeError, OSError):
        return threads > 1


def compile_noinline(kernel: Callable[..., Any], *arguments: Any) -> None:
    """Compile a noinline kernel for arguments of these types, as for those that call it."""
    numba = load_numba()
    cast(Kernel, kernel).noinline_code(tuple(map(numba.typeof, arguments)))
