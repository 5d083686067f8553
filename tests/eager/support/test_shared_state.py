"""What is shared between threads: numbers, live objects, registries, traces, warnings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from gradiva.eager.operators.old_arguments import warn_of_old
from gradiva.eager.support import tracing
from gradiva.eager.support.registry import Declarations, Modules, Registry
from gradiva.eager.support.shared_state import LiveObjects, SerialNumbers
from tests.hammer import THREADS, hammer

TIMES = 200


def test_serial_numbers_are_given_once() -> None:
    numbers = SerialNumbers()
    found = hammer(lambda _: [numbers.take() for _ in range(TIMES)])
    assert all(one == sorted(one) for one in found)
    assert sorted(chain.from_iterable(found)) == list(range(THREADS * TIMES))


class Thing:
    """Something that can be referred to weakly."""

    is_complete = False


def test_live_objects_may_come_and_go_while_somebody_lists_them() -> None:
    kept, objects = [Thing() for _ in range(5)], LiveObjects[Thing]()
    for one in kept:
        objects.add(one)

    def work(number: int) -> bool:
        good = True
        for _ in range(TIMES):
            if number % 2:
                objects.add(Thing())
            else:
                good &= {*map(id, kept)} <= {*map(id, objects.members())}
        return good

    assert all(hammer(work))
    assert {*map(id, objects.members())} == {*map(id, kept)}
    objects.discard(kept[0])
    assert len(objects.members()) == 4


class _Nothing:
    """Provides nothing."""

    def names(self) -> Collection[str]:
        return ()

    def provide(self, name: str) -> None:
        raise AssertionError(name)


def test_a_registry_may_grow_while_somebody_goes_through_it() -> None:
    registry: Registry[int] = Registry(_Nothing())

    def work(number: int) -> None:
        for k in range(TIMES):
            registry[f"{number} {k}"] = k
            if k % 20 == 0:
                assert all(value < TIMES for _, value in registry.items())
                assert all(registry[name] < TIMES for name in registry)
                assert len(list(registry.values())) <= len(registry)

    hammer(work)
    assert len(registry) == THREADS * TIMES


def test_a_trace_has_the_events_of_all_threads() -> None:
    owner = object()
    with tracing.record(owner, 100) as recording:

        def work(number: int) -> None:
            tracing.place.batch = 107 - number
            began = recording.begun(owner)
            for k in range(TIMES):
                recording.done(owner, "test", f"{number} {k}", began)

        hammer(work)
    names = {event.name for event in recording.events}
    assert len(recording.events) == len(names) == THREADS * TIMES
    assert recording.first == 0
    assert len({event.thread for event in recording.events}) == len(recording.threads) <= THREADS


def test_a_line_gives_one_warning() -> None:
    def warn(_number: int) -> None:
        for _ in range(TIMES):
            warn_of_old("a name of this test", "it is old")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        hammer(warn)
    assert [str(one.message) for one in caught] == ["it is old"]


def test_nobody_gets_what_is_declared_before_its_module_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "declared_late.py").write_text(
        "import time\n"
        f"from {__name__} import DECLARED, Thing\n"
        "one = DECLARED['one'] = Thing()\n"
        "time.sleep(0.05)\n"
        "one.is_complete = True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "declared_late", raising=False)
    DECLARED.clear()

    def work(number: int) -> Any:
        found: Any = DECLARED["one"] if number % 2 else DECLARED.get("one")
        return found.is_complete and dict(DECLARED.items())["one"].is_complete

    assert all(hammer(work))


def _places() -> dict[str, str]:
    return {"one": "declared_late"}


DECLARED: Declarations[Any] = Declarations(Modules(f"{__name__}:_places"))
