"""Programs of several readers, outputs and caches give the same bits with and without caches."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from gradiva import fn, pipeline_def, types
from gradiva.capture.compiler.caches import recipes_of
from tests.ops.decoders.test_decode_region import encoded, picture
from tests.tiers import few

Kept = Callable[[Any], Any]
BATCHES = 6
"""Of 4 samples: three epochs of 7 or 8 samples."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """JPEGs, masks, arrays, and boxes in COCO's format."""
    folder = tmp_path_factory.mktemp("data")
    for name in ("jpg", "png", "npy"):
        (folder / name / "a").mkdir(parents=True)
    images, boxes = [], []
    for number in range(7):
        height, width = 40 + 7 * number, 90 - 5 * number
        image = picture(height, width)
        (folder / "jpg" / "a" / f"{number}.jpg").write_bytes(bytes(encoded(image)))
        Image.fromarray(image[..., 0] // 64).save(folder / "png" / "a" / f"{number}.png")
        np.save(folder / "npy" / "a" / f"{number}.npy", image[..., 1].astype(np.float32))
        name = f"{number}.jpg"
        images.append({"id": number, "file_name": name, "height": height, "width": width})
        for box in range(1 + number % 2):
            place = [1 + number, 2 + box, 10, 12]
            numbers = {"id": 2 * number + box, "image_id": number, "category_id": 1}
            boxes.append({**numbers, "bbox": place, "area": 120, "iscrowd": 0})
    categories = [{"id": 1, "name": "one"}]
    text = json.dumps({"images": images, "annotations": boxes, "categories": categories})
    (folder / "coco.json").write_text(text)
    return folder


def mirrored(images: Any) -> Any:
    return fn.flip(images, horizontal=fn.random.coin_flip())


def read(root: Path, kind: str, seed: int = 3) -> Any:
    return fn.readers.file(
        file_root=root / kind, random_shuffle=True, seed=seed, shuffle_after_epoch=False
    )


def two_readers(root: Path, kept: Kept) -> Any:
    images = fn.resize(fn.decoders.image(read(root, "jpg")[0]), size=(20, 24))
    masks = fn.decoders.image(read(root, "png", seed=4)[0], output_type=types.GRAY)
    masks = kept(fn.resize(masks, size=(20, 24), interp_type=types.INTERP_NN))
    return mirrored(kept(fn.cat(images, masks, axis=2))), mirrored(masks)


def several_places(root: Path, kept: Kept) -> Any:
    files, labels = read(root, "jpg")
    images = kept(fn.decoders.image(files, output_type=types.BGR))
    small = kept(fn.resize(images, size=(20, 24)))
    return (
        mirrored(kept(fn.gaussian_blur(small, sigma=1.0))),
        small,
        kept(labels),
        kept(kept(files)),
    )


def arguments(root: Path, kept: Kept) -> Any:
    """Sizes and angles for each sample, from files and labels."""
    files, labels = read(root, "jpg")
    sizes = kept(fn.cast(fn.peek_image_shape(files), dtype=types.FLOAT)[:2] / 2)
    images = kept(fn.resize(fn.decoders.image(files), size=sizes))
    return mirrored(kept(fn.rotate(images, angle=fn.cast(labels, dtype=types.FLOAT) + 20.0)))


def windows(root: Path, kept: Kept) -> Any:
    files, _ = read(root, "jpg")
    images = kept(fn.decoders.image(files, min_size=30))
    window = fn.random_resized_crop(images, size=(9, 11))
    place = fn.random.uniform(range=(0.0, 1.0))
    half = kept(fn.cast(images, dtype=types.FLOAT16))
    return window, fn.crop(half, crop=(12, 11), crop_pos_y=place), kept(images.shape())


def arrays(root: Path, kept: Kept) -> Any:
    """The same files with two regions."""
    made: dict[str, Any] = {"file_root": str(root / "npy" / "a"), "random_shuffle": True, "seed": 1}
    one = fn.readers.numpy(roi_start=[1, 2], roi_end=[20, 22], **made)
    other = fn.readers.numpy(roi_start=[2, 2], roi_end=[20, 22], **made)
    return kept(fn.cast(one, dtype=types.INT16)), kept(fn.cast(other, dtype=types.INT16))


def boxes(root: Path, kept: Kept) -> Any:
    files, places, labels = fn.readers.coco(
        file_root=str(root / "jpg" / "a"),
        annotations_file=str(root / "coco.json"),
        random_shuffle=True,
        ratio=True,
        ltrb=True,
    )
    return mirrored(kept(fn.decoders.image(files))), kept(places * 2.0), kept(labels)


def repeated(root: Path, kept: Kept) -> Any:
    """Files that are listed several times, with other labels."""
    names = [str(path) for path in sorted((root / "jpg").rglob("*.jpg"))][:3] * 2
    files, labels = fn.readers.file(files=names, labels=list(range(6)))
    width = fn.cast(labels, dtype=types.FLOAT) + 20.0
    images = fn.decoders.image(files)
    return kept(labels * 2), mirrored(kept(fn.resize(images, resize_x=width, resize_y=10)))


PROGRAMS = (two_readers, several_places, arguments, windows, arrays, boxes, repeated)


@pytest.mark.parametrize("program", few(PROGRAMS, count=2), ids=lambda one: one.__name__)
def test_programs(program: Any, root: Path, tmp_path: Path) -> None:
    def outputs(kept: Kept, **options: Any) -> list[Any]:
        pipe = pipeline_def(batch_size=4, num_threads=2, seed=5, **options)(program)(root, kept)
        return [
            (output.layout, np.array(output.at(sample)))
            for _ in range(BATCHES)
            for output in pipe.run()
            for sample in range(len(output))
        ]

    def on_disk(value: Any) -> Any:
        return fn.cache(value, where=tmp_path / "kept")

    wanted = outputs(lambda value: value)
    ways: tuple[tuple[Kept, dict[str, Any]], ...] = (
        (fn.cache, {}),
        (on_disk, {}),
        (on_disk, {}),
        (lambda value: value, {"cache": tmp_path / "chosen"}),
        (lambda value: value, {"cache": tmp_path / "chosen"}),
        (on_disk, {"cache": "ram"}),
    )
    for kept, options in ways:
        found = outputs(kept, **options)
        assert len(found) == len(wanted)
        for (layout, array), (expected_layout, expected) in zip(found, wanted, strict=True):
            assert layout == expected_layout
            assert array.dtype == expected.dtype
            assert np.array_equal(array, expected)


@pytest.mark.filterwarnings("ignore:samples that cannot be read")
@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_samples_that_another_output_has_lost(policy: Any, root: Path, tmp_path: Path) -> None:
    """A cache computes for a batch that has lost samples of another reader or another cache."""
    for number, bad in enumerate(((2, 6), (5,))):
        folder = tmp_path / str(number) / "a"
        folder.mkdir(parents=True)
        for path in sorted((root / "jpg" / "a").iterdir()):
            data = path.read_bytes()
            (folder / path.name).write_bytes(data[:250] if int(path.stem) in bad else data)

    def outputs(kept: Kept, **options: Any) -> list[Any]:
        @pipeline_def(batch_size=3, num_threads=2, seed=1, **options)
        def pipe() -> Any:
            one, labels = fn.readers.file(file_root=tmp_path / "0", random_shuffle=True, seed=2)
            two, _ = fn.readers.file(file_root=tmp_path / "1", random_shuffle=True, seed=3)
            first = kept(fn.resize(fn.decoders.image(one, on_error=policy), size=(12, 14)))
            whole = kept(fn.decoders.image(two, on_error="skip"))
            return mirrored(first), mirrored(kept(fn.resize(whole, size=(12, 14)))), whole, labels

        made = pipe()
        found = [
            np.array(output.at(sample))
            for _ in range(8)
            for output in made.run()
            for sample in range(len(output))
        ]
        return [*found, *sorted(str(entry[:4]) for entry in made.quarantine)]

    def on_disk(value: Any) -> Any:
        return fn.cache(value, where=tmp_path / "kept")

    wanted = outputs(lambda value: value)
    chosen: dict[str, Any] = {"cache": tmp_path / "chosen"}
    ways: tuple[tuple[Kept, dict[str, Any]], ...] = (
        *((on_disk, {}),) * 2,
        *((lambda value: value, chosen),) * 2,
    )
    for kept, options in ways:
        found = outputs(kept, **options)
        assert len(found) == len(wanted)
        assert all(map(np.array_equal, found, wanted))


def test_what_is_not_computed_is_not_kept(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipeline that is closed leaves the samples of its last batches uncomputed."""

    @pipeline_def(batch_size=4, num_threads=1, exec_async=False, exec_pipelined=False)
    def pipe() -> Any:
        files, _ = read(root, "jpg")
        return fn.cache(fn.resize(fn.decoders.image(files), size=(13, 17)))

    made = pipe()
    made.build()
    (recipe,) = recipes_of(made.graph)
    runner, run_step = recipe.runner, recipe.runner.program.run_step
    pools = []

    def cancelled(values: Any, size: int, places: Any, seed: int, pool: Any) -> Any:
        outputs = run_step(values, size, places, seed, pool)
        pool.cancelled = True
        pools.append(pool)
        return outputs

    monkeypatch.setattr(runner.program, "run_step", cancelled)
    stored = runner.store.statistics()["stored"]
    with pytest.raises(StopIteration):
        made.run()
    pools[0].cancelled = False
    assert runner.store.statistics()["stored"] == stored
