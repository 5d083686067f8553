"""A small network on the package's photographs, with Ray Train, and loaders in processes of their
own; stopped in the middle of an epoch, and gone on with another number of trainers.

`pip install "gradiva[ray]" pydantic pandas` and `python examples/train_with_ray.py`. On a cluster,
put its address into `ray.init`, and the data where all machines see them.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import ray
import ray.train
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

import gradiva
from gradiva import fn, pipeline_def
from gradiva.plugin.ray import LastBatchPolicy, LoaderPool

PHOTOGRAPHS = Path(gradiva.__file__).parent / "photographs"
CLASSES = sum(path.is_dir() for path in PHOTOGRAPHS.iterdir())
EPOCHS, STEP, RATE, SIDE = 2, 4, 0.05, 16


@pipeline_def(batch_size=STEP, num_threads=1, seed=7)
def training() -> Any:
    """Augmented images, normalized, and labels."""
    files, labels = fn.readers.file(file_root=str(PHOTOGRAPHS), random_shuffle=True)
    images = fn.decoders.image_random_crop(files, random_area=[0.5, 1.0])
    images = fn.resize(images, size=(SIDE, SIDE))
    mean, std = [124.0, 116.0, 104.0], [58.0, 57.0, 57.0]
    return fn.crop_mirror_normalize(
        images, mirror=fn.random.coin_flip(), mean=mean, std=std
    ), labels


def gradient(weights: Any, batch: dict[str, Any]) -> Any:
    """Of the sum of a softmax regression's losses."""
    pixels = batch["images"].reshape(len(batch["images"]), -1)
    scores = pixels @ weights
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    shares[np.arange(len(shares)), batch["labels"].ravel()] -= 1
    return pixels.T @ shares


@ray.remote(num_cpus=0)
class Sum:
    """The gradients of a step, from all trainers: what a collective operation is for elsewhere."""

    def __init__(self) -> None:
        self.steps: dict[int, list[tuple[int, Any]]] = {}

    def add(self, step: int, rank: int, own: Any) -> None:
        self.steps.setdefault(step, []).append((rank, own))

    def total(self, step: int, world: int) -> Any:
        """In the order of the trainers, so that runs can be repeated; None while some are
        missing."""
        found = self.steps.get(step, [])
        if len(found) < world:
            return None
        return sum(own for _, own in sorted(found, key=lambda one: one[0]))


def train(config: dict[str, Any]) -> None:
    """What each trainer runs."""
    context = ray.train.get_context()
    rank, world = context.get_world_rank(), context.get_world_size()
    part, shared, done = config["parts"][rank], config["sum"], config["done"]
    weights = np.array(config["weights"])
    while done < config["until"]:
        for batch in part:
            ray.get(shared.add.remote(done, rank, gradient(weights, batch)))
            total = None
            while total is None:
                total = ray.get(shared.total.remote(done, world))
            weights -= RATE / STEP * total
            done += 1
            if done == config["until"]:
                break
    if rank == 0:  # the state of one trainer is that of all
        state = {"weights": weights.tolist(), "data": part.state_dict(), "done": done}
        Path(config["file"]).write_text(json.dumps(state), "utf-8")
    ray.train.report({"steps": done})


def at_once(loaders: LoaderPool) -> Any:
    """The weights after all epochs, without Ray Train and without a pause."""
    weights = np.zeros((3 * SIDE * SIDE, CLASSES))
    part = loaders.iterator(0, 1, ("images", "labels"))
    for _ in range(EPOCHS):
        for batch in part:
            weights -= RATE / STEP * gradient(weights, batch)
    return weights


def run(loaders: LoaderPool, world: int, until: int, file: Path) -> dict[str, Any]:
    """Train with so many trainers to this step, from what stands in the file."""
    start: dict[str, Any] = {"weights": np.zeros((3 * SIDE * SIDE, CLASSES)).tolist(), "done": 0}
    if file.exists():
        start = json.loads(file.read_text("utf-8"))
    loaders.load_state_dict(start.pop("data", None))
    names, policy = ("images", "labels"), LastBatchPolicy.FILL
    parts = [
        loaders.iterator(rank, world, names, last_batch_policy=policy) for rank in range(world)
    ]
    config = {**start, "parts": parts, "until": until, "file": str(file), "sum": Sum.remote()}
    DataParallelTrainer(
        train,
        train_loop_config=config,
        scaling_config=ray.train.ScalingConfig(num_workers=world),
        run_config=ray.train.RunConfig(storage_path=str(file.parent)),
    ).fit()
    found: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return found


def main() -> None:
    os.environ.setdefault("RAY_worker_niceness", "0")
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    folder = Path(tempfile.mkdtemp())
    with LoaderPool(training, num_loaders=1, global_batch_size=STEP, trainer_fn="auto") as loaders:
        cut = loaders.facts.cut
        assert cut is not None
        print(f"{cut.bytes:.0f} bytes of an image are sent, in place of {cut.before:.0f}")
        steps = EPOCHS * len(loaders.iterator(0, 1, ("images", "labels")))
        whole = at_once(loaders)
        parted = folder / "parted.json"
        run(loaders, 2, steps // 2 + 1, parted)  # two trainers, into the second epoch
        found = run(loaders, 1, steps, parted)
        close = np.allclose(found["weights"], whole, rtol=1e-4, atol=1e-6)
        print(f"{steps} steps; the same weights with two trainers, then one: {close}")
    ray.shutdown()


if __name__ == "__main__":
    main()
