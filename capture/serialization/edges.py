"""Edges as files know them: a name, and the device on which the value is wanted.

What is made on one device and wanted on the other is a transfer: the format has no operator for it.
"""

from __future__ import annotations

from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.support.errors import OperatorValueError


class EdgeName(str):
    """The name of an edge; device: "cpu" or "gpu"."""

    device: str

    __slots__ = ("device",)

    def __new__(cls, name: str, device: str = "cpu") -> EdgeName:
        made = super().__new__(cls, name)
        made.device = device
        return made


def known_device(device: str, what: str, words: tuple[str, ...] = ("cpu", "gpu")) -> str:
    """The device that a file names; "cpu" where it names none. Raises OperatorValueError."""
    if device in ("", *words):
        return device or "cpu"
    raise OperatorValueError(
        f"{what} names an unknown device",
        argument="device",
        expected=" or ".join(map(repr, words)),
        got=repr(device)[:80],
    )


def device_word(operator: OperatorBase, device: str) -> str:
    """The format's word for where an operator runs."""
    return "mixed" if device == "gpu" and operator.mixed else device


def wanted_on(operator: OperatorBase, device: str, number: int, name: str) -> str:
    """The device on which an operator that runs on `device` takes an input."""
    own = getattr(name, "device", "cpu")
    first = operator.host_from
    at_home = operator.mixed or operator.metadata or (first is not None and number >= first)
    return own if at_home else device
