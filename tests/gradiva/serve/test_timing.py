"""Predictions of a batcher: how long batches take, whether waiting pays, when a request is done."""

from __future__ import annotations

import pytest

from gradiva.serve.timing import Arrivals, BatchTimes, Lateness, pause, time_until_done

pytestmark = pytest.mark.tiny


def times(*measured: tuple[int, float]) -> BatchTimes:
    made = BatchTimes()
    for size, seconds in measured:
        made.add(size, seconds)
    return made


def arrivals(*moments: float) -> Arrivals:
    made = Arrivals()
    for moment in moments:
        made.add(moment)
    return made


def test_a_line_is_found() -> None:
    """4 ms and 0.5 ms for each sample."""
    found = times(*((size, 0.004 + 0.0005 * size) for size in (1, 8, 16, 3, 12, 1, 16, 5)))
    assert found.fixed == pytest.approx(0.004, rel=0.05)
    assert found.each == pytest.approx(0.0005, rel=0.05)
    assert found.seconds(32) == pytest.approx(0.020, rel=0.05)


def test_one_size_alone_is_in_proportion() -> None:
    found = times((4, 0.008), (4, 0.008))
    assert found.seconds(4) == pytest.approx(0.008)
    assert found.seconds(8) == pytest.approx(0.016)


def test_larger_batches_that_are_faster_are_one_time() -> None:
    found = times((1, 0.03), (16, 0.01))
    assert found.each == 0.0
    assert found.seconds(1) == found.seconds(16) == pytest.approx(0.0195, rel=0.05)


def test_no_fixed_time_is_below_zero() -> None:
    found = times((1, 0.001), (10, 0.1), (1, 0.001), (10, 0.1))
    assert found.fixed == 0.0
    assert found.seconds(10) == pytest.approx(0.1, rel=0.05)


def test_a_stop_is_no_usual_time() -> None:
    """After a program was stopped for a minute, the next batches are measured as usual."""
    found = times(*((4, 0.01) for _ in range(10)))
    found.add(4, 60.0)
    assert found.seconds(4) < 0.02
    for _ in range(30):
        found.add(4, 0.01)
    assert found.seconds(4) == pytest.approx(0.01, rel=0.1)


def test_what_is_slower_from_now_on_is_learned() -> None:
    found = times(*((4, 0.01) for _ in range(10)))
    for _ in range(40):
        found.add(4, 0.5)
    assert found.seconds(4) == pytest.approx(0.5, rel=0.1)


def test_requests_that_are_later_than_predicted() -> None:
    """3 ms, or 5 ms: 4 ms on average, and 1 ms from that."""
    found = Lateness()
    assert found.margin == 0.0
    for k in range(1000):
        found.add(0.040, 0.043 + 0.002 * (k % 2))
    assert found.margin == pytest.approx(0.004 + 2 * 0.001, rel=0.05)
    for _ in range(1000):
        found.add(0.040, 0.030)
    assert found.margin == 0.0  # earlier than predicted: nothing is taken off


def test_a_request_that_was_stopped_is_forgotten() -> None:
    found = Lateness()
    for _ in range(16):
        found.add(0.010, 60.0)
    assert found.margin < 0.010
    for _ in range(300):
        found.add(0.010, 0.010)
    assert found.margin < 0.001


def test_the_gap_of_bursts() -> None:
    moments = [second + 0.001 * k for second in (0.0, 1.0, 2.0) for k in range(5)]
    assert arrivals(*moments).gap() == pytest.approx(0.001)
    assert arrivals(3.0).gap() is None
    assert arrivals(3.0, 5.0).gap() == 2.0


def waited(queued: int, **changes: object) -> float:
    """The pause of a batcher whose batches take 10 ms and 0.1 ms for each sample, where a request
    arrives every millisecond, the last one now."""
    options: dict[str, object] = {
        "queued": queued,
        "oldest": 0.100,
        "now": 0.100,
        "most": 16,
        "delay": 0.005,
        "adaptive": True,
        "times": times(*((size, 0.01 + 0.0001 * size) for size in (1, 16, 1, 16))),
        "arrivals": arrivals(*(0.001 * k for k in range(101))),
    }
    return pause(**{**options, **changes})  # type: ignore[arg-type]


def test_waiting_that_pays() -> None:
    assert waited(1) == pytest.approx(0.003)  # three gaps
    assert waited(1, oldest=0.097) == pytest.approx(0.002)  # what is left of 5 ms
    assert waited(7) > 0
    assert waited(9) == 0.0  # ten requests would be 1.1 ms later, and one saves 10 ms
    assert waited(16) == 0.0
    assert waited(1, oldest=0.095) == 0.0


def test_waiting_that_does_not_pay() -> None:
    assert waited(1, now=0.104, oldest=0.104) == 0.0  # no more requests are coming
    assert waited(1, arrivals=arrivals(0.0, 0.05, 0.1)) == 0.0  # they come rarely
    assert waited(1, times=times((1, 0.002), (4, 0.008))) == 0.0  # a batch saves nothing
    assert waited(1, times=times()) == 0.0
    assert waited(1, arrivals=arrivals(0.1)) == 0.0


def test_waiting_in_any_case() -> None:
    assert waited(1, adaptive=False, times=times()) == pytest.approx(0.005)
    assert waited(16, adaptive=False) == 0.0


def done(queued: int, *running: tuple[int, float], runners: int = 1, delay: float = 0.0) -> object:
    """In ms: with batches of at most 4 that take 10 ms and 5 ms for each sample; now is 0."""
    measured = BatchTimes()
    measured.measured, measured.fixed, measured.each = 9, 0.010, 0.005
    found = time_until_done(queued, running, runners, 4, 0.0, measured, delay)
    return None if found is None else round(1e3 * found, 6)


def test_when_a_request_is_done() -> None:
    assert done(0) == 15
    assert done(2) == 25  # the third of a batch
    assert done(4) == 30 + 15
    assert done(9) == 30 + 30 + 20
    assert done(0, (4, -0.020)) == 10 + 15
    assert done(5, (4, -0.020)) == 10 + 30 + 20
    assert done(0, delay=0.05) == 50 + 15
    assert done(3, delay=0.05) == 30  # a full batch does not wait


def test_a_batch_that_is_late() -> None:
    """After 100 ms in place of 15, it is expected to take 85 ms longer."""
    assert done(0, (1, -0.100)) == 85 + 15


def test_several_runners() -> None:
    assert done(0, (4, -0.020), runners=2) == 15
    assert done(4, (4, -0.020), runners=2) == 10 + 15
    assert done(4, runners=2) == 15
    assert done(8, runners=2) == 30 + 15
    assert done(0, (4, -0.020), (4, -0.025), runners=2) == 5 + 15


def test_nothing_is_predicted_before_the_first_batch() -> None:
    assert time_until_done(3, [], 1, 4, 0.0, BatchTimes()) is None
