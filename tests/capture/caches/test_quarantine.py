"""Damaged samples below several caches: each is noted once, and never stored as a whole one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def
from tests.ops.decoders.test_decode_region import encoded, picture

pytestmark = pytest.mark.filterwarnings("ignore:samples that cannot be read")

BAD = (2, 4)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six JPEGs, of which two are cut."""
    folder = tmp_path_factory.mktemp("photos")
    (folder / "a").mkdir()
    for number in range(6):
        data = bytes(encoded(picture(50 + number, 60)))
        (folder / "a" / f"{number}.jpg").write_bytes(data[:300] if number in BAD else data)
    return folder


def two_sizes(images: Any, kept: Callable[[Any], Any], nested: bool) -> tuple[Any, Any]:
    first = gradiva.resize(kept(images) if nested else images, size=(10, 12))
    second = gradiva.resize(images, size=(20, 14))
    return gradiva.flip(kept(first)), gradiva.flip(second if nested else kept(second))


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("policy", ["replace", "skip"])
def test_once_in_a_pipeline(root: Path, tmp_path: Path, policy: Any, nested: bool) -> None:
    def entries(kept: Callable[[Any], Any]) -> tuple[int, list[Any]]:
        @pipeline_def(batch_size=4, num_threads=2, seed=1)
        def made() -> Any:
            files, _ = fn.readers.file(file_root=root)
            images = fn.decoders.image(files, on_error=policy)
            return two_sizes(images, kept, nested)

        pipe = made()
        for _ in range(3):
            pipe.run()
        return pipe.quarantine.total, list(pipe.quarantine)

    wanted = entries(lambda images: images)
    assert wanted[0] == 4
    for _ in range(2):
        assert entries(lambda images: fn.cache(images, where=tmp_path / "kept")) == wanted


@pytest.mark.parametrize("mode", ["compiled", "loop"])
@pytest.mark.parametrize("policy", ["replace", "skip"])
def test_once_in_a_step(root: Path, tmp_path: Path, policy: Any, mode: str) -> None:
    def entries(kept: Callable[[Any], Any]) -> list[Any]:
        def body(files: Any) -> Any:
            return two_sizes(gradiva.decoders.image(files, on_error=policy), kept, False)

        function = gradiva.capture.compile(body) if mode == "compiled" else body
        reader = gradiva.readers.File(file_root=root)
        with gradiva.Quarantine() as bad:
            for _ in range(2):
                for files, _ in reader.next_epoch(batch_size=3, capture=mode == "loop"):
                    for made in function(files):
                        gradiva.batch(made).cpu()
        return list(bad)

    wanted = entries(lambda images: images)
    assert [entry.position for entry in wanted] == [2, 4, 8, 10]
    for _ in range(2):
        assert entries(lambda images: gradiva.cache(images, where=tmp_path / "kept")) == wanted


def test_samples_without_positions(root: Path) -> None:
    """A sample that was replaced is noted in each call: it is not in the cache."""

    @gradiva.capture.compile
    def function(files: Any) -> Any:
        images = gradiva.decoders.image(files, on_error="replace", fill_value=7)
        return gradiva.cache(gradiva.resize(images, size=(9, 8)))

    files = gradiva.batch(
        [np.fromfile(root / "a" / f"{number}.jpg", np.uint8) for number in range(6)]
    )
    for _ in range(2):
        with gradiva.Quarantine() as bad:
            images = function(files)
        assert [entry.position for entry in bad] == [None] * len(BAD)
        for number in range(6):
            assert (images.at(number) == 7).all() == (number in BAD)


def test_different_samples_are_noted_each(root: Path) -> None:
    """Two readers have other files at the same position."""
    names = [str(root / "a" / f"{number}.jpg") for number in range(6)]

    @pipeline_def(batch_size=6, num_threads=1)
    def made() -> Any:
        one, _ = fn.readers.file(files=names)
        other, _ = fn.readers.file(files=[names[0], names[1], names[4], *names[3:]])
        images = [fn.decoders.image(files, on_error="replace") for files in (one, other)]
        return tuple(fn.cache(fn.resize(image, size=(5, 6))) for image in images)

    pipe = made()
    pipe.run()
    found = [(Path(str(entry.file)).name, entry.position) for entry in pipe.quarantine]
    assert sorted(found) == [("2.jpg", 2), ("4.jpg", 2), ("4.jpg", 4)]
