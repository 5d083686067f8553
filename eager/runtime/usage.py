"""What running a pipeline used: CPU time, time of its threads, bytes read, page faults.

What the system does not say is None.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

resource: ModuleType | None
try:
    import resource
except ImportError:  # on Windows
    resource = None

__all__ = ["Usage", "used_since"]

_SELF = Path("/proc/self")


@dataclass(frozen=True)
class Usage:
    """Since some moment, or, of two of these, in between.

    cpu_time: seconds of CPU time of this process, all threads; disk_bytes: that came from a disk
    or another machine, not from the system's cache; faults: pages that were read from a disk;
    threads: of each pool thread, by its system number, the nanoseconds that it ran, and that it was
    ready to run while no core was free.
    """

    cpu_time: float
    disk_bytes: int | None
    faults: int | None
    threads: dict[int, tuple[int, int]]

    @staticmethod
    def now() -> Usage:
        """Since the start of the process."""
        faults = None if resource is None else resource.getrusage(resource.RUSAGE_SELF).ru_majflt
        return Usage(time.process_time(), _disk_bytes(), faults, dict(_threads()))


def used_since(before: Usage) -> Usage:
    """The resources that were used since `before`, by the threads that existed then."""
    now = Usage.now()
    pairs = ((before.disk_bytes, now.disk_bytes), (before.faults, now.faults))
    disk_bytes, faults = (None if a is None or b is None else b - a for a, b in pairs)
    threads = {
        number: (ran - before.threads[number][0], ready - before.threads[number][1])
        for number, (ran, ready) in now.threads.items()
        if number in before.threads
    }
    return Usage(now.cpu_time - before.cpu_time, disk_bytes, faults, threads)


def _disk_bytes() -> int | None:
    with suppress(OSError, ValueError):
        for line in (_SELF / "io").read_text("ascii").splitlines():
            name, _, value = line.partition(":")
            if name == "read_bytes":
                return int(value)
    return None


def _threads() -> Iterable[tuple[int, tuple[int, int]]]:
    """The times of the threads of worker pools."""
    for thread in threading.enumerate():
        if thread.native_id is None or not thread.name.removeprefix("gradiva-").isdigit():
            continue
        with suppress(OSError, ValueError):
            text = (_SELF / "task" / str(thread.native_id) / "schedstat").read_text("ascii")
            ran, ready, _ = map(int, text.split())
            yield thread.native_id, (ran, ready)
