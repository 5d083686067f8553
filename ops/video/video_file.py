"""Video files, opened by FFmpeg through the package PyAV."""

from __future__ import annotations

import errno
import importlib.util
import io
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.arrays import Array
from gradiva.ops.storage.handles import Handle, LoadedFile, close_handle, open_handle, pread
from gradiva.ops.storage.storage import Storage
from gradiva.ops.storage.urls import is_url, local_path

from .first_bytes import HEAD, begins_like_video

if TYPE_CHECKING:
    av: Any
else:
    av = lazy_module("av", "gradiva[video]")

__all__ = [
    "NoVideoError",
    "NotMediaError",
    "Opened",
    "VideoData",
    "VideoLoaded",
    "VideoPath",
    "VideoSource",
    "av",
    "check_memory",
    "has_av",
]

_FORMATS: Final = (
    "3g2,3gp,aiff,amr,asf,asf_o,av1,avi,caf,dirac,dnxhd,dv,flac,flv,gif,gxf,h261,h263,h264,hevc,ivf,"
    "live_flv,m4a,m4v,matroska,mj2,mjpeg,mov,mp3,mp4,mpeg,mpegts,mpegvideo,mxf,nsv,nut,obu,ogg,rm,"
    "vc1,vvc,wav,webm,wtv,y4m,yuv4mpegpipe"
)
"""Formats whose data are all in the file: others name further files, which FFmpeg would open."""
_BUFFER: Final = 1 << 17
"""Bytes that FFmpeg asks for at once."""
MOST_PIXELS: Final = 1 << 28
"""Of a frame."""
_ROOM: Final = 1 << 26
_ROOM_OF_A_PIXEL: Final = 16
"""Bytes that decoders should find."""


def check_memory(pixels: int = 0) -> None:
    """Raise MemoryError where there is no room for some frames of so many pixels: what FFmpeg
    cannot decode then, it often says to be damaged."""
    np.empty(max(_ROOM, _ROOM_OF_A_PIXEL * pixels), np.uint8)


def has_av() -> bool:
    """Whether PyAV is installed."""
    return importlib.util.find_spec("av") is not None


class NotMediaError(ValueError):
    """Bytes that are no video and nothing like one, such as a text."""


class NoVideoError(ValueError):
    """A video that cannot be decoded, or a file of the kind in which there is none."""


