"""Promise: of a video that changes while its data set is read, clips have the frames that they had,
or are left out; and the process goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.soaking import Figures, scaled
from tests.tiers import few

pytest.importorskip("av")
pytest.importorskip("resource")

ROOT = Path(__file__).parents[2]
CHANGES = (
    "touch",
    "remove",
    "cut",
    "empty",
    "replace",
    "shorten",
    "write over",
    "folder",
    "descriptors",
    "memory",
    "audio",
)


@pytest.mark.full
@pytest.mark.parametrize("change", few(CHANGES, "touch"))
def test_changes(change: str, figures: Figures) -> None:
    count = scaled(3)
    command = [
        sys.executable,
        "-X",
        "faulthandler",
        "-m",
        "tests.promises.changed_videos",
        change,
        str(count),
    ]
    # Memory that is given back, and not kept for the next video.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_ARENA_MAX": "1"}
    ran = subprocess.run(
        command,
        env=environment if change == "memory" else None,
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        timeout=100 + 20 * count,
    )
    assert ran.returncode == 0, ran.stderr
    delivered, missing = json.loads(ran.stdout)
    assert delivered
    assert missing or change in ("audio", "memory")
    figures(data_sets=count, delivered=delivered, missing=missing)
