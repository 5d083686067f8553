"""PyTorch: what it costs to get a batch into a torch tensor, and a training input side by side.

The hand-over is that of a pipeline whose batch of 64x224x224x3 uint8 costs nothing to make: the
same array again and again, not copied on its way in. Both iterators run it in turns. Whether torch
has the memory of the pipeline is shown by pointers.

The training input is a random window of each photograph, resized to 224x224, flipped at random,
normalized, planar float32: torchvision in a DataLoader with two workers, the reference, and gradiva
by its iterator and by its `IterableDataset`.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import nvidia.dali.plugin.pytorch as dali_torch
import torch
from nvidia.dali import Pipeline as DALIPipeline
from nvidia.dali import fn as dali_fn
from nvidia.dali import pipeline_def as dali_pipeline_def
from nvidia.dali import types as dali_types
from photographs import make_data
from programs import MEAN, STD, train
from side_by_side import Row, in_turns, row, save, versions

import gradiva
from gradiva import fn, types
from gradiva.plugin.pytorch import DALIGenericIterator

SHAPE = (64, 224, 224, 3)
AHEAD = 2


def hand_over(rounds: int, calls: int) -> tuple[list[Row], dict[str, Any]]:
    """Milliseconds per batch, and whether the pointers of torch are those of the pipeline."""
    data = np.random.default_rng(0).integers(0, 256, SHAPE, np.uint8)
    options: Any = {"batch_size": SHAPE[0], "num_threads": 1, "prefetch_queue_depth": 1}
    still: Any = {"exec_async": False, "exec_pipelined": False}
    dynamic: Any = {"exec_dynamic": True}

    def mine() -> Any:
        pipe = gradiva.Pipeline(**options, **still)
        with pipe:
            pipe.set_outputs(fn.external_source(lambda: data, no_copy=True))
        return pipe

    def other(**more: Any) -> Any:
        pipe = DALIPipeline(device_id=None, **options, **more)
        with pipe:
            pipe.set_outputs(dali_fn.external_source(lambda: data, no_copy=True))
        return pipe

    def seconds(loop: Iterator[Any]) -> float:
        began = time.process_time()
        for _ in range(calls):
            next(loop)
        return (time.process_time() - began) / calls * 1e3

    ours = DALIGenericIterator(mine(), ["data"])
    rows = []
    for name, theirs in (
        ("hand-over", dali_torch.DALIGenericIterator(other(**still), ["data"])),
        (
            "hand-over, theirs with exec_dynamic",
            dali_torch.DALIGenericIterator(other(**dynamic), ["data"]),
        ),
    ):
        seconds(ours), seconds(theirs)
        found = in_turns(lambda: seconds(ours), lambda theirs=theirs: seconds(theirs), rounds)
        rows.append(row(name, *found, "ms CPU", bigger=False))

    class Noting(DALIGenericIterator):
        pointers: list[int] = []  # noqa: RUF012

        def _convert(self, name: Any, batch: Any) -> Any:
            self.pointers.append(batch.as_array().ctypes.data)
            return super()._convert(name, batch)

    @gradiva.pipeline_def(**options)
    def flipped() -> Any:
        return fn.flip(fn.external_source(lambda: data, no_copy=True))

    noting = Noting(flipped(), ["data"])
    held = [next(noting)[0]["data"] for _ in range(8)]
    same = [one.data_ptr() for one in held] == noting.pointers
    facts = {
        "pointers_equal": same,
        "copies": 0 if same else 1,
        "buffers_of_8_held_batches": len({one.data_ptr() for one in held}),
        "aligned_to_64_bytes": all(one.data_ptr() % 64 == 0 for one in held),
    }
    print(facts)
    return rows, facts


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
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--only", choices=["hand-over", "input"])
    options = parser.parse_args()
    rows: list[Row] = []
    rates: dict[str, list[float]]
    facts: dict[str, Any] = {}
    torch.set_num_threads(2)
    if options.only != "input":
        rows, facts = hand_over(options.rounds, options.calls)
    if options.only != "hand-over":
        with tempfile.TemporaryDirectory() as folder:
            make_data(Path(folder), options.images)
            runs, rates = rivals(folder, options), {}
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
    if options.only is None:
        more = versions("torch", "torchvision", "nvidia-dali-cuda120", "pillow")
        save("pytorch_loader", rows, hand_over=facts, packages=more)


if __name__ == "__main__":
    main()
