"""Pictures and audio in a folder that the usual filters do not know."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

FILTERS: Final = (
    "*.jpg", "*.jpeg", "*.png", "*.bmp", "*.tif", "*.tiff", "*.pnm", "*.ppm", "*.pgm", "*.pbm",
    "*.jp2", "*.webp", "*.flac", "*.ogg", "*.wav",
)  # fmt: skip
"""What `readers.file` takes unless it is told otherwise; those of DALI."""
_OTHERS = frozenset((".gif", ".avif", ".heic", ".heif", ".jxl", ".mp3", ".m4a", ".aac", ".opus"))


def warn_of_left_out(root: str, names: Iterable[str], filters: Sequence[str]) -> None:
    """Say how many files look like data and are not read, where nobody chose the filters."""
    if tuple(filters) != FILTERS:
        return
    count, told = left_out(names)
    if count:
        warnings.warn(
            f"readers.file: {count} files in {root!r} are left out ({told}): "
            "`file_filters` says which endings are read",
            stacklevel=2,
        )


def left_out(names: Iterable[str]) -> tuple[int, str]:
    """How many of these files look like data and are not read, and by their endings, as text."""
    endings = Counter(os.path.splitext(name)[1].lower() for name in names)
    found = {ending: count for ending, count in sorted(endings.items()) if ending in _OTHERS}
    return sum(found.values()), ", ".join(f"{count} {ending}" for ending, count in found.items())
