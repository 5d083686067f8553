"""What a user is told of caches: by `explain`, in notebooks, by errors and warnings."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def
from gradiva.capture.caches import places
from tests.ops.decoders.test_decode_region import encoded, picture


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("photos")
    (root / "a").mkdir()
    for number in range(4):
        (root / "a" / f"{number}.jpg").write_bytes(bytes(encoded(picture(200 + number, 300))))
    return root


def made(root: Path, where: str | None = None, **options: Any) -> Any:
    @pipeline_def(batch_size=2, num_threads=1, seed=1, **options)
    def pipe() -> Any:
        files, labels = fn.readers.file(file_root=root)
        images = fn.resize(fn.decoders.image(files), size=(24, 20))
        if where is not None:
            images = fn.cache(images, where=where)
        return fn.flip(images, horizontal=fn.random.coin_flip()), labels

    return pipe()


def test_explain_says_what_is_kept_and_where(photos: Path, tmp_path: Path) -> None:
    """As text and in a notebook, with the line of the user."""
    for place, name in (("ram", "memory"), (str(tmp_path / "<kept>"), "&lt;kept&gt;")):
        pipe = made(photos, place)
        pipe.run()
        pipe.run()
        text, html = str(pipe.explain()), pipe.explain()._repr_html_()
        last = text.splitlines()[-2:]
        assert last[0].startswith("cache of `resize` in ")
        assert last[0].endswith(" samples found, 1440 bytes a sample")
        assert "images = fn.resize(" in last[1]
        assert "cache of `resize` in " in html
        assert name in html
        assert html.count("images = fn.resize(") == 1


@pytest.mark.parametrize("place", ["ram", "folder"])
def test_bytes_of_samples_that_were_all_found(photos: Path, tmp_path: Path, place: str) -> None:
    where = place if place == "ram" else str(tmp_path)
    first = made(photos, where)
    assert first.stats()["caches"][0]["sample_bytes"] == 0.0
    first.run(), first.run()
    second = made(photos, where)
    second.run()
    (found,) = second.stats()["caches"]
    assert (found["misses"], found["sample_bytes"]) == (0, 24 * 20 * 3)
    assert "1440 bytes a sample" in str(second.explain())


def test_a_loop_in_a_notebook(photos: Path) -> None:
    reader = gradiva.readers.File(file_root=photos)
    for _ in range(2):
        loop = reader.next_epoch(batch_size=2, capture=True, cache="ram")
        for files, _ in loop:
            gradiva.resize(gradiva.decoders.image(files), size=(9, 7))
    assert "in memory: " in str(loop.explain())
    assert "in memory: " in loop.explain()._repr_html_()


def test_nothing_is_worth_keeping() -> None:
    """`explain` says that a cache that was asked for is not there."""

    @pipeline_def(batch_size=2, num_threads=1, cache="ram")
    def pipe() -> Any:
        return fn.random.uniform(range=(0.0, 1.0))

    text = "cache in memory: nothing is stored, since what is the same in each epoch takes too"
    assert text in str(pipe().explain())
    assert text in pipe().explain()._repr_html_()
    function = gradiva.capture.compile(lambda x: gradiva.random.uniform(range=(0, 1)), cache="ram")
    function(gradiva.as_batch(np.zeros((2, 3), np.float32)))
    assert text in str(function.explain())


def test_nothing_is_worth_storing_in_a_loop(photos: Path) -> None:
    """Nor is there anything to store before steps are computed ahead."""

    def explained(body: Callable[[Any], Any], steps: int) -> str:
        reader = gradiva.readers.File(file_root=photos)
        loop = reader.next_epoch(batch_size=4 // steps, capture=True, cache="ram")
        for files, _ in loop:
            body(files)
        report = loop.explain()
        assert all(line in report._repr_html_() for line in report.groups.caches)
        assert len(report.groups.caches) == 1
        return str(report)

    def random(files: Any) -> Any:
        return gradiva.random.uniform(range=(0, 1), batch_size=files.batch_size)

    text = "cache in memory: nothing is stored, since "
    assert text + "what is the same in each epoch takes too little time" in explained(random, 4)
    assert text + "no step was computed ahead" in explained(lambda files: None, 4)
    assert text + "no step was computed ahead" in explained(gradiva.decoders.image, 1)
    assert "cache of `decoders.image` in memory: " in explained(gradiva.decoders.image, 4)
    loop = gradiva.readers.File(file_root=photos).next_epoch(batch_size=2, capture=True)
    assert "cache" not in str(loop.explain())


def test_a_measurement_that_was_disturbed_is_repeated(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And that nothing is worth it is not remembered for later runs."""
    calls = []

    def measured(self: Any, chosen: list[Any]) -> tuple[float, float]:
        calls.append(len(chosen))
        return (0.1 if chosen and len(calls) > busy else 1.0), 100.0

    monkeypatch.setattr(places._Measuring, "_time", measured)
    busy = 1000
    assert "nothing is stored" in str(made(photos, cache=str(tmp_path)).explain())
    calls.clear()
    busy = 4
    assert "cache of `resize` in " in str(made(photos, cache=str(tmp_path)).explain())
    count = len(calls)
    assert "cache of `resize` in " in str(made(photos, cache=str(tmp_path)).explain())
    assert len(calls) == count


