"""Buckets: batches of samples of about one size."""

from __future__ import annotations

import wave
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import fn, pipeline_def
from gradiva.ops.readers.core.cursor import Cursor
from gradiva.ops.readers.core.order import Shuffled
from gradiva.ops.readers.core.plan import ShardedPlan
from gradiva.ops.readers.sampling.sampling_arguments import buckets_of
from gradiva.samplers import Bucket
from tests.tiers import examples, few

SIZES = (np.arange(101) * 37 % 101 + 1).astype(float)


def plan_of(bucket: Bucket, sizes: Any = SIZES, shuffle: bool = True, **options: Any) -> Any:
    plan = ShardedPlan(len(sizes), 5, shuffle, order=Shuffled(len(sizes), 5, shuffle), **options)
    return buckets_of(bucket, plan, lambda _: sizes)


def batches_of(plan: Any, epoch: int, most: int = 16) -> list[list[int]]:
    cursor = Cursor(plan, epoch)
    found = []
    while True:
        try:
            found.append(cursor.take_in_epoch(most)[0].tolist())
        except StopIteration:
            return found


@settings(max_examples=examples(60), deadline=None)
@given(
    sizes=st.lists(st.integers(0, 50), min_size=4, max_size=60),
    shards=st.integers(1, 4),
    pad=st.booleans(),
    shuffle=st.booleans(),
    bucket=st.sampled_from(
        [
            {"max_tokens": 60},
            {"edges": [10, 20, 40], "max_batch": 5},
            {"tolerance": 0.2, "max_tokens": 100},
            {"window": 9},
        ]
    ),
)
def test_each_sample_once_within_the_budget(
    sizes: list[int], shards: int, pad: bool, shuffle: bool, bucket: dict[str, Any]
) -> None:
    held = np.array(sizes, float)
    plans = [
        plan_of(Bucket(**bucket), held, shuffle, num_shards=shards, shard_id=shard, pad=pad)
        for shard in range(shards)
    ]
    for epoch in range(2):
        parts = [batches_of(plan, epoch, 8) for plan in plans]
        own = [plan.indices(epoch, 0, plan.own_length(epoch)) for plan in plans]
        assert sorted(np.concatenate(own).tolist()) == list(range(len(sizes)))
        counts = [len(part) for part in parts]
        assert max(counts) - min(counts) <= (0 if pad else 1)
        assert [plan.batches(epoch, 8) for plan in plans] != []
        positions = np.concatenate([p.positions(epoch, 0, p.length(epoch)) for p in plans])
        assert len(np.unique(positions)) == len(positions)
        for batch in (batch for part in parts for batch in part):
            largest, least = held[batch].max(), held[batch].min()
            assert 0 < len(batch) <= bucket.get("max_batch", 8)
            if len(batch) > 1:
                assert len(batch) * largest <= bucket.get("max_tokens", np.inf)
                if "tolerance" in bucket:
                    assert largest <= least * (1 + bucket["tolerance"])
                edges = np.searchsorted(bucket.get("edges", []), held[batch])
                assert len(set(edges.tolist())) == 1


def test_little_padding_and_equal_steps() -> None:
    """Most of what a padded batch holds is data; shards have as much to do in each step."""
    sizes = np.random.default_rng(1).integers(1, 1000, 4000).astype(float)
    plans = [
        plan_of(Bucket(max_tokens=8000, window=2000), sizes, num_shards=4, shard_id=shard)
        for shard in range(4)
    ]
    parts = [batches_of(plan, 0, 1000) for plan in plans]
    held = sum(sizes[batch].sum() for part in parts for batch in part)
    padded = sum(len(batch) * sizes[batch].max() for part in parts for batch in part)
    assert held / padded > 0.95
    costs = np.array(
        [[len(batch) * sizes[batch].max() for batch in step] for step in zip(*parts, strict=True)]
    )
    ratios = costs.max(axis=1) / costs.min(axis=1)
    # In each window that whose batches were cut in two, and that with the last, smaller one.
    assert (ratios > 1.3).sum() <= 4
    means = [sizes[batch].mean() for batch in parts[0][:50]]
    assert np.abs(np.diff(means)).mean() > 100  # their order is random


