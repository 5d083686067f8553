"""Where the time of a pipeline goes: shares of the samples that Linux' `perf` takes.

codec: the JPEG library; kernels: machine code made by Numba; Python: the interpreter and NumPy;
system: reading files, switching threads. The rest are libraries such as libc.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from photographs import make_data
from programs import PIPELINES
from recipes import pipelines
from side_by_side import Row, save

KINDS = {
    "_jpeg": "codec", "libjpeg": "codec", "perf-": "kernels", "JIT": "kernels",
    "libpython": "Python", "python3": "Python", "_multiarray": "Python", "kernel.": "system",
}  # fmt: skip


def shares(seconds: float, run: Callable[[], Iterator[int]]) -> dict[str, float]:
    """The share of each kind while `run` is called again and again."""
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder, "perf.data"))
        recorder = subprocess.Popen(
            ["perf", "record", "-e", "cpu-clock", "-F", "2000", "-o", data, "-p", str(os.getpid())],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(1)
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            list(run())
        recorder.send_signal(signal.SIGINT)
        recorder.wait()
        text = subprocess.run(
            ["perf", "script", "-i", data, "-F", "ip,dso"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    found: Counter[str] = Counter()
    for line in text.splitlines():
        if line.strip():
            library = line.split("/")[-1].strip("() \t")
            kind = next((kind for part, kind in KINDS.items() if part in library), "rest")
            found[kind] += 1
    total = sum(found.values())
    return {kind: round(count / total, 3) for kind, count in found.most_common()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=6.0)
    options = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        make_data(Path(folder), options.images)
        for name, recipe in PIPELINES.items():
            run, _ = pipelines(recipe, folder, options)
            list(run())
            rows.append({"name": name, "shares": shares(options.seconds, run)})
            print(name, rows[-1]["shares"])
    save("profile_recipes", rows)


if __name__ == "__main__":
    main()
