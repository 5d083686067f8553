"""`on_error`: samples that cannot be read are left out or replaced, in step, in every mode."""

from __future__ import annotations

import csv
import json
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import EvalMode, capture, fn, random, readers
from gradiva.capture.check import check
from gradiva.capture.compiler import optimise

from .loops import bits

pytestmark = pytest.mark.filterwarnings("ignore:samples that cannot be read")

COUNT = 12
DAMAGE: dict[str, Callable[[Path], None]] = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]) and None,
    "zeroed": lambda path: path.write_bytes(bytes(path.stat().st_size)) and None,
    "text": lambda path: path.write_text("this is no picture") and None,
    "empty": lambda path: path.write_bytes(b"") and None,
    "missing": lambda path: path.unlink(),
    "folder": lambda path: (path.unlink(), path.mkdir()) and None,
}
OF_READER = ("missing", "folder")
"""What no file system can read; the others fail in the decoder."""


def make(folder: Path, bad: dict[int, str], count: int = COUNT) -> list[str]:
    """Ragged JPEG and PNG files of noise, some of them damaged."""
    folder.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(1)
    paths = []
    for index in range(count):
        path = folder / f"{index:02d}.{'png' if index % 3 == 1 else 'jpg'}"
        pixels = noise.integers(0, 255, (20 + index, 30 - index, 3), np.uint8)
        assert cv2.imwrite(str(path), pixels)
        if index in bad:
            DAMAGE[bad[index]](path)
        paths.append(str(path))
    return paths


MIXED = {1: "cut", 2: "zeroed", 4: "text", 7: "missing", 8: "empty", 10: "folder"}


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    return make(tmp_path / "mixed", MIXED)


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    gradiva.quarantine().clear()
    yield
    gradiva.quarantine().clear()


def augment(files: Any, labels: Any, policy: str = "skip") -> tuple[Any, ...]:
    """Fused: decode, resize, flip, brightness; random values of both kinds behind the decoder."""
    images = gradiva.decoders.image(files, on_error=policy)
    images, labels = gradiva.align(images, labels)
    images = gradiva.resize(images, size=(8, 8))
    images = gradiva.flip(images, horizontal=random.coin_flip(batch_size=images.batch_size))
    images = gradiva.brightness(images, brightness=1.25)
    noise = random.uniform(batch_size=images.batch_size)
    return images, labels + 1, noise, images * noise, random.normal(images)


def unfused(files: Any, labels: Any, policy: str = "skip") -> tuple[Any, ...]:
    """The decoder's output is wanted itself, so it is in no group; labels are read before."""
    before = labels * 2
    images = gradiva.decoders.image(files, on_error=policy)
    images, labels, before = gradiva.align(images, labels, before)
    return images, labels, before, gradiva.flip(images)


def windows(files: Any, labels: Any, policy: str = "skip") -> tuple[Any, ...]:
    """Decoders of windows, one after the other: each drops what is left to drop."""
    shapes = gradiva.peek_image_shape(files, on_error=policy)
    corner = gradiva.decoders.image_crop(files, crop=(6, 5), on_error=policy)
    part = gradiva.decoders.image_random_crop(files, on_error=policy)
    rest = gradiva.decoders.image_slice(files, rel_start=(0.25, 0.5), on_error=policy)
    shapes, corner, part, rest, labels = gradiva.align(shapes, corner, part, rest, labels)
    return shapes, corner, gradiva.resize(part, size=(7, 7)), rest, labels


BODIES = [augment, unfused, windows]


def eager(body: Any, paths: list[str], size: int, policy: str) -> list[Any]:
    random.set_seed(5)
    reader = readers.File(files=paths, random_shuffle=True, on_error=policy)
    return [[bits(out) for out in body(*batch, policy)] for batch in reader.next_epoch(size)]


def as_pipeline(
    body: Any, paths: list[str], size: int, policy: str, threads: int = 2, **options: Any
) -> gradiva.Pipeline:
    @gradiva.pipeline_def(batch_size=size, num_threads=threads, seed=5, **options)
    def pipeline() -> Any:
        batch = fn.readers.file(files=paths, random_shuffle=True, on_error=policy)
        return body(*batch, policy)

    return pipeline()


