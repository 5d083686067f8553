"""Caches in graphs: the same bits in all modes, what is kept, and what is refused."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def
from gradiva.capture.compiler.caches import recipes_of
from tests.ops.decoders.test_decode_region import encoded, picture

EPOCHS = 3


def jpeg(height: int, width: int) -> bytes:
    return bytes(encoded(picture(height, width)))


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten JPEGs of different sizes, in two folders."""
    root = tmp_path_factory.mktemp("photos")
    for number in range(10):
        folder = root / "ab"[number % 2]
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.jpg").write_bytes(jpeg(60 + 7 * number, 90 - 3 * number))
    return root


def resized(files: Any, kept: Callable[[Any], Any], mirror: Any) -> Any:
    """Deterministic up to the crop."""
    images = kept(gradiva.resize(gradiva.decoders.image(files), resize_shorter=40))
    return gradiva.crop_mirror_normalize(images, crop=(32, 32), mirror=mirror, std=[3.0])


def outputs(pipe: Any, batches: int) -> list[Any]:
    """The samples of some batches."""
    found: list[Any] = []
    for _ in range(batches):
        for output in pipe.run():
            found += [np.array(output.at(sample)) for sample in range(len(output))]
    return found


def equal(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(map(np.array_equal, one, other))


def validation(root: Path, where: str | None, **options: Any) -> Any:
    @pipeline_def(batch_size=4, num_threads=2, seed=3, **options)
    def made() -> Any:
        files, labels = fn.readers.file(file_root=root, random_shuffle=True)
        images = fn.resize(fn.decoders.image(files), resize_shorter=40)
        if where is not None:
            images = fn.cache(images, where=where)
        mirror = fn.random.coin_flip()
        return fn.crop_mirror_normalize(images, crop=(32, 32), mirror=mirror, std=[3.0]), labels

    return made()


def training(root: Path, kind: str, **options: Any) -> Any:
    @pipeline_def(batch_size=4, num_threads=2, seed=3, **options)
    def made() -> Any:
        files, labels = fn.readers.file(file_root=root, random_shuffle=True)
        if kind == "random crop":
            images = fn.decoders.image_random_crop(files)
        elif kind == "crop":
            place = fn.random.uniform(range=(0, 1))
            images = fn.decoders.image_crop(files, crop=(30, 25), crop_pos_x=place)
        else:
            place = fn.random.uniform(range=(0.0, 0.4), shape=2)
            shape: Any = np.array([0.5, 0.6], np.float32)
            images = fn.decoders.image_slice(files, place, shape)
        images = fn.resize(images, size=(24, 24))
        return fn.flip(images, horizontal=fn.random.coin_flip()), labels

    return made()


@pytest.mark.parametrize("where", ["ram", "folder"])
def test_the_same_bits_in_a_pipeline(photos: Path, tmp_path: Path, where: str) -> None:
    where = where if where == "ram" else str(tmp_path / "kept")
    wanted = outputs(validation(photos, None), 8)
    pipe = validation(photos, where)
    assert equal(outputs(pipe, 8), wanted)
    (kept,) = pipe.stats()["caches"]
    assert kept["operator"] == "resize"
    assert kept["hits"] + kept["misses"] >= 32
    assert kept["hits"] >= 12
    again = validation(photos, where)
    assert equal(outputs(again, 8), wanted)
    if where != "ram":
        assert again.stats()["caches"][0]["misses"] == 0


@pytest.mark.parametrize("kind", ["random crop", "crop", "slice"])
def test_windows_of_whole_images(photos: Path, tmp_path: Path, kind: str) -> None:
    wanted = outputs(training(photos, kind), 8)
    chosen = training(photos, kind, cache=tmp_path)
    assert equal(outputs(chosen, 8), wanted)
    assert equal(outputs(training(photos, kind, cache=tmp_path), 8), wanted)


def test_the_place_is_chosen_once(photos: Path, tmp_path: Path) -> None:
    wanted = outputs(validation(photos, None), 8)
    first, second = (validation(photos, None, cache=str(tmp_path)) for _ in range(2))
    assert equal(outputs(first, 8), wanted)
    assert equal(outputs(second, 8), wanted)
    names = [[one.name for one in recipes_of(pipe.graph)] for pipe in (first, second)]
    assert names[0] == names[1] != []
    assert "cache of" in str(first.explain())


def test_modes(photos: Path) -> None:
    def epochs(function: Any, **how: Any) -> list[Any]:
        gradiva.random.set_seed(4)
        reader = gradiva.readers.File(file_root=photos, random_shuffle=True, seed=1)
        return [
            np.array(gradiva.batch(function(files)).at(sample))
            for _ in range(EPOCHS)
            for files, labels in reader.next_epoch(batch_size=4, **how)
            for sample in range(len(files))
        ]

    def body(files: Any) -> Any:
        count = files.batch_size
        mirror = gradiva.random.coin_flip(batch_size=count)
        return resized(files, gradiva.cache, mirror)

    def plain(files: Any) -> Any:
        mirror = gradiva.random.coin_flip(batch_size=files.batch_size)
        return resized(files, lambda images: images, mirror)

    wanted = epochs(plain)
    assert equal(epochs(body), wanted)
    assert equal(epochs(gradiva.capture.compile(body)), wanted)
    assert equal(epochs(body, capture=True), wanted)


def test_contents_without_a_reader() -> None:
    @gradiva.capture.compile
    def function(images: Any) -> Any:
        return gradiva.cache(gradiva.resize(images, size=(4, 4)))

    first = gradiva.batch([np.full((8, 8, 3), value, np.uint8) for value in (1, 2)])
    assert function(first).at(1)[0, 0, 0] == 2
    first.at(1)[:] = 7
    assert function(first).at(1)[0, 0, 0] == 7
    function(first).at(0)[:] = 99
    assert function(first).at(0)[0, 0, 0] == 1


def test_kinds_of_samples(tmp_path: Path) -> None:
    data: list[Any] = [
        np.array(3),
        np.array([[1, 2]], np.float16),
        np.zeros((0, 3), np.int64),
        np.array([True, False]),
    ]
    for array in data:
        function = gradiva.capture.compile(
            lambda batch: gradiva.cache(gradiva.copy(batch), where=str(tmp_path))
        )
        batch = gradiva.batch([array, array[..., ::-1] if array.ndim else array])
        for _ in range(2):
            found = function(batch)
            assert found.dtype == batch.dtype
            assert equal(found.cpu().arrays(), batch.arrays())
    empty = gradiva.batch(np.empty((0, 2, 3), np.uint8))
    assert len(gradiva.capture.compile(lambda batch: gradiva.cache(batch + 1))(empty)) == 0


def test_refused(photos: Path) -> None:
    def pipe(above: Callable[[Any], Any]) -> Any:
        @pipeline_def(batch_size=2, num_threads=1, enable_conditionals=True)
        def made() -> Any:
            files, _ = fn.readers.file(file_root=photos)
            return fn.cache(above(fn.decoders.image(files)))

        return made()

    refused: dict[str, Callable[[Any], Any]] = {
        "random.coin_flip": lambda x: fn.flip(x, horizontal=fn.random.coin_flip()),
        "random_resized_crop": lambda x: fn.random_resized_crop(x, size=4),
        "python_function": lambda x: fn.python_function(x, function=lambda a: a),
        "pad": fn.pad,
        "normalize": lambda x: fn.normalize(x, batch=True),
        "permute_batch": lambda x: fn.permute_batch(x, indices=[1, 0]),
        "get_property": lambda x: fn.get_property(x, key="source_info"),
    }
    for name, above in refused.items():
        with pytest.raises(gradiva.OperatorValueError, match=f"`{name}`.*cannot be above a cache"):
            pipe(above).build()
    pipe(lambda x: fn.pad(x, shape=(300, 300, 3))).build()
    with pytest.raises(gradiva.OperatorValueError, match="random values"):
        gradiva.cache(gradiva.random.uniform(batch_size=2))


def test_refused_in_a_branch(photos: Path) -> None:
    @pipeline_def(batch_size=2, num_threads=1, enable_conditionals=True)
    def made() -> Any:
        files, labels = fn.readers.file(file_root=photos, label_shape=())
        images = fn.decoders.image(files)
        if labels == 0:
            images = fn.cache(fn.flip(images))
        return images

    with pytest.raises(gradiva.OperatorValueError, match="inside of an `if`"):
        made().build()


def test_arguments(photos: Path) -> None:
    with pytest.raises(gradiva.OperatorValueError, match="cache_bytes"):
        validation(photos, None, cache_bytes=1000)
    with pytest.raises(gradiva.OperatorTypeError, match="cache"):
        validation(photos, None, cache=3)


def test_a_changed_file_is_a_miss(photos: Path, tmp_path: Path) -> None:
    root, kept = tmp_path / "root", str(tmp_path / "kept")
    (root / "a").mkdir(parents=True)
    for number in range(4):
        (root / "a" / f"{number}.jpg").write_bytes(jpeg(50, 60 + number))
    before = outputs(validation(root, kept), 2)
    assert equal(before, outputs(validation(root, None), 2))
    (root / "a" / "1.jpg").write_bytes(jpeg(70, 50))
    os.utime(root / "a" / "2.jpg", (1, 1))
    pipe = validation(root, kept)
    assert equal(outputs(pipe, 2), outputs(validation(root, None), 2))
    assert pipe.stats()["caches"][0]["misses"] >= 1


@pytest.mark.filterwarnings("ignore:samples that cannot be read")
def test_damaged_samples_are_remembered(photos: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    for number in range(6):
        data = jpeg(50, 60 + number)
        (root / "a" / f"{number}.jpg").write_bytes(data[:400] if number == 3 else data)

    def pipe(kept: bool, policy: Any) -> Any:
        @pipeline_def(batch_size=3, num_threads=2, seed=3)
        def made() -> Any:
            files, labels = fn.readers.file(file_root=root)
            images = fn.resize(fn.decoders.image(files, on_error=policy), size=(20, 20))
            if kept:
                images = fn.cache(images, where=str(tmp_path / policy))
            return fn.flip(images, horizontal=fn.random.coin_flip()), labels

        return made()

    for policy in ("skip", "replace"):
        plain, first, second = pipe(False, policy), pipe(True, policy), pipe(True, policy)
        wanted = outputs(plain, 4)
        assert equal(outputs(first, 4), wanted)
        assert equal(outputs(second, 4), wanted)
        for one in (first, second):
            entries = [entry[:4] for entry in one.quarantine][:2]
            assert entries == [entry[:4] for entry in plain.quarantine][:2]
    messages = []
    for kept in (False, True, True):
        with pytest.raises(gradiva.OperatorRuntimeError) as caught:
            outputs(pipe(kept, "raise"), 4)
        messages.append((caught.value.problem, caught.value.sample, caught.value.file))
    assert messages[0] == messages[1] == messages[2]
    (root / "a" / "3.jpg").write_bytes(jpeg(50, 63))
    mended = outputs(pipe(True, "skip"), 4)
    assert equal(mended, outputs(pipe(False, "skip"), 4))


@pytest.mark.filterwarnings("ignore:the cache .* is full")
def test_what_a_full_cache_leaves_out(photos: Path, tmp_path: Path) -> None:
    @pipeline_def(batch_size=4, num_threads=2, seed=3)
    def made() -> Any:
        files, labels = fn.readers.file(file_root=photos)
        images = fn.resize(fn.decoders.image(files), resize_shorter=40)
        images = fn.cache(images, where=str(tmp_path / "small"), cache_bytes=20_000)
        mirror = fn.random.coin_flip()
        return fn.crop_mirror_normalize(images, crop=(32, 32), mirror=mirror, std=[3.0]), labels

    @pipeline_def(batch_size=4, num_threads=2, seed=3)
    def plain() -> Any:
        files, labels = fn.readers.file(file_root=photos)
        images = fn.resize(fn.decoders.image(files), resize_shorter=40)
        mirror = fn.random.coin_flip()
        return fn.crop_mirror_normalize(images, crop=(32, 32), mirror=mirror, std=[3.0]), labels

    assert equal(outputs(made(), 8), outputs(plain(), 8))


def test_reports(photos: Path, tmp_path: Path) -> None:
    pipe = validation(photos, str(tmp_path))
    outputs(pipe, 3 * 3)
    found = pipe.stats()
    assert [one["samples"] for one in found["epochs"]] == [12, 12, 12]
    assert "cached(%0, recipe=<decoders.image + resize>)" in str(pipe.graph)
    html = found._repr_html_()
    assert html.count("<rect") == 3
    assert "cache of" in html
    diagnosis = pipe.diagnose(seconds=0.05)
    assert any("cache of `resize`" in line for line in diagnosis.caches)
    assert "cache of `resize`" in str(diagnosis)
    events = [event for event in pipe.trace(batches=3)._events if event.kind == "cache"]
    assert events
    assert all(event.facts["hits"] + event.facts["misses"] == 4 for event in events)


def test_a_loop_and_a_function_choose_by_themselves(photos: Path, tmp_path: Path) -> None:
    def body(files: Any) -> Any:
        mirror = gradiva.random.coin_flip(batch_size=files.batch_size)
        return resized(files, lambda images: images, mirror)

    def epochs(function: Any, **how: Any) -> tuple[list[Any], Any]:
        gradiva.random.set_seed(4)
        reader = gradiva.readers.File(file_root=photos, random_shuffle=True, seed=1)
        found: list[Any] = []
        for _ in range(EPOCHS):
            loop = reader.next_epoch(batch_size=4, **how)
            for files, _ in loop:
                found += [np.array(one) for one in gradiva.batch(function(files)).arrays()]
        return found, loop

    wanted, _ = epochs(body)
    found, loop = epochs(body, capture=True, cache=str(tmp_path / "loop"))
    assert equal(found, wanted)
    assert "cache of" in str(loop.explain())
    function = gradiva.capture.compile(body, cache=tmp_path / "function")
    found, _ = epochs(function)
    assert equal(found, wanted)
    assert "cache of" in str(function.explain())
    with pytest.raises(gradiva.OperatorValueError, match="capture=True"):
        gradiva.readers.File(file_root=photos).next_epoch(batch_size=2, cache="ram")


@pytest.mark.filterwarnings("ignore:the cache .* damaged")
def test_rows_whose_dtype_is_found_by_reading(tmp_path: Path) -> None:
    path, kept = tmp_path / "rows.jsonl", tmp_path / "kept"
    path.write_text("".join(f'{{"a": {2**40 + number}}}\n' for number in range(8)))
    os.utime(path, (1e9, 1e9))
    time.sleep(0.05)  # a file that has just changed has no identity

    def pipe(**cache: Any) -> Any:
        @pipeline_def(batch_size=4, num_threads=1)
        def made() -> Any:
            numbers = fn.readers.jsonl(paths=str(path), columns=["a"])
            return fn.cache(numbers + 1, **cache) if cache else numbers + 1

        return made()

    wanted = outputs(pipe(), 4)
    for _ in range(2):
        assert equal(outputs(pipe(where=str(kept)), 4), wanted)
    for data in kept.rglob("*.data"):
        data.write_bytes(data.read_bytes()[:64] + bytes(len(data.read_bytes()) - 64))
    assert equal(outputs(pipe(where=str(kept)), 4), wanted)
