"""Results on their way into a store."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager.types.arrays import Array

from .packing import packed
from .records import FAILURE, PACKED, Kind, kind_of

_TRIED: Final = 4
"""Items of a batch that are packed first, to see whether it is worth it."""


class Item(NamedTuple):
    """A result that is to be kept. data: what is stored, uint8, 1-D; shape: None where the kind has
    it."""

    key: bytes
    data: Array
    kind: Kind
    shape: tuple[int, ...] | None
    seconds: float
    flags: int = 0

    @classmethod
    def of(cls, key: bytes, value: Array, layout: str, seconds: float) -> Item:
        """The item of a result."""
        kind = kind_of(value.dtype, layout, value.shape)
        data = (value if value.flags.c_contiguous else value.copy()).reshape(-1).view(np.uint8)
        return cls(key, data, kind, value.shape if kind.shape is None else None, seconds)

    def packed(self) -> Item:
        """The same, packed where that makes it much smaller."""
        data = packed(self.data)
        return self if data is None else self._replace(data=data, flags=self.flags | PACKED)


def packed_items(items: list[Item]) -> list[Item]:
    """The items, those packed that become much smaller. If none of a few does, no other one is
    tried."""
    step = max(1, len(items) // _TRIED)
    tried = {number: items[number].packed() for number in range(0, len(items), step)}
    if all(items[number] is one for number, one in tried.items()):
        return items
    return [tried.get(number) or item.packed() for number, item in enumerate(items)]


def failure_item(key: bytes, facts: dict[str, Any]) -> Item:
    """The item of a damaged sample: its data are the facts."""
    data = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    return Item.of(key, data, "", 0.0)._replace(flags=FAILURE)
