"""Several loops over one reader: an epoch ends once, and for all of them."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import ExternalSource

pytestmark = pytest.mark.core

CAPTURES = [(outer, inner) for outer in (False, True) for inner in (False, True)]


@pytest.fixture
def reader(tmp_path: Path) -> Any:
    files = [tmp_path / f"{number}.bin" for number in range(7)]
    for number, path in enumerate(files):
        path.write_bytes(bytes([number]))
    return gradiva.readers.File(files=[str(path) for path in files])


def numbers(batch: Any) -> list[int]:
    return [int(value) for value in np.asarray(batch.as_array()).ravel()]


@pytest.mark.parametrize(("outer", "inner"), CAPTURES)
def test_within_each_other(reader: Any, outer: bool, inner: bool) -> None:
    """A loop never delivers samples of two epochs, and two of them do not go on for ever."""
    for _ in range(3):
        turns = []
        loop = reader.next_epoch(batch_size=2, capture=outer)
        for files, _ in itertools.islice(loop, 5):
            within = [numbers(more) for more, _ in reader.next_epoch(batch_size=2, capture=inner)]
            turns.append((numbers(files), within))
        assert turns == [([0, 1], [[2, 3], [4, 5], [6]])]


@pytest.mark.parametrize(("outer", "inner"), CAPTURES)
def test_one_that_is_left_early_leaves_the_rest(reader: Any, outer: bool, inner: bool) -> None:
    turns = []
    for files, _ in reader.next_epoch(batch_size=2, capture=outer):
        for more, _ in reader.next_epoch(batch_size=1, capture=inner):
            turns.append((numbers(files), numbers(more)))
            break
    # In the last turn all samples were delivered: the inner loop begins the next epoch.
    assert turns == [([0, 1], [2]), ([3, 4], [5]), ([6], [0])]
    assert [numbers(files) for files, _ in reader.next_epoch(batch_size=7)] == [[1, 2, 3, 4, 5, 6]]


@pytest.mark.parametrize(("outer", "inner"), CAPTURES)
def test_made_before_and_looped_over_in_turn(reader: Any, outer: bool, inner: bool) -> None:
    first = reader.next_epoch(batch_size=4, capture=outer)
    second = reader.next_epoch(batch_size=3, capture=inner)
    assert [len(files) for files, _ in first] == [4, 3]
    assert [len(files) for files, _ in second] == [3, 3, 1]


@pytest.mark.parametrize(("outer", "inner"), CAPTURES)
def test_one_that_was_left_after_the_last_batch(reader: Any, outer: bool, inner: bool) -> None:
    loop = reader.next_epoch(batch_size=7, capture=outer)
    assert numbers(next(loop)[0]) == list(range(7))
    assert [len(files) for files, _ in reader.next_epoch(batch_size=4, capture=inner)] == [4, 3]
    assert list(loop) == []


def test_threads_that_share_a_reader(reader: Any) -> None:
    """A loop of each: one thread is in its last batch while the other one comes to the end."""
    found: list[list[int]] = []
    first = reader.next_epoch(batch_size=3)
    found.append(numbers(next(first)[0]))

    def work() -> None:
        found.extend(numbers(files) for files, _ in reader.next_epoch(batch_size=3))

    other = threading.Thread(target=work)
    other.start()
    other.join()
    found.extend(numbers(files) for files, _ in first)
    assert found == [[0, 1, 2], [3, 4, 5], [6]]


def test_external_sources() -> None:
    source = ExternalSource([[np.full(1, number)] * 2 for number in range(3)], cycle="raise")
    turns = []
    for batch in itertools.islice(source.captured(batch_size=2), 5):
        within = [numbers(more) for more in source.captured(batch_size=2)]
        turns.append((numbers(batch), within))
    assert turns == [([0, 0], [[1, 1], [2, 2]])]
