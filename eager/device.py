"""Devices: the CPU, and GPUs by number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from .errors import OperatorRuntimeError

__all__ = ["CPU", "Device", "DeviceLike", "device"]


@dataclass(frozen=True, slots=True)
class Device:
    """Where a value lives: `kind` is "cpu" or "gpu", `id` is the GPU's number (0 on the CPU)."""

    kind: str
    id: int = 0

    def __post_init__(self) -> None:
        if self.kind not in ("cpu", "gpu"):
            raise ValueError(f"expected a device 'cpu' or 'gpu', got {self.kind!r}")

    def __str__(self) -> str:
        return self.kind if self.kind == "cpu" else f"{self.kind}:{self.id}"


DeviceLike: TypeAlias = "Device | str"

CPU = Device("cpu")


def device(obj: DeviceLike, id: int | None = None) -> Device:
    """The device that `obj` names: a Device, "cpu", "gpu" or "gpu:1". Raises ValueError."""
    if isinstance(obj, Device):
        return obj
    kind, _, number = obj.partition(":")
    if number and not number.isdigit():
        raise ValueError(f"expected a device such as 'cpu' or 'gpu:0', got {obj!r}")
    return Device(kind, int(number) if number else (id or 0))


def require_cpu(where: Device) -> None:
    """Refuse a GPU, clearly: this version runs its operators on the CPU."""
    if where.kind != "cpu":
        raise OperatorRuntimeError(
            f"device '{where}' is not available: this version of gradiva has no GPU backend yet; "
            "leave out `device` or pass device='cpu'"
        )
