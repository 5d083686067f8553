"""Plain data of which values are replaced by absurd ones."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

__all__ = ["edited", "places"]

ABSURD: list[Any] = [
    *(2**63, -(2**63) - 1, 1e308, -1, 0, 1, 3, 0.5, -0.0, "", "1", "x\0", "\ud800", None, True),
    *([], {}, [[]], [1] * 40, [[1, 2, 3]], {"size": [1, 1], "counts": "0"}, {"a": 1}, 10**400),
]


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the values stand."""
    if path:
        yield path
    items: Any = content.items() if isinstance(content, dict) else ()
    items = enumerate(content) if isinstance(content, list) else items
    for key, value in items:
        yield from places(value, (*path, key))


def edited(content: Any, data: bytes) -> Any:
    """The content with a value replaced for every two bytes; `content` itself is lost."""
    for k in range(0, min(len(data) - 1, 16), 2):
        found = list(places(content))
        if not found:
            break
        *path, last = found[data[k] * 7919 % len(found)]
        inner = content
        for key in path:
            inner = inner[key]
        inner[last] = copy.deepcopy(ABSURD[data[k + 1] % len(ABSURD)])
    return content
