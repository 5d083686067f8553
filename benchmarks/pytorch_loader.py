"""A training input for PyTorch side by side.

It is a random window of each photograph, resized to 224x224, flipped at random, normalized, planar
float32: torchvision in a DataLoader with two workers, DALI, and gradiva by its iterator
and by its `IterableDataset`.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nvidia.dali.plugin.pytorch as dali_torch
import torch
from nvidia.dali import fn as dali_fn
from nvidia.dali import pipeline_def as dali_pipeline_def
from nvidia.dali import types as dali_types
from photographs import make_data
from programs import MEAN, STD, train
from side_by_side import Row, save, versions

import gradiva
from gradiva import fn, types
from gradiva.plugin.pytorch import DALIGenericIterator

AHEAD = 2


def rivals(folder: str, options: Any) -> dict[str, Callable[[], Iterator[int]]]:
    """What runs an epoch of each, and says how many images each batch has."""
    common = {"batch_size": options.batch_size, "num_threads": 2, "seed": 1}

    @gradiva.pipeline_def(**common)
    def mine(shard_id: int = 0, num_shards: int = 1) -> Any:
        files, labels = fn.readers.file(
            file_root=folder,
            random_shuffle=True,
            shard_id=shard_id,
            num_shards=num_shards,
            name="reader",
        )
        return train(fn, types, files), labels

    @dali_pipeline_def(device_id=None, **common)
    def other() -> Any:
        files, labels = dali_fn.readers.file(file_root=folder, random_shuffle=True, name="reader")
        return train(dali_fn, dali_types, files), labels

    names = ["data", "label"]
    reading: Any = {"reader_name": "reader", "auto_reset": True}
    ours = DALIGenericIterator(mine(), names, **reading)
    theirs = dali_torch.DALIGenericIterator(other(), names, **reading)
    data = gradiva.plugin.pytorch.IterableDataset(mine, names)
    loader = torch.utils.data.DataLoader(data, batch_size=None)
    found: dict[str, Callable[[], Iterator[int]]] = {
        "gradiva, DALIGenericIterator": lambda: (len(turn[0]["data"]) for turn in ours),
        "gradiva, IterableDataset": lambda: (len(turn["data"]) for turn in loader),
        "reference": lambda: (len(turn[0]["data"]) for turn in theirs),
    }
    vision = torchvision_loader(folder, options)
    found["torchvision, DataLoader, 2 workers"] = lambda: (len(images) for images, _ in vision)
    return found


def torchvision_loader(folder: str, options: Any) -> Any:
    # A build of torch without CUDA lacks what the wheel of torchvision brings for one, and its
    # import asks for these operators: nothing here uses them.
    library = torch.library.Library("torchvision", "DEF")
    if torch.version.cuda is None:
        library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import torchvision  # noqa: PLC0415
    from torchvision.transforms import v2  # noqa: PLC0415

    transform = v2.Compose(
        [
            v2.RandomResizedCrop(224, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.PILToTensor(),
            v2.ToDtype(torch.float32),
            v2.Normalize(MEAN, STD),
        ]
    )
    return torch.utils.data.DataLoader(
        torchvision.datasets.ImageFolder(folder, transform=transform),
        batch_size=options.batch_size,
        shuffle=True,
        num_workers=2,
        persistent_workers=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rows: list[Row] = []
    rates: dict[str, list[float]] = {}
    torch.set_num_threads(2)
    with tempfile.TemporaryDirectory() as folder:
        make_data(Path(folder), options.images)
        runs = rivals(folder, options)
        for number in range(options.rounds + 1):
            for name, run in runs.items():
                time.sleep(1)
                counts = run()
                for _ in range(AHEAD):  # these were ready
                    next(counts)
                began = time.perf_counter()
                rate = sum(counts) / (time.perf_counter() - began)
                if number:  # the first epoch warms up
                    rates.setdefault(name, []).append(rate)
    for name, found in rates.items():
        print(f"{name:44} {statistics.median(found):8.1f} images/s")
        rows.append(
            {
                "name": name,
                "unit": "images/s",
                "median": round(statistics.median(found), 1),
                "all": [round(one, 1) for one in found],
            }
        )
    more = versions("torch", "torchvision", "nvidia-dali-cuda120", "pillow")
    save("pytorch_loader", rows, packages=more)


if __name__ == "__main__":
    main()
