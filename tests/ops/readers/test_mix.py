"""Several readers as one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, ops, pipeline_def
from gradiva.ops.readers import mixed_order
from gradiva.ops.readers.sampling.draws import uniforms
from gradiva.samplers import PK, Bucket, Weighted
from tests.tiers import few

from .formats import FORMATS, read_epoch, values


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """30 files in a, whose bytes are 0 to 29, and 10 in b, with bytes from 30 on."""
    root = tmp_path_factory.mktemp("mixed")
    for name, first, count in (("a", 0, 30), ("b", 30, 10)):
        (root / name / "0").mkdir(parents=True)
        for number in range(first, first + count):
            data = bytes([number]) * (1 + number % 7)
            (root / name / "0" / f"{number:03}.jpg").write_bytes(data)
    return root


def parts(folder: Path, **arguments: Any) -> list[Any]:
    made = gradiva.readers.File
    return [
        made(file_root=folder / "a", random_shuffle=True),
        made(file_root=folder / "b", **arguments),
    ]


def mixed(folder: Path, **arguments: Any) -> Any:
    return gradiva.readers.mix(parts(folder), seed=3, **arguments)


def epoch_of(reader: Any, batch_size: int = 7) -> list[tuple[int, int]]:
    """Numbers of samples, and positions."""
    found = []
    for files, *_ in reader.next_epoch(batch_size=batch_size):
        numbers = [int(sample[0]) for sample in files.arrays()]
        assert numbers == files.indices.tolist()
        found += list(zip(numbers, files.positions.tolist(), strict=True))
    return found


STOPS = ("first", "all", "cycle", 25)


@pytest.mark.parametrize("stop", STOPS)
def test_where_an_epoch_ends(folder: Path, stop: Any) -> None:
    reader = mixed(folder, weights=[0.6, 0.4], stop=stop)
    epochs = [[number for number, _ in epoch_of(reader)] for _ in range(6)]
    for drawn in epochs:
        counts = np.bincount(drawn, minlength=40)
        if stop == "first":
            ends = counts[:30].min() == 1 or counts[30:].min() == 1
            assert ends
            assert counts.max() == 1
        elif stop == "all":
            assert counts.min() >= 1
        else:
            assert len(drawn) == (40 if stop == "cycle" else 25)
    stream = [number for drawn in epochs for number in drawn]
    own = [number for number in stream if number >= 30]
    if stop in ("cycle", 25):  # b is not shuffled, and goes on where it was
        assert own == [30 + place % 10 for place in range(len(own))]
        first = [number for number in stream if number < 30]
        assert sorted(first[:30]) == sorted(first[30:60]) == list(range(30))
        assert first[:30] != first[30:60]
    assert 0.3 < len(own) / len(stream) < 0.5


@pytest.mark.parametrize("stop", STOPS)
def test_any_batch_size_place_and_shard(folder: Path, stop: Any) -> None:
    def make(**arguments: Any) -> Any:
        return mixed(folder, stop=stop, weights=[2, 1], **arguments)

    reader = make()
    epochs = [epoch_of(reader) for _ in range(3)]
    positions = [position for drawn in epochs for _, position in drawn]
    assert len(set(positions)) == len(positions)
    other = make()
    assert [epoch_of(other, 3) for _ in range(3)] == epochs
    for batches in range(3):
        begun, resumed = make(), make()
        epoch_of(begun)
        loop = begun.next_epoch(batch_size=2)
        for _ in range(batches):
            next(loop)
        resumed.set_state(begun.get_state())
        assert epoch_of(resumed) == epochs[1][2 * batches :]
        assert epoch_of(resumed) == epochs[2]
    shards = [make(num_shards=3, shard_id=shard, stick_to_shard=True) for shard in range(3)]
    assert [one for shard in shards for one in epoch_of(shard)] == epochs[0]


def test_batches_from_one_reader(folder: Path) -> None:
    reader = mixed(folder, stop=60, per="batch", with_source=True)
    seen, sizes = set(), []
    for files, _, sources in reader.next_epoch(batch_size=8):
        (source,) = set(sources.as_array().ravel().tolist())
        assert (files.indices >= 30).tolist() == [source == 1] * len(files)
        seen.add(source)
        sizes.append(len(files))
    assert seen == {0, 1}
    assert sizes == [8] * 7 + [4]


def test_samplers_and_feedback_of_parts(folder: Path) -> None:
    heavy = Weighted(np.eye(10)[4])
    reader = gradiva.readers.mix(parts(folder, sampler=heavy), seed=1, with_index=True)
    drawn = [number for number, _ in epoch_of(reader)]
    assert {number for number in drawn if number >= 30} == {34}
    with pytest.raises(gradiva.OperatorValueError, match="no weights"):
        reader.feedback([0], [1.0])


def test_twice_the_same_data(folder: Path) -> None:
    """Readers without a seed of their own do not read in step."""
    twice = [parts(folder)[0], parts(folder)[0]]
    reader = gradiva.readers.mix(twice, stop=60)
    drawn = np.concatenate([files.indices for files, _ in reader.next_epoch(batch_size=9)])
    first, second = drawn[drawn < 30], drawn[drawn >= 30] - 30
    count = min(len(first), len(second), 10)
    assert first[:count].tolist() != second[:count].tolist()


@pytest.mark.core
def test_pipelines_and_captured_loops(folder: Path) -> None:
    @pipeline_def(batch_size=5, num_threads=2, seed=3, enable_checkpointing=True)
    def pipe() -> Any:
        files, _, source = fn.readers.mix(
            readers=[
                ops.readers.File(file_root=folder / "a", random_shuffle=True),
                ops.readers.File(file_root=folder / "b"),
            ],
            weights=[0.5, 0.5],
            stop="all",
            with_source=True,
        )
        return files, source, fn.random.uniform()

    def rows(outputs: Any) -> list[Any]:
        files, sources, noise = outputs
        numbers = [int(sample[0]) for sample in files.arrays()]
        assert sources.as_array().ravel().tolist() == [int(one >= 30) for one in numbers]
        return list(zip(numbers, files.positions.tolist(), noise.as_array().tolist(), strict=True))

    gradiva.random.set_seed(3)
    reader = mixed(folder, weights=[0.5, 0.5], stop="all", with_source=True)
    stream = []
    for capture in (False, True, False):
        for files, _, source in reader.next_epoch(batch_size=4, capture=capture):
            noise = gradiva.random.uniform(batch_size=files.batch_size)
            stream += rows((files, source, noise))
    with pipe() as made:
        found = [one for _ in range(4) for one in rows(made.run())]
        saved = made.checkpoint()
    with pipe(num_threads=1, checkpoint=saved) as made:
        while len(found) < len(stream):
            found += rows(made.run())
    assert found[: len(stream)] == stream


def test_buckets(folder: Path) -> None:
    reader = mixed(folder, stop="cycle", bucket=Bucket(tolerance=0.0))
    for files, _ in reader.next_epoch(batch_size=6):
        assert len({sample.size for sample in files.arrays()}) == 1


@pytest.mark.parametrize("kind", few(sorted(FORMATS), "tfrecord", "webdataset"))
def test_each_format(kind: str, tmp_path: Path) -> None:
    made = FORMATS[kind]
    folders = [tmp_path / "one", tmp_path / "two"]
    for path in folders:
        path.mkdir()
    data = [made.write(path, size) for path, size in zip(folders, (5, 3), strict=True)]
    readers = [made.reader(**arguments) for arguments in data]
    plain = [sample for reader in readers for sample in read_epoch(reader, 2)]
    mixture = gradiva.readers.mix(readers, stop="all", with_index=True, seed=2)
    for outputs in mixture.next_epoch(batch_size=4):
        *columns, index = values(outputs)
        for place, number in enumerate(index.as_array().ravel().tolist()):
            assert [batch.array(place).tobytes() for batch in columns] == plain[number]
            assert ("two" if number >= 5 else "one") in columns[0].source_info()[place]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": [1]}, "`weights`: .*each reader, 2, got 1"),
        ({"weights": [0, 0]}, "`weights`: .*got 2 zeros"),
        ({"weights": [1, float("nan")]}, "`weights`: .*got nan at 1"),
        ({"stop": "never"}, "`stop`: .*got 'never'"),
        ({"stop": 0}, "`stop`: .*got 0"),
        ({"stop": 1 << 62}, "`stop`: .*at most"),
        ({"weights": [1, 1e-300], "stop": "all"}, "`weights`: .*at most"),
        ({"weights": [1, 5e-324], "stop": "all"}, "`weights`: .*at most"),
        ({"per": "epoch"}, "`per`: .*got 'epoch'"),
        ({"num_shards": 50, "stop": 40}, "`num_shards`: 50 shards of 40 samples"),
    ],
)
def test_refusals(folder: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(gradiva.GradivaError, match=message):
        mixed(folder, **arguments)


def test_batches_that_are_larger_than_all(folder: Path) -> None:
    """Of one reader each: there is one, or an error."""
    reader = mixed(folder, per="batch", stop=40)
    (first, *_), *others = reader.next_epoch(batch_size=1 << 40)
    assert len(first) == 40
    assert not others
    with pytest.raises(gradiva.GradivaError, match="`batch_size`"):
        next(mixed(folder, per="batch", stop="all").next_epoch(batch_size=1 << 40))


def test_one_draw_for_each_batch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However large the batches are."""
    drawn: list[int] = []

    def counted(seed: int, epoch: int, purpose: int, first: int, count: int) -> Any:
        drawn.append(count)
        return uniforms(seed, epoch, purpose, first, count)

    monkeypatch.setattr(mixed_order, "uniforms", counted)
    for batch_size in (1 << 20, 1 << 40):
        reader = mixed(folder, per="batch", stop="first")
        (first, *_), *others = reader.next_epoch(batch_size=batch_size)
        assert len(first) in (10, 30)
        assert not others
    assert 0 < sum(drawn) < 10_000


