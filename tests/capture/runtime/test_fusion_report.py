"""`explain`: what ran fused in a pipeline, a compiled function and a captured loop, and why not."""

from __future__ import annotations

import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import gradiva
from gradiva import capture, fn
from gradiva.capture.runtime import fusion_report, program
from gradiva.capture.runtime.fusion_report import (
    FusionExplanation,
    GroupReport,
    NotFusableError,
    Reason,
    Stopwatch,
    Timing,
)
from gradiva.eager.jit.jit import compiled_kernels

pytestmark = pytest.mark.core


def images(*shapes: tuple[int, ...], dtype: Any = np.uint8) -> gradiva.Batch:
    return gradiva.batch([np.full(shape, 7, dtype) for shape in shapes], layout="HWC")


@capture.compile
def halves(data: Any) -> Any:
    """Does not fuse where the crop fills in pixels: for images that are not wide."""
    small = gradiva.resize(data, resize_shorter=6)
    window = gradiva.crop(small, crop=(6, 8), out_of_bounds_policy="pad")
    return gradiva.brightness(window, brightness=0.5)


def only(found: FusionExplanation) -> GroupReport:
    (group,) = found
    return group


@pytest.fixture(name="compiled")
def fresh() -> Any:
    return capture.compile(halves.function)


def test_a_compiled_function(compiled: Any) -> None:
    assert len(compiled.explain()) == 0
    assert "no fused groups" in str(compiled.explain())
    wide, square = images((9, 18, 3), (5, 8, 1)), images((9, 18, 3), (4, 4, 3))
    for data in (wide, square, wide, square):  # the first of a kind may compile kernels
        compiled(data)
    compiled(images((3, 6, 1), (5, 8, 1), (1, 2, 1)))
    group = only(compiled.explain())
    assert (group.batches, group.fused, group.separate) == (5, 3, 2)
    assert group.reasons == {(Reason.MEMBER, "crop"): 2}
    for timing, most in ((group.time_fused, 3), (group.time_separate, 2)):
        assert 0 < timing.runs <= most
        assert timing.seconds > 0
    text = str(compiled.explain())
    assert "resize + crop + brightness: fused in 3 of 5 batches" in text
    assert f"2 x MEMBER: {Reason.MEMBER.value} (crop)" in text
    assert "test_fusion_report.py:" in text
    table = compiled.explain()._repr_html_()
    assert "3 of 5" in table
    assert "gradiva.resize(data" in table


def test_what_is_told_stays_as_it_was(compiled: Any) -> None:
    compiled(images((9, 18, 3)))
    group = only(compiled.explain())
    compiled(images((9, 9, 3)))
    assert group.batches == 1
    assert not group.reasons


def test_empty_batches_are_not_counted(compiled: Any) -> None:
    compiled(images((9, 18, 3)))
    compiled(gradiva.as_batch(np.zeros((0, 2, 2, 3), np.uint8), layout="HWC"))
    assert only(compiled.explain()).batches == 1


@pytest.mark.parametrize(
    ("function", "data", "reason", "detail"),
    [
        (
            lambda x: gradiva.flip(gradiva.crop(x, crop=(2, 2)), horizontal=1),
            images((9, 9, 3), dtype=np.float16),
            Reason.DTYPE,
            "float16",
        ),
    ],
)  # fmt: skip
def test_reasons(function: Any, data: Any, reason: Reason, detail: str) -> None:
    compiled = capture.compile(function)
    found, wanted = compiled(data), function(data)
    assert [one.tobytes() for one in found.arrays()] == [one.tobytes() for one in wanted.arrays()]
    group = only(compiled.explain())
    assert group.reasons == {(reason, detail): 1}
    assert group.fused == 0


@pytest.mark.parametrize("shape", [(9, 9, 3), (9, 18, 3)])
def test_members_around_one_that_does_not_fit_stay_fused(shape: tuple[int, ...]) -> None:
    def function(data: Any) -> Any:
        small = gradiva.flip(gradiva.resize(data, resize_shorter=6))
        window = gradiva.crop(small, crop=(6, 8), out_of_bounds_policy="pad", fill_values=9.0)
        return gradiva.contrast(gradiva.brightness(window, brightness=0.5), contrast=2.0)

    data = images(shape, (12, 12, 3))
    compiled = capture.compile(function)
    found, wanted = compiled(data), function(data)
    assert [one.tobytes() for one in found.arrays()] == [one.tobytes() for one in wanted.arrays()]
    group = only(compiled.explain())
    assert (group.fused, group.partly, group.separate) == (0, 1, 0)
    assert group.reasons == {(Reason.MEMBER, "crop"): 1}
    assert "fused in 0 of 1 batches, in parts in 1" in str(compiled.explain())


def test_what_cannot_end_a_group_runs_behind_it() -> None:
    def function(data: Any) -> Any:
        small = gradiva.flip(gradiva.resize(data, size=(4, 6)))
        return gradiva.cast(gradiva.brightness(small, brightness=0.3), dtype=gradiva.bfloat16)

    compiled = capture.compile(function)
    data = images((9, 9, 3), (5, 4, 3))
    found, wanted = compiled(data), function(data)
    assert [one.tobytes() for one in found.arrays()] == [one.tobytes() for one in wanted.arrays()]
    group = only(compiled.explain())
    assert (group.fused, group.partly, group.separate) == (0, 1, 0)
    assert group.reasons == {(Reason.DTYPE, "bfloat16"): 1}


