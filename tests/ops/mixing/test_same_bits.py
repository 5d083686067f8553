"""Mixed samples are the same for every batch size that the group divides, for any number of
threads, in all modes, resumed, and where samples were left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import gradiva
from gradiva import fn

pytestmark = [
    pytest.mark.core,
    pytest.mark.filterwarnings("ignore:samples that cannot be read:UserWarning"),
]

GROUP = 4
COUNT = 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20 small images of three classes."""
    root = tmp_path_factory.mktemp("images")
    generator = np.random.default_rng(5)
    for number in range(COUNT):
        own = root / "abc"[number % 3]
        own.mkdir(exist_ok=True)
        pixels = generator.integers(0, 256, (12, 16, 3), np.uint8)
        Image.fromarray(pixels).save(own / f"{number:02}.png")
    return root


@pytest.fixture(scope="module")
def damaged(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, of which the first of all and two others cannot be read."""
    root = tmp_path_factory.mktemp("damaged")
    for number, file in enumerate(sorted(folder.rglob("*.png"))):
        (root / file.parent.name).mkdir(exist_ok=True)
        data = file.read_bytes()
        path = root / file.parent.name / file.name
        path.write_bytes(data[:50] if number in (0, 9, 10) else data)
    return root


def augment(images: Any, labels: Any) -> Any:
    """All operators, with boxes and masks that depend on the images alone."""
    classes = labels
    group: Any = {"mix_group": GROUP}
    erased = gradiva.random_erasing(images, fill="pixel")
    mixed, soft = gradiva.mixup(erased, classes, num_classes=3, probability=0.8, **group)
    cut, shares = gradiva.cutmix(mixed, soft, **group)
    boxes = gradiva.reshape(gradiva.cast(labels, dtype=gradiva.float32) / 4.0, shape=(1, 1))
    boxes = gradiva.cat(boxes * 0.0, boxes * 0.5, boxes * 0.0 + 1.0, boxes * 0.5 + 0.5, axis=1)
    four, objects, names = gradiva.mosaic(cut, boxes, labels, output_size=(14, 18), **group)
    bright = gradiva.cast(images > 128, dtype=gradiva.uint8)
    masks = gradiva.transpose(bright, perm=(2, 0, 1))
    pasted, masks, around = gradiva.copy_paste(cut, masks, **group)
    return cut, shares, four, objects, names, pasted, masks, around


Rows = list[list[np.ndarray[Any, Any]]]


def rows_of(outputs: Any) -> Rows:
    """The samples of a batch of outputs."""
    return [list(row) for row in zip(*(one.arrays() for one in outputs), strict=True)]


def decoded(files: Any, labels: Any) -> tuple[Any, Any]:
    images = gradiva.decoders.image(files, on_error="skip")
    return gradiva.align(images, labels)


def loop(root: Path, batch_size: int, epochs: int = 2, **options: Any) -> Rows:
    """The samples of some epochs in dynamic mode."""
    gradiva.random.set_seed(7)
    reader = gradiva.readers.File(file_root=root, random_shuffle=True, seed=3)
    found: Rows = []
    for _ in range(epochs):
        for files, labels in reader.next_epoch(batch_size=batch_size, **options):
            found += rows_of(augment(*decoded(files, labels)))
    return found


def check_same(left: Rows, right: Rows) -> None:
    assert len(left) == len(right)
    for number, (one, other) in enumerate(zip(left, right, strict=True)):
        for output, (mine, its) in enumerate(zip(one, other, strict=True)):
            np.testing.assert_array_equal(mine, its, err_msg=f"sample {number}, output {output}")


@pytest.fixture(scope="module")
def expected(folder: Path) -> Rows:
    return loop(folder, GROUP)


@pytest.fixture(scope="module")
def expected_of_damaged(damaged: Path) -> Rows:
    return loop(damaged, GROUP)


@pytest.mark.parametrize("batch_size", [8, 12, 20, 64])
def test_batch_sizes(folder: Path, expected: Rows, batch_size: int) -> None:
    """Also in the second epoch, which begins with a position that no group size divides."""
    check_same(loop(folder, batch_size), expected)


@pytest.mark.parametrize("batch_size", [8, 12, 64])
def test_batch_sizes_with_losses(damaged: Path, expected_of_damaged: Rows, batch_size: int) -> None:
    assert len(expected_of_damaged) == 2 * (COUNT - 3)
    check_same(loop(damaged, batch_size), expected_of_damaged)


def test_another_batch_size_has_other_partners(folder: Path, expected: Rows) -> None:
    other = loop(folder, 6)
    assert len(other) == len(expected)
    assert any((one[0] != its[0]).any() for one, its in zip(other, expected, strict=True))


def test_a_loss_changes_only_what_came_before_it() -> None:
    """The order of a group is by keys of its own of each sample."""
    images = gradiva.as_batch(np.arange(32, dtype=np.float32).reshape(16, 2))
    with gradiva.step(0, 16) as step:
        batch = gradiva.copy(images)
        whole = gradiva.mixup(batch, lam=0.0, mix_group=8, seed=1).as_array()
        assert len(step.positions) == 16
    partners = whole[:, 0].astype(int) // 2
    kept = [number for number in range(16) if number != 3]
    placed = [np.array([number], np.float32) for number in kept]
    rows = gradiva.batch(placed)
    where = gradiva.eager.types.provenance.Provenance(np.arange(16)).select(kept)
    rows.provenance = where
    left = gradiva.mixup(rows, lam=0.0, mix_group=8, seed=1).as_array()[:, 0].astype(int)
    for number, partner in zip(kept, left.tolist(), strict=True):
        assert partner == (partners[3] if partners[number] == 3 else partners[number])


@pytest.mark.parametrize("threads", [1, 3])
def test_threads(folder: Path, expected: Rows, threads: int) -> None:
    before = gradiva.get_num_threads()
    gradiva.set_num_threads(threads)
    try:
        check_same(loop(folder, 20), expected)
    finally:
        gradiva.set_num_threads(before)


def test_captured_loops(folder: Path, expected: Rows) -> None:
    check_same(loop(folder, 8, capture=True), expected)


def test_captured_loops_with_losses(damaged: Path, expected_of_damaged: Rows) -> None:
    check_same(loop(damaged, 8, capture=True), expected_of_damaged)


def test_compiled(folder: Path, expected: Rows) -> None:
    gradiva.random.set_seed(7)
    compiled = gradiva.capture.compile(lambda files, labels: augment(*decoded(files, labels)))
    reader = gradiva.readers.File(file_root=folder, random_shuffle=True, seed=3)
    found: Rows = []
    for _ in range(2):
        for files, labels in reader.next_epoch(batch_size=8):
            found += rows_of(compiled(files, labels))
    check_same(found, expected)


def pipeline(root: Path, batch_size: int, **options: Any) -> Any:
    @gradiva.pipeline_def(batch_size=batch_size, seed=7, num_threads=2, **options)
    def defined() -> Any:
        files, labels = fn.readers.file(file_root=str(root), random_shuffle=True, seed=3)
        return augment(*decoded(files, labels))

    return defined()


def batches_of(pipe: Any, count: int) -> Iterator[Rows]:
    for _ in range(count):
        yield rows_of([gradiva.as_batch(output) for output in pipe.run()])


def test_pipelines(folder: Path, expected: Rows) -> None:
    """Whose batches continue into the next epoch; 20 is a multiple of the group."""
    for batch_size in (4, 8, 20):
        pipe = pipeline(folder, batch_size)
        found = [row for rows in batches_of(pipe, 40 // batch_size) for row in rows]
        check_same(found, expected)
        pipe.close()


def test_pipelines_with_losses(damaged: Path, expected_of_damaged: Rows) -> None:
    pipe = pipeline(damaged, 20)
    found = [row for rows in batches_of(pipe, 2) for row in rows]
    check_same(found, expected_of_damaged)
    pipe.close()


def test_in_debug_mode(folder: Path, expected: Rows) -> None:
    @gradiva.pipeline_def(batch_size=20, seed=7, num_threads=2, debug=True)
    def defined() -> Any:
        files, labels = fn.readers.file(file_root=str(folder), random_shuffle=True, seed=3)
        return augment(fn.decoders.image(files), labels)

    pipe = defined()
    check_same([row for rows in batches_of(pipe, 2) for row in rows], expected)
    pipe.close()


@pytest.mark.full
def test_pipelines_with_a_cache(folder: Path, expected: Rows) -> None:
    """Decoded images are kept; what is mixed is computed in each epoch."""
    pipe = pipeline(folder, 20, cache="ram")
    check_same([row for rows in batches_of(pipe, 2) for row in rows], expected)
    pipe.close()


def test_resumed(folder: Path, expected: Rows) -> None:
    pipe = pipeline(folder, 8, enable_checkpointing=True)
    first = [row for rows in batches_of(pipe, 2) for row in rows]
    saved = pipe.checkpoint()
    pipe.close()
    again = pipeline(folder, 8, enable_checkpointing=True, checkpoint=saved)
    rest = [row for rows in batches_of(again, 3) for row in rows]
    check_same(first + rest, expected)
    again.close()


def test_missing_files(folder: Path) -> None:
    """What a reader leaves out keeps its place in the group."""
    files = [str(file) for file in sorted(folder.rglob("*.png"))]
    files[1] = files[4] = files[18] = str(folder / "missing.png")
    given: dict[str, Any] = {"files": files, "labels": [number % 3 for number in range(COUNT)]}

    def dynamic(batch_size: int, **options: Any) -> Rows:
        gradiva.random.set_seed(7)
        reader = gradiva.readers.File(**given, on_error="skip")
        found: Rows = []
        for data, labels in reader.next_epoch(batch_size=batch_size, **options):
            found += rows_of(augment(gradiva.decoders.image(data), labels))
        return found

    expected = dynamic(GROUP)
    assert len(expected) == COUNT - 3
    for batch_size in (8, 20, 32):
        check_same(dynamic(batch_size), expected)
    check_same(dynamic(8, capture=True), expected)

    @gradiva.pipeline_def(batch_size=20, seed=7, num_threads=2)
    def defined() -> Any:
        data, labels = fn.readers.file(**given, on_error="skip")
        return augment(fn.decoders.image(data), labels)

    pipe = defined()
    check_same([row for rows in batches_of(pipe, 1) for row in rows], expected)
    pipe.close()


def test_shards(folder: Path) -> None:
    """The groups of a shard are those of its own samples."""

    def shard(number: int, batch_size: int) -> Rows:
        gradiva.random.set_seed(7)
        reader = gradiva.readers.File(
            file_root=folder, random_shuffle=True, seed=3, num_shards=2, shard_id=number
        )
        found: Rows = []
        for _ in range(3):
            for files, labels in reader.next_epoch(batch_size=batch_size):
                found += rows_of(augment(*decoded(files, labels)))
        return found

    for number in (0, 1):
        check_same(shard(number, 8), shard(number, GROUP))
        check_same(shard(number, 16), shard(number, GROUP))


def test_deferred(folder: Path, expected: Rows) -> None:
    with gradiva.EvalMode.deferred:
        check_same(loop(folder, 8), expected)


def test_branches(folder: Path) -> None:
    """In a branch, partners are those of the group that are in it."""

    def found(batch_size: int) -> Rows:
        @gradiva.pipeline_def(
            batch_size=batch_size, seed=7, num_threads=1, enable_conditionals=True
        )
        def defined() -> Any:
            files, labels = fn.readers.file(file_root=str(folder), seed=3)
            images = fn.decoders.image(files)
            coin = fn.random.coin_flip(probability=0.6)
            if coin:
                images, soft = fn.mixup(images, labels, num_classes=3, mix_group=GROUP)
            else:
                images, soft = fn.cutmix(images, labels, num_classes=3, mix_group=GROUP)
            return images, soft, labels

        pipe = defined()
        made = [row for rows in batches_of(pipe, 40 // batch_size) for row in rows]
        pipe.close()
        return made

    check_same(found(8), found(20))
    check_same(found(4), found(20))


def test_one_sample_alone_is_refused(folder: Path) -> None:
    pipe = pipeline(folder, 4)
    with pytest.raises(gradiva.OperatorTypeError, match="`mixup`, which mixes it with others"):
        pipe.sample(0, 3)
    pipe.close()


def test_schedules(folder: Path) -> None:
    """alpha may follow the epoch, and the probability each sample."""
    alpha = gradiva.schedule({0: 0.2, 1: 5.0}, mode="step")
    chance = gradiva.schedule({0: 0.0, 30: 1.0}, per="sample")

    def mixed(files: Any, labels: Any) -> Any:
        images = gradiva.decoders.image(files)
        options: dict[str, Any] = {"alpha": alpha, "probability": chance, "mix_group": GROUP}
        return gradiva.mixup(images, labels, num_classes=3, **options)

    def dynamic(batch_size: int, **options: Any) -> Rows:
        gradiva.random.set_seed(7)
        reader = gradiva.readers.File(file_root=folder)
        found: Rows = []
        for _ in range(2):
            for files, labels in reader.next_epoch(batch_size=batch_size, **options):
                found += rows_of(mixed(files, labels))
        return found

    expected = dynamic(GROUP)
    for batch_size in (8, 20):
        check_same(dynamic(batch_size), expected)
    check_same(dynamic(8, capture=True), expected)

    @gradiva.pipeline_def(batch_size=20, seed=7, num_threads=2)
    def defined() -> Any:
        return mixed(*fn.readers.file(file_root=str(folder)))

    pipe = defined()
    check_same([row for rows in batches_of(pipe, 2) for row in rows], expected)
    pipe.close()
    soft = np.stack([row[1] for row in expected])
    assert (soft[0] == [1, 0, 0]).all()  # nothing is mixed at the beginning
    assert ((soft > 0.2).sum(axis=1) > 1)[30:].any()
