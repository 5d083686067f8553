"""Checkpoint files: one line with version and checksum, and one line of JSON, written atomically.

At every moment, also when the process or the machine stops while it saves, there is one complete
checkpoint, the new one or the old one. The previous one is kept beside it as `<name>.previous`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import time
import warnings
from types import ModuleType
from typing import Any

from gradiva.eager.support.errors import (
    GradivaError,
    OperatorRuntimeError,
    OperatorValueError,
    describe,
    without_frames,
)
from gradiva.eager.support.local_files import open_regular

__all__ = [
    "UNFIT_VALUES",
    "CheckpointError",
    "CheckpointNotFoundError",
    "load",
    "looks_like_content",
    "pack",
    "save",
    "set_state",
    "unpack",
]

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # on Windows, processes that save one file at the same time do not wait
    fcntl = None

VERSION = 1
_MAGIC = "gradiva checkpoint"
_PATIENCE = 60.0
"""The seconds to wait for another process that saves the same checkpoint."""
_HEAD = re.compile(re.escape(_MAGIC) + r" (\d{1,9}) sha256 ([0-9a-f]{64})\n")


UNFIT_VALUES = (
    AttributeError,
    IndexError,
    KeyError,
    MemoryError,
    OverflowError,
    TypeError,
    ValueError,
)
"""The errors that Python raises for values of another kind or range than expected. A checkpoint
with a correct checksum may contain any values."""


class CheckpointError(OperatorValueError):
    """The data are not a checkpoint, are damaged, or belong to something else."""


class CheckpointNotFoundError(OperatorRuntimeError, FileNotFoundError):
    """There is no checkpoint file."""

    def __str__(self) -> str:
        return OperatorRuntimeError.__str__(self)


def pack(content: dict[str, Any]) -> str:
    """JSON data as the text of a checkpoint, in ASCII."""
    body = json.dumps(content, separators=(",", ":"))
    return f"{_MAGIC} {VERSION} sha256 {_digest(body)}\n{body}\n"


def _digest(body: str) -> str:
    return hashlib.sha256(f"{VERSION}\n{body}".encode("ascii")).hexdigest()


def unpack(text: str | bytes, kind: str) -> dict[str, Any]:
    """The data in the text of a checkpoint. kind: the expected kind, "pipeline" or "dynamic".

    Raises CheckpointError for anything that `pack` has not made.
    """
    try:
        text = text if isinstance(text, str) else text.decode("ascii")
        text.encode("ascii")
    except UnicodeError:
        raise CheckpointError("this is no checkpoint, or it is damaged: not ASCII") from None
    head = _HEAD.match(text)
    if head is None:
        if not text:
            raise CheckpointError("the checkpoint is empty")
        raise CheckpointError(
            "this is no checkpoint of gradiva, or its first line is damaged",
            expected=f"'{_MAGIC} ...'",
            got=describe(text, 60),
        )
    if int(head[1]) != VERSION:
        raise CheckpointError(
            "the checkpoint has a format that this version of gradiva does not know, or its first "
            "line is damaged",
            expected=f"version {VERSION}",
            got=head[1],
        )
    body = text[head.end() :]
    if not body.endswith("\n"):
        raise CheckpointError("the checkpoint is cut: its end is missing")
    if _digest(body[:-1]) != head[2]:
        raise CheckpointError("the checkpoint is damaged: its checksum does not fit its data")
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"the checkpoint holds no JSON: {error}") from None
    found = content.get("kind") if isinstance(content, dict) else None
    if not isinstance(content, dict) or found != kind:
        raise CheckpointError(
            "the checkpoint is of another kind", expected=f"one of a {kind}", got=repr(found)
        )
    return content


def set_state(target: Any, state: Any) -> None:
    """Restore an object with `set_state`. Raises CheckpointError for an invalid state; errors of
    gradiva from `target` are passed on."""
    try:
        target.set_state(state)
    except GradivaError:
        raise
    except UNFIT_VALUES as error:
        raise CheckpointError(f"the state in the checkpoint makes no sense: {error!r}") from None


def looks_like_content(text: str) -> bool:
    """Whether a string is the text of a checkpoint, perhaps a damaged one, and not the name of a
    file."""
    return "\n" in text or "{" in text[:1] or len(text) > 4096 or text.startswith(_MAGIC)


def save(path: str | os.PathLike[str], text: str, keep: bool = True) -> None:
    """Replace the file `path` by `text`, atomically.

    keep: keep the current file, if it is complete, as `<path>.previous`. Raises
    OperatorRuntimeError if the file cannot be written; then the old one still exists.
    """
    path = os.path.abspath(os.fspath(path))
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.saving")
    try:
        handle = _open_alone(temporary)
        try:
            os.truncate(handle, 0)
            data = memoryview(text.encode("ascii"))
            while data:
                data = data[os.write(handle, data) :]
            os.fsync(handle)
            if keep and _is_whole(path):
                _keep(path, os.path.join(folder, f".{name}.keeping"))
            os.replace(temporary, path)
        finally:
            os.close(handle)
        _sync_folder(folder)
    except (OSError, ValueError) as error:  # ValueError: of a name that no file has
        reason = getattr(error, "strerror", None) or error
        raise OperatorRuntimeError(
            f"the checkpoint cannot be saved: {reason}", file=path
        ) from error


def _open_alone(path: str) -> int:
    """Open the temporary file, exclusively among all processes. A file that a killed process has
    left is overwritten, so that such files do not accumulate."""
    # A symbolic link would be followed to a file that somebody else has chosen.
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    until = time.monotonic() + _PATIENCE
    while True:
        handle = os.open(path, flags, 0o666)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(f"{path} is no regular file")
            _lock(handle, until)
            # While this process waited, the file may have become the checkpoint itself.
            with contextlib.suppress(FileNotFoundError):
                facts = os.fstat(handle)
                if os.path.samestat(facts, os.stat(path)):
                    if facts.st_nlink > 1:  # a hard link to a file that must not be overwritten
                        raise OSError(f"{path} is another file's second name")
                    return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _lock(handle: int, until: float) -> None:
    """Lock the file, where the system has locks. Raises OSError if another process holds the lock
    for too long: it may be stopped."""
    while fcntl is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise OSError(f"another process has been saving it for {_PATIENCE:g} s") from None
            time.sleep(0.01)
        except OSError:
            return  # some network file systems have no locks


def _is_whole(path: str) -> bool:
    """Whether the file is worth keeping: a damaged file must not replace the last good one."""
    try:
        text = _read(path)
    except OSError:
        return False
    head = _HEAD.match(text)
    return head is not None and _digest(text[head.end() : -1]) == head[2]


def _keep(path: str, temporary: str) -> None:
    """Create a second name for the file, so that the first one exists at every moment."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)
    try:
        os.link(path, temporary)
    except OSError:
        # This file system has no links: for a moment only the previous file exists, which `load`
        # finds, too.
        temporary = path
    os.replace(temporary, path + ".previous")


