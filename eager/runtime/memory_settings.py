"""How host memory is allocated: growth, shrinking, what is kept, poison.

Set by environment variables, which are read at the first allocation or when a pipeline is built,
and by the functions of `gradiva.backend`, which win over the variables.
"""

from __future__ import annotations

import math
import threading
from numbers import Real
from typing import Any

from gradiva.eager.support.environment import flag, number_between, variable
from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError

RANGES = {
    "shrink_threshold": (0.0, 1.0, "a number from 0 (never shrink) to 1 (always shrink)"),
    "host_growth": (1.0, 4.0, "a number from 1 to 4"),
    "device_growth": (1.0, 4.0, "a number from 1 to 4"),
}
"""What is allowed for the numbers that users set."""

_SMALL = 16 * 1024
_DEFAULT_KEPT = 1 << 30
_BOTH = ("GRADIVA_", "DALI_")
_OURS = ("GRADIVA_",)


def _bytes(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError
    return value


class MemorySettings:
    """The settings of one pool. `read` fills in from the environment what no function has set.

    shrink_threshold: a waiting block serves a request that is at least this fraction of it.
    host_growth, device_growth: how much larger than asked for a fresh block is.
    kept: bytes that may wait for reuse, at most. small: requests of fewer bytes bypass the pool.
    poison: whether memory that is given back is overwritten. ready: whether `read` was done.
    """

    __slots__ = (
        "_lock",
        "_set",
        "device_growth",
        "host_growth",
        "kept",
        "poison",
        "ready",
        "shrink_threshold",
        "small",
    )

    def __init__(self) -> None:
        self.shrink_threshold = 0.9
        self.host_growth = 1.0
        self.device_growth = 1.0
        self.kept = _DEFAULT_KEPT
        self.small = _SMALL
        self.poison = False
        self.ready = False
        self._set: set[str] = set()
        self._lock = threading.Lock()

    def read(self) -> None:
        """Take over the environment, once. Raises OperatorValueError, and then again next time."""
        if self.ready:
            return
        found: dict[str, Any] = {}
        for name, variables in (
            ("shrink_threshold", ("HOST_BUFFER_SHRINK_THRESHOLD",)),
            ("host_growth", ("HOST_BUFFER_GROWTH_FACTOR", "BUFFER_GROWTH_FACTOR")),
            ("device_growth", ("DEVICE_BUFFER_GROWTH_FACTOR", "BUFFER_GROWTH_FACTOR")),
        ):
            least, most, expected = RANGES[name]
            parse = number_between(least, most)
            # gradiva's own variables win; of one owner, the special one wins over the general.
            values = [
                variable(one, parse, expected, (prefix,)) for prefix in _BOTH for one in variables
            ]
            found[name] = next((value for value in values if value is not None), None)
        found["kept"] = variable("HOST_MEMORY_KEPT", _bytes, "a number of bytes", _OURS)
        found["poison"] = variable("POISON", flag, "0 or 1", _OURS)
        with self._lock:
            if self.ready:
                return
            for name, value in found.items():
                if value is not None and name not in self._set:
                    setattr(self, name, value)
            if self.poison:
                self.small = 1  # so that small batches can be poisoned too
            self.ready = True

    def set(self, name: str, value: Any, function: str, argument: str) -> None:
        """Set a number of RANGES. Raises OperatorTypeError or OperatorValueError, which name
        `function` and its `argument`."""
        least, most, expected = RANGES[name]
        facts: dict[str, Any] = {"operator": function, "argument": argument, "expected": expected}
        if not isinstance(value, Real):
            raise OperatorTypeError(**facts, got=repr(value))
        number = float(value)
        if math.isnan(number) or not least <= number <= most:
            raise OperatorValueError(**facts, got=repr(value))
        with self._lock:
            self._set.add(name)
            setattr(self, name, number)


settings = MemorySettings()
"""Those of the process."""
