"""Makes receipts with one Python and checks them with another:

    python -m tests.gradiva.many_receipts make FOLDER 1000
    python -m tests.gradiva.many_receipts check FOLDER

The second makes each batch again, with other threads, batch sizes and shards, and fails if one of
them is not reproduced. `.ci/other_pythons.py` does this with the oldest and the newest Python.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import gradiva
from gradiva import fn, pipeline_def
from gradiva.capture.pipeline.options import PipelineKeywords
from gradiva.receipts import Receipt, Reproducer

PHOTOGRAPHS = Path(gradiva.__file__).parent / "photographs"


def fill(folder: Path) -> None:
    """Make the data: photographs, small pictures of one color, and files that cannot be read."""
    shutil.copytree(PHOTOGRAPHS, folder, ignore=shutil.ignore_patterns("*.md"))
    for number, label in enumerate(("animals", "people", "space")):
        (folder / label / "damaged.jpg").write_bytes(b"\xff\xd8 no picture")
        for size in (3, 8):
            pixels = np.full((size, 9 - size, 3), 40 * number + size, np.uint8)
            head = f"P6 {pixels.shape[1]} {pixels.shape[0]} 255\n".encode()
            (folder / label / f"{size}.ppm").write_bytes(head + pixels.tobytes())


def pipelines(folder: Path, rank: int = 0, world: int = 1, **options: Any) -> Iterator[Any]:
    """Pipelines of some kinds: random, in shards, with schedules, samples left out, a cache, mixed
    samples, and without a reader."""
    root = str(folder)
    given: PipelineKeywords = {"batch_size": 3, "num_threads": 2, "seed": 11, **options}  # type: ignore[typeddict-item]

    @pipeline_def(**given)
    def random_crops() -> Any:
        files, labels = fn.readers.file(
            file_root=root, random_shuffle=True, shard_id=rank, num_shards=world
        )
        images = fn.decoders.image_random_crop(files, on_error="skip")
        images = fn.resize(images, size=(24, 24))
        return fn.crop_mirror_normalize(images, mirror=fn.random.coin_flip()), labels

    @pipeline_def(**given)
    def scheduled() -> Any:
        files, labels = fn.readers.file(
            file_root=root,
            random_shuffle=True,
            shard_id=rank,
            num_shards=world,
            pad_last_batch=world > 1,
        )
        images = fn.resize(fn.decoders.image(files, on_error="replace"), size=(16, 20))
        images = fn.brightness(images, brightness=gradiva.schedule({0: 0.5, 40: 1.5}, per="step"))
        amount = gradiva.schedule(lambda sample: sample % 7 / 7, per="sample")
        images = fn.saturation(images, saturation=amount)
        return fn.noise.gaussian(images, stddev=fn.random.uniform(range=[0.0, 9.0])), labels

    with_cache: PipelineKeywords = {**given, "cache": "ram"}

    @pipeline_def(**with_cache)
    def cached() -> Any:
        files, _ = fn.readers.file(file_root=root, shuffle_after_epoch=True)
        images = fn.resize(fn.decoders.image(files, on_error="skip"), size=(32, 16))
        return fn.mixup(fn.color_twist(images, hue=fn.random.uniform(range=[-20.0, 20.0])))

    @pipeline_def(**given)
    def drawn() -> Any:
        return fn.random.uniform(range=[0.0, 1.0], shape=(5,)), fn.random.normal(dtype=np.float32)

    yield from (random_crops, scheduled, cached, drawn)


def make(folder: Path, count: int) -> None:
    """Write so many receipts, a file for each pipeline."""
    data = folder / "data"
    fill(data)
    made = [*pipelines(data, rank=1, world=2)]
    for number, factory in enumerate(made):
        kind = {"data": "stat"} if factory.__name__ == "cached" else True
        pipe = factory(with_receipt=kind)
        own = count * (number + 1) // len(made) - count * number // len(made)
        with (folder / f"{factory.__name__}.jsonl").open("w", encoding="utf-8") as file:
            for _ in range(own):
                pipe.run()
                file.write(pipe.receipt().line() + "\n")
        pipe.close()
    (folder / "digests").write_text("\n".join(digests(data)), "utf-8")


def digests(data: Path, **options: Any) -> list[str]:
    """The digests of some batches of all pipelines."""
    return [factory(**options).digest(batches=12) for factory in pipelines(data)]


def check(folder: Path) -> int:
    """Make the batches again. Returns how many there were. Raises AssertionError."""
    count = 0
    for factory in pipelines(folder / "data", batch_size=5, num_threads=3):
        lines = (folder / f"{factory.__name__}.jsonl").read_text("utf-8").splitlines()
        maker = Reproducer(factory())
        for line in lines:
            found = maker.reproduce(Receipt.read(line))
            assert found.reproduced, found
            assert found.same
        count += len(lines)
    digest = (folder / "digests").read_text("utf-8").split("\n")
    assert digests(folder / "data", num_threads=1, exec_async=False) == digest
    return count


if __name__ == "__main__":
    where = Path(sys.argv[2])
    if sys.argv[1] == "make":
        make(where, int(sys.argv[3]))
    else:
        print(f"{check(where)} batches reproduced on Python {sys.version.split()[0]}")
