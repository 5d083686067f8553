"""Detection and pose: photographs with 10 boxes and 17 keypoints each, through decoding, a random
crop to 224 x 224, a flip, a rotation, color and normalization, against torchvision and
Albumentations with two workers of a DataLoader; and against the same pipeline without targets.

`python benchmarks/targets.py`: needs torch, torchvision and albumentations. An epoch of each in
turns, after one that is not measured; workers stay alive from epoch to epoch.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import albumentations
import cv2
import numpy as np
import PIL.Image
import torch
from photographs import make_data
from side_by_side import Row, in_turns, row, save, versions
from torch.utils.data import DataLoader, Dataset
from torchvision import tv_tensors
from torchvision.transforms import v2

import gradiva
from gradiva import fn, types

BATCH = 64
BOXES, POINTS = 10, 17
SIDE = 224
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
BYTE_MEAN, BYTE_STD = [255 * one for one in MEAN], [255 * one for one in STD]


def drawn_targets(paths: list[Path]) -> tuple[list[Any], list[Any]]:
    """Boxes xyxy and points xy of each file, float32, inside of the image: in pixels, and in parts
    of the image."""
    generator = np.random.default_rng(0)
    pixels, parts = [], []
    for path in paths:
        with PIL.Image.open(path) as picture:
            extents = np.array(picture.size)
        corners = generator.uniform(0.0, 0.7, (BOXES, 2))
        ends = corners + generator.uniform(0.1, 0.3, (BOXES, 2))
        points = generator.uniform(0.05, 0.95, (POINTS, 2))
        boxes = np.concatenate([corners, ends], axis=1)
        parts.append((boxes.astype(np.float32), points.astype(np.float32)))
        scaled = boxes * np.tile(extents, 2), points * extents
        pixels.append(tuple(one.astype(np.float32) for one in scaled))
    return pixels, parts


def ours(folder: str, found: Any, threads: int, follow: bool) -> Callable[[], int]:
    """A pipeline of gradiva; `follow`: with targets."""
    pairs = [found[k : k + BATCH] for k in range(0, len(found) - BATCH + 1, BATCH)]
    batches = itertools.cycle([tuple(map(list, zip(*one, strict=True))) for one in pairs])

    @gradiva.pipeline_def(batch_size=BATCH, num_threads=threads, seed=1, prefetch_queue_depth=2)
    def define() -> Any:
        files, _ = fn.readers.file(file_root=folder)
        images: Any = fn.decoders.image(files)
        uniform = partial(fn.random.uniform)
        turn, coin = uniform(range=(-10.0, 10.0)), fn.random.coin_flip()
        color = {
            "brightness": uniform(range=(0.8, 1.2)),
            "contrast": uniform(range=(0.8, 1.2)),
            "saturation": uniform(range=(0.8, 1.2)),
            "hue": uniform(range=(-18.0, 18.0)),
        }
        normal = {"dtype": types.FLOAT, "output_layout": "CHW", "mean": BYTE_MEAN, "std": BYTE_STD}
        if not follow:
            images = fn.random_resized_crop(images, size=(SIDE, SIDE))
            images = fn.flip(images, horizontal=coin)
            images = fn.rotate(images, angle=turn, keep_size=True, fill_value=0)
            return fn.crop_mirror_normalize(fn.color_twist(images, **color), **normal)
        boxes, points = fn.external_source(source=lambda: next(batches), num_outputs=2, batch=True)
        targets = gradiva.Targets(boxes=boxes, keypoints=points, relative=True)
        images, targets = fn.random_resized_crop(images, targets, size=(SIDE, SIDE))
        images, targets = fn.flip(images, targets, horizontal=coin)
        images, targets = fn.rotate(images, targets, angle=turn, keep_size=True, fill_value=0)
        images = fn.crop_mirror_normalize(fn.color_twist(images, **color), **normal)
        return images, targets.boxes, targets.keypoints

    pipe = define()
    pipe.build()

    def epoch() -> int:
        for _ in range(len(found) // BATCH):
            pipe.run()
        return len(found) // BATCH * BATCH

    return epoch


class Photographs(Dataset[Any]):
    """Files with their targets, through a function of all three."""

    def __init__(self, paths: list[Path], found: Any, change: Callable[..., Any]) -> None:
        self.paths, self.found, self.change = paths, found, change

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, number: int) -> Any:
        return self.change(self.paths[number], *self.found[number])


def with_torchvision() -> Callable[..., Any]:
    steps = v2.Compose(
        [
            v2.RandomResizedCrop(SIDE, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.RandomRotation(10, v2.InterpolationMode.BILINEAR),
            v2.ColorJitter(0.2, 0.2, 0.2, 0.05),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )

    def change(path: Path, boxes: np.ndarray, points: np.ndarray) -> Any:
        with PIL.Image.open(path) as picture:
            image = tv_tensors.Image(picture.convert("RGB"))
        size = tuple(image.shape[-2:])
        framed = tv_tensors.BoundingBoxes(torch.from_numpy(boxes), format="XYXY", canvas_size=size)
        placed = tv_tensors.KeyPoints(torch.from_numpy(points), canvas_size=size)
        return steps(image, framed, placed)

    return change


def with_albumentations() -> Callable[..., Any]:
    steps = albumentations.Compose(
        [
            albumentations.RandomResizedCrop(size=(SIDE, SIDE)),
            albumentations.HorizontalFlip(p=0.5),
            albumentations.Rotate(limit=10, p=1.0),
            albumentations.ColorJitter(0.2, 0.2, 0.2, 0.05, p=1.0),
            albumentations.Normalize(MEAN, STD),
            albumentations.ToTensorV2(),
        ],
        bbox_params=albumentations.BboxParams("pascal_voc", label_fields=["labels"]),
        keypoint_params=albumentations.KeypointParams("xy", remove_invisible=False),
    )
    labels = list(range(BOXES))

    def change(path: Path, boxes: np.ndarray, points: np.ndarray) -> Any:
        image = cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)
        made = steps(image=image, bboxes=boxes, keypoints=points, labels=labels)
        return made["image"], made["bboxes"], made["keypoints"]

    return change


def together(samples: list[Any]) -> Any:
    """A batch: one tensor of all images, lists of what belongs to them."""
    images, boxes, points = zip(*samples, strict=True)
    return torch.stack(list(images)), list(boxes), list(points)


def theirs(change: Callable[..., Any], paths: list[Path], found: Any, workers: int) -> Any:
    """An epoch of a DataLoader."""
    loader = DataLoader(
        Photographs(paths, found, change),
        batch_size=BATCH,
        num_workers=workers,
        shuffle=True,
        drop_last=True,
        collate_fn=together,
        persistent_workers=True,
        multiprocessing_context="fork",
    )

    def epoch() -> int:
        return sum(len(images) for images, *_ in loader)

    return epoch


def rate(epoch: Callable[[], int]) -> float:
    """Images per second."""
    began = time.perf_counter()
    made = epoch()
    return made / (time.perf_counter() - began)


def compare(name: str, mine: Callable[[], int], other: Callable[[], int], rounds: int) -> Row:
    """Two of them in turns."""
    for one in (mine, other):
        one()
    return row(name, *in_turns(partial(rate, mine), partial(rate, other), rounds), "images/s", True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2, help="of gradiva, and workers of theirs")
    options = parser.parse_args()
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    with tempfile.TemporaryDirectory() as folder:
        make_data(Path(folder), options.images)
        paths = sorted(Path(folder).rglob("*.jpg"))
        pixels, parts = drawn_targets(paths)
        # Workers are forked before threads begin.
        rivals = {
            name: theirs(make(), paths, pixels, options.threads)
            for name, make in (
                ("torchvision", with_torchvision),
                ("Albumentations", with_albumentations),
            )
        }
        for epoch in rivals.values():
            epoch()
        follow = ours(folder, parts, options.threads, True)
        rows = [
            compare(f"against {name}", follow, epoch, options.rounds)
            for name, epoch in rivals.items()
        ]
        plain = ours(folder, parts, options.threads, False)
        rows.append(compare("with targets against without", follow, plain, options.rounds))
    names = ("torch", "torchvision", "albumentations")
    save("targets", rows, images=options.images, packages=versions(*names))


if __name__ == "__main__":
    main()
