"""What is known of lazy values before they are computed. Moving them is a pending call."""

from __future__ import annotations

from typing import Any

from gradiva.eager.types.device import Device, DeviceLike
from gradiva.eager.types.device import device as to_device
from gradiva.eager.values.drawn import Drawn
from gradiva.ops.arrays.copy import copy

__all__ = ["LazyPlace"]


class LazyPlace:
    """What LazyBatch and LazyTensor share: what is known of the call that they wait for."""

    __slots__ = ()

    pending: Any

    def _look(self) -> Any:
        """The value itself; computes it if need be."""
        raise NotImplementedError

    def evaluate(self) -> Any:
        """Run what is needed, and return the value."""
        self._look()
        return self

    @property
    def drawn_at(self) -> Drawn:
        """The user's line where random values that it depends on were drawn."""
        drawn: Drawn = self.pending.drawn_at
        return drawn

    @property
    def device(self) -> Device:
        where: Device = self.pending.device
        return where

    def to_device(self, device: DeviceLike, force_copy: bool = False) -> Any:
        """The value on `device`: a call like any other, so it is noted down where others are."""
        where = to_device(device)
        if where == self.device:
            return self._look().to_device(where, True) if force_copy else self
        return copy.bind((self,), {"device": where})
