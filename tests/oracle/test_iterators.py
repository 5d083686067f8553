"""Iterators over shards against DALI: how many batches, and which samples, per epoch.

The two agree in all counts. Where DALI hands out a sample twice in an epoch, or in the
wrong one, ours differ as docs/differences.md says, and each test says what holds instead.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from gradiva import fn, pipeline_def
from gradiva.plugin.base_iterator import LastBatchPolicy
from gradiva.plugin.numpy import DALIGenericIterator

from .reference import dali
from .reference import fn as their_fn

base: Any = pytest.importorskip("nvidia.dali.plugin.base_iterator", exc_type=ImportError)

FILL, DROP, PARTIAL = LastBatchPolicy.FILL, LastBatchPolicy.DROP, LastBatchPolicy.PARTIAL
EPOCHS = 3
LENGTHS = ((31, 7), *product(range(1, 21), (1, 2, 3, 4)))
BATCH_SIZES = (1, 2, 3, 4)
CLOSELY = (1, 2, 3, 5, 7, 8, 13, 31)
"""Lengths for which all batch sizes are tried, and one of them for the others."""
WAYS = ("auto", "reset", "loop")
"""How the next epoch begins: by auto_reset, by `reset`, or by a new loop."""

Batches = list[list[int]]
"""The labels of one turn, pipeline by pipeline."""


class Epoch(NamedTuple):
    length: int
    turns: list[Batches]

    def of(self, number: int) -> list[int]:
        """All samples of one pipeline."""
        return [label for turn in self.turns for label in turn[number]]


class Case(NamedTuple):
    size: int
    shards: int
    batch_size: int
    stick: bool
    pad: bool
    policy: LastBatchPolicy
    ids: tuple[int, ...]
    """The shards that are read, each by a pipeline of its own."""
    way: str

    def reader(self, shard: int, file: str) -> dict[str, Any]:
        return {
            "files": [file] * self.size,
            "labels": list(range(self.size)),
            "name": "reader",
            "num_shards": self.shards,
            "shard_id": shard,
            "stick_to_shard": self.stick,
            "pad_last_batch": self.pad,
        }

    def options(self) -> dict[str, Any]:
        return {"reader_name": "reader", "auto_reset": self.way == "auto"}


def cases(policy: LastBatchPolicy, pad: bool, stick: bool) -> Iterator[Case]:
    """All shards in one iterator; and one of them alone, as in a process of its own."""
    number = 0
    for (size, shards), batch_size in product(LENGTHS, BATCH_SIZES):
        if size < shards or (shards == 1 and stick):
            continue
        if size not in CLOSELY and batch_size != 2 + (size + shards) % 3:
            continue
        number += 1
        every, one = tuple(range(shards)), (number % shards,)
        for ids in (every, one) if shards > 1 else (every,):
            yield Case(size, shards, batch_size, stick, pad, policy, ids, WAYS[number % 3])


class Reference:
    """The base of DALI's iterators, driven as that for PyTorch drives it."""

    def __init__(self, case: Case, file: str) -> None:
        pipes = []
        for shard in case.ids:
            pipe = dali.Pipeline(
                batch_size=case.batch_size, num_threads=1, device_id=None, prefetch_queue_depth=1
            )
            with pipe:
                pipe.set_outputs(their_fn.readers.file(**case.reader(shard, file))[1])
            pipes.append(pipe)
        self._drive(pipes, case.policy, case.options())

    def _drive(self, pipes: list[Any], policy: LastBatchPolicy, options: dict[str, Any]) -> None:
        self.base = base._DaliBaseIterator(
            pipes,
            last_batch_policy=base.LastBatchPolicy[policy.name],
            prepare_first_batch=False,  # where there is no batch at all that is an error
            **options,
        )

    def __len__(self) -> int:
        return len(self.base)

    def reset(self) -> None:
        self.base.reset()

    def __iter__(self) -> Reference:
        iter(self.base)
        return self

    def __next__(self) -> Batches:
        self.base._ever_consumed = True
        turn = [labels.as_array().ravel().tolist() for (labels,) in self.base._get_outputs()]
        self.base._schedule_runs()
        self.base._advance_and_check_drop_last()
        cut, left = self.base._remove_padded()
        if np.any(cut):
            turn = [labels[:count] for labels, count in zip(turn, left, strict=True)]
        return turn


def theirs(case: Case, file: str) -> list[Epoch]:
    return epochs(case, Reference(case, file), lambda turn: turn)


def ours(case: Case, file: str) -> list[Epoch]:
    @pipeline_def(batch_size=case.batch_size, num_threads=1, exec_async=False, exec_pipelined=False)
    def labels(shard: int) -> Any:
        return fn.readers.file(**case.reader(shard, file))[1]

    pipes = [labels(shard) for shard in case.ids]
    iterator = DALIGenericIterator(
        pipes, ["label"], last_batch_policy=case.policy, prepare_first_batch=False, **case.options()
    )
    found = epochs(case, iterator, lambda turn: [part["label"].ravel().tolist() for part in turn])
    for pipe in pipes:
        pipe.close()
    return found


def epochs(case: Case, iterator: Any, read: Any) -> list[Epoch]:
    found = []
    for _ in range(EPOCHS):
        length = len(iterator)
        found.append(Epoch(length, [read(turn) for turn in iterator]))
        if case.way != "auto":
            assert next(iterator, None) is None
        if case.way == "reset":
            iterator.reset()
    return found


