"""Where a worker hangs: the worker writes its stacks at a signal, and ends.

`faulthandler` handles the signal in C, so this works also for a call that never releases the
interpreter lock. The text is read after the process has ended.
"""

from __future__ import annotations

import faulthandler
import mmap
import os
import re
import signal
import traceback

from .shared_memory import Segment

STACK_SIGNAL: int = (
    signal.SIGRTMIN + 7
    if hasattr(signal, "SIGRTMIN")
    else getattr(signal, "SIGUSR2", signal.SIGTERM)
)
"""A signal that libraries do not use, and that ends a process without a core dump."""

_PLACE = mmap.PAGESIZE  # in the file of the segment, behind what is mapped of it
_MOST = 1 << 20
_FRAME = re.compile(r'  File "(.*)", line (\d+) in (.*)')
_HERE = os.path.dirname(__file__)


def write_stack_into(segment: Segment) -> None:
    """Have STACK_SIGNAL write the stacks of this process's threads behind a segment of one page,
    and end the process."""
    signal.signal(STACK_SIGNAL, signal.SIG_DFL)
    os.lseek(segment.fd, _PLACE, os.SEEK_SET)
    faulthandler.register(STACK_SIGNAL, file=segment.fd, all_threads=True, chain=True)


def stack_in(segment: Segment) -> str:
    """What was written behind a segment, as Python shows stacks, the main thread first; empty if
    nothing was."""
    text = os.pread(segment.fd, _MOST, _PLACE).decode(errors="replace")
    blocks = [block.strip("\n") for block in text.split("\n\n")]
    blocks.sort(key=lambda block: not block.startswith("Current thread"))
    shown = []
    for block in blocks:
        frames = [
            (file, int(line), name, None) for file, line, name in reversed(_FRAME.findall(block))
        ]
        if any(file.startswith(_HERE) and name == "_listen" for file, _, name, _ in frames):
            continue
        ours = [number for number, frame in enumerate(frames) if frame[0].startswith(_HERE)]
        frames = frames[ours[-1] + 1 :] if ours else frames
        if frames:
            lines = traceback.StackSummary.from_list(frames).format()
            shown.append("".join(lines).rstrip("\n"))
    return "\nand in another thread at\n".join(shown)
