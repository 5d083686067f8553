"""Numbers that identify the computations of a captured loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradiva.capture.graph.graph import key_of
from gradiva.eager.random.step import current_step

from .pending import Pending

_REMEMBERED = 1 << 14
"""A limit above the number of calls of any real body."""


class Signatures:
    """Equal numbers for equal computations, across all steps of a loop.

    token: the owner of the steps. A loop that continues with what another one has learned uses the
    token of that loop.
    """

    def __init__(self, token: object) -> None:
        self.token = token
        self._numbers: dict[Any, int] = {}
        self._count = 0

    def of(self, pending: Pending, size: int) -> int:
        """The number of a call, in a step with batches of `size` samples."""
        inputs: list[Any] = []
        for ref in pending.inputs:
            source = ref.source
            if isinstance(source, Pending):
                inputs.append((source.signature, ref.output, ref.argument))
            elif source.array is not None:
                inputs.append(("constant", source.layout, key_of(source.array), ref.argument))
            else:
                inputs.append(("concrete", source.number, ref.argument))
        key: Any = None
        if pending.operator.random:
            running = current_step()
            mine = running is not None and running.owner is self.token
            key = (pending.key, mine or object())
            pending.own_key = mine
        attributes = tuple(
            (name, key_of(value)) for name, value in sorted(pending.attributes.items())
        )
        many = "one" if pending.single else "all" if pending.size == size else pending.size
        where = pending.device
        found = (pending.operator.name, tuple(inputs), attributes, many, key, where)
        number = self._numbers.get(found)
        if number is None:
            number = self._numbers[found] = self.fresh()
        return number

    def fresh(self) -> int:
        """A number that no other call has or will have."""
        self._count += 1
        return self._count

    def forget(self, needed: Callable[[int], bool]) -> bool:
        """Drop numbers that are not needed, if there are too many: a loop whose arguments are new
        at each step must not grow without limit. Returns whether numbers were dropped."""
        if len(self._numbers) <= _REMEMBERED:
            return False
        self._numbers = {key: number for key, number in self._numbers.items() if needed(number)}
        return True
