"""Samplers: what an epoch has, in every mode, from any place on."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def
from gradiva.ops.readers.core.cursor import Cursor
from gradiva.ops.readers.core.plan import ShardedPlan
from gradiva.ops.readers.sampling.sampled_order import SampledOrder
from gradiva.plugin.numpy import DALIRaggedIterator, LastBatchPolicy
from gradiva.samplers import (
    PK,
    Balanced,
    Bucket,
    Function,
    Sampler,
    ShuffleBlocks,
    Subset,
    Weighted,
)
from tests.tiers import few

SIZE = 60
LABELS = np.repeat(np.arange(4), [5, 10, 15, 30])
WEIGHTS = np.arange(SIZE) % 7


def growing(epoch: int, generator: np.random.Generator) -> Any:
    """A curriculum: more of the data in each epoch."""
    return generator.permutation(min(20 + 10 * epoch, SIZE))[: 12 + epoch]


SAMPLERS: dict[str, Callable[[], Sampler]] = {
    "weighted": lambda: Weighted(WEIGHTS),
    "weighted without replacement": lambda: Weighted(WEIGHTS, replacement=False, epoch_size=40),
    "balanced": lambda: Balanced(epoch_size=45),
    "PK": lambda: PK(3, 4),
    "subset": lambda: Subset([3, 1, 4, 1, 5, 9, 2, 6]),
    "blocks": lambda: ShuffleBlocks(7, 2),
    "function": lambda: Function(growing),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file for each sample, which holds its number."""
    root = tmp_path_factory.mktemp("sampled")
    for label in range(4):
        (root / str(label)).mkdir()
    for number, label in enumerate(LABELS.tolist()):
        (root / str(label) / f"{number:03}.jpg").write_bytes(bytes([number]) * (1 + number))
    return root


def plan_of(sampler: Sampler, seed: int = 5, shuffle: bool = False, **options: Any) -> ShardedPlan:
    order = SampledOrder(sampler, SIZE, seed, shuffle, lambda: LABELS)
    return ShardedPlan(SIZE, seed, shuffle, order=order, **options)


def epoch_of(plan: ShardedPlan, epoch: int) -> list[int]:
    found: list[int] = plan.indices(epoch, 0, plan.length(epoch)).tolist()
    return found


@pytest.mark.parametrize("kind", SAMPLERS)
def test_pure_functions_of_seed_and_epoch(kind: str) -> None:
    make = SAMPLERS[kind]
    plan = plan_of(make(), shuffle=True)
    epochs = [epoch_of(plan, epoch) for epoch in (2, 0, 1)]
    fresh = plan_of(make(), shuffle=True)
    assert [epoch_of(fresh, epoch) for epoch in range(3)] == [epochs[1], epochs[2], epochs[0]]
    assert epochs[0] != epochs[1]
    assert epoch_of(plan_of(make(), seed=6, shuffle=True), 0) != epochs[1]
    np.testing.assert_array_equal(plan.indices(1, 3, 7), epochs[2][3:7])
    # Repeats of a sample have positions of their own.
    places = np.concatenate([plan.positions(epoch, 0, plan.length(epoch)) for epoch in range(3)])
    assert len(np.unique(places)) == len(places) == sum(map(len, epochs))
    np.testing.assert_array_equal(plan.indices_at(places[:5]), epochs[1][:5])
    again = pickle.loads(pickle.dumps(make()))
    assert again == make()
    assert hash(again) == hash(make())


@pytest.mark.parametrize("kind", SAMPLERS)
@pytest.mark.parametrize("shards", few(range(1, 5), 2))
def test_shards_make_up_the_whole(kind: str, shards: int) -> None:
    for pad in (False, True):
        whole = epoch_of(plan_of(SAMPLERS[kind]()), 1)
        parts = [
            plan_of(SAMPLERS[kind](), num_shards=shards, shard_id=one, stick_to_shard=True, pad=pad)
            for one in range(shards)
        ]
        own = [part.indices(1, 0, part.own_length(1)).tolist() for part in parts]
        assert [index for part in own for index in part] == whole
        lengths = {part.length(1) for part in parts}
        assert len(lengths) == 1 or (not pad and max(lengths) - min(lengths) <= parts[0].order.unit)
        places = [part.positions(1, 0, part.length(1) + 2) for part in parts if pad]
        if places:
            assert len(np.unique(np.concatenate(places))) == sum(map(len, places))


