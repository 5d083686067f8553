"""Scans of container files, kept on disk: where the records of a large file lie.

A scan is found again by path, size and time of the last change of the file; what is damaged or
stale is made again, never trusted. Of objects on other machines all scans are kept, small ones too,
by what these machines tell of them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.kernel_cache import cache_folder, keep_file
from gradiva.eager.support.checked_file import read_checked
from gradiva.ops.storage.handles import Handle, close_handle, open_handle
from gradiva.ops.storage.storage import Storage
from gradiva.ops.storage.urls import is_url

from .containers import FileFacts

_WORTH_KEEPING = 1 << 24
"""Smaller files are scanned again as fast as a cache is read."""
_SETTLED = 2 * 10**9
"""Nanoseconds: a file that has just changed may change again without a new time."""

Scan = tuple[np.ndarray[Any, Any], bytes]
"""int64 of shape (records, ...), and what else is to be kept."""


def kept_scan(
    kind: str,
    path: str,
    columns: int,
    scan: Callable[[Handle, int], Scan],
    storage: Storage | None = None,
    worth: int | None = None,
) -> Scan:
    """What `scan(handle, size)` returns for this file; `columns` of its array.

    kind: name and version of what is scanned for. worth: bytes of the smallest file on this machine
    whose scan is kept, 16 MiB by default. Raises OperatorValueError for a file that cannot be read,
    and SampleDataError, with the file, as `scan` does.
    """
    try:
        handle = open_handle(path, storage or Storage())
    except OSError as error:
        raise op.wrong_value("path", "a file that can be read", error) from error
    try:
        facts = FileFacts.of(handle)
        place = _place(kind, path, facts, _WORTH_KEEPING if worth is None else worth)
        if place is None:
            return scan(handle, facts.size)
        meaning = f"{kind} {_name(path)} {facts}"
        content = read_checked(place, meaning)
        found = None if content is None else _unpacked(content, columns)
        if found is None:
            found = scan(handle, facts.size)
            numbers = np.ascontiguousarray(found[0], "<i8")
            content = len(numbers).to_bytes(8, "little") + numbers.tobytes() + found[1]
            keep_file(place, meaning, content)
        return found
    except op.SampleDataError as error:
        raise error.complete(file=path) from None
    except OSError as error:
        raise op.OperatorRuntimeError(
            f"the file cannot be read: {error.strerror or error}", file=path
        ) from error
    finally:
        close_handle(handle)


def _place(kind: str, path: str, facts: FileFacts, worth: int) -> Path | None:
    folder = cache_folder()
    if folder is None:
        return None
    if isinstance(facts.changed, str):
        if not facts.changed:
            return None
    elif facts.size < worth or time.time_ns() - facts.changed < _SETTLED:
        return None
    name = _name(path).encode("utf-8", "surrogateescape")
    return folder / "scans" / blake2b(kind.encode() + b"\0" + name, digest_size=16).hexdigest()


def _name(path: str) -> str:
    return path if is_url(path) else os.path.abspath(path)


def _unpacked(content: bytes, columns: int) -> Scan | None:
    end = 8 + 8 * columns * int.from_bytes(content[:8], "little")
    if len(content) < end:
        return None
    return np.frombuffer(content[8:end], "<i8").reshape(-1, columns).astype(np.int64), content[end:]
