"""What is shared between threads: lists of bad samples, what calls of a node share, warnings."""

from __future__ import annotations

import threading
import warnings

import numpy as np

from gradiva.eager.execution.execute import Repeated
from gradiva.eager.execution.quarantine import Quarantine, Quarantined, quarantine, record
from gradiva.eager.execution.shared_draws import warn_of_shared
from gradiva.eager.operators.operator import operators
from gradiva.eager.support.errors import Location
from tests.hammer import THREADS, hammer

TIMES = 100


def test_each_bad_sample_is_counted_once() -> None:
    bad = Quarantine(most=THREADS * TIMES // 2, warns=False)

    def work(number: int) -> None:
        for k in range(TIMES):
            bad.record([Quarantined("file", number * TIMES + k, "test", "bad")])
            assert len(list(bad)) <= bad.most

    hammer(work)
    assert bad.total == THREADS * TIMES
    assert len({entry.position for entry in bad}) == len(bad) == bad.most


def test_threads_may_enter_one_list() -> None:
    shared, outer = Quarantine(warns=False), quarantine()

    def work(number: int) -> None:
        own = Quarantine(warns=False)
        for k in range(TIMES):
            with own, shared:
                record([Quarantined("shared", number * TIMES + k, "test", "bad")])
                with shared:
                    assert quarantine() is shared
                assert quarantine() is shared
            assert quarantine() is outer
        assert own.total == 0

    hammer(work)
    assert shared.total == THREADS * TIMES


def test_threads_leave_a_list_in_any_order() -> None:
    shared, outer = Quarantine(warns=False), quarantine()
    inside = [threading.Barrier(THREADS), threading.Barrier(THREADS)]

    def work(_number: int) -> bool:
        with shared:
            inside[0].wait(60)
            good = quarantine() is shared
        good &= quarantine() is outer
        inside[1].wait(60)
        return good

    assert all(hammer(work))


def test_what_calls_of_a_node_share_is_that_of_their_arguments() -> None:
    argument, repeated = operators["brightness"].arguments["brightness"], Repeated()
    sizes = [1, 2, 3, 5]

    def work(number: int) -> bool:
        return all(
            np.array_equal(repeated.rows(argument, value, size), [value] * size)
            for size in sizes[number % 4 :] * TIMES
            for value in (0.5, 2.0)
        )

    assert all(hammer(work))


def test_a_line_that_draws_gives_one_warning() -> None:
    line = Location(test_a_line_that_draws_gives_one_warning.__code__, 1)

    def warn(_number: int) -> None:
        for _ in range(TIMES):
            warn_of_shared("one", line, "other", line)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        hammer(warn)
    assert len(caught) == 1