def _sync_folder(folder: str) -> None:
    if not hasattr(os, "O_DIRECTORY"):  # folders cannot be opened (Windows)
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some file systems cannot sync a folder
            os.fsync(handle)
    finally:
        os.close(handle)


def _read(path: str) -> str:
    with open(open_regular(path), "rb") as stream:
        return stream.read().decode("latin-1")


def load(
    path: str | os.PathLike[str], kind: str, older: tuple[str, ...] | None = None
) -> tuple[dict[str, Any], str]:
    """The data in the file `path`, or, with a warning, in the newest of the `older` ones (by
    default `<path>.previous`) that is whole; and the file they come from.

    Raises CheckpointNotFoundError; CheckpointError, which says what is wrong with each file.
    """
    path = os.fspath(path)
    first: Exception | None = None
    for name in (path, *((path + ".previous",) if older is None else older)):
        try:
            content = unpack(_read(name), kind)
        except OSError as error:
            if first is None:
                reason = error.strerror or str(error)
                missing = isinstance(error, FileNotFoundError)
                kind_of = CheckpointNotFoundError if missing else OperatorRuntimeError
                first = kind_of(f"the checkpoint cannot be read: {reason}", file=name)
            continue
        except CheckpointError as error:
            first = first or without_frames(error.complete(file=name))
            continue
        if first is not None:
            warnings.warn(f"{first}\nInstead the one before it is loaded: {name}", stacklevel=3)
        return content, name
    assert first is not None
    try:
        raise first
    finally:
        del first  # an error and a frame of its traceback must not refer to each other
