"""CUDA streams: the names that scripts use, and what they mean where there is no GPU backend."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from .errors import OperatorRuntimeError, OperatorTypeError, blaming, describe
from .gpu.presence import no_gpu

__all__ = [
    "Stream",
    "get_current_stream",
    "get_default_stream",
    "require_no_stream",
    "set_current_stream",
    "set_default_stream",
    "stream",
]


class _CreateNew:
    """The value of `Stream.create_new`."""

    def __repr__(self) -> str:
        return "Stream.create_new"


class Stream:
    """A CUDA stream. There is none yet: each constructor raises OperatorRuntimeError.

    Calls run on the CPU, in order, and are done when they return; they need no stream. A script
    that passes None for its streams runs as it is.
    """

    create_new: ClassVar[object] = _CreateNew()
    """Asks `stream` for a new stream."""

    def __init__(self, stream: Any = create_new, device_id: int | None = None) -> None:
        with blaming("Stream"):
            _refuse(stream)

    @property
    def device_id(self) -> int:
        """The number of the GPU."""
        _refuse(Stream.create_new)

    @property
    def handle(self) -> int:
        """The address of the cudaStream_t."""
        _refuse(Stream.create_new)

    def synchronize(self) -> None:
        """Wait until the work on this stream is done."""
        _refuse(Stream.create_new)


def stream(*, stream: Any = Stream.create_new, device_id: int | None = None) -> Stream | None:
    """The CUDA stream that `stream` means: None for None.

    stream: None; `Stream.create_new`, a Stream, a handle, or an object of another library that has
    one. device_id: the GPU of a new stream.

    Raises OperatorRuntimeError for all but None, for there is no GPU backend; OperatorTypeError for
    what is no stream.
    """
    with blaming("stream"):
        require_no_stream(stream)
    return None


def get_current_stream() -> Stream | None:
    """The stream of calls in this thread: None, there is no GPU backend."""
    return None


def get_default_stream() -> Stream | None:
    """The stream of calls where none is current: None, there is no GPU backend."""
    return None


def set_current_stream(stream: Any) -> None:
    """Set the stream of calls in this thread; None is the only one. Raises as `stream` does."""
    with blaming("set_current_stream"):
        require_no_stream(stream)


def set_default_stream(stream: Any) -> None:
    """Set the stream of calls where none is current; None is the only one. Raises as `stream`."""
    with blaming("set_default_stream"):
        require_no_stream(stream)


def require_no_stream(stream: Any, argument: str = "stream") -> None:
    """Refuse each stream but None, clearly."""
    if stream is not None:
        _refuse(stream, argument)


def _refuse(stream: Any, argument: str = "stream") -> NoReturn:
    handles = ("__cuda_stream__", "cuda_stream", "handle", "ptr")
    known = stream is Stream.create_new or any(hasattr(stream, name) for name in handles)
    if not known and (isinstance(stream, bool) or not isinstance(stream, int)):
        raise OperatorTypeError(
            argument=argument, expected="a CUDA stream or None", got=describe(stream)
        )
    raise OperatorRuntimeError(
        f"a CUDA stream needs a GPU: {no_gpu()}; calls run on the CPU and need none: pass None",
        argument=argument,
    )
