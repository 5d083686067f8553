"""`Pipeline.diagnose`: which part is named, what is predicted, and what it prints."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradiva import Pipeline, fn, pipeline_def
from gradiva.capture.pipeline.diagnosis import SATURATED, Diagnosis, Limit, _judged
from gradiva.eager.runtime import usage
from gradiva.eager.runtime.usage import Usage, used_since
from gradiva.eager.support.errors import OperatorRuntimeError, OperatorValueError


def fed(source: Any, **options: Any) -> Pipeline:
    @pipeline_def(batch_size=4, num_threads=2, **options)
    def program() -> Any:
        return fn.external_source(source, batch=False) + 1

    return program()


def numbers(info: Any) -> Any:
    return np.int32(info.idx_in_epoch)


def is_held_up_by(found: Any, part: str) -> bool:
    """Whether the part that takes its time was busy all of it. On a busy machine all threads wait
    for CPUs, and then nothing else may be named; `test_the_verdict` has given shares."""
    slowest = found.limits[0]
    assert slowest.part == part
    if slowest.busy < SATURATED:
        return False
    assert found.bottleneck == part
    return True


@pytest.mark.full
def test_a_slow_loop_is_named() -> None:
    taken = []

    def consumer(outputs: Any) -> None:
        taken.append(outputs[0].as_array().tolist())
        time.sleep(0.05)

    found = fed(numbers).diagnose(0.4, consumer)
    assert found.batches >= 1
    assert taken == [list(range(k * 4 + 1, k * 4 + 5)) for k in range(len(taken))]
    assert found.gain >= 1
    if is_held_up_by(found, "your loop"):
        assert "held up by your loop" in found.verdict


@pytest.mark.full
def test_a_slow_source_is_named() -> None:
    def slow(info: Any) -> Any:
        time.sleep(0.02)
        return numbers(info)

    found = fed(slow).diagnose(0.4)
    assert next(iter(found.operators)).startswith("external_source")
    if is_held_up_by(found, "reading"):
        assert "external_source" in found.verdict


def test_the_data_begin_anew_where_they_end() -> None:
    def short(info: Any) -> Any:
        if info.iteration == 3:
            raise StopIteration
        return numbers(info)

    batches = 0
    for seconds in (0.2, 2.0, 20.0):  # on a busy machine it comes later to the end
        batches = fed(short).diagnose(seconds).batches
        if batches > 3:
            break
    assert batches > 3


@pytest.mark.full
@pytest.mark.parametrize("options", [{}, {"exec_async": False}])
def test_what_it_prints(photographs: Path, options: dict[str, Any]) -> None:
    @pipeline_def(batch_size=4, num_threads=2)
    def program() -> Any:
        files, labels = fn.readers.file(file_root=str(photographs))
        return fn.resize(fn.decoders.image(files), size=(32, 32)), labels

    pipe = program(**options)
    found = pipe.diagnose(0.3)
    text = str(found)
    assert text.splitlines()[0] == found.verdict
    assert found.verdict.startswith("program: ")
    for word in ("threads", "processors", "reading", "readers.file", "decoders.image"):
        assert word in text
    assert sum(found.operators.values()) == pytest.approx(1)
    assert [limit.rate for limit in found.limits] == sorted(limit.rate for limit in found.limits)
    loaded = json.loads(found.to_json())
    assert loaded["bottleneck"] == found.bottleneck
    assert loaded["limits"][0]["part"] == found.limits[0].part
    page = found._repr_html_()
    assert "<table>" in page
    assert "readers.file" in page
    assert len(pipe.run()[0]) == 4  # it goes on


def test_bad_calls() -> None:
    pipe = fed(numbers)
    for seconds in (0, -1, float("nan")):
        with pytest.raises(OperatorValueError, match="seconds"):
            pipe.diagnose(seconds)

    def none(info: Any) -> Any:
        raise StopIteration

    with pytest.raises(OperatorValueError, match="no data"):
        fed(none).diagnose(0.1)

    def fails(outputs: Any) -> None:
        raise KeyError("of the user")

    with pytest.raises(KeyError, match="of the user"):
        pipe.diagnose(0.1, fails)
    with pytest.raises(OperatorRuntimeError, match="another trace"):
        pipe.diagnose(5, lambda outputs: pipe.trace())
    assert pipe.run()[0].as_array().shape == (4,)


NO_USAGE = Usage(1.0, None, None, {})


def diagnosis(*limits: tuple[str, float], **facts: Any) -> Diagnosis:
    parts = tuple(Limit(part, busy, 100 / busy, "3.9 of 4 at work") for part, busy in limits)
    fields: dict[str, Any] = {"waiting": None, "crowded": None, **facts}
    operators = {"resize": 0.75, "readers.file": 0.25}
    return Diagnosis("train", 1.0, 10, 100.0, parts, operators, usage=NO_USAGE, **fields)


CASES = [
    ([("threads", 0.98), ("reading", 0.5)], {}, (4, 8), "threads", 2.0, "num_threads=8"),
    ([("threads", 0.98), ("reading", 0.8)], {}, (4, 8), "threads", 1.25, "up to about 125 "),
    ([("threads", 0.98), ("reading", 0.1)], {}, (4, 4), "processors", 10.0, "resize takes 75%"),
    ([("processors", 0.9), ("threads", 0.8), ("reading", 0.5)], {}, (4, 4), "processors", 2, "all"),
    ([("threads", 0.9), ("reading", 0.1)], {"crowded": 0.5}, (4, 4), "other programs", 2, "50%"),
    (
        [("threads", 0.4), ("processors", 0.2)],
        {"crowded": 1.0},
        (2, 2),
        "other programs",
        10,
        "100%",
    ),
    ([("reading", 0.9), ("threads", 0.3)], {}, (4, 4), "reading", 1 / 0.3, "one thread reads"),
    ([("your loop", 1.0), ("threads", 0.5)], {}, (4, 4), "your loop", 2.0, "batches wait"),
    (
        [("threads", 0.5), ("reading", 0.2)],
        {},
        (4, 4),
        "one thread at a time",
        2,
        "a larger batch_size gives",
    ),
    ([("threads", 0.5), ("reading", 0.2)], {"waiting": 0.4}, (4, 4), "the interpreter", 2, "40%"),
]


@pytest.mark.parametrize(("limits", "facts", "machine", "part", "gain", "words"), CASES)
def test_the_verdict(
    limits: Any, facts: dict[str, Any], machine: tuple[int, int], part: str, gain: float, words: str
) -> None:
    found = _judged(diagnosis(*limits, **facts), *machine)
    assert found.bottleneck == part
    assert found.gain == pytest.approx(gain)
    assert words in found.verdict


def test_without_what_the_system_does_not_tell(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(usage, "_SELF", tmp_path)
    monkeypatch.setattr(usage, "resource", None)
    used = used_since(Usage.now())
    assert (used.disk_bytes, used.faults, used.threads) == (None, None, {})
    found = fed(numbers).diagnose(0.1)
    assert found.waiting is None
    assert "disk" not in str(found)


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="reads /proc")
def test_what_threads_used() -> None:
    stop, started = threading.Event(), threading.Event()

    def spin() -> None:
        started.set()
        while not stop.is_set():
            sum(range(1000))

    thread = threading.Thread(target=spin, name="gradiva-7")
    thread.start()
    try:
        started.wait()
        before = Usage.now()
        while (used := used_since(before)).threads[thread.native_id or 0][0] == 0:
            time.sleep(0.001)
        assert used.cpu_time > 0
        assert used.disk_bytes is not None
    finally:
        stop.set()
        thread.join()
    assert thread.native_id not in used_since(before).threads
