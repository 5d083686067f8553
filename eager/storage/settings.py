"""What users set about objects on other machines, in the environment."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from gradiva.eager.support.environment import number_between, positive_integer, variable

__all__ = ["Settings", "settings"]

_PREFIXES = ("GRADIVA_STORAGE_",)


class Settings(NamedTuple):
    """timeout: seconds without a byte after which a request has failed; read_ahead: bytes that are
    fetched ahead of need; cache: a folder for blocks, None for no cache; cache_bytes: its limit."""

    timeout: float
    read_ahead: int
    cache: Path | None
    cache_bytes: int


def settings() -> Settings:
    """The settings, as they are now. Raises OperatorValueError, with the variable."""
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
