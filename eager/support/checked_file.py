"""Files with a digest of their contents: they are read completely and unchanged, or not at all.

The digest is not a signature: it detects the damage of a power loss, a full disk or bad memory, and
files under a wrong name. It does not protect against users who may write into the folder.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

_HEAD: Final = b"gradiva kept file 1\n"
_SIZE: Final = 32
_BINARY: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def read_checked(path: Path, meaning: str) -> bytes | None:
    """The content that was written with this meaning, or None. A damaged file is removed."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    content = verified_content(data, meaning)
    if content is None:
        with suppress(OSError):
            path.unlink()
    return content


def verified_content(data: bytes, meaning: str) -> bytes | None:
    """The content of a file that was written with this meaning, or None."""
    start = len(_HEAD) + _SIZE
    content = data[start:]
    return content if data[:start] == _HEAD + _digest(meaning, content) else None


def write_checked(
    path: Path, meaning: str, content: bytes, unfinished: Path, *, durable: bool = True
) -> None:
    """Write a file whole or not at all, also where the power fails. Raises OSError.

    unfinished: a folder in the same file system, for the file while it is being written. durable:
    wait for the disk; without it, a power failure may leave a file that `read_checked` refuses.
    """
    part = unfinished / os.urandom(12).hex()
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o600)
    try:
        try:
            left = memoryview(_HEAD + _digest(meaning, content) + content)
            while left:
                left = left[os.write(descriptor, left) :]
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def _digest(meaning: str, content: bytes) -> bytes:
    named = meaning.encode("utf-8", "surrogateescape")  # names of files, which may be any bytes
    digest = hashlib.blake2b(len(named).to_bytes(8, "little") + named, digest_size=_SIZE)
    digest.update(content)
    return digest.digest()
