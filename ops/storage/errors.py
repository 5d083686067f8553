"""Errors of remote objects, and which of them are temporary."""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING

from gradiva.eager.support.lazy_import import lazy_module

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = lazy_module("asyncio")

_TRIED_AGAIN = frozenset((408, 425, 429))
"""HTTP statuses below 500 that are temporary."""
_PASSING = frozenset(
    getattr(errno, name)
    for name in (
        *("EAGAIN", "EBUSY", "ECONNABORTED", "ECONNREFUSED", "ECONNRESET", "EHOSTUNREACH", "EINTR"),
        *("ENETDOWN", "ENETRESET", "ENETUNREACH", "EPIPE", "ETIMEDOUT"),
    )
)


_EXPIRED = re.compile(r"expired|TokenRefreshRequired|InvalidToken", re.IGNORECASE)
"""What services say of credentials that are no longer valid; some of it with the status 400."""


class StorageError(OSError):
    """An object cannot be read. The text says why, and what to do."""


class ObjectChangedError(StorageError):
    """An object has changed since the reader was made."""


class CutError(Exception):
    """Fewer bytes came than were requested."""


class StatusError(Exception):
    """The server refuses. explained: whether the message is more than the name of the status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}, message={message!r}")
        self.status, self.message = status, message
        self.explained = False


def changed(expected: str, got: str) -> ObjectChangedError:
    """The error for an object that has changed."""
    return ObjectChangedError(
        f"it has changed during the epoch (it was {expected}, and is {got}): make the reader again"
    )


def status_of(error: BaseException) -> int | None:
    """The HTTP status in an error of any library."""
    for name in ("status", "code", "status_code"):
        found = getattr(error, name, None)
        if isinstance(found, int | str) and str(found).isdecimal():
            return int(found)
    return None


def passes(error: BaseException) -> bool:
    """Whether the same request may succeed later."""
    status = status_of(error)
    if status is not None and 100 <= status < 600:
        return status >= 500 or status in _TRIED_AGAIN
    if isinstance(error, StorageError | ValueError):
        return False
    if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
        # fsspec reports any failure of a HEAD request as a missing file.
        return error.__cause__ is not None and passes(error.__cause__)
    if isinstance(error, CutError | ConnectionError | TimeoutError | asyncio.TimeoutError):
        return True
    if type(error).__module__.partition(".")[0] == "aiohttp":
        return True
    return isinstance(error, OSError) and error.errno in _PASSING


def describe_failure(error: BaseException, tries: int) -> str:
    """The cause, and what to do about it."""
    cause = error
    below = error.__cause__
    if isinstance(error, FileNotFoundError) and below is not None:
        # fsspec turns any answer into this error; the answers of S3 have no status.
        cause = below if passes(error) or status_of(below) is not None else error
    status = status_of(cause)
    if isinstance(cause, TimeoutError | asyncio.TimeoutError):
        what = "the server does not answer"
    elif status is not None:
        what = f"the server answers {status} {getattr(cause, 'message', '') or ''}".rstrip()
    else:
        what = str(cause) or type(cause).__name__
    if isinstance(cause, FileNotFoundError) or status == 404:
        return "there is no such object" + (f" ({what})" if status else "")
    refused = status in (401, 403) or isinstance(cause, PermissionError)
    if (refused or status == 400) and _EXPIRED.search(what):
        return f"{what}: renew the credentials"
    if refused:
        return f"{what}: check the credentials, and `storage_options`"
    if passes(error):
        return f"{what}, after {tries} tries: try again later, or copy the data to a disk"
    return what
