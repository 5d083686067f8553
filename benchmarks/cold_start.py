"""From a fresh process to the first batch of val: with kernels on disk, without, and DALI.

Imports count. `gradiva warmup` is what makes the difference between the first two.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from photographs import make_data
from side_by_side import Row, row, save

OURS = """
import time; started = time.perf_counter()
import sys
from gradiva import fn, pipeline_def, types
"""
THEIRS = """
import time; started = time.perf_counter()
import sys
from nvidia.dali import fn, pipeline_def, types
"""
BODY = """
@pipeline_def(batch_size=64, num_threads=2, {device})
def val():
    files, labels = fn.readers.file(file_root=sys.argv[1])
    images = fn.resize(fn.decoders.image(files, output_type=types.RGB), resize_shorter=256)
    return fn.crop_mirror_normalize(
        images, crop=(224, 224), mean=[124.0, 116.0, 104.0], std=[58.0, 57.0, 57.0],
        dtype=types.FLOAT, output_layout="CHW",
    ), labels
pipe = val()
pipe.build()
pipe.run()
print(time.perf_counter() - started)
"""


def seconds(head: str, device: str, folder: str, cache: str) -> float:
    """What one fresh process takes."""
    script = head + BODY.replace("{device}", device)
    environment = {**os.environ, "GRADIVA_CACHE": cache}
    run = subprocess.run(
        [sys.executable, "-c", script, folder],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return float(run.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "images")
        folder.mkdir()
        make_data(folder, 128)
        warm, images = str(Path(place, "warm")), str(folder)
        seconds(OURS, "", images, warm)
        for name, caches in (
            ("first batch of val, kernels on disk", [warm] * options.rounds),
            (
                "first batch of val, nothing compiled yet",
                [str(Path(place, f"cold{i}")) for i in range(options.rounds)],
            ),
        ):
            ours, theirs = [], []
            for cache in caches:
                ours.append(seconds(OURS, "", images, cache))
                theirs.append(seconds(THEIRS, "device_id=None", images, cache))
            rows.append(row(name, ours, theirs, "s", bigger=False))
    save("cold_start", rows)


if __name__ == "__main__":
    main()
