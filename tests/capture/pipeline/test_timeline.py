"""Timelines: what they record, that they are valid, and that tracing changes nothing."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Pipeline, fn, pipeline_def
from gradiva.capture.graph.builtin_ops import random_key
from gradiva.eager.support import tracing
from gradiva.eager.support.errors import OperatorRuntimeError, OperatorValueError


@pytest.fixture
def pipe(photographs: Path) -> Any:
    made = training(photographs)
    yield made
    made.close()


def training(photographs: Path, **options: Any) -> Pipeline:
    @pipeline_def(batch_size=6, num_threads=3, seed=5)
    def program() -> Any:
        files, labels = fn.readers.file(file_root=str(photographs), random_shuffle=True)
        images = fn.resize(fn.decoders.image(files), size=(96, 96))
        return fn.flip(images, horizontal=fn.random.coin_flip()) * 0.5, labels

    return program(**options)


FUSED = "decoders.image ... flip"


def complete(timeline: Any) -> list[dict[str, Any]]:
    return [event for event in timeline.events if event["ph"] == "X"]


def test_every_operator_of_the_graph_is_there(pipe: Pipeline, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    timeline = pipe.trace(path, batches=4)
    assert timeline.batches == 4
    loaded = json.loads(path.read_text("utf-8"))
    assert loaded["traceEvents"] == timeline.events
    counted = Counter(e["name"] for e in complete(timeline) if e["cat"] in ("operator", "source"))
    wanted = {node.operator.name for node in pipe.graph if node.operator is not random_key}
    assert set(counted) == wanted - {"fused"} | {FUSED}
    assert all(count >= 4 for count in counted.values())
    decoded = [e for e in complete(timeline) if e["name"] == FUSED and e["cat"] == "operator"]
    assert sorted(event["args"]["batch"] for event in decoded)[:4] == [0, 1, 2, 3]
    assert {event["args"]["samples"] for event in decoded} == {6}
    assert {event["args"]["bytes"] for event in decoded} == {6 * 96 * 96 * 3}


def test_events_of_a_thread_nest_and_lie_within_the_run(pipe: Pipeline) -> None:
    timeline = pipe.trace(batches=5)
    threads: dict[int, list[tuple[float, float]]] = {}
    for event in complete(timeline):
        assert event["dur"] > 0
        assert event["ts"] >= 0
        assert event["ts"] + event["dur"] <= timeline.seconds * 1e6 + 1e-3
        threads.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    assert len(threads) >= 3
    for spans in threads.values():
        open_: list[float] = []
        for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while open_ and open_[-1] <= begin + 1e-6:
                open_.pop()
            assert not open_ or end <= open_[-1] + 1e-6
            open_.append(end)


def test_threads_are_named_and_ranges_cover_the_samples(pipe: Pipeline) -> None:
    timeline = pipe.trace(batches=3)
    names = {
        event["tid"]: event["args"]["name"]
        for event in timeline.events
        if event["name"] == "thread_name"
    }
    assert any(name.startswith("user") for name in names.values())
    assert {"gradiva-runner-0", "gradiva-runner-1"} <= set(names.values())
    assert {event["tid"] for event in complete(timeline)} <= set(names)
    whole = next(e for e in complete(timeline) if e["name"] == FUSED and e["cat"] == "operator")
    inside = [
        event
        for event in complete(timeline)
        if event["cat"] == "range"
        and event["name"] == FUSED
        and event["args"]["batch"] == whole["args"]["batch"]
    ]
    assert sum(event["args"]["samples"] for event in inside) == 6


def test_flows_bind_to_the_making_and_the_taking(pipe: Pipeline) -> None:
    timeline = pipe.trace(batches=4)
    flows = [event for event in timeline.events if event["ph"] in "sf"]
    starts = {event["id"]: event for event in flows if event["ph"] == "s"}
    ends = {event["id"]: event for event in flows if event["ph"] == "f"}
    assert set(starts) == set(ends) == {0, 1, 2, 3}
    for batch, start in starts.items():
        assert start["ts"] < ends[batch]["ts"]
        assert start["tid"] != ends[batch]["tid"]


def test_waits_and_the_queue(pipe: Pipeline) -> None:
    timeline = pipe.trace(batches=4)
    # The first batch is never there when it is asked for.
    assert any(event["name"] == "wait: the queue is empty" for event in complete(timeline))
    lengths = [event["args"]["batches"] for event in timeline.events if event["ph"] == "C"]
    assert lengths
    assert all(0 <= length <= pipe.cpu_queue_size for length in lengths)


@pytest.mark.full
def test_a_full_queue_is_seen() -> None:
    """Where the user asks for a batch only once one is there, the scheduler has to wait."""

    @pipeline_def(batch_size=1, num_threads=1, prefetch_queue_depth=1)
    def program() -> Any:
        return fn.external_source(source=lambda: [np.zeros(4, np.uint8)])

    pipe = program()
    pipe.run()
    executor = pipe._built().executor
    with tracing.record(executor.plan.pool, 0) as recording:
        for _ in range(50):
            while not executor.waiting():
                pass
            pipe.run()
    assert any(event.name == "wait: the queue is full" for event in recording.events)
    pipe.close()


@pytest.mark.full
def test_tracing_changes_no_bit(photographs: Path) -> None:
    plain, traced = training(photographs), training(photographs)
    timeline = traced.trace(batches=3)
    for _ in range(timeline.batches):
        plain.run()
    for _ in range(3):
        for left, right in zip(plain.run(), traced.run(), strict=True):
            np.testing.assert_array_equal(left.as_array(), right.as_array())
    executor = plain._built().executor
    with tracing.record(executor.plan.pool, 0) as recording:
        inside = [plain.run() for _ in range(4)]
    assert recording.events
    for batch in inside:
        for left, right in zip(batch, traced.run(), strict=True):
            np.testing.assert_array_equal(left.as_array(), right.as_array())
    plain.close()
    traced.close()


def test_batches_that_were_ready_are_taken_first(pipe: Pipeline) -> None:
    pipe.run()
    while pipe._built().executor.waiting() < pipe.cpu_queue_size:
        pass
    timeline = pipe.trace(batches=2)
    # One more was under way, and may have been made.
    assert timeline.batches - pipe.cpu_queue_size in (2, 3)
    counted = Counter(e["name"] for e in complete(timeline) if e["cat"] == "operator")
    assert counted[FUSED] >= 2


def test_without_a_scheduler(photographs: Path) -> None:
    pipe = training(photographs, exec_async=False, num_threads=1)
    timeline = pipe.trace(batches=3)
    assert timeline.batches == 3
    made = [event["args"]["batch"] for event in complete(timeline) if event["cat"] == "batch"]
    assert made == [0, 1, 2]
    assert len({event["tid"] for event in complete(timeline)}) == 1
    pipe.close()


def test_batches_are_counted_from_0_after_an_epoch() -> None:
    @pipeline_def(batch_size=2, num_threads=1, exec_async=False)
    def program() -> Any:
        batches = [np.full((2, 1), k, np.uint8) for k in range(3)]
        return fn.external_source(source=batches, cycle="raise") + 1

    pipe = program()
    for _ in range(3):
        timeline = pipe.trace(batches=2)
        made = [event["args"]["batch"] for event in complete(timeline) if event["cat"] == "batch"]
        assert made == [0, 1]
        assert pipe.trace(batches=2).ended
    pipe.close()


def test_other_pipelines_are_not_recorded(pipe: Pipeline) -> None:
    @pipeline_def(batch_size=2, num_threads=2)
    def other() -> Any:
        return fn.transpose(fn.external_source(source=lambda: np.zeros((2, 3, 4), np.uint8)))

    second = other()
    second.run()
    executor = pipe._built().executor
    with tracing.record(executor.plan.pool, 0) as recording:
        second.run()
        pipe.run()
    names = {event.name for event in recording.events}
    assert FUSED in names
    assert "transpose" not in names
    second.close()


def test_one_trace_at_a_time_and_off_afterwards(pipe: Pipeline) -> None:
    assert tracing.active is None
    with tracing.record(object(), 0), pytest.raises(OperatorRuntimeError, match="another trace"):
        pipe.trace(batches=1)
    assert tracing.active is None
    pipe.trace(batches=1)
    assert tracing.active is None


def test_the_end_of_the_data() -> None:
    @pipeline_def(batch_size=2, num_threads=1)
    def program() -> Any:
        batches = [np.full((2, 1), k, np.uint8) for k in range(3)]
        return fn.external_source(source=batches, cycle="raise") + 1

    pipe = program()
    timeline = pipe.trace(batches=10)
    assert timeline.ended
    assert timeline.batches == 3
    assert pipe.run()[0].as_array().tolist() == [[1], [1]]
    pipe.close()


def test_errors_are_raised_and_leave_nothing_on(tmp_path: Path, photographs: Path) -> None:
    (tmp_path / "bad.jpg").write_bytes(b"no image")

    @pipeline_def(batch_size=1, num_threads=2)
    def program() -> Any:
        files, _ = fn.readers.file(files=[str(tmp_path / "bad.jpg")])
        return fn.decoders.image(files)

    pipe = program()
    with pytest.raises(OperatorRuntimeError, match="unknown image format"):
        pipe.trace(batches=2)
    assert tracing.active is None
    pipe.close()
    good = training(photographs)
    with pytest.raises(OperatorValueError, match="batches"):
        good.trace(batches=0)
    with pytest.raises(OperatorValueError, match="cannot be written"):
        good.trace(tmp_path / "no" / "file.json", batches=1)
    good.close()


def test_what_a_person_sees(pipe: Pipeline) -> None:
    timeline = pipe.trace(batches=3)
    lines = str(timeline).splitlines()
    assert lines[0].startswith("program: 3 batches in ")
    assert lines[1].split() == ["operator", "calls", "total", "ms", "share"]
    assert {line.split("  ")[0] for line in lines[2:]} >= {"readers.file", "mul", FUSED}
    shares = [float(line.split()[-1].rstrip("%")) for line in lines[2:]]
    assert abs(sum(shares) - 100) < 0.1 * len(shares)
    assert shares == sorted(shares, reverse=True)
    page = timeline._repr_html_()
    assert page.count("<tr>") == len(lines) - 1
    assert page.count("<svg") == page.count("</svg>") == 1
    assert "gradiva-runner-0" in page
    assert "decoders.image" in page
    assert gradiva.Pipeline.trace.__doc__
