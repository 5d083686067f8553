"""Batches made again from their receipts; each changed input is named by its kind."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Pipeline, fn, pipeline_def
from gradiva.capture.iterators.iterator import LastBatchPolicy, PipelineIterator
from gradiva.receipts import Finding, Receipt, ReceiptError, Reproducer, reproduce
from tests.gradiva import many_receipts

pytestmark = [
    pytest.mark.core,
    pytest.mark.filterwarnings("ignore:samples that cannot be read are left out or replaced"),
]


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of one color each, with one file that is none."""
    folder = tmp_path_factory.mktemp("receipts") / "photos"
    for number in range(10):
        pixels = np.full((6 + number % 3, 8, 3), 20 * number + 5, np.uint8)
        write(folder / f"{number % 2}" / f"{number}.ppm", pixels)
    (folder / "1" / "bad.ppm").write_bytes(b"P6 8 8 255\n no")
    return folder


def write(path: Path, pixels: np.ndarray[Any, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    head = f"P6 {pixels.shape[1]} {pixels.shape[0]} 255\n".encode()
    path.write_bytes(head + pixels.tobytes())


def augmented(
    root: Path, *, size: int = 12, rank: int = 0, world: int = 1, **options: Any
) -> Pipeline:
    """Random, in shards, with samples left out and a schedule."""

    @pipeline_def(batch_size=4, num_threads=2, seed=3)
    def training() -> Any:
        files, labels = fn.readers.file(
            file_root=str(root), random_shuffle=True, shard_id=rank, num_shards=world, name="files"
        )
        images = fn.resize(fn.decoders.image(files, on_error="skip"), size=(size, 9))
        images = fn.flip(images, horizontal=fn.random.coin_flip())
        shift = gradiva.schedule({0: 0.5, 10: 1.5}, per="step")
        return fn.brightness(images, brightness=shift), labels

    pipe: Pipeline = training(**options)
    return pipe


def receipts_of(pipe: Pipeline, count: int = 3) -> list[Receipt]:
    found = []
    for _ in range(count):
        pipe.run()
        found.append(pipe.receipt())
    return found


def kinds(findings: tuple[Finding, ...], harmless: bool = False) -> list[str]:
    return [one.kind for one in findings if harmless or not one.harmless]


def arrays(outputs: Any) -> list[list[Any]]:
    return [[one.tolist() for one in batch.arrays()] for batch in outputs]


def test_a_batch_is_made_again_with_other_threads_sizes_and_shards(photos: Path) -> None:
    for rank in range(2):
        pipe = augmented(photos, rank=rank, world=2, with_receipt=True)
        again = Reproducer(augmented(photos, batch_size=1, num_threads=1, seed=99), num_threads=3)
        for _ in range(5):
            outputs = pipe.run()
            found = again.reproduce(pipe.receipt().line())
            assert found.reproduced, found
            assert found.outputs is not None
            assert arrays(found.outputs) == arrays(outputs)
            assert kinds(found.findings, harmless=True) == ["seed"]


def test_receipts_are_those_of_every_mode_and_after_a_checkpoint(photos: Path) -> None:
    pipe = augmented(photos, with_receipt=True, enable_checkpointing=True)
    wanted = receipts_of(pipe, 2)
    saved = pipe.checkpoint()
    wanted += receipts_of(pipe, 3)
    for options in ({"exec_async": False}, {"num_threads": 1}, {"prefetch_queue_depth": 5}):
        made = receipts_of(augmented(photos, with_receipt=True, **options), 5)
        assert [bytes(one) for one in made] == [bytes(one) for one in wanted]
    resumed = augmented(photos, with_receipt=True, enable_checkpointing=True, checkpoint=saved)
    assert receipts_of(resumed, 3) == wanted[2:]


def test_scheduled_runs(photos: Path) -> None:
    wanted = receipts_of(augmented(photos, with_receipt=True), 2)
    pipe = augmented(photos, with_receipt=True)
    for one in wanted:
        pipe.schedule_run()
        pipe.share_outputs()
        assert pipe.receipt() == one
        pipe.release_outputs()


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("policy", LastBatchPolicy)
def test_iterators(photos: Path, policy: LastBatchPolicy, padded: bool) -> None:
    @pipeline_def(batch_size=3, num_threads=1, seed=1)
    def training() -> Any:
        files, labels = fn.readers.file(
            file_root=str(photos), random_shuffle=True, pad_last_batch=padded, name="files"
        )
        images = fn.resize(fn.decoders.image(files, on_error="replace"), size=(4, 4))
        return fn.flip(images, horizontal=fn.random.coin_flip()), labels

    turns = PipelineIterator(
        training(with_receipt=True),
        ["images", "labels", "@receipt"],
        reader_name="files",
        last_batch_policy=policy,
    )
    again = Reproducer(training(batch_size=7))
    for _ in range(2):
        for turn in turns:
            found = again.reproduce(turn[0]["@receipt"])
            assert found.reproduced, found
            assert found.outputs is not None
            assert found.outputs[0].as_array().tolist() == turn[0]["images"].tolist()


def test_an_iterator_without_receipts(photos: Path) -> None:
    turns = PipelineIterator(augmented(photos), ["a", "b", "@receipt"], reader_name="files")
    with pytest.raises(gradiva.OperatorValueError, match="with_receipt=True"):
        next(turns)


def source_of(values: list[int]) -> Callable[[Any], Any]:
    return lambda info: np.array([values[info.idx_in_epoch % len(values)]], np.int32)


class Numbers:
    """An epoch of three batches."""

    def __iter__(self) -> Any:
        return iter([[np.array([one, one], np.int32)] * 2 for one in range(3)])


@pytest.mark.parametrize("source", [source_of([1, 2, 3, 4, 5]), Numbers()])
def test_external_sources_are_read_from_the_beginning(source: Any) -> None:
    given: dict[str, Any] = {"cycle": True} if isinstance(source, Numbers) else {"batch": False}

    @pipeline_def(batch_size=2, num_threads=1, seed=2)
    def numbers() -> Any:
        values = fn.external_source(source=source, **given)
        return values + fn.random.uniform(range=[0.0, 1.0])

    lines = [one.line() for one in receipts_of(numbers(with_receipt=True), 5)]
    again = Reproducer(numbers())
    for line in (*lines, lines[1]):
        found = again.reproduce(line)
        assert found.reproduced, found


def test_what_was_fed_cannot_be_made_again() -> None:
    @pipeline_def(batch_size=2, num_threads=1)
    def fed() -> Any:
        return fn.external_source(name="numbers") + 1

    pipe = fed(with_receipt=True)
    pipe.run(numbers=np.ones((2, 3), np.float32))
    with pytest.raises(gradiva.OperatorTypeError, match="feed_input"):
        reproduce(pipe.receipt(), fed())


def test_an_edited_graph_is_named(photos: Path) -> None:
    line = receipts_of(augmented(photos, with_receipt=True), 1)[0].line()

    @pipeline_def(batch_size=4, num_threads=1, seed=3)
    def other() -> Any:
        files, labels = fn.readers.file(file_root=str(photos), random_shuffle=True, name="files")
        return fn.decoders.image(files, on_error="skip"), labels

    found = reproduce(line, other())
    assert (found.reproduced, found.outputs, kinds(found.findings)) == (False, None, ["graph"])
    assert "operator 3 was `resize`" in str(found) or "operator 3, `resize`" in str(found)
    assert "the pipeline was `training`, and is `other`" in str(found)


def test_a_changed_argument_is_named(photos: Path) -> None:
    line = receipts_of(augmented(photos, with_receipt=True), 1)[0].line()
    found = reproduce(line, augmented(photos, size=13))
    assert kinds(found.findings) == ["argument"]
    assert "`resize`, differs: argument `size` was [12.0, 9.0], and is [13.0, 9.0]" in str(found)


@pytest.mark.parametrize("data", ["contents", "stat"])
def test_changed_files_are_named(photos: Path, tmp_path: Path, data: str) -> None:
    root = tmp_path / "copy"
    shutil.copytree(photos, root)
    pipe = augmented(root, with_receipt={"data": data})
    lines = [one.line() for one in receipts_of(pipe, 3)]
    write(root / "0" / "4.ppm", np.full((7, 8, 3), 200, np.uint8))
    found = [reproduce(line, augmented(root)) for line in lines]
    assert sorted(one.reproduced for one in found) == [False, True, True]
    changed = next(one for one in found if not one.reproduced)
    assert f"file: {root / '0' / '4.ppm'}, sample" in str(changed)
    assert "outputs: output 0 has other bits" in str(changed)
    # One more picture moves the others; they are read by their numbers, and named.
    write(root / "0" / "00.ppm", np.full((7, 8, 3), 86, np.uint8))
    found = [reproduce(line, augmented(root)) for line in lines]
    assert not any(one.reproduced for one in found)
    assert 'the data set of `readers.file` was {"files": 11,' in str(found[0])
    assert 'and is {"files": 12,' in str(found[0])


def test_files_that_are_gone_or_repaired(photos: Path, tmp_path: Path) -> None:
    root = tmp_path / "copy"
    shutil.copytree(photos, root)
    lines = [one.line() for one in receipts_of(augmented(root, with_receipt=True), 3)]
    again = augmented(root)
    makers = [Reproducer(again), Reproducer(again)]
    assert all(makers[0].reproduce(line).reproduced for line in lines)
    write(root / "1" / "bad.ppm", np.full((7, 8, 3), 86, np.uint8))
    bad = [one for one in map(makers[0].reproduce, lines) if not one.reproduced]
    assert len(bad) == 1
    assert "bad.ppm" in str(bad[0])
    assert "output 0: samples was 3, and is 4" in str(bad[0])
    (root / "0" / "2.ppm").unlink()
    assert any("2.ppm" in str(one) for one in map(makers[0].reproduce, lines))
    # A new list of files has no such file.
    moved = [*map(makers[1].reproduce, lines)]
    assert not any(one.reproduced for one in moved)
    assert any("was 2.ppm, and is " in str(one) for one in moved)


def test_another_version_is_named(photos: Path) -> None:
    receipt = receipts_of(augmented(photos, with_receipt=True), 1)[0]
    made_by = {**receipt.made_by, "gradiva": "0.0.1", "libraries": {"numpy": "1.0"}}
    found = reproduce(Receipt.of(receipt.batch, made_by).line(), augmented(photos))
    assert found.reproduced  # the bits are the same all the same
    assert f"version: gradiva was 0.0.1, and is {receipt.made_by['gradiva']}" in str(found)
    assert "version: numpy was 1.0, and is " in str(found)
    batch = {**receipt.batch, "outputs": [dict(one) for one in receipt.batch["outputs"]]}
    batch["outputs"][1]["digest"] = "0" * 64
    found = reproduce(Receipt.of(batch, made_by).line(), augmented(photos))
    assert not found.reproduced
    assert "gradiva was 0.0.1" in str(found)
    assert kinds(found.findings) == ["outputs"]
    found = reproduce(Receipt.of(batch, receipt.made_by).line(), augmented(photos))
    assert kinds(found.findings, harmless=True) == ["outputs"]


def test_edited_and_senseless_receipts(photos: Path) -> None:
    receipt = receipts_of(augmented(photos, with_receipt=True), 1)[0]
    said = json.loads(receipt.line())
    said["made_by"]["gradiva"] = "0.0.1"
    found = reproduce(json.dumps(said), augmented(photos))
    assert kinds(found.findings) == ["receipt"]
    assert "gradiva was 0.0.1" in str(found)
    source = dict(receipt.batch["sources"][0])
    for name, value in (
        ("sources", []),
        ("sources", [{**source, "indices": [0]}]),
        ("sources", [{**source, "positions": None}]),
        ("sources", [{**source, "identities": ["00"]}]),
        ("graph", {"operators": [1], "outputs": []}),
        ("outputs", [1, 2]),
    ):
        line = Receipt.of({**receipt.batch, name: value}, receipt.made_by).line()
        with pytest.raises(ReceiptError, match="receipt"):
            reproduce(line, augmented(photos))
    far = [{**source, "indices": [2**40] * len(source["indices"])}]
    found = reproduce(Receipt.of({**receipt.batch, "sources": far}, {}).line(), augmented(photos))
    assert kinds(found.findings) == ["file"]
    assert "the data set has no such sample" in str(found)


def test_the_code_of_a_function_is_named(photos: Path) -> None:
    def made(function: Callable[[Any], Any]) -> Pipeline:
        @pipeline_def(batch_size=2, num_threads=1, seed=1)
        def doubled() -> Any:
            files, _ = fn.readers.file(file_root=str(photos))
            return fn.python_function(files, function=function)

        pipe: Pipeline = doubled(with_receipt=True)
        return pipe

    def work(array: Any) -> Any:
        return array[:5] + 1

    pipe = made(work)
    pipe.run()
    assert reproduce(pipe.receipt(), made(work)).reproduced

    def work(array: Any) -> Any:  # type: ignore[no-redef]
        return array[:5] + 2

    found = reproduce(pipe.receipt(), made(work))
    assert not found.reproduced
    assert "argument: the code of the function `" in str(found)


def test_errors(photos: Path) -> None:
    pipe = augmented(photos)
    with pytest.raises(gradiva.OperatorRuntimeError, match="without with_receipt=True"):
        pipe.receipt()
    pipe = augmented(photos, with_receipt=True)
    with pytest.raises(gradiva.OperatorRuntimeError, match="there is no batch yet"):
        pipe.receipt()
    with pytest.raises(gradiva.OperatorTypeError, match="with_receipt"):
        augmented(photos, with_receipt="yes")
    with pytest.raises(gradiva.OperatorRuntimeError, match="debug mode"):
        augmented(photos, with_receipt=True, debug=True)
    receipt = receipts_of(pipe, 1)[0]
    with pytest.raises(gradiva.OperatorTypeError, match="a pipeline, not in debug mode"):
        reproduce(receipt, augmented)  # type: ignore[arg-type]
    with pytest.raises(gradiva.OperatorTypeError, match="a pipeline, not in debug mode"):
        reproduce(receipt, augmented(photos, debug=True))
    with pytest.raises(ReceiptError):
        reproduce("{}", augmented(photos))


def test_digest_of_a_run(photos: Path) -> None:
    wanted = augmented(photos).digest(batches=4)
    assert len(wanted) == 64
    for options in ({"num_threads": 1}, {"exec_async": False}, {"with_receipt": True}):
        assert augmented(photos, **options).digest(4) == wanted
    assert augmented(photos).digest(5) != wanted
    assert augmented(photos, size=13).digest(4) != wanted
    assert augmented(photos, seed=4).digest(4) != wanted
    pipe = augmented(photos)
    pipe.run()
    assert pipe.digest(4) != wanted
    for count in (0, -1, 1.5, None, True):
        with pytest.raises((gradiva.OperatorTypeError, gradiva.OperatorValueError)):
            pipe.digest(count)  # type: ignore[arg-type]


def test_the_digest_ends_with_the_data() -> None:
    @pipeline_def(batch_size=2, num_threads=1)
    def numbers() -> Any:
        return fn.external_source(source=Numbers(), cycle="raise")

    pipe = numbers()
    assert pipe.digest(3) == numbers().digest(100)
    assert len([*numbers()]) == 3


@pytest.mark.full
def test_a_thousand_receipts(tmp_path: Path) -> None:
    many_receipts.make(tmp_path, 1000)
    assert many_receipts.check(tmp_path) == 1000


@pytest.mark.full
def test_receipts_of_some_kinds_of_pipelines(tmp_path: Path) -> None:
    many_receipts.make(tmp_path, 24)
    assert many_receipts.check(tmp_path) == 24