def piped(body: Any, paths: list[str], size: int, policy: str, **options: Any) -> list[Any]:
    pipe = as_pipeline(body, paths, size, policy, **options)
    check(pipe.graph)
    found = [[bits(out) for out in pipe.run()] for _ in range(len(paths) // size)]
    pipe.close()
    return found


def looped(body: Any, paths: list[str], size: int, policy: str) -> list[Any]:
    random.set_seed(5)
    reader = readers.File(files=paths, random_shuffle=True, on_error=policy)
    loop = reader.next_epoch(size, capture=True)
    return [[bits(out) for out in body(*batch, policy)] for batch in loop]


def compiled(body: Any, paths: list[str], size: int, policy: str) -> list[Any]:
    random.set_seed(5)
    reader = readers.File(files=paths, random_shuffle=True, on_error=policy)
    fast = capture.compile(body)
    return [[bits(out) for out in fast(*batch, policy)] for batch in reader.next_epoch(size)]


def deferred(body: Any, paths: list[str], size: int, policy: str) -> list[Any]:
    random.set_seed(5)
    reader = readers.File(files=paths, random_shuffle=True, on_error=policy)
    found = []
    for batch in reader.next_epoch(size):
        with EvalMode.deferred:
            outputs = body(*batch, policy)
        found.append([bits(out) for out in outputs])
    return found


MODES = [piped, looped, compiled, deferred]


@pytest.mark.parametrize("policy", ["skip", "replace"])
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("mode", MODES)
def test_same_bits(mode: Any, body: Any, policy: str, paths: list[str]) -> None:
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
    for files, labels in whole.next_epoch(batch_size=COUNT):
        wanted = random.uniform(batch_size=labels.batch_size).as_array()[good]
    reader = readers.File(files=paths, on_error="skip")
    for size in (COUNT, 5):
        positions, values, drawn = [], [], []
        for files, labels in reader.next_epoch(batch_size=size):
            assert set(labels.positions % COUNT) & {7, 10} == set()
            images = gradiva.decoders.image(files, on_error="skip")
            images, labels = gradiva.align(images, labels)
            np.testing.assert_array_equal(images.positions, labels.positions)
            assert [paths[label] for label in labels.as_array().ravel()] == images.source_info()
            positions += (images.positions % COUNT).tolist()
            values += labels.as_array().ravel().tolist()
            drawn += random.uniform(batch_size=images.batch_size).as_array().tolist()
        assert positions == values == good
        if size == COUNT:
            np.testing.assert_array_equal(drawn, wanted)
    assert reader.get_metadata()["epoch_size"] == COUNT


def test_one_value_for_all_does_not_move(paths: list[str]) -> None:
    """A random value that all samples share is the one of the step, whoever leaves."""

    def body(files: Any, labels: Any, policy: str) -> tuple[Any, ...]:
        images = gradiva.decoders.image(files, on_error=policy)
        images, labels = gradiva.align(images, labels)
        return (labels * 1.0 + random.uniform(),)

    expected = eager(body, paths, 3, "skip")
    assert piped(body, paths, 3, "skip") == looped(body, paths, 3, "skip") == expected
    assert compiled(body, paths, 3, "skip") == expected


@pytest.mark.parametrize("mode", [eager, *MODES])
@pytest.mark.parametrize("kind", ["text", "missing"])
@pytest.mark.parametrize("body", BODIES)
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
    def body(files: Any, labels: Any, policy: str) -> tuple[Any, ...]:
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
            gradiva.color_space_conversion(images, image_type=0, output_type=2),
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


@pytest.mark.parametrize("kind", sorted(DAMAGE))
def test_replaced(kind: str, tmp_path: Path) -> None:
    bad = make(tmp_path, {0: kind, 1: kind}, 3)
    reader = readers.File(files=bad, on_error="replace")
    ((files, labels),) = reader.next_epoch(batch_size=3)
    assert labels.as_array().ravel().tolist() == [0, 1, 2]
    for dtype, value, filled in ((gradiva.uint8, 300, 255), (gradiva.int16, -7.5, -8),
                                 (gradiva.float32, 0.25, 0.25)):  # fmt: skip
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
    for options in ({}, {"on_error": "raise"}):
        with pytest.raises(gradiva.OperatorRuntimeError, match="sample [12]"):
            getattr(gradiva.decoders, operator)(files, **options)
    with pytest.raises(gradiva.OperatorRuntimeError, match="sample 2"):
        gradiva.peek_image_shape(files)
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"cannot be read.*\n.*07.png"):
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
    ((files, labels),) = reader.next_epoch(batch_size=COUNT)
    image_crop, image = gradiva.decoders.image_crop, gradiva.decoders.image
    with pytest.raises(gradiva.OperatorValueError, match="leaves the image"):
        image_crop(files, crop=(500, 500), on_error="skip")
    with pytest.raises(gradiva.OperatorTypeError, match="encoded data"):
        image(gradiva.cast(files, dtype="int32"), on_error="skip")
    for wrong in ("ignore", 3, True):
        with pytest.raises((gradiva.OperatorValueError, gradiva.OperatorTypeError), match="'skip'"):
            image(files, on_error=wrong)  # type: ignore[arg-type]
        with pytest.raises((gradiva.OperatorValueError, gradiva.OperatorTypeError), match="'skip'"):
            readers.File(files=paths, on_error=wrong)  # type: ignore[arg-type]
    single = Path(paths[0]).read_bytes()
    for mode in (EvalMode.eager, EvalMode.deferred):
        with mode, pytest.raises(gradiva.OperatorValueError, match="single sample"):
            image(single, on_error="skip")
    assert np.asarray(image(b"nothing", on_error="replace")).tolist() == [[[0, 0, 0]]]


def test_want_of_memory_is_not_forgiven(paths: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    module = __import__("gradiva.ops.decoders.image", fromlist=["image"])
    ((files, _),) = readers.File(files=paths[:1]).next_epoch(batch_size=1)

    def fail(*_: Any) -> None:
        raise MemoryError("none left")

    monkeypatch.setattr(module, "decode_jpeg", fail)
    for policy in ("skip", "replace"):
        with pytest.raises(gradiva.OperatorRuntimeError, match="none left"):
            gradiva.decoders.image(files, on_error=policy)  # type: ignore[arg-type]


def test_too_many_open_files_is_not_forgiven(
    paths: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> int:
        raise OSError(24, "Too many open files")

    reader = readers.File(files=paths, on_error="skip")
    monkeypatch.setattr(os, "open", fail)
    with pytest.raises(gradiva.OperatorRuntimeError, match="Too many open files"):
        next(reader.next_epoch(batch_size=2))


def test_a_bomb_counts(tmp_path: Path) -> None:
    """A header that promises more pixels than the limit is an error of the data."""
    (path,) = make(tmp_path, {}, 1)
    data = bytearray(cv2.imencode(".png", np.zeros((4, 4, 3), np.uint8))[1].tobytes())
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


# The quarantine.


def entries_of(pipe: gradiva.Pipeline) -> list[Any]:
    return [(e.iteration, e.position, os.path.basename(e.file or "")) for e in pipe.quarantine]


@pytest.mark.parametrize("policy", ["skip", "replace"])
@pytest.mark.parametrize("body", BODIES)
def test_quarantine(policy: str, body: Any, paths: list[str]) -> None:
    """Each sample once, in the order of positions, for the batches that were handed out."""
    found = []
    for threads, size in ((1, 4), (4, 4), (2, 3)):
        pipe = as_pipeline(body, paths, size, policy, threads)
        assert entries_of(pipe) == []
        seen = 0
        for iteration in range(2 * COUNT // size):
            pipe.run()
            new = entries_of(pipe)[seen:]
            seen += len(new)
            assert all(entry[0] == iteration for entry in new)
        found.append(entries_of(pipe))
        assert [entry[1] for entry in found[-1]] == sorted(entry[1] for entry in found[-1])
        assert sorted(name for *_, name in found[-1]) == sorted(
            2 * [os.path.basename(paths[index]) for index in MIXED]
        )
        assert pipe.epoch_size("readers.file") == COUNT
        pipe.close()
    assert found[0] == found[1]
    assert [entry[1:] for entry in found[0]] == [entry[1:] for entry in found[2]]


def test_quarantine_as_data(paths: list[str], tmp_path: Path) -> None:
    pipe = as_pipeline(augment, paths, COUNT, "skip")
    with pytest.warns(UserWarning, match="cannot be read are left out") as caught:
        pipe.run()
        pipe.run()
    assert len(caught) == 1
    listed = pipe.quarantine
    assert len(listed) == listed.total == 12
    reasons = {os.path.basename(e.file or "")[:2]: (e.operator, e.reason) for e in listed}
    assert reasons["07"] == ("readers.file", "the file cannot be read: No such file or directory")
    assert reasons["04"][0] == "decoders.image"
    assert "unknown image format" in reasons["04"][1]
    assert pickle.loads(pickle.dumps(list(listed))) == list(listed)
    listed.save(tmp_path / "bad.jsonl")
    lines = (tmp_path / "bad.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [entry._asdict() for entry in listed]
    listed.save(tmp_path / "bad.csv")
    with open(tmp_path / "bad.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["reason"] for row in rows] == [entry.reason for entry in listed]
    pipe.close()


def test_quarantine_is_bounded() -> None:
    bad = gradiva.as_batch([np.frombuffer(b"no image", np.uint8)] * 5)
    with gradiva.Quarantine(most=3) as found:
        gradiva.decoders.image(bad, on_error="skip")
        assert gradiva.quarantine() is found
    assert (len(found), found.total) == (3, 5)
    assert found[0].file is None
    assert len(gradiva.quarantine()) == 0
    found.clear()
    assert (len(found), found.total) == (0, 0)


@pytest.mark.parametrize("mode", [eager, looped, compiled])
@pytest.mark.parametrize("policy", ["skip", "replace"])
@pytest.mark.parametrize("body", [augment, unfused])
def test_quarantine_of_dynamic_mode(mode: Any, policy: str, body: Any, paths: list[str]) -> None:
    mode(body, paths, 4, policy)
    names = [os.path.basename(entry.file or "") for entry in gradiva.quarantine()]
    assert sorted(names) == sorted(os.path.basename(paths[index]) for index in MIXED)


# Graphs.


def test_good_batches_stay_fused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The decoder heads the group; only the batch with the bad sample runs one by one."""
    program = __import__("gradiva.capture.program", fromlist=["Program"])
    files = make(tmp_path, {5: "cut"})
    taken = []
    run_group = program.run_group

    def watched(*arguments: Any) -> Any:
        try:
            result = run_group(*arguments)
        except program.UnfitError:
            taken.append("one by one")
            raise
        taken.append("fused")
        return result

    monkeypatch.setattr(program, "run_group", watched)

    @gradiva.pipeline_def(batch_size=4, num_threads=1, exec_async=False)
    def pipeline() -> Any:
        files_, labels = fn.readers.file(files=files)
        images = gradiva.decoders.image(files_, on_error="skip")
        return gradiva.flip(gradiva.resize(images, size=(8, 8))), labels

    pipe = pipeline()
    sizes = [tuple(map(len, pipe.run())) for _ in range(3)]
    assert taken == ["fused", "one by one", "fused"]
    assert sizes == [(4, 4), (3, 3), (4, 4)]
    groups = [node for node in pipe.graph.nodes if node.members]
    assert [member.operator.name for member in groups[0].members] == [
        "decoders.image",
        "resize",
        "flip",
    ]
    pipe.close()


def test_an_unread_decoder_still_drops(paths: list[str]) -> None:
    def body(files: Any, labels: Any, policy: str) -> tuple[Any, ...]:
        images = gradiva.decoders.image(files, on_error=policy)
        images, labels = gradiva.align(images, labels)
        gradiva.flip(images)
        return (labels,)

    expected = eager(body, paths, 4, "skip")
    assert sum(len(samples) for ((_, _, samples),) in expected) == COUNT - len(MIXED)
    assert piped(body, paths, 4, "skip") == expected
    assert looped(body, paths, 4, "skip") == compiled(body, paths, 4, "skip") == expected


def test_constants_are_not_folded_away() -> None:
    @gradiva.pipeline_def(batch_size=2, num_threads=1)
    def pipeline() -> Any:
        _, labels = fn.readers.file(files=["a", "b"], on_error="replace")
        image = gradiva.decoders.image(
            gradiva.tensor(np.arange(9, dtype=np.uint8)), on_error="skip"
        )
        return image, labels

    pipe = pipeline()
    assert any(node.operator.name == "decoders.image" for node in optimise(pipe.graph).nodes)
    assert [len(batch) for batch in pipe.run()] == [0, 0]
    pipe.close()


def test_several_sources(tmp_path: Path) -> None:
    """What one reader leaves out leaves the batches of the other sources."""
    first = make(tmp_path / "a", {1: "missing", 5: "missing"}, 8)
    second = make(tmp_path / "b", {0: "missing", 5: "folder"}, 8)

    @gradiva.pipeline_def(batch_size=4, num_threads=2)
    def pipeline() -> Any:
        one, here = fn.readers.file(files=first, on_error="skip")
        two, there = fn.readers.file(files=second, on_error="skip")
        count = fn.external_source(lambda i: np.arange(4 * i, 4 * i + 4).reshape(4, 1), batch=True)
        return here, there, count, one, gradiva.decoders.image(two), fn.random.uniform()

    pipe = pipeline()
    for kept in ([2, 3], [4, 6, 7]):
        here, there, count, one, two, drawn = pipe.run()
        assert here.as_array().ravel().tolist() == there.as_array().ravel().tolist() == kept
        assert count.as_array().ravel().tolist() == kept
        assert len(one) == len(two) == len(drawn) == len(kept)
    pipe.close()


# align.


def test_align_outside_of_loops() -> None:
    def at(*positions: int) -> gradiva.Batch:
        whole = gradiva.random.uniform(batch_size=9)
        rows = np.array(positions, np.int64)
        made = whole.select(list(positions))
        made.provenance = gradiva.eager.provenance.Provenance(rows)
        return made

    one, two, three = at(5, 1, 3, 8), at(1, 2, 3, 5, 8), at(8, 3, 5, 0)
    found = gradiva.align(one, two, three)
    assert [batch.positions.tolist() for batch in found] == [[5, 3, 8]] * 3
    assert gradiva.align(one, one)[0] is one
    plain = gradiva.random.uniform(batch_size=4)
    assert gradiva.align(one, plain)[1] is plain
    with pytest.raises(gradiva.OperatorValueError, match="no positions"):
        gradiva.align(two, plain)
    with pytest.raises(gradiva.OperatorValueError, match="two samples of one position"):
        gradiva.align(at(1, 1), two)
    with pytest.raises(gradiva.OperatorTypeError, match="batches"):
        gradiva.align(one, [1, 2])  # type: ignore[type-var]


def test_align_takes_values_of_the_step(paths: list[str]) -> None:
    """Random values that were drawn before the decoder lose their samples too."""

    def body(files: Any, labels: Any, policy: str) -> tuple[Any, ...]:
        drawn = random.uniform(batch_size=labels.batch_size)
        images = gradiva.decoders.image(files, on_error=policy)
        images, labels, drawn = gradiva.align(images, labels, drawn)
        return labels, drawn

    expected = eager(body, paths, 4, "skip")
    for mode in MODES:
        assert mode(body, paths, 4, "skip") == expected


@settings(
    max_examples=25, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(
    bad=st.dictionaries(st.integers(0, COUNT - 1), st.sampled_from(sorted(DAMAGE))),
    size=st.integers(1, COUNT + 1),
    policy=st.sampled_from(["skip", "replace"]),
    body=st.sampled_from(BODIES),
    mode=st.sampled_from(MODES),
)
def test_any_files(
    bad: dict[int, str], size: int, policy: str, body: Any, mode: Any,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    paths = make(tmp_path_factory.mktemp("any"), bad)
    expected = eager(body, paths, size, policy)
    if mode is piped:  # its batches run on into the next epoch
        expected = expected[: len(paths) // size]
    assert mode(body, paths, size, policy) == expected
    kept = sum(len(step[0][2]) for step in eager(body, paths, size, policy))
    lost = [kind for kind in bad.values() if body is not windows or kind]
    assert kept == (COUNT - len(lost) if policy == "skip" else COUNT)
