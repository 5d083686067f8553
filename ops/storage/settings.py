"""The settings for remote objects, from environment variables."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from gradiva.eager.support.environment import number_between, positive_integer, variable

_PREFIXES = ("GRADIVA_STORAGE_",)


class Settings(NamedTuple):
    """timeout: a request fails after this many seconds without a byte; read_ahead: the bytes that
    are prefetched; cache: the folder for blocks, None for no cache; cache_bytes: its limit."""

    timeout: float
    read_ahead: int
    cache: Path | None
    cache_bytes: int


def settings() -> Settings:
    """The current settings. Raises OperatorValueError, which names the variable."""
    timeout = variable("TIMEOUT", number_between(0.01, 86400.0), "seconds", _PREFIXES)
    ahead = variable("READ_AHEAD", positive_integer, "a number of bytes", _PREFIXES)
    cache = variable("CACHE", str, "a folder", _PREFIXES)
    limit = variable("CACHE_BYTES", positive_integer, "a number of bytes", _PREFIXES)
    return Settings(
        30.0 if timeout is None else timeout,
        256 << 20 if ahead is None else ahead,
        None if cache is None else Path(cache).expanduser(),
        16 << 30 if limit is None else limit,
    )