@pytest.mark.parametrize("shards", [1, 3])
def test_any_place(shards: int) -> None:
    def make(seed: int = 5) -> Any:
        return plan_of(Bucket(max_tokens=300, window=40), num_shards=shards, pad=True)

    cursor = Cursor(make())
    for _ in range(60):
        other = Cursor(make())
        other.set_state(cursor.get_state())
        ahead, before = cursor.coming(70), cursor.get_state()
        assert cursor.get_state() == before
        taken = cursor.take(16)
        np.testing.assert_array_equal(other.take(16), taken)
        np.testing.assert_array_equal(ahead[: len(taken[0])], taken[0])
    assert cursor.epoch > 1


def test_positions_are_those_without_buckets() -> None:
    plain = ShardedPlan(101, 5, True)
    expected = dict(zip(plain.positions(2, 0, 101), plain.indices(2, 0, 101), strict=True))
    plan = plan_of(Bucket(max_tokens=300))
    assert dict(zip(plan.positions(2, 0, 101), plan.indices(2, 0, 101), strict=True)) == expected


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("bucketed")
    (root / "one").mkdir()
    for number in range(40):
        (root / "one" / f"{number:03}.jpg").write_bytes(bytes([number]) * (number * 17 % 40 + 1))
    return root


@pytest.mark.core
@pytest.mark.parametrize("capture", [False, True])
def test_loops(folder: Path, capture: bool) -> None:
    """Sizes of batches differ; a loop goes on where it was left; the next one has other batches."""
    bucket = Bucket(max_tokens=100)
    reader = gradiva.readers.File(file_root=folder, random_shuffle=True, bucket=bucket, seed=1)
    loop = reader.next_epoch(capture=capture)
    found = []
    for files, _ in loop:
        padded = gradiva.pad(files)
        assert padded.as_array().size <= 100
        found.append(files.indices.tolist())
        if len(found) == 4:
            loop.close()  # type: ignore[attr-defined]
            state = reader.get_state()
            break
    for files, _ in reader.next_epoch(capture=capture):
        found.append(files.indices.tolist())
    assert sorted(one for batch in found for one in batch) == list(range(40))
    assert len({len(batch) for batch in found}) > 3
    other = gradiva.readers.File(file_root=folder, random_shuffle=True, bucket=bucket)
    other.set_state(state)
    rest = [files.indices.tolist() for files, _ in other.next_epoch(capture=capture)]
    assert rest == found[4:]
    plain = gradiva.readers.File(file_root=folder, random_shuffle=True, seed=1)
    for at in ("reader", "loop"):
        given = bucket if at == "loop" else None
        again = (
            plain
            if given
            else gradiva.readers.File(file_root=folder, random_shuffle=True, seed=1, bucket=bucket)
        )
        assert [f.indices.tolist() for f, _ in again.next_epoch(bucket=given)] == found


def test_pipelines(folder: Path) -> None:
    @pipeline_def(batch_size=16, num_threads=2, seed=1, enable_checkpointing=True)
    def pipe() -> Any:
        files, _ = fn.readers.file(
            file_root=folder, random_shuffle=True, bucket=Bucket(edges=[10, 20], max_tokens=150)
        )
        return fn.pad(files)

    with pipe() as made:
        found = [made.run() for _ in range(3)]
        saved = made.checkpoint()
        found += [made.run() for _ in range(12)]
    batches: list[list[int]] = []
    for (batch,) in found:
        assert batch.indices is not None
        batches.append(batch.indices.tolist())
    assert len({len(batch) for batch in batches}) > 2
    with pipe(checkpoint=saved, num_threads=1) as made:
        for (expected,) in found[3:]:
            (batch,) = made.run()
            np.testing.assert_array_equal(batch.as_array(), expected.as_array())
            np.testing.assert_array_equal(batch.positions, expected.positions)
    reader = gradiva.readers.File(
        file_root=folder, random_shuffle=True, bucket=Bucket(edges=[10, 20], max_tokens=150), seed=1
    )
    looped = [files.indices.tolist() for files, _ in reader.next_epoch(batch_size=16)]
    assert batches[: len(looped)] == looped


