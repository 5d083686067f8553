"""CUDA streams for users: the order in which a GPU runs its work."""

from __future__ import annotations

from typing import Any, ClassVar

from gradiva.eager.cuda.context import Gpu
from gradiva.eager.cuda.cupy_runtime import gpu_of, known_gpus
from gradiva.eager.cuda.streams import DeviceStream
from gradiva.eager.support.errors import (
    OperatorRuntimeError,
    annotate_error,
    describe,
    wrong_type,
    wrong_value,
)
from gradiva.eager.types.device import Device
from gradiva.eager.values.buffers import gpu_named


class _CreateNew:
    """The value of `Stream.create_new`."""

    def __repr__(self) -> str:
        return "Stream.create_new"


class Stream:
    """A CUDA stream: calls that are made while it is the current one run on it, in order.

    stream: `Stream.create_new` (the default), another Stream, a handle (cudaStream_t as an
    integer), or an object of another library that has one (torch, CuPy, `__cuda_stream__`); theirs
    must live as long as this one is used. device_id: of the GPU; by default the current one.

    Raises OperatorTypeError for what is no stream, OperatorValueError for one of another GPU,
    OperatorRuntimeError if there is no such GPU.
    """

    create_new: ClassVar[object] = _CreateNew()
    """A request for a new stream."""

    def __init__(self, stream: Any = create_new, device_id: int | None = None) -> None:
        with annotate_error("Stream"):
            self._stream: DeviceStream = device_stream(stream, device_id)

    @property
    def device_id(self) -> int:
        """The number of the GPU."""
        return self._stream.gpu.runtime.number

    @property
    def handle(self) -> int:
        """The address of the cudaStream_t."""
        return self._stream.handle

    def __cuda_stream__(self) -> tuple[int, int]:
        """Version of this protocol, and the handle."""
        return (0, self.handle)

    def synchronize(self) -> None:
        """Wait until the work on this stream is done."""
        self._stream.synchronize()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (other.device_id, other.handle) == (
            self.device_id,
            self.handle,
        )

    def __hash__(self) -> int:
        return hash((self.device_id, self.handle))

    def __repr__(self) -> str:
        return f"Stream({self.handle:#x}, device_id={self.device_id})"


def face_of(stream: DeviceStream) -> Stream:
    """A stream of the engine, as an object for users."""
    made = Stream.__new__(Stream)
    made._stream = stream
    return made


def device_stream(
    stream: Any, device_id: int | None = None, argument: str = "stream"
) -> DeviceStream:
    """The DeviceStream for a user's object. Raises like `Stream`."""
    own = None if stream is Stream.create_new else _number_of(stream)
    if own is not None and device_id not in (None, own):
        raise wrong_value(argument, f"a stream of gpu:{device_id}", f"one of gpu:{own}")
    if isinstance(stream, Stream):
        return stream._stream
    handle = None if stream is Stream.create_new else _handle_of(stream, argument)
    try:
        gpu = gpu_of(gpu_named(Device.current(), own if device_id is None else device_id))
    except OperatorRuntimeError as error:
        problem = f"a CUDA stream needs a GPU: {error.problem}"
        raise OperatorRuntimeError(problem, argument=argument) from error
    made = DeviceStream(gpu, handle)
    if handle is not None:
        gpu.stream_owners[made.handle] = stream
    return made


def _number_of(stream: Any) -> int | None:
    """The number of the GPU of this stream, if it is known."""
    for name in ("device_index", "device_id"):  # torch; CuPy (-1: it does not know) and ours
        number = getattr(stream, name, None)
        if isinstance(number, int) and number >= 0:
            return number
    return None


def _handle_of(stream: Any, argument: str) -> int:
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for name in ("cuda_stream", "handle", "ptr"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    if isinstance(stream, bool) or not isinstance(stream, int):
        raise wrong_type(argument, "a CUDA stream or None", describe(stream))
    return stream


def stream(*, stream: Any = Stream.create_new, device_id: int | None = None) -> Stream | None:
    """The CUDA stream that `stream` means: None for None, else see `Stream`."""
    with annotate_error("stream"):
        return None if stream is None else face_of(device_stream(stream, device_id))


def get_current_stream() -> Stream | None:
    """The stream of calls in this thread, on the current GPU; None if no GPU is in use."""
    gpu = _gpu_in_use()
    return None if gpu is None else face_of(gpu.stream)


def get_default_stream() -> Stream | None:
    """The stream of calls without a current stream; None if no GPU is in use."""
    gpu = _gpu_in_use()
    return None if gpu is None else face_of(gpu.default_stream)


def set_current_stream(stream: Any) -> None:
    """Set the stream of calls in this thread; None for the default one. Raises like `Stream`."""
    with annotate_error("set_current_stream"):
        if stream is not None:
            chosen = device_stream(stream)
            chosen.gpu.set_stream(chosen)
        else:
            for gpu in known_gpus():
                gpu.set_stream(None)


def set_default_stream(stream: Any) -> None:
    """Set the stream of calls without a current stream; None for one of gradiva's. Raises like
    `Stream`."""
    with annotate_error("set_default_stream"):
        if stream is not None:
            chosen = device_stream(stream)
            chosen.gpu.default_stream = chosen
        else:
            for gpu in known_gpus():
                gpu.default_stream = DeviceStream(gpu)


def _gpu_in_use() -> Gpu | None:
    current = Device.current()
    if current.device_type == "gpu":
        return gpu_of(current)
    return next(iter(known_gpus()), None)
