"""`on_error` in graphs, the quarantine, and `align`."""

from __future__ import annotations

import csv
import json
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gradiva
import gradiva.eager.types.provenance
from gradiva import EvalMode, capture, fn, random, readers
from gradiva.capture.compiler.optimize import optimize
from gradiva.capture.runtime.fusion_report import Reason
from tests.capture.loop.loops import bits
from tests.eager.execution.damaged import (
    BODIES,
    COUNT,
    DAMAGE,
    MIXED,
    MODES,
    as_pipeline,
    augment,
    compiled,
    deferred,
    eager,
    looped,
    make,
    piped,
    unfused,
)
from tests.tiers import examples

pytestmark = pytest.mark.filterwarnings("ignore:samples that cannot be read")


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    return make(tmp_path / "mixed", MIXED)


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    gradiva.quarantine().clear()
    yield
    gradiva.quarantine().clear()


# The quarantine.


def entries_of(pipe: gradiva.Pipeline) -> list[Any]:
    return [(e.iteration, e.position, os.path.basename(e.file or "")) for e in pipe.quarantine]


@pytest.mark.parametrize("policy", ["skip", "replace"])
@pytest.mark.parametrize("body", BODIES)
def test_quarantine(policy: Any, body: Any, paths: list[str]) -> None:
    """Each sample once, in the order of positions, for the batches that were handed out."""
    found = []
    for threads, size in ((1, 4), (4, 4), (2, 3)):
        pipe = as_pipeline(body, paths, size, policy, threads)
        assert entries_of(pipe) == []
        seen = 0
        for iteration in range(2 * COUNT // size):
            pipe.run()
            new = entries_of(pipe)[seen:]
            seen += len(new)
            assert all(entry[0] == iteration for entry in new)
        found.append(entries_of(pipe))
        assert [entry[1] for entry in found[-1]] == sorted(entry[1] for entry in found[-1])
        assert sorted(name for *_, name in found[-1]) == sorted(
            2 * [os.path.basename(paths[index]) for index in MIXED]
        )
        assert pipe.epoch_size("readers.file") == COUNT
        pipe.close()
    assert found[0] == found[1]
    assert [entry[1:] for entry in found[0]] == [entry[1:] for entry in found[2]]


def test_quarantine_as_data(paths: list[str], tmp_path: Path) -> None:
    pipe = as_pipeline(augment, paths, COUNT, "skip")
    with pytest.warns(UserWarning, match="cannot be read are left out") as caught:
        batches = [pipe.run() for _ in range(2)]
    assert len(caught) == 1
    assert [len(batch[0]) for batch in batches] == [6, 6]
    listed = pipe.quarantine
    assert len(listed) == listed.total == 12
    reasons = {os.path.basename(e.file or "")[:2]: (e.operator, e.reason) for e in listed}
    assert reasons["07"] == ("readers.file", "the file cannot be read: No such file or directory")
    assert reasons["04"][0] == "decoders.image"
    assert "unknown image format" in reasons["04"][1]
    assert pickle.loads(pickle.dumps(list(listed))) == list(listed)
    listed.save(tmp_path / "bad.jsonl")
    lines = (tmp_path / "bad.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [entry._asdict() for entry in listed]
    listed.save(tmp_path / "bad.csv")
    with open(tmp_path / "bad.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["reason"] for row in rows] == [entry.reason for entry in listed]
    pipe.close()


def test_quarantine_is_bounded() -> None:
    bad = gradiva.as_batch([np.frombuffer(b"no image", np.uint8)] * 5)
    with gradiva.Quarantine(most=3) as found:
        gradiva.decoders.image(bad, on_error="skip")
        assert gradiva.quarantine() is found
    assert (len(found), found.total) == (3, 5)
    assert found[0].file is None
    assert len(gradiva.quarantine()) == 0
    found.clear()
    assert (len(found), found.total) == (0, 0)


@pytest.mark.parametrize("mode", [eager, looped, compiled, deferred])
@pytest.mark.parametrize("policy", ["skip", "replace"])
@pytest.mark.parametrize("body", [augment, unfused])
def test_quarantine_of_dynamic_mode(mode: Any, policy: Any, body: Any, paths: list[str]) -> None:
    mode(body, paths, 4, policy)
    names = [os.path.basename(entry.file or "") for entry in gradiva.quarantine()]
    assert sorted(names) == sorted(os.path.basename(paths[index]) for index in MIXED)


# Graphs.


@pytest.mark.parametrize("policy", ["skip", "replace"])
@pytest.mark.parametrize("damage", ["cut", "empty"])
def test_a_bad_sample_falls_out_of_its_group_alone(
    damage: str, policy: Any, tmp_path: Path
) -> None:
    """Whether its header tells, or only its decoder."""
    files = make(tmp_path, {5: damage})

    @gradiva.pipeline_def(batch_size=4, num_threads=1, exec_async=False)
    def pipeline() -> Any:
        files_, labels = fn.readers.file(files=files)
        images = gradiva.decoders.image(files_, on_error=policy)
        return gradiva.flip(gradiva.resize(images, size=(8, 8))), labels

    pipe = pipeline()
    sizes = [tuple(map(len, pipe.run())) for _ in range(3)]
    left = 3 if policy == "skip" else 4
    assert sizes == [(4, 4), (left, left), (4, 4)]
    (group,) = pipe.explain()
    assert group.members == ("decoders.image", "resize", "flip")
    assert (group.fused, group.separate) == (3, 0)
    assert [entry.position for entry in pipe.quarantine] == [5]
    pipe.close()


def test_a_batch_of_bad_samples_runs_one_by_one(tmp_path: Path) -> None:
    files = make(tmp_path, {4: "cut", 5: "empty", 6: "cut", 7: "cut"})

    @gradiva.pipeline_def(batch_size=4, num_threads=2)
    def pipeline() -> Any:
        files_, _ = fn.readers.file(files=files)
        return gradiva.resize(gradiva.decoders.image(files_, on_error="skip"), size=(8, 8))

    pipe = pipeline()
    assert [len(pipe.run()[0]) for _ in range(2)] == [4, 0]
    (group,) = pipe.explain()
    assert group.fused >= 1
    assert group.reasons[Reason.BAD_SAMPLE, ""] == 1
    assert [entry.position for entry in pipe.quarantine] == [4, 5, 6, 7]
    pipe.close()


def test_an_unread_decoder_still_drops(paths: list[str]) -> None:
    def body(files: Any, labels: Any, policy: Any) -> tuple[Any, ...]:
        images = gradiva.decoders.image(files, on_error=policy)
        images, labels = gradiva.align(images, labels)
        gradiva.flip(images)
        return (labels,)

    expected = eager(body, paths, 4, "skip")
    assert sum(len(samples) for ((_, _, samples),) in expected) == COUNT - len(MIXED)
    assert piped(body, paths, 4, "skip") == expected
    assert looped(body, paths, 4, "skip") == compiled(body, paths, 4, "skip") == expected


def test_constants_are_not_folded_away() -> None:
    @gradiva.pipeline_def(batch_size=2, num_threads=1)
    def pipeline() -> Any:
        _, labels = fn.readers.file(files=["a", "b"], on_error="replace")
        image = gradiva.decoders.image(
            gradiva.tensor(np.arange(9, dtype=np.uint8)), on_error="skip"
        )
        return image, labels

    pipe = pipeline()
    assert any(node.operator.name == "decoders.image" for node in optimize(pipe.graph).nodes)
    assert [len(batch) for batch in pipe.run()] == [0, 0]
    pipe.close()


def test_several_sources(tmp_path: Path) -> None:
    """What one reader leaves out leaves the batches of the other sources."""
    first = make(tmp_path / "a", {1: "missing", 5: "missing"}, 8)
    second = make(tmp_path / "b", {0: "missing", 5: "folder"}, 8)

    @gradiva.pipeline_def(batch_size=4, num_threads=2)
    def pipeline() -> Any:
        one, here = fn.readers.file(files=first, on_error="skip")
        two, there = fn.readers.file(files=second, on_error="skip")
        count = fn.external_source(lambda i: np.arange(4 * i, 4 * i + 4).reshape(4, 1), batch=True)
        return here, there, count, one, gradiva.decoders.image(two), fn.random.uniform()

    pipe = pipeline()
    for kept in ([2, 3], [4, 6, 7]):
        here, there, count, one, two, drawn = pipe.run()
        assert here.as_array().ravel().tolist() == there.as_array().ravel().tolist() == kept
        assert count.as_array().ravel().tolist() == kept
        assert len(one) == len(two) == len(drawn) == len(kept)
    pipe.close()


def test_deferred_in_any_order(paths: list[str]) -> None:
    """Calls that were noted before samples were lost run with those that are left."""
    reader = readers.File(files=paths, on_error="replace")
    ((files, labels),) = reader.next_epoch(batch_size=COUNT)
    images = gradiva.resize(gradiva.decoders.image(files, on_error="skip"), size=(4, 4))
    three = gradiva.tensor(np.full((1, 1, 1), 3, np.int32))
    expected = [bits(out) for out in (images, images + images, images * three)]
    left = COUNT - len(MIXED)
    together = bits(images + gradiva.align(images, labels)[1])
    for first in range(4):
        with EvalMode.deferred:
            decoded = gradiva.decoders.image(files, on_error="skip")
            small = gradiva.resize(decoded, size=(4, 4))
            outputs = [small, small + small, small * three]
            unaligned = small + labels
            if first == 3:
                assert len(decoded) == len(small) == small.batch_size == left
            else:
                outputs[first].evaluate()
            outputs.append(outputs[0] + outputs[1])
            drawn = random.uniform(batch_size=outputs[2].batch_size)
            outputs.append(small * drawn)
        assert [bits(out) for out in outputs[:3]] == expected
        assert [len(out) for out in outputs] == [left] * 5
        if first == 3:
            with pytest.raises(gradiva.OperatorValueError, match="one batch size"):
                unaligned.evaluate()
        else:  # it ran together with the others, where samples leave everything at once
            assert bits(unaligned) == together
        with EvalMode.deferred, pytest.raises(gradiva.OperatorValueError, match="one batch size"):
            small + labels


def test_compiled_functions_stay_fused(paths: list[str]) -> None:
    @capture.compile
    def fast(files: Any) -> Any:
        return gradiva.flip(gradiva.resize(gradiva.decoders.image(files, on_error="skip"), size=4))

    for files, _ in readers.File(files=paths, on_error="skip").next_epoch(batch_size=4):
        wanted = fast.function(files)
        assert bits(fast(files)) == bits(wanted)
    assert fast.compilations == 1
    assert fast.graph is not None
    assert [node.operator.name for node in fast.graph.nodes] == ["input", "fused"]


# align.


def test_align_outside_of_loops() -> None:
    def at(*positions: int) -> gradiva.Batch:
        whole: gradiva.Batch = gradiva.random.uniform(batch_size=9)
        rows = np.array(positions, np.int64)
        made = whole.select(list(positions))
        made.provenance = gradiva.eager.types.provenance.Provenance(rows)
        return made

    one, two, three = at(5, 1, 3, 8), at(1, 2, 3, 5, 8), at(8, 3, 5, 0)
    found = gradiva.align(one, two, three)
    assert [np.asarray(batch.positions).tolist() for batch in found] == [[5, 3, 8]] * 3
    assert gradiva.align(one, one)[0] is one
    plain = gradiva.random.uniform(batch_size=4)
    assert gradiva.align(one, plain)[1] is plain
    with pytest.raises(gradiva.OperatorValueError, match="no positions"):
        gradiva.align(two, plain)
    with pytest.raises(gradiva.OperatorValueError, match="two samples of one position"):
        gradiva.align(at(1, 1), two)
    with pytest.raises(gradiva.OperatorTypeError, match="batches"):
        gradiva.align(one, [1, 2])  # type: ignore[type-var]


def test_align_takes_values_of_the_step(paths: list[str]) -> None:
    """Random values that were drawn before the decoder lose their samples too."""

    def body(files: Any, labels: Any, policy: Any) -> tuple[Any, ...]:
        drawn = random.uniform(batch_size=labels.batch_size)
        images = gradiva.decoders.image(files, on_error=policy)
        images, labels, drawn = gradiva.align(images, labels, drawn)
        return labels, drawn

    expected = eager(body, paths, 4, "skip")
    for mode in MODES:
        assert mode(body, paths, 4, "skip") == expected


@settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    bad=st.dictionaries(st.integers(0, COUNT - 1), st.sampled_from(DAMAGE)),
    size=st.integers(1, COUNT + 1),
    policy=st.sampled_from(["skip", "replace"]),
    body=st.sampled_from(BODIES),
    mode=st.sampled_from(MODES),
)
def test_any_files(
    bad: dict[int, str],
    size: int,
    policy: Any,
    body: Any,
    mode: Any,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    paths = make(tmp_path_factory.mktemp("any"), bad)
    expected = eager(body, paths, size, policy)
    if mode is piped:  # its batches run on into the next epoch
        expected = expected[: len(paths) // size]
    assert mode(body, paths, size, policy) == expected
    kept = sum(len(step[0][2]) for step in eager(body, paths, size, policy))
    assert kept == (COUNT - len(bad) if policy == "skip" else COUNT)
