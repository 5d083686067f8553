"""What a user says of the cache of a pipeline, a loop or a function; reports on caches."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from gradiva.capture.compiler.caches import recipes_of
from gradiva.capture.graph.graph import Graph
from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError, describe
from gradiva.eager.support.validation import integer
from gradiva.ops.cache.cache import IN_MEMORY, check_place


class CacheOptions(NamedTuple):
    """Where results are kept, and how many bytes of them: the arguments of `cache`."""

    where: str
    cache_bytes: int | None = None

    @staticmethod
    def checked(cache: Any, cache_bytes: Any) -> CacheOptions | None:
        """The options, from what a user gave for `cache` and `cache_bytes`; None for no cache.
        Raises OperatorTypeError or OperatorValueError."""
        if cache is None and cache_bytes is None:
            return None
        if cache is None:
            raise OperatorValueError(
                "there is no cache whose size this is",
                argument="cache_bytes",
                expected="`cache`, too",
                got=describe(cache_bytes),
            )
        path = os.fspath(cache) if isinstance(cache, str | os.PathLike) else None
        if not isinstance(path, str) or not path:
            raise OperatorTypeError(
                argument="cache", expected="'ram' or a folder", got=describe(cache)
            )
        check_place(path, "cache")
        if cache_bytes is not None:
            limits = "a positive number of bytes"
            cache_bytes = integer(cache_bytes, 1, limits=limits, argument="cache_bytes")
        return CacheOptions(path, cache_bytes)


def place_name(where: str) -> str:
    """The name of a cache in a text."""
    return "memory" if where == IN_MEMORY else repr(where)


def described(
    graph: Graph | None, options: CacheOptions | None = None, why_not: str | None = None
) -> list[str]:
    """What each cache of a compiled graph has done, for `explain`. options: of a cache whose place
    was to be chosen; if there is none, the text says so. why_not: why no place was chosen yet."""
    found = [] if graph is None else [one.runner.described() for one in recipes_of(graph)]
    if options is None or found:
        return found
    too_little = "what is the same in each epoch takes too little time; `fn.cache` stores it anyway"
    why_not = why_not or too_little
    return [f"cache in {place_name(options.where)}: nothing is stored, since {why_not}"]
