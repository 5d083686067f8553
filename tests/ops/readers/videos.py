"""A data set of videos, as `formats.py` has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradiva
from gradiva import fn

from ..video.bars import write


def video(folder: Path, size: int) -> dict[str, Any]:
    """Videos with a clip of two frames each."""
    for path in folder.glob("*.mp4"):
        path.unlink()
    for number in range(size):
        write(folder / f"data{number:02}.mp4", frames=2, first=2 * number)
    lines = [f"{path} {number}" for number, path in enumerate(sorted(folder.glob("*.mp4")))]
    (folder / "list.txt").write_text("\n".join(lines))
    listed = str(folder / "list.txt")
    return {"file_list": listed, "sequence_length": 2, "colorspace": "bt601"}


def video_of_theirs(data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """DALI has no other colors."""
    both = {name: value for name, value in data.items() if name != "colorspace"}
    return both, {}, {"colorspace": data["colorspace"]}


VIDEO = (
    video,
    gradiva.experimental.readers.Video,
    fn.experimental.readers.video,
    None,
    "*.mp4",
    video_of_theirs,
)
