"""What `gradiva.plugin.mxnet` asks of MXNet: a stand-in for where there is none."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

__all__ = ["module"]


class NDArray:
    """An array over a DLPack capsule."""

    def __init__(self, array: Any) -> None:
        self._array = array
        self.shape, self.dtype = array.shape, array.dtype.type

    def __setitem__(self, key: Any, value: Any) -> None:
        self._array[key] = value._array

    def asnumpy(self) -> Any:
        return self._array


class DataDesc(NamedTuple):
    name: str
    shape: tuple[int, ...]
    dtype: Any
    layout: str


class DataBatch(SimpleNamespace):
    """`data`, `label`, `pad` and what else it is made with."""

    def __init__(self, data: Any, label: Any, **more: Any) -> None:
        super().__init__(data=data, label=label, **more)


class _Held:
    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def module() -> Any:
    """A module like `mxnet`."""
    made: Any = ModuleType("mxnet")

    def from_dlpack(capsule: Any) -> NDArray:
        return NDArray(np.from_dlpack(_Held(capsule)))

    made.nd = SimpleNamespace(
        from_dlpack=from_dlpack, zeros=lambda shape, dtype: NDArray(np.zeros(shape, dtype))
    )
    made.io = SimpleNamespace(DataBatch=DataBatch, DataDesc=DataDesc)
    return made
