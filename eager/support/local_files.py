"""Files of this machine, opened so that nothing is waited for."""

from __future__ import annotations

import errno
import os
import stat

__all__ = ["FLAGS", "open_regular", "opened", "refuse_irregular"]

# A pipe would be waited for until somebody writes into it.
FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
FLAGS |= getattr(os, "O_BINARY", 0)  # without it, Windows changes the ends of lines


def opened(path: str) -> int:
    """A descriptor. Raises OSError, also for what can be no name of a file."""
    try:
        return os.open(path, FLAGS)
    except ValueError as error:  # a zero byte, or half a character
        raise OSError(errno.EINVAL, f"no file has such a name: {error}") from None


def refuse_irregular(facts: os.stat_result) -> None:
    """Raise OSError for pipes, devices and such. Reading a folder says that it is one."""
    if not stat.S_ISREG(facts.st_mode) and not stat.S_ISDIR(facts.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")


def open_regular(path: str) -> int:
    """As `opened`; raises OSError also for what is no regular file, and names the file."""
    handle = opened(path)
    try:
        facts = os.fstat(handle)
        refuse_irregular(facts)
        if stat.S_ISDIR(facts.st_mode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    except OSError as error:
        os.close(handle)
        raise OSError(error.errno, error.strerror, path) from None
    return handle
