"""What is shared between the threads that take bytes of one storage."""

from __future__ import annotations

from typing import Any

import pytest

from gradiva.ops.storage.parts import Arrival
from gradiva.ops.storage.storage import Storage
from tests.hammer import THREADS, hammer


def test_a_storage_begins_once(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = Storage._start
    begun: list[Storage] = []

    def start(self: Storage, fetcher: Any) -> None:
        begun.append(self)
        begin(self, fetcher)

    monkeypatch.setattr(Storage, "_start", start)
    for _ in range(10):
        storage = Storage()
        hammer(lambda _, storage=storage: storage.budget)  # type: ignore[misc]
        assert begun == [storage]
        begun.clear()


def test_the_first_result_of_an_arrival_counts() -> None:
    for _ in range(20):
        arrival = Arrival()

        def work(number: int, arrival: Arrival = arrival) -> bytes:
            if number % 2:
                arrival.set_result(bytes([number]))
            return bytes(arrival.result())

        found = hammer(work)
        assert len({*found}) == 1
        assert found[0][0] in range(1, THREADS, 2)
