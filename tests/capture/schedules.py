"""What the tests of schedules share: schedules, bodies with them, and all modes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import gradiva
from gradiva import fn, pipeline_def

SIZE = gradiva.schedule({0: 8, 2: 17})
"""Of the image, by the epoch: 8, 12.5, 17."""
ANGLE = gradiva.schedule({0: 0.0, 9: 40.0}, per="step", mode="cosine")
LIGHT = gradiva.schedule({0: 0.5, 21: 1.5}, per="sample")
RANGE = gradiva.schedule({0: (0.0, 1.0), 2: (4.0, 9.0)}, mode="step")
COUNT = 7
PADDED: dict[str, Any] = {"pad_last_batch": True}


def make_folder(root: Path) -> str:
    """Seven pictures of different sizes."""
    noise = np.random.default_rng(5)
    (root / "a").mkdir()
    for number in range(COUNT):
        pixels = noise.integers(0, 255, (20 + number, 24, 3), np.uint8)
        Image.fromarray(pixels).save(root / "a" / f"{number}.png")
    return str(root)


def augmented(files: Any) -> tuple[Any, ...]:
    """A fused group with a schedule, and calls with others, random ones and arithmetic, too."""
    images = gradiva.resize(gradiva.decoders.image(files), size=SIZE)
    images = gradiva.brightness(images, brightness=LIGHT)
    turned = gradiva.rotate(images, angle=ANGLE, size=(16, 16))
    drawn = gradiva.random.uniform(range=RANGE, batch_size=files.batch_size)
    moved = gradiva.warp_affine(images, gradiva.transforms.rotation(angle=2 * ANGLE))
    return images, turned, drawn, moved, turned * LIGHT - ANGLE, SIZE * drawn


def plain(values: Any) -> list[Any]:
    """The samples of values, as what can be compared."""
    return [
        [(a.dtype.str, a.shape, a.tobytes()) for a in map(np.asarray, _samples(value))]
        for value in values
    ]


def _samples(value: Any) -> Any:
    return value.tensors if isinstance(value, gradiva.Batch) else list(value)


def reader(folder: str, **options: Any) -> Any:
    return gradiva.readers.File(file_root=folder, random_shuffle=True, seed=3, **options)


def dynamic(
    folder: str, epochs: int, capture: bool = False, body: Any = augmented, **options: Any
) -> list[Any]:
    """Three samples at a time, in loops that end with an epoch."""
    source = reader(folder, **options)
    gradiva.random.set_seed(5)
    found = []
    for _ in range(epochs):
        for files, _ in source.next_epoch(batch_size=3, capture=capture):
            found.append(plain(body(files)))
    return found


def pipeline(folder: str, body: Any = augmented, **options: Any) -> Any:
    own = (
        "debug",
        "prefetch_queue_depth",
        "checkpoint",
        "num_threads",
        "enable_conditionals",
        "cache",
    )
    made = {"num_threads": 2, **{name: options.pop(name) for name in own if name in options}}

    @pipeline_def(batch_size=3, seed=5, enable_checkpointing="debug" not in made, **made)
    def training() -> Any:
        files, _ = fn.readers.file(
            file_root=folder, random_shuffle=True, seed=3, name="files", **options
        )
        return body(files)

    return training()


def run(pipe: Any, count: int) -> list[Any]:
    return [plain(pipe.run()) for _ in range(count)]


def one_by_one(files: Any) -> tuple[Any, ...]:
    """Values by the epoch, the step and the sample; and the number of the sample."""
    images = gradiva.resize(gradiva.decoders.image(files), size=SIZE)
    numbers = gradiva.schedule({0: 0, 1000: 1000}, per="sample")
    zeros = gradiva.random.uniform(values=[0.0], batch_size=files.batch_size)
    return images, gradiva.rotate(images, angle=ANGLE), zeros + numbers
