"""Threads on processors of their own: which ones, and putting the calling thread on one.

Linux lets a thread choose its processors. macOS does not: it is said once, and threads run free.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator

from gradiva.eager.support.environment import variable
from gradiva.eager.support.errors import OperatorValueError

__all__ = ["pin", "pinned", "thread_cpus"]

_VARIABLE = "AFFINITY_MASK"
_PREFIXES = ("GRADIVA_", "DALI_")


def thread_cpus(num_threads: int) -> tuple[int, ...] | None:
    """The processor of each thread of a pool; None where threads cannot choose.

    First those of DALI_AFFINITY_MASK (or GRADIVA_AFFINITY_MASK), a list of numbers with commas, in
    its order; then the others that this process may use, in theirs; if there are more threads,
    from the start of what the process may use. Raises OperatorValueError, which names the variable,
    for a list that cannot be read and for a processor that is not available.
    """
    listed = variable(_VARIABLE, _numbers, "processor numbers with commas between", _PREFIXES) or ()
    if not hasattr(os, "sched_setaffinity"):
        warnings.warn(
            f"set_affinity has no effect: {sys.platform} does not let threads choose processors",
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
                expected=f"processors that this process may use ({_ranges(allowed)})",
                got=str(cpu),
            )
    order = [*listed, *(cpu for cpu in allowed if cpu not in listed)][:num_threads]
    missing = num_threads - len(order)
    return (*order, *(allowed[index % len(allowed)] for index in range(missing)))


def pin(cpu: int) -> None:
    """Let the calling thread run on this processor only. Warns if it has gone meanwhile."""
    try:
        os.sched_setaffinity(0, {cpu})
    except OSError as error:
        warnings.warn(f"a thread could not be put on processor {cpu}: {error}", stacklevel=2)


@contextlib.contextmanager
def pinned(cpu: int) -> Iterator[None]:
    """In the block, the calling thread runs on this processor only; then where it did before."""
    before = os.sched_getaffinity(0)
    pin(cpu)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # the allowed processors have changed meanwhile
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
