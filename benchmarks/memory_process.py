"""A process of `memory.py`: imports one library, runs pipelines, and prints what memory it took, in
MiB: peak RSS, RSS and PSS."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from typing import Any

from programs import train, val

RECIPES = {"val": val, "train": train}
_KIB = 1024


def pipeline(library: str, recipe: Any, folder: str, threads: int) -> Any:
    """The recipe as a pipeline that was built."""
    module, fn, types = (importlib.import_module(library + part) for part in ("", ".fn", ".types"))
    where = {} if library == "gradiva" else {"device_id": None}

    @module.pipeline_def(
        batch_size=64, num_threads=threads, seed=1, prefetch_queue_depth=2, **where
    )
    def define() -> Any:
        files, labels = fn.readers.file(file_root=folder)
        return recipe(fn, types, files), labels

    made = define()
    made.build()
    return made


def fields(path: str) -> dict[str, int]:
    """The numbers in a file of the kernel, by their names."""
    found = {}
    for line in Path(path).read_text().splitlines():
        name, _, value = line.partition(":")
        words = value.split()
        if words and words[0].isdigit():
            found[name] = int(words[0])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", choices=("gradiva", "nvidia.dali"))
    parser.add_argument("recipe", choices=RECIPES)
    parser.add_argument("folder")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--pipelines", type=int, required=True)
    parser.add_argument("--batches", type=int, required=True, help="of each pipeline")
    options = parser.parse_args()
    recipe = RECIPES[options.recipe]
    pipes = [
        pipeline(options.library, recipe, options.folder, options.threads)
        for _ in range(options.pipelines)
    ]
    for _ in range(options.batches):
        for pipe in pipes:
            pipe.run()
    status, shares = fields("/proc/self/status"), fields("/proc/self/smaps_rollup")
    print(*(round(kib / _KIB, 1) for kib in (status["VmHWM"], shares["Rss"], shares["Pss"])))


if __name__ == "__main__":
    main()