def test_readers_that_do_not_go_together(folder: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(3))
    file = gradiva.readers.File(file_root=folder / "a")
    array = gradiva.readers.Numpy(file_root=tmp_path)
    shards = gradiva.readers.File(file_root=folder / "a", num_shards=2)
    groups = gradiva.readers.File(file_root=folder / "a", sampler=PK(1, 2))
    for readers, message in (
        ([], "`readers`: expected a list of at least one"),
        (file, "`readers`: expected a list"),
        ([file, 3], "`readers`: .*got int as reader 1"),
        ([file, array], "`readers`: .*2 outputs.*got 1 of reader 1, readers.numpy"),
        ([file, shards], "`num_shards` belongs to the mixture"),
        ([file, groups], "groups of this sampler apart"),
        ([file, mixed(folder)], "`readers`: expected readers of files, got readers.mix"),
    ):
        with pytest.raises(gradiva.GradivaError, match=message):
            gradiva.readers.mix(readers)  # type: ignore[arg-type]


def test_an_error_names_the_sample_of_the_batch(tmp_path: Path) -> None:
    """Its number, and not that among the samples of its own reader."""
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(name.encode())
    paths = [str(tmp_path / "a"), str(tmp_path / "b"), str(tmp_path / "missing")]
    made = gradiva.readers.File
    reader = gradiva.readers.mix(
        [made(files=paths[:2]), made(files=paths[2:])], seed=1, stop="all", weights=[0.9, 0.1]
    )
    with pytest.raises(gradiva.OperatorRuntimeError, match="cannot be read") as failure:
        next(reader.next_epoch(batch_size=64))
    sources = gradiva.readers.mix(
        [made(files=paths[:2]), made(files=paths[:1])],
        seed=1,
        stop="all",
        weights=[0.9, 0.1],
        with_source=True,
    )
    _, _, numbers = next(sources.next_epoch(batch_size=64))
    own = [int(one[0]) for one in numbers.arrays()].index(1)
    assert own > 0
    assert failure.value.sample == own


