"""`on_error`: samples that cannot be read are left out or replaced, in step, in every mode."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import EvalMode, fn, random, readers
from gradiva.ops.decoders.jpeg import small as small_jpegs
from gradiva.ops.readers.core import files as read_files
from tests.capture.loop.loops import bits
from tests.eager.execution.damaged import (
    BODIES,
    COUNT,
    DAMAGE,
    MIXED,
    MODES,
    as_pipeline,
    augment,
    compiled,
    eager,
    looped,
    make,
    piped,
)
from tests.needs import needs_simplejpeg
from tests.tiers import few

pytestmark = pytest.mark.filterwarnings("ignore:samples that cannot be read")


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    return make(tmp_path / "mixed", MIXED)


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    gradiva.quarantine().clear()
    yield
    gradiva.quarantine().clear()


@pytest.mark.parametrize("policy", few(["skip", "replace"], "skip"))
@pytest.mark.parametrize("body", few(BODIES, count=1))
@pytest.mark.parametrize("mode", MODES)
def test_same_bits(mode: Any, body: Any, policy: Any, paths: list[str]) -> None:
    for size in (1, 4, 12):
        assert mode(body, paths, size, policy) == eager(body, paths, size, policy), size


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_threads(threads: int, paths: list[str]) -> None:
    expected = eager(augment, paths, 4, "skip")
    gradiva.set_num_threads(threads)
    assert eager(augment, paths, 4, "skip") == expected
    gradiva.set_num_threads(None)
    assert piped(augment, paths, 4, "skip", threads=threads) == expected
    assert piped(augment, paths, 4, "skip", threads=threads, exec_async=False) == expected


def test_what_is_left(paths: list[str]) -> None:
    """Labels stay in step, positions do not move, and random values are those of the position."""
    good = [index for index in range(COUNT) if index not in MIXED]
    whole = readers.File(files=paths, on_error="replace")
    for _, labels in whole.next_epoch(batch_size=COUNT):
        wanted = random.uniform(batch_size=labels.batch_size).as_array()[good]
    reader = readers.File(files=paths, on_error="skip")
    for size in (COUNT, 5):
        positions, values, drawn = [], [], []
        for files, labels in reader.next_epoch(batch_size=size):
            assert set(labels.positions % COUNT) & {7, 10} == set()
            images = gradiva.decoders.image(files, on_error="skip")
            images, left = gradiva.align(images, labels)
            np.testing.assert_array_equal(images.positions, left.positions)
            assert [paths[label] for label in left.as_array().ravel()] == images.source_info()
            positions += (images.positions % COUNT).tolist()
            values += left.as_array().ravel().tolist()
            drawn += random.uniform(batch_size=images.batch_size).as_array().tolist()
        assert positions == values == good
        if size == COUNT:
            np.testing.assert_array_equal(drawn, wanted)
    assert reader.get_metadata()["epoch_size"] == COUNT


def test_one_value_for_all_does_not_move(paths: list[str]) -> None:
    """A random value that all samples share is the one of the step, whoever leaves."""

    def body(files: Any, labels: Any, policy: Any) -> tuple[Any, ...]:
        images = gradiva.decoders.image(files, on_error=policy)
        images, labels = gradiva.align(images, labels)
        return (labels * 1.0 + random.uniform(),)

    expected = eager(body, paths, 3, "skip")
    assert piped(body, paths, 3, "skip") == looped(body, paths, 3, "skip") == expected
    assert compiled(body, paths, 3, "skip") == expected


@pytest.mark.parametrize("mode", [eager, *MODES])
@pytest.mark.parametrize("kind", ["text", "missing"])
@pytest.mark.parametrize("body", few(BODIES, count=1))
def test_all_bad(mode: Any, body: Any, kind: str, tmp_path: Path) -> None:
    """Batches of no samples have the types of others, and nothing behind them fails."""
    bad = make(tmp_path / "bad", dict.fromkeys(range(4), kind), 4)
    good = make(tmp_path / "good", {}, 4)
    found = mode(body, bad, 2, "skip")
    whole = mode(body, good, 2, "skip")
    assert len(found) == len(whole) == 2
    for outputs, others in zip(found, whole, strict=True):
        for (kind_of, layout, samples), (other_kind, other_layout, _) in zip(
            outputs, others, strict=True
        ):
            assert (kind_of, layout, samples) == (other_kind, other_layout, [])


def test_all_bad_through_many_operators(tmp_path: Path) -> None:
    def body(files: Any, labels: Any, policy: Any) -> tuple[Any, ...]:
        images = gradiva.decoders.image(files, on_error=policy)
        images, labels = gradiva.align(images, labels)
        count = images.batch_size
        return (
            gradiva.crop_mirror_normalize(
                images, crop=(4, 4), mirror=random.coin_flip(batch_size=count)
            ),
            gradiva.crop(images, crop=(3, 3)),
            gradiva.random_resized_crop(images, size=(4, 4)),
            gradiva.hsv(images, hue=10.0),
            gradiva.color_space_conversion(
                images, image_type=gradiva.types.RGB, output_type=gradiva.types.GRAY
            ),
            gradiva.cast(images, dtype="float32") + random.normal(batch_size=count),
            images.slice[1:3, 0:2],
            gradiva.transpose(images, perm=(2, 0, 1)),
            labels + random.uniform(),
        )

    bad = make(tmp_path, dict.fromkeys(range(2), "cut"), 2)
    expected = eager(body, bad, 2, "skip")
    assert [samples for _, _, samples in expected[0]] == [[]] * 9
    for mode in MODES:
        assert mode(body, bad, 2, "skip") == expected


@pytest.mark.parametrize("kind", DAMAGE)
def test_replaced(kind: str, tmp_path: Path) -> None:
    bad = make(tmp_path, {0: kind, 1: kind}, 3)
    reader = readers.File(files=bad, on_error="replace")
    ((files, labels),) = reader.next_epoch(batch_size=3)
    assert labels.as_array().ravel().tolist() == [0, 1, 2]
    for dtype, value, filled in (
        (gradiva.uint8, 300, 255),
        (gradiva.int16, -7.5, -8),
        (gradiva.float32, 0.25, 0.25),
    ):
        images = gradiva.decoders.image(files, dtype=dtype, on_error="replace", fill_value=value)
        header = kind == "cut"
        assert images.shape[:2] == ([(20, 30, 3), (21, 29, 3)] if header else [(1, 1, 3)] * 2)
        assert all((images.at(i) == filled).all() for i in (0, 1))
        assert not (images.at(2) == filled).all()
    gray = gradiva.decoders.image(files, output_type=gradiva.types.GRAY, on_error="replace")
    assert [shape[2] for shape in gray.shape] == [1, 1, 1]
    assert not gray.at(0).any()
    crops = gradiva.decoders.image_crop(files, crop=(6, 5), on_error="replace")
    assert crops.shape == [(6, 5, 3)] * 3
    parts = gradiva.decoders.image_slice(files, start=(2, 3), shape=(4, 5), on_error="replace")
    assert parts.shape == [(5, 4, 3)] * 3
    shapes = gradiva.peek_image_shape(files, on_error="replace").as_array()
    assert shapes[0].tolist() == ([20, 30, 3] if header else [0, 0, 0])
    assert shapes[2].tolist() == [22, 28, 3]


def test_readers_replacement_is_no_bytes(tmp_path: Path) -> None:
    files = make(tmp_path, {0: "missing", 2: "folder"}, 3)
    pipe = as_pipeline(lambda files, labels, _: (files, labels), files, 3, "replace")
    bytes_, labels = pipe.run()
    sizes = dict(zip(labels.as_array().ravel().tolist(), bytes_.shape, strict=True))
    assert (sizes[0], sizes[2]) == ((0,), (0,))
    assert sizes[1][0] == os.path.getsize(files[1])
    pipe.close()


@pytest.mark.parametrize("operator", ["image", "image_crop", "image_slice", "image_random_crop"])
def test_raise_is_the_default(operator: str, paths: list[str]) -> None:
    reader = readers.File(files=paths, on_error="replace")
    ((files, _),) = reader.next_epoch(batch_size=COUNT)
    region: dict[str, Any] = {"end": (4, 5)} if operator == "image_slice" else {}
    options: dict[str, Any]
    for options in ({}, {"on_error": "raise"}):
        with pytest.raises(gradiva.OperatorRuntimeError, match=r"sample [12]"):
            getattr(gradiva.decoders, operator)(files, **options, **region)
    with pytest.raises(gradiva.OperatorRuntimeError, match="sample 2"):
        gradiva.peek_image_shape(files)
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"cannot be read[^~]*07\.png"):
        list(readers.File(files=paths).next_epoch(batch_size=COUNT))
    assert len(gradiva.quarantine()) == 2


def test_the_next_run_works(paths: list[str]) -> None:
    """After an error of a batch, the next one comes; with threads and without."""
    expected = eager(lambda files, labels, _: (files, labels), paths, 1, "replace")
    for options in ({}, {"exec_async": False}, {"prefetch_queue_depth": 1}):

        @gradiva.pipeline_def(batch_size=1, num_threads=2, seed=5, **options)
        def pipeline() -> Any:
            files, labels = fn.readers.file(files=paths, random_shuffle=True)
            return gradiva.decoders.image(files), labels

        pipe = pipeline()
        good = bad = 0
        for step in expected:
            (label,) = np.frombuffer(step[1][2][0][2], np.int32)
            if int(label) in MIXED:
                with pytest.raises(
                    gradiva.OperatorRuntimeError, match=os.path.basename(paths[label])
                ):
                    pipe.run()
                bad += 1
            else:
                assert bits(pipe.run()[1]) == step[1]
                good += 1
        assert (good, bad) == (COUNT - len(MIXED), len(MIXED))
        assert not len(pipe.quarantine)
        pipe.close()


def test_errors_that_are_not_of_the_data(paths: list[str]) -> None:
    reader = readers.File(files=paths, on_error="skip")
    ((files, _),) = reader.next_epoch(batch_size=COUNT)
    image_crop, image = gradiva.decoders.image_crop, gradiva.decoders.image
    with pytest.raises(gradiva.OperatorValueError, match="leaves the image"):
        image_crop(files, crop=(500, 500), on_error="skip")
    with pytest.raises(gradiva.OperatorTypeError, match="encoded data"):
        image(gradiva.cast(files, dtype="int32"), on_error="skip")
    for wrong in ("ignore", 3, True):
        with pytest.raises((gradiva.OperatorValueError, gradiva.OperatorTypeError), match="'skip'"):
            image(files, on_error=wrong)  # type: ignore[call-overload]
        with pytest.raises((gradiva.OperatorValueError, gradiva.OperatorTypeError), match="'skip'"):
            readers.File(files=paths, on_error=wrong)  # type: ignore[arg-type]
    single = Path(paths[0]).read_bytes()
    for mode in (EvalMode.eager, EvalMode.deferred):
        with mode, pytest.raises(gradiva.OperatorValueError, match="single sample"):
            image(single, on_error="skip")
    assert np.asarray(image(b"nothing", on_error="replace")).tolist() == [[[0, 0, 0]]]


@needs_simplejpeg
def test_want_of_memory_is_not_forgiven(paths: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    module = __import__("gradiva.ops.decoders.jpeg.cpu", fromlist=["decode_jpeg"])
    ((files, _),) = readers.File(files=paths[:1]).next_epoch(batch_size=1)

    def fail(*_: Any, **__: Any) -> None:
        raise MemoryError("none left")

    monkeypatch.setattr(module, "simplejpeg", SimpleNamespace(decode_jpeg=fail))
    monkeypatch.setattr(small_jpegs, "window_decoder_works", lambda: False)
    for policy in ("skip", "replace"):
        with pytest.raises(gradiva.OperatorRuntimeError, match="none left"):
            gradiva.decoders.image(files, on_error=policy)


def test_too_many_open_files_is_not_forgiven(
    paths: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> int:
        raise OSError(24, "Too many open files")

    reader = readers.File(files=paths, on_error="skip")
    monkeypatch.setattr(os, "open", fail)
    monkeypatch.setattr(read_files, "_calls", lambda: None)
    with pytest.raises(gradiva.OperatorRuntimeError, match="Too many open files"):
        next(reader.next_epoch(batch_size=2))


def test_a_bomb_counts(tmp_path: Path) -> None:
    """A header that promises more pixels than the limit is an error of the data."""
    path = make(tmp_path, {}, 2)[1]
    data = bytearray(Path(path).read_bytes())
    data[16:24] = b"\0\1\0\0\0\1\0\0"
    Path(path).write_bytes(data)
    images = gradiva.imread([path], on_error="skip")
    assert len(images) == 0
    assert "larger than the limit" in gradiva.quarantine()[0].reason


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_permission(tmp_path: Path) -> None:
    files = make(tmp_path, {}, 2)
    os.chmod(files[0], 0)
    ((_, labels),) = readers.File(files=files, on_error="skip").next_epoch(batch_size=2)
    assert labels.as_array().ravel().tolist() == [1]
    assert "ermission" in gradiva.quarantine()[0].reason


def test_imread(paths: list[str]) -> None:
    good = [index for index in range(COUNT) if index not in MIXED]
    images = gradiva.imread(paths, on_error="skip")
    assert images.positions.tolist() == good
    whole = gradiva.imread(paths, on_error="replace", fill_value=9)
    assert len(whole) == COUNT
    for row, index in enumerate(good):
        np.testing.assert_array_equal(images.at(row), whole.at(index))
    assert whole.shape[7] == (1, 1, 3)
    entries = list(gradiva.quarantine())
    assert [entry.position for entry in entries] == sorted(MIXED) * 2
    assert [entry.operator for entry in entries if entry.position in (7, 10)] == ["imread"] * 4
    assert all("cannot be read" in e.reason for e in entries if e.position in (7, 10))
    with EvalMode.deferred:
        assert gradiva.imread(paths, on_error="skip").shape == images.shape
    with pytest.raises(gradiva.OperatorValueError, match="single sample"):
        gradiva.imread(paths[0], on_error="skip")


def test_single_samples_of_a_reader(paths: list[str]) -> None:
    """A loop over samples goes on with the next file that can be read; captured or not."""
    wanted = [index for index in range(COUNT) if index not in (7, 10)]
    for captured in (False, True):
        reader = readers.File(files=paths, on_error="skip")
        loop = reader.next_epoch(capture=captured)
        assert [int(np.asarray(label + 0)[0]) for _, label in loop] == wanted
