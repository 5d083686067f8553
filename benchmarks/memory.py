"""Memory of a process that runs a pipeline, side by side: the most it ever held (peak RSS), what it
holds at the end (RSS), and its share of that, where pages that others have, too, count in part
(PSS).

Each figure is of a process of its own (`memory_process.py`), which imports one library, builds the
pipeline and runs it for two epochs. Linux only.

`python benchmarks/memory.py`
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from photographs import make_data
from side_by_side import Row, in_turns, row, save

PROGRAM = Path(__file__).with_name("memory_process.py")
KINDS = ("peak RSS", "RSS", "PSS")
EPOCHS = 2


def measured(library: str, recipe: str, threads: int, pipelines: int, options: Any) -> list[float]:
    """The figures of a new process."""
    batches = max(EPOCHS * options.images // 64 // pipelines, 4)
    given = {"threads": threads, "pipelines": pipelines, "batches": batches}
    numbers = [f"--{name}={value}" for name, value in given.items()]
    command = [sys.executable, str(PROGRAM), library, recipe, options.folder, *numbers]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [float(word) for word in done.stdout.split()[-len(KINDS) :]]


def compare(recipe: str, threads: int, pipelines: int, options: Any) -> list[Row]:
    """Both libraries in turns: a row for each kind of memory."""
    seen: dict[str, list[list[float]]] = {"gradiva": [], "nvidia.dali": []}

    def once(library: str) -> float:
        seen[library].append(measured(library, recipe, threads, pipelines, options))
        return seen[library][-1][0]

    in_turns(lambda: once("gradiva"), lambda: once("nvidia.dali"), options.rounds)
    ours, theirs = ([list(kind) for kind in zip(*found, strict=True)] for found in seen.values())
    name = f"{recipe}, {threads} threads" + (f", {pipelines} pipelines" if pipelines > 1 else "")
    return [
        row(f"{name}, {kind}", mine, other, "MiB", bigger=False)
        for kind, mine, other in zip(KINDS, ours, theirs, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=1000, help="files, and images per epoch")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", default="", help="of the photographs; made unless given")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if not options.folder:
            options.folder = folder
            make_data(Path(folder), options.images)
        rows = []
        for recipe in ("val", "train"):
            for threads in (2, 16):
                rows += compare(recipe, threads, 1, options)
        rows += compare("val", 2, 8, options)
    save("memory", rows, images=options.images)


if __name__ == "__main__":
    main()
