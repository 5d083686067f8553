"""Thousands of clips leave nothing behind in memory."""

from __future__ import annotations

import gc
import resource
import sys
from pathlib import Path
from typing import Any

import pytest

from gradiva import fn, pipeline_def

from ...soaking import scaled
from ..video.bars import encoded

pytestmark = [
    pytest.mark.full,
    pytest.mark.soak,
    pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's"),
]
CLIPS = 1000
"""Times ten in the run of `-m soak`."""
BATCH = 20
MOST = 3 << 20
"""Bytes: 300 for each of ten thousand clips. Heaps of threads may still grow by a part of it."""


def resident() -> int:
    """Bytes of this process that are in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.filterwarnings("ignore:samples that cannot be read")
@pytest.mark.parametrize("damaged", [False, True])
def test_nothing_is_left_of_clips(tmp_path: Path, damaged: bool) -> None:
    """Shuffled clips of more files than decoders stay open; also of files that are
    damaged in the middle."""
    files = []
    for number in range(12):
        data = bytearray(encoded("mpeg4", frames=20, gop=5, first=number))
        if damaged:
            middle = len(data) // 2
            data[middle : middle + 40] = bytes(40)
        files.append(tmp_path / f"{number}.mp4")
        files[-1].write_bytes(data)

    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None, seed=1)
    def clips() -> Any:
        return fn.experimental.readers.video(
            filenames=[str(path) for path in files],
            sequence_length=2,
            random_shuffle=True,
            on_error="skip",
        )

    with clips() as pipe:
        for _ in range(2500 // BATCH):
            pipe.run()
        before = resident()
        for _ in range(scaled(CLIPS) // BATCH):
            pipe.run()
        assert resident() - before < MOST
