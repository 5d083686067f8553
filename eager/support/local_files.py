"""Files of this machine: opened so that nothing is waited for, written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat

# A pipe would be waited for until somebody writes into it.
FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)
FLAGS |= _BINARY  # without it, Windows changes the ends of lines


def opened(path: str) -> int:
    """A descriptor. Raises OSError, also for what can be no name of a file."""
    try:
        return os.open(path, FLAGS)
    except ValueError as error:  # a zero byte, or half a character
        raise OSError(errno.EINVAL, f"no file has such a name: {error}") from None


def check_regular_file(facts: os.stat_result) -> None:
    """Raise OSError for pipes, devices and such. Reading a folder says that it is one."""
    if not stat.S_ISREG(facts.st_mode) and not stat.S_ISDIR(facts.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")


def open_regular(path: str) -> int:
    """As `opened`; raises OSError also for what is no regular file, and names the file."""
    handle = opened(path)
    try:
        facts = os.fstat(handle)
        check_regular_file(facts)
        if stat.S_ISDIR(facts.st_mode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    except OSError as error:
        os.close(handle)
        raise OSError(error.errno, error.strerror, path) from None
    return handle


def write_whole(path: str, data: bytes) -> None:
    """Write a file beside where it belongs, and rename it, so that nobody ever finds a part of it.
    What is no regular file, such as a pipe, is written to. Raises OSError, ValueError."""
    if path.startswith(("/dev/", "/proc/")) or (os.path.exists(path) and not os.path.isfile(path)):
        with open(path, "wb") as stream:
            stream.write(data)
        return
    path = os.path.realpath(path)  # a link stays one
    beside = f"{path}.{secrets.token_hex(6)}.tmp"
    try:
        # The mode that `open` would give; never a file that is there already.
        number = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
        with os.fdopen(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        if os.path.lexists(beside):
            os.unlink(beside)
        raise
