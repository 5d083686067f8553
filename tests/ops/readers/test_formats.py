"""What holds for the readers of all formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import pipeline_def
from gradiva.eager.execution.quarantine import Quarantine
from gradiva.ops.readers.table_source import table_openers
from gradiva.samplers import Bucket
from tests.tiers import few

from .formats import FORMATS, Format, read_epoch, values

SIZE = 9
WITHOUT_SIZES = (
    gradiva.experimental.readers.Video,
    gradiva.readers.NemoAsr,
    gradiva.readers.Video,
    gradiva.readers.VideoResize,
)
"""Readers that do not know how many bytes a sample has."""


@pytest.fixture(params=sorted(FORMATS))
def kind(request: pytest.FixtureRequest) -> Format:
    return FORMATS[request.param]


@pytest.fixture
def data(kind: Format, tmp_path: Path) -> dict[str, Any]:
    return kind.write(tmp_path, SIZE)


def piped(kind: Format, arguments: dict[str, Any], **options: Any) -> Any:
    def pipe() -> Any:
        return values(kind.function(name="reader", **arguments))

    settings = {"batch_size": 4, "num_threads": 2, "seed": 7, "device_id": None, **options}
    return pipeline_def(pipe)(**settings)


def samples_of(outputs: Any) -> list[list[bytes]]:
    return [[batch.at(sample).tobytes() for batch in outputs] for sample in range(len(outputs[0]))]


def test_both_modes(kind: Format, data: dict[str, Any]) -> None:
    """Each sample once, in its order; the same without an index."""
    expected = read_epoch(kind.reader(**data), SIZE)
    assert len(expected) == len({tuple(sample) for sample in expected}) == SIZE
    assert read_epoch(kind.reader(**data), 2) == expected
    with piped(kind, data) as pipe:
        found = [sample for _ in range(3) for sample in samples_of(pipe.run())]
        assert pipe.reader_meta("reader")["epoch_size"] == SIZE
    assert found[:SIZE] == expected
    assert found[SIZE:] == expected[: len(found) - SIZE]
    if kind.indexed is not None:
        scanned = {name: value for name, value in data.items() if name != kind.indexed}
        assert read_epoch(kind.reader(**scanned), 4) == expected


@pytest.mark.parametrize("stop", few(range(5), 1))
def test_resumed_at_each_batch(kind: Format, data: dict[str, Any], stop: int) -> None:
    options = {"enable_checkpointing": True, "num_threads": 1}
    arguments = {**data, "random_shuffle": True, "pad_last_batch": True}
    with piped(kind, arguments, **options) as pipe:
        for _ in range(stop):
            pipe.run()
        saved = pipe.checkpoint()
        rest = [samples_of(pipe.run()) for _ in range(6)]
    with piped(kind, arguments, **options, checkpoint=saved) as pipe:
        assert [samples_of(pipe.run()) for _ in range(6)] == rest
    reader, other = (kind.reader(**arguments, seed=3) for _ in range(2))
    for _, _outputs in zip(range(stop), reader.next_epoch(batch_size=2), strict=False):
        pass
    other.set_state(reader.get_state())
    assert read_epoch(other, 2) == read_epoch(reader, 2)


def test_any_threads_batch_size_and_queue(kind: Format, data: dict[str, Any]) -> None:
    streams = []
    for batch_size, num_threads, depth in ((1, 1, 1), (3, 2, 2), (6, 3, 1)):
        options = {"batch_size": batch_size, "num_threads": num_threads}
        with piped(
            kind, {**data, "random_shuffle": True}, **options, prefetch_queue_depth=depth
        ) as p:
            streams.append([s for _ in range(18 // batch_size) for s in samples_of(p.run())])
    assert streams[0] == streams[1] == streams[2]
    assert sorted(streams[0][:SIZE]) == sorted(streams[0][SIZE:])
    assert streams[0][:SIZE] != streams[0][SIZE:]


def test_shards_make_up_the_whole(kind: Format, data: dict[str, Any]) -> None:
    shuffled = {**data, "random_shuffle": True, "seed": 5}
    whole = read_epoch(kind.reader(**shuffled), 4)
    shards = [kind.reader(**shuffled, num_shards=3, shard_id=shard) for shard in range(3)]
    assert [sample for reader in shards for sample in read_epoch(reader, 2)] == whole


def test_samples_know_where_they_come_from(kind: Format, data: dict[str, Any]) -> None:
    (outputs,) = kind.reader(**data).next_epoch(batch_size=SIZE)
    for batch in values(outputs):
        names = batch.source_info()
        assert len(set(names)) == SIZE
        np.testing.assert_array_equal(batch.positions, np.arange(SIZE))


def test_read_ahead(kind: Format, data: dict[str, Any]) -> None:
    ahead = kind.reader(**data, read_ahead=True, prefetch_queue_depth=3)
    assert read_epoch(ahead, 2) == read_epoch(kind.reader(**data), 2)


def test_lazy_init(kind: Format, data: dict[str, Any], tmp_path: Path) -> None:
    reader = kind.reader(**data, lazy_init=True)
    kind.write(tmp_path, 5)
    assert reader.get_metadata()["epoch_size"] == 5


def test_a_file_that_changed(kind: Format, data: dict[str, Any], tmp_path: Path) -> None:
    reader, skipping = kind.reader(**data), kind.reader(**data, on_error="skip")
    for path in tmp_path.glob(kind.files):
        if kind.checked:
            path.write_bytes(path.read_bytes()[:-3])
        else:
            path.unlink()
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"sample \d, file .*data"):
        list(reader.next_epoch(batch_size=SIZE))
    with Quarantine(warns=False) as bad:
        (outputs,) = skipping.next_epoch(batch_size=SIZE)
    assert bad.total == SIZE
    assert {len(batch) for batch in values(outputs)} == {0}


@pytest.mark.parametrize("refused", [{"path": []}, {"stick_to_shard": True}, {"num_shards": 99}])
def test_refusals(kind: Format, data: dict[str, Any], refused: dict[str, Any]) -> None:
    if "path" in refused and "path" not in data:
        return
    with pytest.raises(gradiva.OperatorValueError):
        kind.reader(**{**data, "shuffle_after_epoch": True, **refused})


@pytest.mark.full
@pytest.mark.parametrize(
    "container", ["caffe", "caffe2", "mxnet", "tfrecord", "webdataset", "file"]
)
def test_a_sorted_data_set_is_well_mixed(container: str, tmp_path: Path) -> None:
    """Twenty classes, one after the other, of 20,000 samples: each batch has nearly all."""
    if container == "file":
        for label in range(20):
            (tmp_path / f"{label:02}").mkdir()
            for number in range(1000):
                (tmp_path / f"{label:02}" / f"{number:04}.jpg").touch()
        reader: Any = gradiva.readers.File(file_root=tmp_path, random_shuffle=True)
    else:
        made = FORMATS[container]
        reader = made.reader(**made.write(tmp_path, 20_000), random_shuffle=True)
    for outputs in reader.next_epoch(batch_size=256):
        batch = values(outputs)[0]
        if len(batch) == 256:
            assert len(np.unique(batch.indices // 1000)) >= 18


def test_buckets_by_bytes(kind: Format, data: dict[str, Any]) -> None:
    """Files and containers know sizes; each sample comes once."""
    arguments = {**data, "bucket": Bucket(max_batch=2), "random_shuffle": True}
    if kind.reader in WITHOUT_SIZES:
        with pytest.raises(gradiva.OperatorValueError, match=r"`key`: .*got 'bytes'"):
            kind.reader(**arguments)
        return
    found = read_epoch(kind.reader(**arguments), 4)
    assert sorted(found) == sorted(read_epoch(kind.reader(**data), 4))
    (outputs,) = kind.reader(**{**data, "bucket": Bucket()}).next_epoch(batch_size=SIZE)
    by_size = values(outputs)[0].indices
    reader = kind.reader(**data)
    sizes = table_openers[reader.operator.name](reader.operator.attributes(data)).sizes()
    assert sizes is not None
    assert (np.diff(sizes[by_size]) >= 0).all()


def test_numbers_of_samples(kind: Format, data: dict[str, Any]) -> None:
    """As an output, and known of each batch."""
    plain = read_epoch(kind.reader(**data), SIZE)
    reader = kind.reader(**data, random_shuffle=True, with_index=True)
    for outputs in reader.next_epoch(batch_size=4):
        *columns, index = values(outputs)
        assert not isinstance(outputs, dict) or list(outputs)[-1] == "@index"
        numbers = index.as_array().ravel().tolist()
        assert numbers == columns[0].indices.tolist()
        for place, number in enumerate(numbers):
            assert [batch.array(place).tobytes() for batch in columns] == plain[number]
    with piped(kind, {**data, "with_index": True}) as pipe:
        assert pipe.run()[-1].as_array().ravel().tolist() == [0, 1, 2, 3]
