"""Any part of an epoch, with the bits of a pipeline that runs through it."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def, types
from gradiva.capture.graph import fingerprint
from gradiva.capture.iterators.iterator import LastBatchPolicy
from gradiva.capture.iterators.iterator_options import FACTS
from gradiva.ops.readers.core.source import EpochPart
from gradiva.ops.readers.sharding.shard_schedule import EpochPosition, ShardSchedule
from gradiva.plugin.numpy import DALIRaggedIterator
from gradiva.plugin.ray.batch_producer import BatchProducer
from gradiva.receipts import Reproducer

SIZE = 7


@pytest.fixture
def folder(tmp_path: Path) -> str:
    for number in range(SIZE):
        np.save(tmp_path / f"{number}.npy", np.full((2, number % 3 + 1), number, np.uint8))
    return str(tmp_path)


def piped(folder: str, batch_size: int = 3, with_receipt: bool | None = None, **reader: Any) -> Any:
    @pipeline_def(batch_size=batch_size, num_threads=2, seed=5, with_receipt=with_receipt)
    def pipe() -> Any:
        arrays = fn.readers.numpy(file_root=folder, random_shuffle=True, name="arrays", **reader)
        noise = fn.random.uniform(range=(0, 1))
        return fn.cast(arrays, dtype=types.FLOAT) + noise, noise

    return pipe()


def bytes_of(made: Any) -> list[list[bytes]]:
    return [[array.tobytes() for array in batch.arrays()] for batch in made.batches()]


@pytest.mark.core
@pytest.mark.parametrize("policy", [LastBatchPolicy.FILL, LastBatchPolicy.PARTIAL])
def test_the_bits_of_a_pipeline(folder: str, policy: LastBatchPolicy) -> None:
    """Of two epochs, made in the reverse order; ragged batches, repeats and random values too."""
    with piped(folder, pad_last_batch=True) as pipe:
        names = ["arrays", "noise"]
        loop = DALIRaggedIterator(pipe, names, reader_name="arrays", last_batch_policy=policy)
        wanted = {
            (epoch, step): [[array.tobytes() for array in batch[name]] for name in names]
            for epoch in range(2)
            for step, (batch,) in enumerate(loop)
        }
    producer, schedule = BatchProducer(piped(folder)), ShardSchedule(3, 1, policy)
    try:
        assert producer.facts().length == producer.length(1) == SIZE
        assert len(wanted) == 2 * schedule.steps(SIZE)
        for (epoch, step), found in reversed(wanted.items()):
            made = producer.make(
                schedule.part(EpochPosition(epoch, 0, step), 0, SIZE), producer.facts().digest
            )
            assert bytes_of(made) == found
            assert made.names is not None
            assert all(name.endswith(".npy") for name in made.names)
    finally:
        producer.close()


@pytest.mark.core
def test_receipts(folder: str) -> None:
    """A loader says what it has made a batch from, also after the way to the trainer."""
    producer = BatchProducer(piped(folder, with_receipt=True))
    again = Reproducer(piped(folder))
    try:
        for start in (0, 3, 6):
            made = pickle.loads(pickle.dumps(producer.make(EpochPart(1, start, start + 3))))
            receipt = FACTS["@receipt"](made.batches())
            assert receipt.batch["epoch"] == 1
            found = again.reproduce(receipt)
            assert found.reproduced, found
            assert found.outputs is not None
            outputs = [[array.tobytes() for array in batch.arrays()] for batch in found.outputs]
            assert outputs == bytes_of(made)
    finally:
        producer.close()


def test_an_empty_batch(folder: str) -> None:
    producer = BatchProducer(piped(folder))
    made = producer.make(EpochPart(0, 3, 3))
    assert [len(batch) for batch in made.batches()] == [0, 0]
    assert made.samples == 0
    producer.close()


def test_errors_travel(folder: str) -> None:
    """A damaged file is the error of its batch, or it is left out and noted."""
    damaged = Path(folder) / "3.npy"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    producer = BatchProducer(piped(folder))
    sent = pickle.dumps(producer.make(EpochPart(0, 0, SIZE)))
    with pytest.raises(gradiva.GradivaError, match=r"at .*test_batch_producer\.py(.|\n)*3\.npy"):
        pickle.loads(sent).batches()
    producer.close()
    producer = BatchProducer(piped(folder, on_error="skip"))
    made = producer.make(EpochPart(0, 0, SIZE))
    assert made.samples == SIZE - 1
    assert [len(batch) for batch in made.batches()] == [SIZE - 1] * 2
    (entry,) = made.noted
    assert str(entry.file).endswith("3.npy")
    producer.close()


def test_other_data_are_refused(folder: str) -> None:
    producer = BatchProducer(piped(folder))
    made = producer.make(EpochPart(0, 0, 2), "0" * 32)
    with pytest.raises(gradiva.OperatorRuntimeError, match="another graph or other data"):
        made.batches()
    producer.close()


def test_other_versions_of_libraries_are_other_data(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elementary functions of float64 depend on NumPy's version and on the CPU."""

    def facts(double: bool, version: str) -> str:
        @pipeline_def(batch_size=SIZE, num_threads=1)
        def counted() -> Any:
            data = fn.readers.numpy(file_root=folder)
            return gradiva.math.exp(fn.cast(data, dtype=types.FLOAT64 if double else types.FLOAT))

        monkeypatch.setattr(fingerprint, "_numpy_target", lambda: version)
        fingerprint._version.cache_clear()
        producer = BatchProducer(counted())
        try:
            return producer.facts().digest
        finally:
            producer.close()
            fingerprint._version.cache_clear()

    assert facts(False, "one") == facts(False, "two")
    assert facts(True, "one") == facts(True, "one")
    assert facts(True, "one") != facts(True, "two")


def test_what_cannot_be_made(folder: str) -> None:
    @pipeline_def(batch_size=2, num_threads=1)
    def fed() -> Any:
        return fn.external_source(lambda: [np.zeros(1)] * 2)

    @pipeline_def(batch_size=2, num_threads=1)
    def random() -> Any:
        return fn.random.uniform(range=(0, 1))

    @pipeline_def(batch_size=2, num_threads=1)
    def two() -> Any:
        one = fn.readers.numpy(files=[f"{folder}/0.npy"])
        return one, fn.readers.numpy(file_root=folder)

    refused: list[tuple[Any, str]] = [
        (fed(), "only readers know"),
        (random(), "loaders need a reader"),
        (two(), "equally many samples, got readers.numpy with 1, readers.numpy with 7"),
        (piped(folder, num_shards=2, shard_id=1), "leave `num_shards` out"),
        (piped(folder, bucket=gradiva.samplers.Bucket(key="bytes")), "no buckets"),
        (None, "expected a pipeline"),
    ]
    for pipe, said in refused:
        with pytest.raises(gradiva.GradivaError, match=said):
            BatchProducer(pipe)
        if pipe is not None:
            pipe.close()