@pytest.mark.parametrize("name", ["RAM", "Ram"])
def test_ram_in_capitals(name: str, photos: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """It is no folder that somebody meant; one of that name can be given as a path."""
    monkeypatch.chdir(tmp_path)
    text = f"a folder of this name is './{name}'; expected 'ram' or a folder, got '{name}'"
    with pytest.raises(gradiva.OperatorValueError, match="`cache`: " + text):
        made(photos, cache=name)
    with pytest.raises(gradiva.OperatorValueError, match="`where`: " + text):
        made(photos, name).build()
    for function in (gradiva.cache, gradiva.capture.compile(gradiva.cache)):
        with pytest.raises(gradiva.OperatorValueError, match="`where`: " + text):
            function(gradiva.as_batch(np.zeros((2, 3))), where=name)
    assert not list(tmp_path.iterdir())
    made(photos, cache=f"./{name}").run()
    assert (tmp_path / name).is_dir()


@pytest.mark.parametrize("place", ["", "a\0b"])
def test_what_is_no_place(place: str, photos: Path) -> None:
    text = re.escape(f"expected 'ram' or a folder, got {place!r}")
    with pytest.raises(gradiva.OperatorValueError, match="`where`: " + text):
        made(photos, place).build()
    with pytest.raises(gradiva.GradivaError, match="`cache`: " + text):
        made(photos, cache=place)


@pytest.mark.parametrize("size", [0, -1])
def test_no_bytes(size: int, photos: Path) -> None:
    text = f"`cache_bytes`: expected a positive number of bytes, got {size}"
    with pytest.raises(gradiva.OperatorValueError, match=text):
        made(photos, cache="ram", cache_bytes=size)
    with pytest.raises(gradiva.OperatorValueError, match=text):
        gradiva.cache(gradiva.as_batch(np.zeros((2, 3))), cache_bytes=size)


def test_a_warning_names_a_line_of_the_user(photos: Path, tmp_path: Path) -> None:
    """Of a folder that cannot be used; a thread of the pipeline, which does not know that line,
    names one of gradiva. It is not a line of the standard library."""
    (tmp_path / "file").write_bytes(b"")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        pipe = made(photos, str(tmp_path / "file"))
        images, _ = pipe.run()
    assert len(images) == 2
    told = [one for one in found if "cannot be used as a cache" in str(one.message)]
    assert told
    assert {Path(one.filename).name for one in told} <= {Path(__file__).name, "store.py"}


def test_paths(photos: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """A `Path`, and `~` for the home folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    made(photos, cache=tmp_path / "path").run()
    made(photos, cache="~/text").run()
    made(photos, cache=Path("~") / "both").run()
    assert {path.name for path in tmp_path.iterdir()} == {"path", "text", "both"}
