"""The nvJPEG library, loaded when it is first needed; its statuses as errors with names."""

from __future__ import annotations

import ctypes
import importlib.util
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradiva.eager import extension as op
from gradiva.eager.support.lazy_import import lazy_module

from .declarations import PROTOTYPES, Status, argument_types

if TYPE_CHECKING:
    from cuda import pathfinder
else:
    pathfinder = lazy_module("cuda.pathfinder", "cuda-python")

_MAJORS = (13, 12)
_INSTALL = "install it with: pip install 'gradiva[cuda12]' (or cuda13)"
_WHEELS = (("cu13", 13), ("nvjpeg", 12))
"""Where the wheels nvidia-nvjpeg and nvidia-nvjpeg-cu12 put it, below the package `nvidia`."""

REFUSALS = frozenset(
    (
        Status.INVALID_PARAMETER,
        Status.BAD_JPEG,
        Status.JPEG_NOT_SUPPORTED,
        Status.INTERNAL_ERROR,
        Status.IMPLEMENTATION_NOT_SUPPORTED,
        Status.INCOMPLETE_BITSTREAM,
    )
)
"""Statuses that are about one image, which the CPU may still decode. After the others (memory, a
failed launch, a broken context) going on makes no sense."""

_ADVICE = {
    Status.ALLOCATOR_FAILURE: "out of device or pinned memory",
    Status.EXECUTION_FAILED: "no usable GPU or driver, or a failed launch",
    Status.ARCH_MISMATCH: "this GPU has no such decoder",
}


class NvjpegError(op.OperatorRuntimeError):
    """A call of nvJPEG failed. `status` is a Status, or a bare number that has no name here."""

    def __init__(self, function: str, status: int) -> None:
        known = status in Status.__members__.values()
        self.function = function
        self.status: int = Status(status) if known else status
        name = f"NVJPEG_STATUS_{Status(status).name}" if known else "a status without a name"
        advice = _ADVICE.get(self.status)  # type: ignore[call-overload]  # an int is no key
        super().__init__(
            f"{function} returned {name} ({status})" + (f": {advice}" if advice else "")
        )

    @property
    def about_one_image(self) -> bool:
        """Whether the image is at fault, so that another decoder may be tried."""
        return self.status in REFUSALS


class Library:
    """The functions of nvJPEG under their own names: `library("nvjpegDestroy", handle)`.

    functions: a ctypes.CDLL, or anything with callables of these names that return a status. A call
    returns nothing, and raises NvjpegError for any status but success. The GIL is free meanwhile.
    """

    def __init__(self, functions: Any, path: str = "") -> None:
        self.path = path
        self._functions: dict[str, Any] = {}
        for name in PROTOTYPES:
            function = getattr(functions, name, None)
            if function is None:
                raise op.OperatorRuntimeError(
                    f"the nvJPEG library {path} has no function {name}: its version is unknown here"
                )
            if isinstance(functions, ctypes.CDLL):
                function.argtypes, function.restype = argument_types(name), ctypes.c_int
            self._functions[name] = function

    def __call__(self, name: str, *arguments: Any) -> None:
        status = self._functions[name](*arguments)
        if status:
            raise NvjpegError(name, status)

    def create(self, name: str, *arguments: Any) -> int:
        """The handle that the function `name` writes through its last argument."""
        handle = ctypes.c_void_p()
        self(name, *arguments, ctypes.byref(handle))
        return handle.value or 0

    def number(self, name: str, *arguments: Any) -> int:
        """The int that the function `name` writes through its last argument."""
        value = ctypes.c_int(-1)
        self(name, *arguments, ctypes.byref(value))
        return value.value

    @property
    def version(self) -> tuple[int, int, int]:
        """Major, minor, patch; works without a GPU."""
        numbers = [self.number("nvjpegGetProperty", kind) for kind in (0, 1, 2)]
        return numbers[0], numbers[1], numbers[2]


def wheel_files() -> Iterator[Path]:
    """The libraries of installed wheels, the newer CUDA first."""
    spec = importlib.util.find_spec("nvidia")
    for folder, major in _WHEELS:
        for root in (spec.submodule_search_locations or ()) if spec else ():
            path = Path(root) / folder / "lib" / f"libnvjpeg.so.{major}"
            if path.is_file():
                yield path


def _candidates() -> Iterator[str]:
    try:
        found = pathfinder.load_nvidia_dynamic_lib("nvjpeg").abs_path
        if found:
            yield found
    except (ImportError, RuntimeError):  # not installed; DynamicLibNotFoundError
        pass
    yield from map(str, wheel_files())
    yield from (f"libnvjpeg.so.{major}" for major in _MAJORS)


def open_library(path: str) -> Library:
    """The library in a file. Raises OSError, and OperatorRuntimeError for an unknown version."""
    library = Library(ctypes.CDLL(path), path)
    major = library.version[0]
    if major not in _MAJORS:
        raise op.OperatorRuntimeError(
            f"the nvJPEG library {path} is of version {major}; known are 12 and 13"
        )
    return library


_loaded: Library | None = None
_lock = threading.Lock()


def load() -> Library:
    """The library that is installed: found by cuda.pathfinder, in a wheel, or by the system.

    Raises OperatorRuntimeError that says what to install.
    """
    global _loaded
    with _lock:
        if _loaded is None:
            problems = []
            for path in _candidates():
                try:
                    _loaded = open_library(path)
                    break
                except OSError as error:
                    problems.append(str(error))
            else:
                raise op.OperatorRuntimeError(
                    f"nvJPEG was not found, which decodes JPEG on a GPU; {_INSTALL} "
                    f"({'; '.join(problems)})"
                )
        return _loaded
