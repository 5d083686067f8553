"""A writer of manifests of audio, for `formats.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from gradiva.ops.decoders.audio.audio import wav_file


def nemo_asr(folder: Path, size: int) -> dict[str, Any]:
    """A manifest, and a signal for each line; some are parts of theirs."""
    lines = []
    for number in range(size):
        samples = np.arange(number, number + 40 + 3 * number, dtype=np.int16).reshape(-1, 1)
        (folder / f"data{number:02}.wav").write_bytes(wav_file(samples, 8000).tobytes())
        line: dict[str, Any] = {"audio_filepath": str(folder / f"data{number:02}.wav")}
        line["text"] = f"number {number}"
        line |= {"duration": 0.004, "offset": 0.001} if number % 3 == 1 else {}
        lines.append(json.dumps(line))
    (folder / "manifest.json").write_text("\n".join(lines) + "\n")
    return {"manifest_filepaths": [str(folder / "manifest.json")], "read_idxs": True}
