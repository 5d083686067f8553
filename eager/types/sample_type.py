"""The type of the samples of a batch: dtype, number of axes, layout, device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .dtypes import DType


@dataclass(frozen=True, slots=True)
class SampleType:
    """The type of the samples of a batch. None means not known yet; a layout "" means none given.

    dtype: element type; ndim: number of axes of a sample; layout: one letter per axis;
    device: "cpu" or "gpu".
    """

    dtype: DType | None = None
    ndim: int | None = None
    layout: str | None = None
    device: str = "cpu"

    def with_(self, **changes: Any) -> SampleType:
        """A copy with some fields changed."""
        known = {"dtype": self.dtype, "ndim": self.ndim, "layout": self.layout}
        return SampleType(**{**known, "device": self.device, **changes})

    def __str__(self) -> str:
        dtype = "?" if self.dtype is None else self.dtype.name
        shape = self.layout or ("?" if self.ndim is None else f"{self.ndim}-D")
        return f"{dtype} {shape} {self.device}"