class _Stream(io.RawIOBase):
    """What FFmpeg reads from: a file that is open for reading at places."""

    def __init__(self, handle: Handle, size: int) -> None:
        self._handle, self._size, self._at = handle, size, 0
        self.problem: OSError | None = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Nothing where it cannot be read, which is then the `problem`: what is raised here, PyAV
        raises out of a later call, and prints as a traceback where FFmpeg has tried once more."""
        count = self._size - self._at if size < 0 else min(size, self._size - self._at)
        if count <= 0 or self.problem is not None:
            return b""
        try:
            found = pread(self._handle, count, self._at)
        except OSError as error:
            self.problem = error
            return b""
        self._at += len(found)
        return found

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(base + offset, 0)
        return self._at

    def tell(self) -> int:
        return self._at


class VideoSource:
    """Where the bytes of a video are. name: for decoders that are kept open."""

    name: str

    @contextmanager
    def readable(self) -> Iterator[Any]:
        """What PyAV opens, for as long as the block lasts. Raises OSError."""
        raise NotImplementedError

    def head(self) -> tuple[bytes, int]:
        """The first bytes, and how many there are in all. Raises OSError."""
        raise NotImplementedError

    def open(self, tolerant: bool = False) -> Opened:
        """Raises OSError, NotMediaError, NoVideoError."""
        return Opened(self, tolerant)

    def check_unchanged(self) -> None:
        """Raise OSError if the bytes are not those that were looked at first: FFmpeg reads on in
        what another program has written into the file."""


class VideoData(VideoSource):
    """A video in memory."""

    def __init__(self, data: Array, name: str = "") -> None:
        self.name, self._data = name, data

    @contextmanager
    def readable(self) -> Iterator[Any]:
        if not self._data.size:
            raise NotMediaError("the file is empty")
        yield io.BytesIO(self._data.data)

    def head(self) -> tuple[bytes, int]:
        return self._data[:HEAD].tobytes(), self._data.size


class VideoLoaded(VideoSource):
    """A video on another machine, whose bytes are all here."""

    def __init__(self, file: LoadedFile) -> None:
        self.name, self._file = "", file

    @contextmanager
    def readable(self) -> Iterator[Any]:
        yield _Stream(self._file, self._file.facts.size)

    def head(self) -> tuple[bytes, int]:
        return self._file.read(HEAD, 0), self._file.facts.size


class VideoPath(VideoSource):
    """A video in a file, or on another machine. facts: size and time that it must have; None for
    any."""

    def __init__(self, path: str, storage: Storage | None, facts: Any = None) -> None:
        self.name, self._storage, self._facts = path, storage, facts

    @contextmanager
    def readable(self) -> Iterator[Any]:
        handle = open_handle(self.name, self._storage)
        try:
            size, changed = _facts_of(handle)
            self._refuse(size, changed)
            if not size:
                raise NotMediaError("the file is empty")
            local = self._local()
            if local is None:
                yield _Stream(handle, size)
        finally:
            close_handle(handle)
        if local is not None:
            yield local

    def check_unchanged(self) -> None:
        if self._facts is not None and not is_url(self.name):
            facts = os.stat(local_path(self.name))
            self._refuse(facts.st_size, facts.st_mtime_ns)

    def _refuse(self, size: int, changed: int | str) -> None:
        if self._facts not in (None, (size, changed)):
            raise OSError("it has changed since the reader was made")

    def _local(self) -> str | None:
        """What FFmpeg opens by itself; names that are no text it cannot."""
        if is_url(self.name):
            return None
        path = os.path.abspath(local_path(self.name))
        try:
            path.encode("utf-8")
        except UnicodeEncodeError:
            return None
        return f"file:{path}"

    def head(self) -> tuple[bytes, int]:
        handle = open_handle(self.name, self._storage)
        try:
            return pread(handle, HEAD, 0), _facts_of(handle)[0]
        finally:
            close_handle(handle)

    def facts(self) -> tuple[int, int | str]:
        """Size and time. Raises OSError."""
        handle = open_handle(self.name, self._storage)
        try:
            return _facts_of(handle)
        finally:
            close_handle(handle)


def _facts_of(handle: Handle) -> tuple[int, int | str]:
    if not isinstance(handle, int):
        return handle.facts.size, handle.facts.version
    facts = os.fstat(handle)
    return facts.st_size, facts.st_mtime_ns


class Opened:
    """An open video: the container and FFmpeg's best video stream, which decodes in one thread.

    tolerant: FFmpeg shows frames whatever is wrong with them, and not only those that are right.
    """

    def __init__(self, source: VideoSource, tolerant: bool = False) -> None:
        self._bytes = source.readable()
        self._file: Any = self._bytes.__enter__()
        self.container: Any = None
        self._packets: Generator[Any, None, None] | None = None
        try:
            self.container = _container(self._file)
            self.stream = _stream(self.container, tolerant)
            self.check_read()
        except BaseException as error:
            self.close()
            self.check_read()
            check_memory()
            if isinstance(error, av.FFmpegError | EOFError):
                raise _refused(error, source) from None
            raise

    @property
    def codec(self) -> str:
        """The name of the codec, whichever decoder is used."""
        found: str = self.stream.codec_context.codec.canonical_name
        return found

    @property
    def problem(self) -> OSError | None:
        """Why the bytes could not be read, if that was it."""
        found: OSError | None = getattr(self._file, "problem", None)
        return found

    def check_read(self) -> None:
        """Raise OSError if the bytes could not be read: to FFmpeg they end there."""
        if self.problem is not None:
            raise self.problem from None

    def packets(self) -> Iterator[Any]:
        """The packets of the stream from here on. They end when this is called again, and when the
        video is closed: PyAV asks FFmpeg for one more also of a container that is freed."""
        self._end_packets()
        self._packets = found = _demuxed(self.container, self.stream)
        return found

    def _end_packets(self) -> None:
        if self._packets is not None:
            self._packets.close()

    def close(self) -> None:
        self._end_packets()
        if self.container is not None:
            self.container.close()
        self._bytes.__exit__(None, None, None)


def _container(file: Any) -> Any:
    np.empty(32 * _BUFFER, np.uint8)  # PyAV does not ask whether there is memory
    options = {"format_whitelist": _FORMATS}
    given: dict[str, Any] = {"mode": "r", "options": options, "buffer_size": _BUFFER}
    try:
        # Titles that are no UTF-8 are no reason to refuse a video.
        return av.open(file, metadata_errors="ignore", **given)
    except TypeError:  # from PyAV 19 on there is nothing to say about them
        return av.open(file, **given)


def _stream(container: Any, tolerant: bool) -> Any:
    stream = container.streams.best("video")
    # The picture of a cover is a video to FFmpeg, the last one that it would choose.
    if stream is None or stream.disposition & av.stream.Disposition.attached_pic:
        raise NoVideoError("there is no video in the file")
    context = stream.codec_context
    if context is None:
        raise NoVideoError("FFmpeg has no decoder for the video in the file")
    width, height = context.width, context.height
    if width < 1 or height < 1:
        raise NoVideoError("the file does not say how large the frames are")
    if width * height > MOST_PIXELS:
        raise NoVideoError(f"frames of {width} x {height} pixels are more than {MOST_PIXELS}")
    context.thread_count = 1
    context.thread_type = "SLICE"
    context.options = {"max_pixels": str(MOST_PIXELS)}
    if not tolerant:
        # What is damaged is an error, and not made up from what is around it.
        context.options |= {"err_detect": "explode"}
    return stream


def _demuxed(container: Any, stream: Any) -> Generator[Any, None, None]:
    try:
        yield from container.demux(stream)
    except IndexError:
        # At the end PyAV looks for streams that it has not: those that began late.
        return


def _refused(error: BaseException, source: VideoSource) -> ValueError:
    """Raises OSError."""
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        raise OSError(error.errno, error.strerror) from None
    reason = getattr(error, "strerror", None) or str(error)
    kind = NoVideoError if begins_like_video(source.head()[0]) else NotMediaError
    return kind(f"this is no video that can be read: {reason}")