@pytest.mark.parametrize("kind", SAMPLERS)
def test_any_batch_size_and_any_place(kind: str) -> None:
    cursor = Cursor(plan_of(SAMPLERS[kind]()))
    stream = cursor.take(100)
    for batch_size in (1, 3, 7, 40):
        cursor = Cursor(plan_of(SAMPLERS[kind]()))
        taken: list[Any] = []
        while len(taken) * batch_size < 100:
            other = Cursor(plan_of(SAMPLERS[kind](), seed=99))
            other.set_state(cursor.get_state())
            taken.append(cursor.take(batch_size))
            np.testing.assert_array_equal(other.take(batch_size), taken[-1])
        np.testing.assert_array_equal(np.concatenate(taken, axis=1)[:, :100], stream)


def chi_square(counts: np.ndarray[Any, Any], shares: np.ndarray[Any, Any]) -> float:
    expected = shares / shares.sum() * counts.sum()
    there = expected > 0
    assert not counts[~there].any()
    return float(((counts - expected)[there] ** 2 / expected[there]).sum())


def test_weighted_draws_by_weight() -> None:
    plan = plan_of(Weighted(WEIGHTS, epoch_size=20_000))
    counts = np.bincount(epoch_of(plan, 0), minlength=SIZE)
    # 50 degrees of freedom: more than 100 is met once in 30,000.
    assert 20 < chi_square(counts, WEIGHTS.astype(float)) < 100


def test_without_replacement() -> None:
    plan = plan_of(Weighted(WEIGHTS, replacement=False))
    first = np.zeros(SIZE)
    for epoch in range(200):
        drawn = epoch_of(plan, epoch)
        assert sorted(drawn) == np.flatnonzero(WEIGHTS).tolist()
        first[drawn[0]] += 1
    assert chi_square(first, WEIGHTS.astype(float)) < 100
    assert len(set(epoch_of(plan_of(SAMPLERS["weighted without replacement"]()), 0))) == 40


def test_extreme_weights() -> None:
    plan = plan_of(Weighted(np.where(np.arange(SIZE) == 7, 1e308, 1e307 * (np.arange(SIZE) == 8))))
    assert set(epoch_of(plan, 0)) <= {7, 8}
    assert set(epoch_of(plan_of(Weighted(np.eye(SIZE)[59] * 5e-324)), 0)) == {59}


def test_balanced() -> None:
    drawn = np.array(epoch_of(plan_of(Balanced(epoch_size=80)), 0))
    for begin in range(0, 80, 4):
        assert sorted(LABELS[drawn[begin : begin + 4]]) == [0, 1, 2, 3]
    counts = np.bincount(drawn, minlength=SIZE)
    for label in range(4):
        own = counts[label == LABELS]
        assert own.max() - own.min() <= 1
    some = np.array(epoch_of(plan_of(Balanced(classes=[0, 3])), 0))
    assert set(LABELS[some].tolist()) == {0, 3}


@pytest.mark.parametrize(("p", "k"), [(3, 4), (4, 2), (1, 3), (2, 6)])
def test_pk(p: int, k: int) -> None:
    plan = plan_of(PK(p, k))
    for epoch in range(3):
        for group in np.array(epoch_of(plan, epoch)).reshape(-1, p, k):
            labels = LABELS[group]
            assert (labels == labels[:, :1]).all()
            assert len(set(labels[:, 0].tolist())) == p
            for row in group.tolist():  # a class of 5 has no 6 that differ
                assert len(set(row)) == min(k, int((LABELS[row[0]] == LABELS).sum()))