def test_sizes_of_images(tmp_path: Path, photographs: Path) -> None:
    reader = gradiva.readers.File(
        file_root=photographs, bucket=Bucket("pixels", tolerance=0.0), random_shuffle=True
    )
    for files, _ in reader.next_epoch(batch_size=4):
        shapes = gradiva.peek_image_shape(files).as_array()[:, :2].prod(axis=1)
        assert len(set(shapes.tolist())) == 1


def test_read_ahead(folder: Path) -> None:
    made = [
        gradiva.readers.File(
            file_root=folder, bucket=Bucket(max_tokens=100), read_ahead=ahead, seed=1
        )
        for ahead in (True, False)
    ]
    for _ in range(2):
        ahead, plain = ([f.indices.tolist() for f, _ in one.next_epoch(8)] for one in made)
        assert ahead == plain


def test_other_batches_in_the_middle(folder: Path) -> None:
    bucket = Bucket(max_tokens=100)
    reader = gradiva.readers.File(file_root=folder, bucket=bucket)
    next(reader.next_epoch(batch_size=8))
    with pytest.raises(gradiva.OperatorValueError, match=r"`batch_size`: .*expected 8, got 4"):
        next(reader.next_epoch(batch_size=4))
    with pytest.raises(gradiva.OperatorValueError, match=r"`bucket`: an epoch goes on"):
        reader.next_epoch(batch_size=8, bucket=Bucket(max_tokens=50))
    (folder / "one" / "000.jpg").write_bytes(bytes(30))
    with pytest.raises(gradiva.OperatorValueError, match=r"`bucket`: .*other sizes"):
        gradiva.readers.File(file_root=folder, bucket=bucket).set_state(reader.get_state())
    (folder / "one" / "000.jpg").write_bytes(bytes(1))
    with pytest.raises(gradiva.OperatorValueError, match=r"`bucket`: .*other buckets"):
        gradiva.readers.File(file_root=folder, bucket=Bucket()).set_state(reader.get_state())
    with pytest.raises(gradiva.OperatorValueError, match=r"`bucket`: .*with buckets"):
        gradiva.readers.File(file_root=folder).set_state(reader.get_state())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"key": "weight"}, "^Bucket: argument `key`: expected 'bytes', .*got 'weight'"),
        ({"key": "duration"}, "`key`: .*: none of them is audio; .*got 'duration'"),
        ({"key": "pixels"}, "`key`: .*: none of them is an image; .*got 'pixels'"),
        ({"key": [1, 2]}, "`key`: .*each sample, 40, got 2"),
        ({"key": [1, np.nan]}, "`key`: .*got nan at 1"),
        ({"edges": [2, 1]}, "`edges`: expected increasing"),
        ({"edges": []}, "`edges`: .*at least one"),
        ({"edges": [1], "tolerance": 1}, "either `edges` or `tolerance`"),
        ({"tolerance": -1}, "`tolerance`: .*got -1"),
        ({"max_tokens": 0}, "`max_tokens`: .*got 0"),
        ({"max_tokens": "many"}, "`max_tokens`: .*got 'many'"),
        ({"max_batch": 0}, "`max_batch`: .*got 0"),
        ({"window": 1.5}, "`window`: .*got 1.5"),
    ],
)
def test_refusals(folder: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(gradiva.GradivaError, match=message):
        gradiva.readers.File(file_root=folder, bucket=Bucket(**arguments))


def test_no_bucket(folder: Path) -> None:
    for bucket, message in ((5, "a gradiva.samplers.Bucket, got 5"), (None, "buckets would take")):
        from gradiva.samplers import PK

        with pytest.raises(gradiva.GradivaError, match=message):
            gradiva.readers.File(
                file_root=folder, bucket=bucket or Bucket(), sampler=None if bucket else PK(1, 2)
            )
    with pytest.raises(gradiva.OperatorValueError, match=r"`batch_size`: nothing says how large"):
        gradiva.readers.File(file_root=folder).next_epoch(bucket=Bucket())


@pytest.mark.parametrize("policy", few(range(3), 0))
def test_iterators(folder: Path, policy: int) -> None:
    from gradiva.plugin.numpy import DALIRaggedIterator, LastBatchPolicy

    @pipeline_def(batch_size=16, num_threads=1, seed=1)
    def pipe() -> Any:
        bucket = Bucket(max_tokens=100)
        return fn.readers.file(file_root=folder, bucket=bucket, random_shuffle=True, name="files")

    names = ["files", "@path", "labels", "@index", "@position"]
    loop = DALIRaggedIterator(
        [pipe()], names, reader_name="files", last_batch_policy=LastBatchPolicy(policy)
    )
    for epoch in range(3):
        turns = iter(loop)
        length, seen = len(loop), []
        batches = [made for (made,) in turns]
        assert length == len(batches)
        for made in batches:
            assert list(made) == names
            seen += made["@index"].tolist()
            for path, index, data in zip(made["@path"], made["@index"], made["files"], strict=True):
                assert path.endswith(f"{index:03}.jpg")
                assert data[0] == index
            assert (made["@position"] // 40 == epoch).all()
        assert sorted(seen) == list(range(40))


def audio(folder: Path, seconds: list[float], rate: int = 8000) -> list[str]:
    paths = []
    for number, length in enumerate(seconds):
        path = folder / f"{number}.wav"
        with wave.open(str(path), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(rate * (1 + number % 2))  # bytes are no measure of the duration
            file.writeframes(bytes(2 * round(length * rate * (1 + number % 2))))
        paths.append(str(path))
    return paths


def durations_by_batch(reader: Any, batch_size: int | None = None) -> list[list[float]]:
    found = []
    for files, _labels in reader.next_epoch(batch_size=batch_size):
        lengths, _channels, rates = gradiva.peek_audio(files)
        found.append([a / b for a, b in zip(lengths.numpy(), rates.numpy(), strict=True)])
    return found


@pytest.mark.parametrize("container", ["folder", "files"])
def test_durations_of_audio_files(tmp_path: Path, container: str) -> None:
    (tmp_path / "a").mkdir()
    paths = audio(tmp_path / "a", [0.5, 0.1, 0.4, 0.2, 0.11, 0.45])
    given: Any = {"file_root": tmp_path} if container == "folder" else {"files": paths}
    bucket = Bucket(key="duration", max_tokens=1.0)
    found = durations_by_batch(gradiva.readers.File(**given, bucket=bucket))
    assert sorted(chain(*found)) == [0.1, 0.11, 0.2, 0.4, 0.45, 0.5]
    assert all(max(one) * len(one) <= 1.0 for one in found)
    edges = Bucket(key="duration", edges=[0.3])
    for one in durations_by_batch(gradiva.readers.File(**given, bucket=edges), 4):
        assert max(one) <= 0.3 or min(one) > 0.3

    @pipeline_def(batch_size=4, num_threads=1)
    def pipeline() -> Any:
        files, _labels = fn.readers.file(**given, bucket=edges)
        return fn.peek_audio(files)

    with pipeline() as pipe:
        for _ in range(3):
            lengths, _channels, rates = (one.numpy() for one in pipe.run())
            seconds = lengths / rates
            assert max(seconds) <= 0.3 or min(seconds) > 0.3


def test_durations_of_what_is_no_audio(tmp_path: Path) -> None:
    paths = audio(tmp_path, [0.5, 0.1])
    damaged = tmp_path / "2.wav"
    damaged.write_bytes(b"RIFF")
    bucket = Bucket(key="duration")
    reader = gradiva.readers.File(files=[*paths, str(damaged)], bucket=bucket)
    batches = [files.source_info() for files, _ in reader.next_epoch(batch_size=3)]
    assert sorted(chain(*batches)) == [*paths, str(damaged)]  # decoding it says why it is damaged
    for files in ([str(damaged)], [__file__]):
        with pytest.raises(ValueError, match=r"`key`: this reader does not know.*peek_audio"):
            gradiva.readers.File(files=files, bucket=bucket)
