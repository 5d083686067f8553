"""`loop.receipt`: the receipt of a captured loop is that of a pipeline with the same calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def
from gradiva.capture.iterators.iterator import LastBatchPolicy, PipelineIterator
from gradiva.receipts import Reproducer

pytestmark = [
    pytest.mark.core,
    pytest.mark.filterwarnings("ignore:samples that cannot be read are left out or replaced"),
]

WEIGHTS = np.array([0.5, 2.0, 1.0], np.float32)


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("photos")
    for number in range(7):
        pixels = np.full((6 + number % 3, 8, 3), 20 * number + 5, np.uint8)
        head = f"P6 {pixels.shape[1]} {pixels.shape[0]} 255\n".encode()
        path = folder / f"{number % 2}" / f"{number}.ppm"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(head + pixels.tobytes())
    (folder / "1" / "bad.ppm").write_bytes(b"P6 8 8 255\n no")
    return str(folder)


def augment(files: Any, labels: Any) -> Any:
    """For a pipeline and for the body of a loop."""
    images = fn.resize(fn.decoders.image(files, on_error="replace"), size=(5, 6))
    images = fn.brightness(images, brightness=fn.random.uniform(range=[0.5, 1.5]))
    images = fn.flip(images, horizontal=fn.random.coin_flip(seed=3))
    images = fn.contrast(images, contrast=gradiva.schedule({0: 0.5, 5: 1.5}, per="step"))
    return fn.cast(images, dtype=gradiva.float32) * WEIGHTS, labels


@pipeline_def(batch_size=3, num_threads=1)
def training(root: str) -> Any:
    return augment(*fn.readers.file(file_root=root, random_shuffle=True, name="photos"))


def in_dynamic_mode(files: Any, labels: Any) -> Any:
    images = gradiva.resize(gradiva.decoders.image(files, on_error="replace"), size=(5, 6))
    images = gradiva.brightness(images, brightness=fn.random.uniform(range=[0.5, 1.5]))
    images = gradiva.flip(images, horizontal=fn.random.coin_flip(seed=3))
    images = gradiva.contrast(images, contrast=gradiva.schedule({0: 0.5, 5: 1.5}, per="step"))
    return gradiva.cast(images, dtype=gradiva.float32) * WEIGHTS, labels


def reader_of(photos: str, **arguments: Any) -> Any:
    return gradiva.readers.File(file_root=photos, **arguments)


def test_receipts_are_those_of_a_pipeline(photos: str) -> None:
    names = ["images", "labels", "@receipt"]
    turns = PipelineIterator(
        training(photos, with_receipt=True),
        names,
        reader_name="photos",
        last_batch_policy=LastBatchPolicy.PARTIAL,
        auto_reset=True,
    )
    reader = reader_of(photos, random_shuffle=True, name="photos")
    again = Reproducer(training(photos))
    for epoch in range(3):
        wanted = [turn[0]["@receipt"] for turn in turns]
        loop: Any = reader.next_epoch(batch_size=3, capture=True)
        found = []
        for batch in loop:
            images, labels = in_dynamic_mode(*batch)
            receipt = loop.receipt(images, labels)
            assert receipt == loop.receipt(images, labels)
            made = again.reproduce(receipt.line())
            assert made.reproduced, made
            assert made.outputs is not None
            assert made.outputs[0].as_array().tolist() == images.as_array().tolist()
            found.append(receipt)
        assert found == wanted, epoch


def test_values_that_were_read_before(photos: str) -> None:
    """Of a value inside of a fused group, too, whose call has run."""
    found: list[list[bytes]] = []
    for read_first in (False, True):
        reader = reader_of(photos, on_error="skip")
        found.append([])
        for _ in range(2):
            loop: Any = reader.next_epoch(batch_size=4, capture=True)
            for files, _ in loop:
                images = gradiva.resize(gradiva.decoders.image(files, on_error="skip"), size=(4, 4))
                flipped = gradiva.flip(images)
                if read_first:
                    assert images.as_array().shape[1:] == (4, 4, 3)
                    flipped.as_array()
                found[-1] += [loop.receipt(images), loop.receipt(flipped, images)]
    assert found[0] == found[1]
    assert len(set(found[0])) == len(found[0])


def test_options(photos: str) -> None:
    loop: Any = reader_of(photos).next_epoch(batch_size=4, capture=True)
    for files, labels in loop:
        receipt = loop.receipt(files, data="stat")
        assert "0.ppm" in receipt.batch["sources"][0]["identities"][0]
        assert len(loop.receipt(labels)) == 32
        with pytest.raises(gradiva.OperatorValueError, match="'contents', 'stat'"):
            loop.receipt(files, data="none")
        break


def test_what_has_no_receipt(photos: str) -> None:
    other = gradiva.as_batch(np.ones((4, 1), np.int32))
    loop: Any = reader_of(photos).next_epoch(batch_size=4, capture=True)
    with pytest.raises(gradiva.OperatorRuntimeError, match="there is no batch"):
        loop.receipt()
    for files, labels in loop:
        with pytest.raises(gradiva.OperatorTypeError, match="has not delivered in this step"):
            loop.receipt(labels + other)
        for values in ((other,), (np.ones(3),), (files, np.ones(4)), (labels.select(0),)):
            with pytest.raises(gradiva.OperatorTypeError, match="receipts are of batches"):
                loop.receipt(*values)
        with pytest.raises(gradiva.OperatorTypeError, match="the receipt of which values"):
            loop.receipt()
        break
    before = labels
    for files, _ in loop:
        with pytest.raises(gradiva.OperatorTypeError, match="receipts are of batches"):
            loop.receipt(files, before)
        break
    with pytest.raises(AttributeError, match="captured loops have it"):
        reader_of(photos).next_epoch(batch_size=4).receipt()
    source = gradiva.ExternalSource(lambda: [np.ones(2)] * 3)
    captured: Any = source.captured(3)
    values = next(captured)
    with pytest.raises(gradiva.OperatorTypeError, match="only loops over readers"):
        captured.receipt(values)
    captured.close()


def test_a_value_that_may_have_been_changed(photos: str) -> None:
    loop: Any = reader_of(photos, on_error="skip").next_epoch(batch_size=4, capture=True)
    for _, labels in loop:
        doubled = labels * 2
        doubled.as_array()[:] = 7
        with pytest.raises(gradiva.OperatorTypeError, match="may have been changed"):
            loop.receipt(doubled + 1)
        break