def test_blocks() -> None:
    drawn = np.array(epoch_of(plan_of(ShuffleBlocks(7, 2)), 0))
    assert sorted(drawn.tolist()) == list(range(SIZE))
    for begin in range(0, 56, 14):
        assert len(set((drawn[begin : begin + 14] // 7).tolist())) <= 3
    assert (np.abs(np.diff(drawn)) > 7).any()


def test_a_function_that_changes(folder: Path) -> None:
    shift = [0]

    def chosen(epoch: int) -> range:
        return range(shift[0], shift[0] + 10)

    def make() -> Any:
        return gradiva.readers.File(file_root=folder, sampler=chosen)

    reader = make()
    next(reader.next_epoch(batch_size=4))
    state = reader.get_state()
    make().set_state(state)
    shift[0] = 1
    with pytest.raises(gradiva.OperatorValueError, match=r"`sampler`.*something else"):
        make().set_state(state)


def test_another_sampler(folder: Path) -> None:
    state = gradiva.readers.File(file_root=folder, sampler=PK(2, 2)).get_state()
    for other in (PK(2, 3), None):
        reader = gradiva.readers.File(file_root=folder, sampler=other)
        with pytest.raises(gradiva.OperatorValueError, match=r"PK\(2, 2"):
            reader.set_state(state)


MODES: dict[str, dict[str, Any]] = {
    "weighted": {"sampler": "weighted", "weights": WEIGHTS},
    "balanced": {"sampler": "balanced"},
    "PK": {"sampler": PK(2, 4)},
    "function": {"sampler": growing},
    "buckets": {"bucket": Bucket(max_tokens=200, window=30), "random_shuffle": True},
}


def looped(folder: Path, arguments: dict[str, Any], batch_size: int, **how: Any) -> list[Any]:
    """Two epochs: sample, position, number and a random value."""
    gradiva.random.set_seed(7)
    reader = gradiva.readers.File(file_root=folder, with_index=True, **arguments)
    found = []
    for _ in range(2):
        for files, _labels, index in reader.next_epoch(batch_size=batch_size, **how):
            noise = gradiva.random.uniform(batch_size=files.batch_size)
            found += row_of(files, index, noise)
    return found


def row_of(files: Any, index: Any, noise: Any) -> list[Any]:
    numbers = [int(files.at(sample)[0]) for sample in range(len(files))]
    assert numbers == index.as_array().ravel().tolist() == files.indices.tolist()
    return list(zip(numbers, files.positions.tolist(), noise.as_array().tolist(), strict=True))


@pytest.mark.core
@pytest.mark.parametrize("kind", few(MODES, "weighted", "buckets"))
def test_same_bits_in_all_modes(kind: str, folder: Path) -> None:
    arguments = MODES[kind]
    stream = looped(folder, arguments, 8)
    assert looped(folder, arguments, 8, capture=True) == stream
    if kind == "buckets":  # the same samples in other batches, with the same random values
        assert sorted(looped(folder, arguments, 3)) == sorted(stream)
    else:
        assert looped(folder, arguments, 3) == stream

    @pipeline_def(batch_size=8, seed=7, enable_checkpointing=True)
    def pipe() -> Any:
        files, _labels, index = fn.readers.file(file_root=folder, with_index=True, **arguments)
        return files, index, fn.random.uniform()

    for stop in (0, 3):
        rows: list[Any] = []
        with pipe(num_threads=2, prefetch_queue_depth=3) as made:
            for _ in range(stop):
                rows += row_of(*made.run())
            saved = made.checkpoint()
        with pipe(num_threads=1, prefetch_queue_depth=1, checkpoint=saved) as made:
            while len(rows) < len(stream):
                rows += row_of(*made.run())
        assert rows[: len(stream)] == stream


def test_a_checkpoint_goes_with_no_other_sampler(folder: Path) -> None:
    def pipe(sampler: Any, **options: Any) -> Any:
        @pipeline_def(batch_size=8, num_threads=1, enable_checkpointing=True, seed=1)
        def define() -> Any:
            return fn.readers.file(file_root=folder, sampler=sampler)

        return define(**options)

    with pipe(Subset([1, 2, 3])) as made:
        saved = made.checkpoint()
        with pytest.raises(gradiva.OperatorTypeError, match="no place in a file"):
            made.serialize()
    pipe(Subset([1, 2, 3]), checkpoint=saved).close()
    with pytest.raises(gradiva.GradivaError, match="sampler"):
        pipe(Subset([1, 2, 4]), checkpoint=saved).build()


class TestFeedback:
    """Weights that training gives."""

    def reader(self, folder: Path, **arguments: Any) -> Any:
        return gradiva.readers.File(file_root=folder, sampler="weighted", seed=3, **arguments)

    def epoch(self, reader: Any) -> list[int]:
        return [one for files, _ in reader.next_epoch(batch_size=8) for one in files.indices]

    @pytest.mark.parametrize("capture", [False, True])
    def test_the_next_epoch(self, folder: Path, capture: bool) -> None:
        reader, plain = self.reader(folder), self.reader(folder)
        seen: list[int] = []
        for files, _ in reader.next_epoch(batch_size=8, capture=capture):
            seen += files.indices.tolist()
            losses = (files.indices % 5 == 0).astype(float)
            reader.feedback(files, losses)
        assert seen == self.epoch(plain)
        expected = np.ones(SIZE)
        expected[seen] = np.array(seen) % 5 == 0
        state = reader.get_state()
        drawn = self.epoch(reader)
        assert expected[drawn].all()
        assert np.bincount(drawn, minlength=SIZE)[np.array(seen) % 5 != 0].size
        other = self.reader(folder)
        other.set_state(state)
        assert self.epoch(other) == drawn
        direct = self.reader(folder)
        self.epoch(direct)
        direct.set_weights(expected)
        assert self.epoch(direct) == drawn

    def test_resumed_in_the_middle(self, folder: Path) -> None:
        """Neither the weights of this epoch nor those of the next are lost."""
        reader = self.reader(folder)
        reader.set_weights(np.arange(SIZE) % 2)
        loop = reader.next_epoch(batch_size=8)
        for _ in range(3):
            files, _labels = next(loop)
            assert (files.indices % 2 == 1).all()
            reader.feedback(files.positions, np.zeros(8))
        state = reader.get_state()
        other = self.reader(folder)
        other.set_state(state)
        assert self.epoch(other) == self.epoch(reader)
        assert self.epoch(other) == self.epoch(reader)

    def test_shards_decode_positions_of_each_other(self, folder: Path) -> None:
        readers = [
            self.reader(folder, num_shards=2, shard_id=shard, stick_to_shard=True)
            for shard in range(2)
        ]
        batches = [list(reader.next_epoch(batch_size=8)) for reader in readers]
        seen = np.concatenate([files.positions for part in batches for files, _ in part])
        for reader in readers:
            reader.feedback(seen, np.zeros(len(seen)))
        drawn = [one for reader in readers for one in self.epoch(reader)]
        single = self.reader(folder)
        whole = self.epoch(single)
        single.feedback(seen, np.zeros(len(seen)))
        assert self.epoch(single) == drawn
        assert not set(drawn) & set(whole)

    @pytest.mark.parametrize(
        ("positions", "scores", "message"),
        [
            ([0], [1, 2], "`scores`: expected one for each position, 1, got 2"),
            ([0, 1], [1, np.nan], "`scores`: expected numbers from 0 on, got nan at 1"),
            ([0], [-1.0], "`scores`: expected numbers from 0 on, got -1.0 at 0"),
            ([60], [1], "`positions`: .*got 60"),
            ([-1], [1], "`positions`: .*got -1"),
            ([0.5], [1], "`positions`: expected a batch, or positions"),
        ],
    )
    def test_refusals(self, folder: Path, positions: Any, scores: Any, message: str) -> None:
        with pytest.raises(gradiva.GradivaError, match=message):
            self.reader(folder).feedback(positions, scores)

    def test_no_weights(self, folder: Path) -> None:
        for sampler in (None, "balanced"):
            reader = gradiva.readers.File(file_root=folder, sampler=sampler)
            with pytest.raises(gradiva.OperatorValueError, match="no weights"):
                reader.set_weights(np.ones(SIZE))
        with pytest.raises(gradiva.OperatorValueError, match=r"`scores`: .*60 zeros"):
            self.reader(folder, weights=np.eye(SIZE)[3]).feedback(np.zeros(1, np.int64), [0.0])


@pytest.mark.parametrize("pad", [False, True])
def test_groups_in_iterators_over_shards(folder: Path, pad: bool) -> None:
    """Seven groups for two shards: none is cut, and all samples of the epoch come."""

    def pipe(shard: int) -> Any:
        @pipeline_def(batch_size=8, num_threads=1, seed=1)
        def define() -> Any:
            return fn.readers.file(
                file_root=folder,
                sampler=PK(2, 4),
                num_shards=2,
                shard_id=shard,
                stick_to_shard=True,
                pad_last_batch=pad,
                name="files",
            )

        return define()

    loops = [
        DALIRaggedIterator(
            [pipe(shard)],
            ["files", "labels", "@position"],
            reader_name="files",
            last_batch_policy=LastBatchPolicy.PARTIAL,
        )
        for shard in range(2)
    ]
    for epoch in range(2):
        turns = [[made for (made,) in loop] for loop in loops]
        assert [len(turn) for turn in turns] == [4, 4]
        seen = np.concatenate([made["@position"] for turn in turns for made in turn])
        assert sorted(seen[seen < 1 << 62].tolist()) == list(range(56 * epoch, 56 * epoch + 56))
        for made in (made for turn in turns for made in turn):
            assert len({int(label[0]) for label in made["labels"]}) <= 2


def raising(epoch: int) -> Any:
    raise KeyError("no such epoch")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sampler": "heavy"}, "`sampler`: .*got 'heavy'"),
        ({"weights": [1]}, "`weights`: weights need a sampler"),
        ({"sampler": PK(2, 2), "weights": [1]}, "`weights`: the weights of this sampler"),
        ({"epoch_size": 5}, "`epoch_size`: "),
        ({"sampler": "weighted", "epoch_size": 0}, "`epoch_size`: .*got 0"),
        ({"sampler": "weighted", "weights": [1, 2]}, "`weights`: .*each sample, 60, got 2"),
        ({"sampler": "weighted", "weights": [1.0, np.nan]}, "`weights`: .*got nan at 1"),
        ({"sampler": "weighted", "weights": [1.0, np.inf]}, "`weights`: .*got inf at 1"),
        ({"sampler": "weighted", "weights": [1, -2]}, "`weights`: .*got -2.0 at 1"),
        ({"sampler": "weighted", "weights": [0] * 60}, "`weights`: .*got 60 zeros"),
        ({"sampler": "weighted", "weights": []}, "`weights`: .*at least one"),
        ({"sampler": "weighted", "weights": "heavy"}, "`weights`: expected numbers, got str"),
        ({"sampler": PK(5, 2)}, "`p`: .*classes, 4, got 5"),
        ({"sampler": Balanced(labels=[1, 2])}, "`labels`: .*each sample, 60, got 2"),
        ({"sampler": Balanced(classes=[0, 9])}, "`classes`: .*got 9, of which there is no sample"),
        ({"sampler": Subset([1, 60])}, "`indices`: .*from 0 to 59, got 60 at 1"),
        ({"sampler": lambda epoch: [0, -1]}, "`sampler`: .*in epoch 0, got -1 at 1"),
        ({"sampler": lambda epoch: []}, "`sampler`: .*at least one .*in epoch 0, got none"),
        ({"sampler": lambda epoch: None}, "`sampler`: .*got None"),
        ({"sampler": lambda epoch: [0.5]}, "`sampler`: .*got float64"),
        ({"sampler": raising}, "`sampler`: .*raised KeyError in epoch 0"),
        ({"sampler": lambda epoch: [1], "num_shards": 2}, "`num_shards`: 2 shards of 1 samples"),
        ({"sampler": PK(4, 15), "num_shards": 2}, "2 shards of 1 groups of 60 samples"),
    ],
)
def test_refusals(folder: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(gradiva.GradivaError, match=message):
        gradiva.readers.File(file_root=folder, **arguments)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PK(0, 2), "`p`: .*got 0"),
        (lambda: PK(2, 2.5), "`k`: .*got 2.5"),  # type: ignore[arg-type]
        (lambda: PK(2, 2, epoch_size=6), "`epoch_size`: .*p \\* k = 4, got 6"),
        (lambda: Weighted([[1]]), "`weights`: "),
        (lambda: Subset([]), "`indices`: .*got none"),
        (lambda: Subset(3), "`indices`: .*got 3"),
        (lambda: Balanced(labels=[0.5]), "`labels`: .*got float64"),
        (lambda: Balanced(labels=3), "`labels`: .*got int64 of shape"),
        (lambda: Balanced(labels=[[1], [2, 3]]), "`labels`: .*got list"),
        (lambda: Balanced(classes=1.5), "`classes`: .*got float64 of shape"),
        (lambda: PK(2, 2, labels=object()), "`labels`: .*got object of shape"),
        (lambda: Function(3), "`function`: "),  # type: ignore[arg-type]
        (lambda: ShuffleBlocks(0), "`block`: "),
    ],
)
def test_samplers_that_make_no_sense(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(gradiva.GradivaError, match=message):
        make()


def test_a_reader_without_labels(tmp_path: Path) -> None:
    for number in range(4):
        np.save(tmp_path / f"{number}.npy", np.full(2, number))
    with pytest.raises(gradiva.OperatorValueError, match="`labels`: this reader does not know"):
        gradiva.readers.Numpy(file_root=tmp_path, sampler="balanced")
    reader = gradiva.readers.Numpy(file_root=tmp_path, sampler=Balanced(labels=[0, 0, 0, 1]))
    drawn = [int(batch.at(0)[0]) for batch in reader.next_epoch(batch_size=1)]
    assert sorted(number == 3 for number in drawn) == [False, False, True, True]
