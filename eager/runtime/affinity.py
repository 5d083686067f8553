"""Pins threads to cores: which core each thread gets, and pinning the calling thread.

Linux lets a thread choose its cores. macOS does not: there is one warning, and threads are not
pinned.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator

from gradiva.eager.support.environment import variable
from gradiva.eager.support.errors import OperatorValueError

_VARIABLE = "AFFINITY_MASK"
_PREFIXES = ("GRADIVA_", "DALI_")


def thread_cpus(num_threads: int) -> tuple[int, ...] | None:
    """The core of each thread of a pool; None on systems where threads cannot choose.

    The cores of DALI_AFFINITY_MASK (or GRADIVA_AFFINITY_MASK), a comma-separated list of numbers,
    come first, in the order of the list. Then follow the other cores that this process may use, in
    ascending order. If there are more threads than cores, the cores are used again from the first
    allowed one on. Raises OperatorValueError, which names the variable, for a malformed list and
    for a core that is not available.
    """
    listed = variable(_VARIABLE, _numbers, "core numbers with commas between", _PREFIXES) or ()
    if not hasattr(os, "sched_setaffinity"):
        warnings.warn(
            f"set_affinity has no effect: {sys.platform} does not let threads choose cores",
            UserWarning,
            stacklevel=2,
        )
        return None
    allowed = sorted(os.sched_getaffinity(0))
    for cpu in listed:
        if cpu not in allowed:
            name = next(p + _VARIABLE for p in _PREFIXES if os.environ.get(p + _VARIABLE))
            raise OperatorValueError(
                f"environment variable {name}",
                expected=f"cores that this process may use ({_ranges(allowed)})",
                got=str(cpu),
            )
    order = [*listed, *(cpu for cpu in allowed if cpu not in listed)][:num_threads]
    missing = num_threads - len(order)
    return (*order, *(allowed[index % len(allowed)] for index in range(missing)))


def pin(cpu: int) -> None:
    """Pin the calling thread to this core. Warns if the core is not available any more."""
    try:
        os.sched_setaffinity(0, {cpu})
    except OSError as error:
        warnings.warn(f"a thread could not be put on core {cpu}: {error}", stacklevel=2)


@contextlib.contextmanager
def pinned(cpu: int) -> Iterator[None]:
    """In the block, the calling thread runs on this core only; afterwards where it ran before."""
    before = os.sched_getaffinity(0)
    pin(cpu)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # the allowed cores have changed meanwhile
            os.sched_setaffinity(0, before)


def _numbers(text: str) -> tuple[int, ...]:
    numbers = tuple(int(part) for part in text.split(","))
    if min(numbers) < 0:
        raise ValueError
    return numbers


def _ranges(numbers: list[int]) -> str:
    """[0, 1, 2, 5] as "0-2, 5"."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts)