@pytest.mark.parametrize("stop", STOPS)
def test_weights_that_follow_a_schedule(folder: Path, stop: Any) -> None:
    """Each epoch is that of a mixture with the weights of the epoch, where it begins anew; also
    after resuming, in shards and in a pipeline."""
    share = gradiva.schedule({0: 0.9, 2: 0.1})
    weights = [share, 1 - share]
    reader = mixed(folder, weights=weights, stop=stop)
    found = [epoch_of(reader) for _ in range(4)]
    parts_of_b = [sum(number >= 30 for number, _ in one) / len(one) for one in found]
    assert parts_of_b[0] < 0.35 < 0.55 < parts_of_b[2]
    if isinstance(stop, str) and stop != "cycle":
        for epoch, by_hand in enumerate(([0.9, 0.1], [0.5, 0.5], [0.1, 0.9], [0.1, 0.9])):
            fixed = mixed(folder, weights=by_hand, stop=stop)
            assert [epoch_of(fixed) for _ in range(4)][epoch] == found[epoch]
    resumed = mixed(folder, weights=weights, stop=stop)
    place = mixed(folder, weights=weights, stop=stop)
    for _ in range(2):
        epoch_of(place)
    resumed.set_state(place.get_state())
    assert [epoch_of(resumed) for _ in range(2)] == found[2:]
    shards = [mixed(folder, weights=weights, stop=stop, num_shards=2, shard_id=k) for k in range(2)]
    for whole in found[:2]:
        assert sorted(pair for one in shards for pair in epoch_of(one)) == sorted(whole)
    assert epoch_of(mixed(folder, weights=weights, stop=stop), 3) == found[0]


