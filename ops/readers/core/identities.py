"""Texts that identify the bytes of samples, made without reading them: two samples with different
bytes never have the same one. Where that cannot be promised, there is none.

A file on this machine is identified by its path, size, times of change and number in its file
system. The time at which it was changed (`st_ctime`), which programs cannot set, tells of a file
that was rewritten with its old size and time of modification, and the number of a link that leads
to another file. A file that has changed a moment ago has no identity: it may change again without
a new time.
"""

from __future__ import annotations

import functools
import os
import stat
import time
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from importlib import import_module
from typing import Any, Final

from gradiva.eager.support.lazy_import import can_import
from gradiva.ops.storage.storage import Storage
from gradiva.ops.storage.urls import is_url, local_path

from .argument_kinds import ORDER, PLACES, SPEED, canonical

_TICK: Final = 20 * 10**6
"""Nanoseconds: twice the longest time within which changes of a file get the same time."""
_COARSE: Final = 2 * 10**9
"""The same, for file systems that know seconds only."""
_NO_CLOCK: Final = 11 * 365 * 86400 * 10**9
"""Before 1981: images of file systems that are made with one time for all files have such times."""


def file_identity(path: str, before: int | None = None) -> str | None:
    """The identity of the bytes of a file on this machine.

    before: the time, in nanoseconds, at which it was not read yet: now, unless it is given. A file
    that may have changed since then has none.
    """
    return _identity(path, before or time.time_ns())


def _identity(path: str, before: int) -> str | None:
    try:
        facts = os.stat(path)
    except (OSError, ValueError):
        return None  # reading it says what is wrong
    changed, modified = facts.st_ctime_ns, facts.st_mtime_ns
    margin = _TICK if changed % 10**9 else _COARSE
    if changed < _NO_CLOCK or changed + margin >= before or modified + margin >= before:
        return None
    if not stat.S_ISREG(facts.st_mode):
        return None
    shown = path if path.isascii() and os.path.isabs(path) else _shown(path)
    return f"{shown}\0{facts.st_size} {modified} {changed} {facts.st_ino}"


def _shown(path: str) -> str:
    """A whole path, as text that has an encoding."""
    whole = path if os.path.isabs(path) else os.path.abspath(path)
    return whole if whole.isascii() else whole.encode("utf-8", "backslashreplace").decode()


def file_identities(
    paths: Sequence[str], storage: Storage | None, before: int | None = None
) -> list[str | None]:
    """The identities of the bytes of files. storage: what reads those behind URLs, if there are
    any, else all are paths; before: as of `file_identity`.

    Other machines are asked once for the facts of an object, and only if `before` is not given:
    later, they may tell of other bytes than those that were read.
    """
    now = before or time.time_ns()
    if storage is None:
        return [_identity(path, now) for path in paths]
    urls = [path for path in paths if storage.knows(path) or is_url(path)]
    found = dict(zip(urls, storage.identities(urls, ask=before is None), strict=True))
    return [found[path] if path in found else _identity(local_path(path), now) for path in paths]


def portable_identity(text: str) -> str:
    """What is left of the identity of a sample, as a reader says it, on another machine to which
    its file was copied: the name, the size and the time of modification of the file, and what is
    after these, such as the number of a row. Of other identities all of it."""
    _, _, own = text.partition("\0")
    path, _, rest = own.partition("\0")
    facts, _, more = rest.partition("\0")
    numbers = facts.split(" ")
    if len(numbers) != 4 or not all(one.isdecimal() for one in numbers):
        return own.replace("\0", " ")
    size, modified, _, _ = numbers
    name = os.path.basename(path)
    return " ".join([name, size, modified, *more.split("\0")]).rstrip()


def joined_identity(parts: Sequence[str | None]) -> str | None:
    """The identity of what is made of several files; None if one of them has none."""
    digest = blake2b(digest_size=16)
    for part in parts:
        if part is None:
            return None
        digest.update(f"{len(part)} {part}".encode("utf-8", "backslashreplace"))
    return f"{len(parts)} {digest.hexdigest()}"


def arguments_digest(given: Mapping[str, Any], without: frozenset[str]) -> str | None:
    """A digest of the arguments of a reader that decide about the bytes of its samples; None if one
    of them has no form that is the same in every process. without: further arguments that do not.
    """
    skipped = PLACES | SPEED | ORDER | without
    try:
        chosen = [
            [name, canonical(value, _refuse)]
            for name, value in sorted(given.items())
            if name not in skipped and value is not None
        ]
    except TypeError:
        return None
    return blake2b(repr(chosen).encode("utf-8", "backslashreplace"), digest_size=16).hexdigest()


@functools.cache
def library_version(module: str) -> str:
    """The version of a library that decodes values: with another one, they may have other bits."""
    if not can_import(module):
        return f"{module} absent"
    found = import_module(module)
    names = "__version__", "library_versions", "__libsndfile_version__"
    return f"{module} {[getattr(found, name, None) for name in names]}"


def _refuse(value: Any) -> Any:
    raise TypeError(type(value).__name__)
