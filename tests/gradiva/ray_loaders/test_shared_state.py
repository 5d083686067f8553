"""Requests of several threads of a trainer."""

from __future__ import annotations

from itertools import chain

import pytest

from gradiva.plugin.ray import shared_memory
from gradiva.plugin.ray.shared_memory import Importer, importer
from tests.hammer import THREADS, hammer

TIMES = 30


@pytest.mark.skipif(not shared_memory.machine(), reason="the system has no such memory")
def test_requests_have_numbers_of_their_own_and_nothing_forgotten_is_lost() -> None:
    own = Importer()

    def work(number: int) -> list[tuple[int, tuple[int, ...]]]:
        found = []
        for k in range(TIMES):
            own.forget(f"loader {k}", 1000 * number + k)
            reader = own.request(f"loader {k}")
            assert reader is not None
            found.append((reader.number, reader.done))
        return found

    requests = [*chain.from_iterable(hammer(work))]
    assert sorted(number for number, _ in requests) == [*range(THREADS * TIMES)]
    done = sorted(chain.from_iterable(done for _, done in requests))
    assert done == sorted(1000 * number + k for number in range(THREADS) for k in range(TIMES))


def test_a_process_has_one_importer(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(TIMES):
        monkeypatch.setattr(shared_memory, "_importer", None)
        first, *others = hammer(lambda _: importer())
        assert all(one is first for one in others)
