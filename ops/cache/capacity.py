"""How much memory or disk a cache may take, unless it is told."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

_GROUPS: Final = (
    ("memory.max", "memory.current"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
)
"""The limit of a control group and what is used of it, in the second and the first version."""
_UNKNOWN: Final = 1 << 30
_UNKNOWN_DISK: Final = 64 << 30
"""Where the system does not say it."""


def disk_for_cache(folder: Path, held: int) -> int:
    """80 % of what is free, beside what the folder holds."""
    try:
        facts = os.statvfs(folder)
    except (OSError, AttributeError):
        return _UNKNOWN_DISK
    return facts.f_bavail * facts.f_frsize * 4 // 5 + held


def memory_for_cache() -> int:
    """Half of the memory that is available to this process."""
    available = [_available(), *map(_left_in_group, *zip(*_GROUPS, strict=True))]
    return min((one for one in available if one is not None), default=_UNKNOWN) // 2


def _available() -> int | None:
    with suppress(OSError, ValueError, IndexError, KeyError):
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        sizes = dict(line.split(":", 1) for line in lines)
        return int(sizes["MemAvailable"].split()[0]) * 1024
    with suppress(OSError, ValueError, AttributeError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _left_in_group(limit: str, used: str) -> int | None:
    """What is left of the limit of the control group, if there is one."""
    root = Path("/sys/fs/cgroup")
    with suppress(OSError, ValueError):
        return max(int((root / limit).read_text()) - int((root / used).read_text()), 0)
    return None