def test_schedules_that_are_no_weights(folder: Path) -> None:
    three = gradiva.schedule({0: (1, 2, 3)})
    for weights, said in (
        (three, "a number for each reader, 2"),
        (gradiva.schedule({0: 1}), "a schedule by epochs"),
        (gradiva.schedule({0: (1, 2)}, per="step"), "a schedule by epochs"),
    ):
        with pytest.raises((gradiva.OperatorTypeError, gradiva.OperatorValueError), match=said):
            mixed(folder, weights=weights)
    ends = gradiva.schedule({0: (1, 1), 2: (-1, 1)})
    reader = mixed(folder, weights=ends)
    epoch_of(reader)
    epoch_of(reader)
    with pytest.raises(gradiva.OperatorValueError, match=r"in epoch 2"):
        epoch_of(reader)
    first = gradiva.readers.mix(parts(folder), weights=gradiva.schedule({0: (1, 2)}))
    with pytest.raises(gradiva.OperatorValueError, match="another mixture"):
        first.set_state(mixed(folder, weights=gradiva.schedule({0: (1, 3)})).get_state())


def test_mixtures_by_schedule_in_a_pipeline(folder: Path) -> None:
    weights = gradiva.schedule({0: (0.9, 0.1), 2: (0.1, 0.9)})
    reader = mixed(folder, weights=weights, stop="cycle")
    once = [one for _ in range(3) for one in epoch_of(reader, 4)]

    @pipeline_def(batch_size=4, num_threads=1, enable_checkpointing=True)
    def training(weights: Any) -> Any:
        made = [
            ops.readers.File(file_root=folder / name, random_shuffle=name == "a") for name in "ab"
        ]
        return fn.readers.mix(readers=made, weights=weights, stop="cycle", seed=3)[0]

    pipe = training(weights)
    found = [int(sample[0]) for _ in range(30) for sample in pipe.run()[0].arrays()]
    assert found == [number for number, _ in once]
    again = training(weights, checkpoint=pipe.checkpoint())
    again.build()
    with pytest.raises(gradiva.GradivaError, match="argument `weights` was schedule"):
        training(gradiva.schedule({0: (0.5, 0.5)}), checkpoint=pipe.checkpoint()).build()