def counts(found: list[Epoch]) -> list[tuple[int, int]]:
    return [(epoch.length, len(epoch.turns)) for epoch in found]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("data") / "one.bin"
    path.write_bytes(b"x")
    return str(path)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """DALI warns of resets in the middle of an epoch, which its own loops ask for."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


FLAGS = pytest.mark.parametrize(("pad", "stick"), list(product((False, True), repeat=2)))


@FLAGS
def test_fill(file: str, pad: bool, stick: bool) -> None:
    """Everything is the same."""
    for case in cases(FILL, pad, stick):
        assert ours(case, file) == theirs(case, file), case


@FLAGS
def test_drop(file: str, pad: bool, stick: bool) -> None:
    """DALI begins later epochs with what it left out or had read ahead, padding included;
    ours begin each with the first sample of the shard."""
    for case in cases(DROP, pad, stick):
        found, expected = ours(case, file), theirs(case, file)
        assert counts(found) == counts(expected), case
        assert found[0] == expected[0], case
        for number, shard in enumerate(case.ids):
            for epoch in range(EPOCHS):
                taken = found[epoch].of(number)
                assert taken == members(case, shard, epoch)[: len(taken)], case


@FLAGS
def test_partial(file: str, pad: bool, stick: bool) -> None:
    """Without padding, later epochs of DALI begin where the last one has read to, and end
    as many samples later, so that with several shards samples come twice or not at all. Ours are
    those of a reader that pads. Nor is a batch of ours empty where DALI has an empty one
    and a full one before it."""
    for case in cases(PARTIAL, pad, stick):
        found, expected = ours(case, file), theirs(case, file)
        assert counts(found) == counts(expected), case
        if not pad:
            assert [found[0].of(n) for n in range(len(case.ids))] == [
                expected[0].of(n) for n in range(len(case.ids))
            ], case
            expected = theirs(case._replace(pad=True), file)
        for epoch in range(EPOCHS):
            for number, shard in enumerate(case.ids):
                samples = found[epoch].of(number)
                assert samples == expected[epoch].of(number) == members(case, shard, epoch), case
                batches = [turn[number] for turn in found[epoch].turns]
                their_batches = [turn[number] for turn in expected[epoch].turns]
                if case.batch_size == 1 or all(their_batches):
                    assert batches == their_batches, case
                else:
                    *full, last, empty = their_batches
                    assert empty == [], case
                    assert batches == [*full, last[:-1], last[-1:]], case


def members(case: Case, shard: int, epoch: int) -> list[int]:
    """The samples of the shard that is read in an epoch."""
    at = (shard + (0 if case.stick else epoch)) % case.shards
    return list(range(case.size * at // case.shards, case.size * (at + 1) // case.shards))


class ReferenceOfSize(Reference):
    """That over sources which count batches, with a given size."""

    def __init__(self, batch_size: int, many: int, policy: LastBatchPolicy, **options: Any) -> None:
        pipes = []
        for _ in range(many):
            pipe = dali.Pipeline(
                batch_size=batch_size, num_threads=1, device_id=None, prefetch_queue_depth=1
            )
            with pipe:
                pipe.set_outputs(their_fn.external_source(counting(batch_size)))
            pipes.append(pipe)
        if policy is PARTIAL:  # the base has no part in cutting these
            pytest.importorskip("torch")
            plugin = importlib.import_module("nvidia.dali.plugin.pytorch")
            self.base = plugin.DALIGenericIterator(
                pipes, ["data"], last_batch_policy=base.LastBatchPolicy.PARTIAL, **options
            )
        else:
            self._drive(pipes, policy, options)

    def __next__(self) -> Batches:
        if type(self.base) is not base._DaliBaseIterator:
            return [part["data"].tolist() for part in next(self.base)]
        return super().__next__()


def counting(batch_size: int) -> Any:
    return lambda number: np.arange(batch_size, dtype=np.int32) + number * batch_size


@pytest.mark.filterwarnings("ignore:Please set `reader_name`:Warning")
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("policy", LastBatchPolicy)
def test_given_sizes(policy: LastBatchPolicy, padded: bool) -> None:
    """Everything is the same. But `len` is that of the first epoch there, of this one here."""
    for size, batch_size, many in product((1, 2, 3, 5, 8, 9, 12, 13), (1, 2, 3), (1, 2, 3)):
        options: Any = {"size": size, "last_batch_padded": padded, "auto_reset": True}
        theirs = ReferenceOfSize(batch_size, many, policy, **options)

        @pipeline_def(batch_size=batch_size, num_threads=1, exec_async=False, exec_pipelined=False)
        def counted(batch_size: int = batch_size) -> Any:
            return fn.external_source(counting(batch_size))

        ours = DALIGenericIterator(
            [counted() for _ in range(many)],
            ["data"],
            last_batch_policy=policy,
            prepare_first_batch=False,
            **options,
        )
        assert len(ours) == len(theirs)
        for _ in range(5):
            length = len(ours)
            found = [[part["data"].tolist() for part in turn] for turn in ours]
            assert found == list(theirs), (size, batch_size, many)
            assert length == len(found)


def test_without_padding_the_reference_repeats_samples(file: str) -> None:
    """What docs/differences.md says of it."""
    case = Case(3, 2, 1, stick=False, pad=False, policy=PARTIAL, ids=(0, 1), way="auto")
    expected, found = theirs(case, file), ours(case, file)
    assert [sorted(epoch.of(0) + epoch.of(1)) for epoch in expected[:2]] == [[0, 1, 2], [0, 0, 2]]
    assert [sorted(epoch.of(0) + epoch.of(1)) for epoch in found] == [[0, 1, 2]] * EPOCHS
