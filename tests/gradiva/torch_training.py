"""A training that the tests start, kill, and start again with other processes and workers.

Its trainers take turns in one process; each has workers of its own. After each step it writes the
digest of the step, and then the state of the last trainer.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from gradiva import fn, pipeline_def
from gradiva.plugin.pytorch import DataLoader, IterableDataset

SIZE = 100
WHOLE = 24


@pipeline_def(num_threads=1, seed=7)
def training() -> Any:
    _, labels = fn.readers.file(
        files=[__file__] * SIZE, labels=list(range(SIZE)), random_shuffle=True, name="reader"
    )
    noise = fn.random.uniform(range=(0.0, 1.0), shape=(2, 2, 1))
    return labels, fn.flip(noise, horizontal=fn.random.coin_flip())


def trainers(world: int, workers: int, **options: Any) -> list[DataLoader]:
    """The loaders of so many trainers."""
    return [
        DataLoader(
            IterableDataset(
                training,
                ["label", "noise", "@position"],
                rank=rank,
                world_size=world,
                global_batch_size=WHOLE,
                **options,
            ),
            num_workers=workers,
        )
        for rank in range(world)
    ]


def digest(parts: Any) -> str:
    """Of a step, from the batches of all trainers."""
    columns = zip(*(part.values() for part in parts), strict=True)
    rows = [np.concatenate([np.asarray(one) for one in column]) for column in columns]
    return hashlib.sha256(b"".join(row.tobytes() for row in rows)).hexdigest()


def main(folder: str, world: int, workers: int, epochs: int) -> None:
    log, saved = Path(folder, "log"), Path(folder, "state.json")
    loaders = trainers(world, workers)
    steps: list[str] = []
    if saved.exists():
        known = json.loads(saved.read_text())
        steps = known["steps"]
        for loader in loaders:
            loader.load_state_dict(known["data"])
    while loaders[0].state_dict()["epoch"] < epochs:
        for parts in zip(*loaders, strict=True):
            steps.append(digest(parts))
            text = json.dumps({"steps": steps, "data": loaders[-1].state_dict()})
            new = saved.with_suffix(".new")
            new.write_text(text)
            os.replace(new, saved)
            with log.open("a") as file:
                file.write(f"{world} {workers} {len(steps)}\n")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:5]))