@pytest.mark.filterwarnings("ignore:.*left out")
def test_a_bad_sample_leaves_what_runs_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = pictures(tmp_path, 8, cut=(1, 6))

    @gradiva.pipeline_def(batch_size=4, num_threads=2, seed=1, exec_async=False)
    def pipeline() -> Any:
        data, labels = fn.readers.file(files=paths)
        small = fn.resize(fn.decoders.image(data, on_error="skip"), resize_shorter=6)
        window = fn.crop(small, crop=(6, 20), out_of_bounds_policy="pad")
        return fn.flip(window, horizontal=fn.random.coin_flip()), labels

    def outcome() -> Any:
        pipe = pipeline()
        found = [[[s.tobytes() for s in out.arrays()] for out in pipe.run()] for _ in range(2)]
        pipe.close()
        assert [[len(one) for one in batch] for batch in found] == [[3, 3]] * 2
        assert [entry.position for entry in pipe.quarantine] == [1, 6]
        return found, only(pipe.explain())

    def refuse(*_arguments: Any) -> Any:
        raise NotFusableError(Reason.MEMORY)

    found, group = outcome()
    assert (group.fused, group.partly, group.separate) == (0, 2, 0)
    monkeypatch.setattr(program, "run_group", refuse)
    wanted, group = outcome()
    assert (group.fused, group.partly, group.separate) == (0, 0, 2)
    assert found == wanted


def pictures(folder: Path, count: int, cut: tuple[int, ...] = ()) -> list[str]:
    noise, paths = np.random.default_rng(3), []
    for number in range(count):
        path = folder / f"{number}.jpg"
        Image.fromarray(noise.integers(0, 255, (20, 32, 3), np.uint8)).save(path)
        if number in cut:
            path.write_bytes(path.read_bytes()[:200])
        paths.append(str(path))
    return paths


@pytest.mark.filterwarnings("ignore:.*left out")
def test_a_pipeline(tmp_path: Path) -> None:
    paths = pictures(tmp_path, 12, cut=(5,))

    @gradiva.pipeline_def(batch_size=4, num_threads=2, prefetch_queue_depth=1)
    def pipeline() -> Any:
        data, labels = fn.readers.file(files=paths)
        return fn.resize(fn.decoders.image(data, on_error="skip"), size=(8, 8)), labels

    pipe = pipeline()
    assert only(pipe.explain()).members == ("decoders.image", "resize")
    for _ in range(3):
        pipe.run()
    pipe.close()
    group = only(pipe.explain())
    assert group.fused >= 3
    assert not group.reasons
    assert "batches" in repr(pipe.explain())


def test_a_captured_loop(tmp_path: Path) -> None:
    reader = gradiva.readers.File(files=pictures(tmp_path, 20))
    loop: Any = reader.next_epoch(batch_size=4, capture=True)
    assert len(loop.explain().groups) == 0
    for data, _ in loop:
        halves.function(gradiva.decoders.image(data)).arrays()
    explained = loop.explain()
    assert len(explained.groups) == 1
    assert explained.groups[0].separate == 0
    assert "decoders.image + resize + crop + brightness" in str(explained)
    assert "decoders.image + resize + crop + brightness" in explained._repr_html_()


def test_a_costly_group_is_warned_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = capture.compile(halves.function)
    square = images((9, 9, 3), (9, 9, 1))
    compiled(square)  # without what is compiled, it takes less than a second
    monkeypatch.setattr(fusion_report, "NOTICED_S", 0.0)
    with pytest.warns(UserWarning, match=r"runs member by member in 2 of 2.*MEMBER") as noted:
        compiled(square)
    assert [warning.filename for warning in noted] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled(square)


def test_a_group_that_costs_little_is_not_warned_of(
    compiled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fusion_report, "NOTICED_S", 0.0)
    monkeypatch.setattr(fusion_report, "COSTLY", 1.0)
    for _ in range(2):
        compiled(images((9, 9, 3), (9, 9, 1)))
    assert only(compiled.explain()).separate == 2


def test_threads_count_together(compiled: Any) -> None:
    compiled(images((9, 18, 3)))
    data = images((9, 18, 3), (4, 6, 3))
    threads = [
        threading.Thread(target=lambda: [compiled(data) for _ in range(25)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    group = only(compiled.explain())
    assert group.fused == 101
    assert group.separate == 0


def test_the_cost_is_measured_where_both_were() -> None:
    group = GroupReport(("a", "b"), None, 2, 1)
    group.time_fused, group.time_separate = Timing(2, 8, 0.4), Timing(1, 4, 1.0)
    assert group.cost == pytest.approx(0.8)
    group.time_fused = Timing()
    assert group.cost == 0.5


def test_runs_that_compile_are_not_timed() -> None:
    began = Stopwatch()
    assert began.seconds() is not None
    assert Timing(1, 4, 0.5).plus(4, None) == Timing(1, 4, 0.5)
    assert Timing(1, 4, 0.5).plus(3, 1.5) == Timing(2, 7, 2.0)
    compiled_kernels.append(("one", 0.1))
    try:
        assert began.seconds() is None
    finally:
        compiled_kernels.pop()


def test_what_a_report_looks_like() -> None:
    group = GroupReport(("a", "b"), None)
    assert "no line known" in str(group)
    assert "<td" in FusionExplanation("<p>", [group])._repr_html_()
    assert "&lt;p&gt;" in FusionExplanation("<p>", [group])._repr_html_()
