"""Devices: the CPU, and GPUs by number."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from operator import index
from typing import Any, ClassVar, SupportsIndex, TypeAlias

from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError, describe
from gradiva.eager.support.hooks import Hook
from gradiva.eager.support.validation import integer

_KINDS = {"cpu": "cpu", "gpu": "gpu", "cuda": "gpu"}
_EXPECTED = "a device such as 'cpu', 'gpu' or 'gpu:0'"
_DLPACK = {1: "cpu", 2: "gpu"}
"""The numbers of DLPack's header, kDLCPU and kDLCUDA."""


def _wrong(
    kind: type[OperatorTypeError] | type[OperatorValueError], name: object, more: str = ""
) -> OperatorTypeError | OperatorValueError:
    return kind(expected=_EXPECTED, got=describe(name) + more)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Device:
    """Where a value lives, such as `Device("cpu")`, `Device("gpu:0")`, `Device("gpu", 1)`.

    device_type: "cpu" or "gpu" ("cuda" is another spelling). device_id: None on the CPU, else the
    number of the GPU, the first one by default. A GPU can be named on a machine that has none;
    using it raises. Devices are equal if both are. `with Device("cpu"): ...` makes it the current
    one in a block.

    Raises OperatorTypeError for what is no name or number, OperatorValueError for another one.
    """

    device_type: str
    device_id: int | None

    CPU: ClassVar[Device]

    def __init__(self, name: str, device_id: SupportsIndex | None = None) -> None:
        if not isinstance(name, str):
            raise _wrong(OperatorTypeError, name)
        spelling, colon, number = name.partition(":")
        kind = _KINDS.get(spelling)
        if kind is None or (colon and not (number.isascii() and number.isdigit())):
            raise _wrong(OperatorValueError, name)
        if colon and device_id is not None:
            raise _wrong(OperatorValueError, name, f"; {device_id} as its number as well")
        chosen = int(number) if colon else device_id
        if isinstance(chosen, bool):
            raise _wrong(OperatorValueError, name, f", number {chosen}")
        if chosen is not None:
            expected = "the number of a GPU, or None"
            chosen = integer(chosen, 0, expected=expected, argument="device_id")
        if kind == "cpu" and chosen is not None:
            raise _wrong(OperatorValueError, name, f", number {chosen}; the CPU has no number")
        object.__setattr__(self, "device_type", kind)
        object.__setattr__(self, "device_id", (chosen or 0) if kind == "gpu" else None)

    @staticmethod
    def current() -> Device:
        """The device of the innermost `with` block, the CPU outside of any."""
        entered = _entered.get()
        return entered[-1] if entered else CPU

    @staticmethod
    def default_device_id(device_type: str) -> int | None:
        """The number of the device that `device_type` means: None for "cpu". Raises
        OperatorRuntimeError for "gpu" where there is none, OperatorValueError for others."""
        where = Device(device_type)
        return check_device(where).device_id

    @staticmethod
    def from_dlpack(dlpack_device: Any) -> Device:
        """The device of an object with `__dlpack_device__` (an array of any library), or of the
        pair of numbers that this returns. Raises OperatorTypeError, OperatorValueError."""
        pair = dlpack_device
        if hasattr(pair, "__dlpack_device__"):
            pair = pair.__dlpack_device__()
        try:
            kind, number = pair
        except (TypeError, ValueError):
            raise OperatorTypeError(
                operator="Device.from_dlpack",
                argument="dlpack_device",
                expected="an object with __dlpack_device__",
                got=describe(dlpack_device),
            ) from None
        name = Device.type_from_dlpack(kind)
        return Device(name, number if name == "gpu" else None)

    @staticmethod
    def type_from_dlpack(dev_type: Any) -> str:
        """ "cpu" or "gpu" for DLPack's number of a kind of device, 1 or 2. Raises
        OperatorTypeError for what is no number, OperatorValueError for another one."""
        try:
            return _DLPACK[index(dev_type)]
        except (TypeError, KeyError) as error:
            kind = OperatorTypeError if isinstance(error, TypeError) else OperatorValueError
            raise kind(
                operator="Device.type_from_dlpack",
                argument="dev_type",
                expected="1 (CPU) or 2 (CUDA)",
                got=describe(dev_type),
            ) from None

    def __enter__(self) -> Device:
        check_device(self)
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(self, *details: object) -> None:
        _entered.set(_entered.get()[:-1])

    def __str__(self) -> str:
        if self.device_id is None:
            return self.device_type
        return f"{self.device_type}:{self.device_id}"

    def __repr__(self) -> str:
        return f"Device({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (str(self),)


DeviceLike: TypeAlias = "Device | str"

_entered: ContextVar[tuple[Device, ...]] = ContextVar("gradiva_devices", default=())

CPU = Device.CPU = Device("cpu")


def device(obj: DeviceLike, id: SupportsIndex | None = None) -> Device:
    """The device that `obj` names: a Device, "cpu", "gpu", "gpu:1", or a torch.device.

    id: the number of a GPU, if `obj` is a string without one. Raises OperatorTypeError for other
    objects, OperatorValueError for other names and numbers.
    """
    if isinstance(obj, Device):
        if id is not None and id != obj.device_id:
            raise OperatorValueError(
                operator="device",
                argument="id",
                expected=f"the number of {obj}, or None",
                got=describe(id),
            )
        return obj
    if not isinstance(obj, str) and isinstance(getattr(obj, "type", None), str):
        # torch numbers its CPU too, as in `torch.device("cpu:0")`.
        torch_device: Any = obj
        kind = torch_device.type
        return CPU if kind == "cpu" else Device(kind, torch_device.index)
    made = Device(obj, id)
    return made if made.device_type == "gpu" else CPU


find_gpu: Hook[Callable[[Device], Any]] = Hook(
    "the search for a GPU", "gradiva.eager.cuda.cupy_runtime"
)
"""Finds the GPU that a device names, or raises OperatorRuntimeError; put here by
eager/cuda/cupy_runtime.py."""


def check_device(where: Device) -> Device:
    """The device, if it exists. Raises OperatorRuntimeError, which says what is missing for a
    GPU."""
    if where.device_type != "cpu":
        find_gpu.get()(where)
    return where
