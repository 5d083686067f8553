"""`explain` of a captured loop: it lists each call that was not computed ahead, with the reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.capture.loop.report import Explanation
from gradiva.capture.runtime.fusion_report import GroupReport
from gradiva.plugin.numba.fn.experimental import numba_function
from tests.capture.loop.loops import make_folder, no_thread_is_left, open_reader

__all__ = ["no_thread_is_left"]

pytestmark = [pytest.mark.core, pytest.mark.usefixtures("no_thread_is_left")]

Body = Callable[[Any], Any]
FOREIGN = "it reads nothing that the loop's source delivered in this step"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_folder(tmp_path_factory.mktemp("loop"), count=8)


@pytest.fixture
def explained(folder: str) -> Callable[..., Explanation]:
    def run(body: Body, **options: Any) -> Explanation:
        """Four steps of two samples."""
        loop = open_reader(folder).next_epoch(2, capture=True, **options)
        for files, _ in loop:
            body(gradiva.resize(gradiva.decoders.image(files), size=(16, 16)))
        found: Explanation = loop.explain()
        return found

    return run


def reasons(found: Explanation) -> dict[str, tuple[int, int, str]]:
    return {it.operator: (it.count, it.first_step, it.reason) for it in found}


def inverted(image: Any) -> Any:
    return 255 - image


def test_a_function_with_effects_and_what_reads_its_result(
    explained: Callable[..., Explanation],
) -> None:
    def body(images: Any) -> None:
        made = gradiva.python_function(images, function=inverted, output_layouts="HWC")
        blurred = gradiva.gaussian_blur(made, window_size=3)
        np.asarray(gradiva.flip(blurred) + images)

    found = explained(body)
    listed = reasons(found)
    assert set(listed) == {"python_function", "gaussian_blur", "flip", "add"}
    assert {entry[:2] for entry in listed.values()} == {(3, 1)}
    reason = listed["python_function"][2]
    assert reason.startswith("it has effects")
    assert "`gradiva.prefetchable`" in reason
    assert "`@gradiva.prefetchable` above its `def`" in reason
    assert "`gradiva ops python_function`" in reason
    read = "it reads the result of `{}`, which was not computed ahead"
    assert listed["gaussian_blur"][2] == read.format("python_function")
    assert listed["flip"][2] == read.format("gaussian_blur")
    assert listed["add"][2] == read.format("flip")
    assert (found.served, found.unserved, found.traced) == (6, 12, 6)
    assert "6 of 18 calls computed ahead (33.3%)" in str(found)
    assert all("test_explained_loops.py" in str(entry.location) for entry in found)
    with pytest.raises(RuntimeError, match="add: this call was not computed ahead: it reads the"):
        explained(body, strict=True)


def test_what_a_function_has_read_is_served_later(explained: Callable[..., Explanation]) -> None:
    """Its arrays are copies, so it has not written into its input."""

    def body(images: Any) -> None:
        gradiva.python_function(images, function=inverted)
        np.asarray(gradiva.flip(images))

    assert set(reasons(explained(body))) == {"python_function"}


def test_strict_lets_calls_with_effects_run(
    explained: Callable[..., Explanation], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def body(images: Any) -> None:
        made = gradiva.python_function(images, function=inverted, output_layouts="HWC")
        gradiva.dump_image(images)
        gradiva.gaussian_blur(made, window_size=3)

    listed = reasons(explained(body, strict=True))
    assert set(listed) == {"python_function", "dump_image", "gaussian_blur"}
    assert listed["dump_image"] == (3, 1, "it has effects, so it runs when it is called")


def test_a_declared_function_is_served(explained: Callable[..., Explanation]) -> None:
    @gradiva.prefetchable
    def pure(image: Any) -> Any:
        return 255 - image

    def body(images: Any) -> None:
        made = gradiva.python_function(images, function=pure, output_layouts="HWC")
        np.asarray(gradiva.gaussian_blur(made, window_size=3))

    found = explained(body, strict=True)
    assert (found.served, found.unserved) == (12, 0)


NEW = "no step before has made this call with these arguments: a number that changes from step to "


def test_a_random_call_that_was_renumbered(folder: str) -> None:
    """No argument changes: an earlier call is made in some steps only."""

    def run(**options: Any) -> Explanation:
        loop = open_reader(folder).next_epoch(1, capture=True, **options)
        for step, _ in enumerate(loop):
            if step % 2 == 0:
                gradiva.random.uniform(range=(0.0, 1.0), batch_size=1)
            gradiva.random.coin_flip(batch_size=1)
        found: Explanation = loop.explain()
        return found

    reason = reasons(run())["random.coin_flip"][2]
    assert reason.startswith(NEW)
    assert "make both calls before the `if`, or give each a `seed=`" in reason
    assert "docs/" not in reason
    with pytest.raises(RuntimeError, match=r"coin_flip: .* a random call before it was skipped or"):
        run(strict=True)


def test_random_calls_with_seeds_are_not_renumbered(folder: str) -> None:
    reader = open_reader(folder)
    for _ in range(2):
        loop = reader.next_epoch(1, capture=True)
        for step, _ in enumerate(loop):
            if step % 2:
                gradiva.random.uniform(range=(0.0, 1.0), batch_size=1, seed=4)
            gradiva.random.coin_flip(batch_size=1, seed=5)
        assert "random.coin_flip" not in reasons(loop.explain())


def test_a_number_that_changes(folder: str) -> None:
    loop = open_reader(folder).next_epoch(1, capture=True)
    for step, (files, _) in enumerate(loop):
        gradiva.brightness(gradiva.decoders.image(files), brightness=1.0 + step)
    reason = reasons(loop.explain())["brightness"][2]
    assert reason.startswith(NEW)
    assert "or let the source deliver it" in reason
    assert "a random call" not in reason
    assert "docs/" not in reason


def test_a_second_loop_lists_its_first_step(folder: str) -> None:
    reader = open_reader(folder)
    for first_step, count in ((1, 3), (0, 4)):
        loop = reader.next_epoch(2, capture=True)
        for files, _ in loop:
            gradiva.python_function(gradiva.decoders.image(files), function=inverted)
        (entry,) = loop.explain()
        assert (entry.first_step, entry.count) == (first_step, count)


def test_arrays_made_in_the_body(explained: Callable[..., Explanation]) -> None:
    def body(images: Any) -> None:
        mine = np.ones((2, 8, 8, 3), np.uint8)
        gradiva.gaussian_blur(gradiva.as_batch(mine, layout="HWC"), window_size=3)
        gradiva.brightness(images, brightness=[1.0, 1.1])

    found = explained(body, strict=False)
    why = "its argument `brightness` has values made in the body"
    assert reasons(found) == {"gaussian_blur": (3, 1, FOREIGN), "brightness": (3, 1, why)}
    assert (found.served, found.unserved) == (6, 6)


def test_an_argument_that_a_function_made(explained: Callable[..., Explanation]) -> None:
    def amount(image: Any) -> Any:
        return np.float32(1.5)

    def body(images: Any) -> None:
        amounts = gradiva.python_function(images, function=amount)
        gradiva.brightness(images, brightness=amounts)

    listed = reasons(explained(body))
    assert "the result of `python_function`" in listed["brightness"][2]


def test_an_input_that_was_read_as_an_array(folder: str) -> None:
    loop = open_reader(folder).next_epoch(2, capture=True)
    for files, _ in loop:
        images = gradiva.resize(gradiva.decoders.image(files), size=(16, 16))
        np.asarray(images)
        if loop.explain().served:  # not in the first step
            gradiva.flip(images)
    (entry,) = {entry.reason for entry in loop.explain()}
    assert entry == (
        "its input was read as an array before this call; your code may have changed it, so the "
        "call ran at once"
    )


def test_calls_of_other_loops_and_after_the_end_are_not_listed(folder: str) -> None:
    outer, inner = open_reader(folder), open_reader(folder)
    loop = outer.next_epoch(4, capture=True)
    for files, _ in loop:
        gradiva.decoders.image(files)
        for others, _ in inner.next_epoch(2):
            gradiva.decoders.image(others)
        one = inner.next_epoch(2, capture=True)
        for others, _ in one:
            gradiva.python_function(gradiva.decoders.image(others), function=inverted)
        assert {entry.operator for entry in one.explain()} == {"python_function"}
    gradiva.flip(np.zeros((4, 4, 1), np.uint8))
    assert reasons(loop.explain()) == {}


def test_before_and_after_the_first_step(folder: str) -> None:
    loop = open_reader(folder).next_epoch(2, capture=True)
    head = "captured loop over readers.file: "
    assert str(loop.explain()) == head + "nothing has run yet"
    assert repr(loop) == f"<{head}nothing has run yet>"
    files, _ = next(loop)
    gradiva.decoders.image(files).evaluate()
    text = str(loop.explain())
    assert text == head + "1 call traced in the first step, and none after it"
    files, _ = next(loop)
    gradiva.decoders.image(files).evaluate()
    assert "1 of 1 calls computed ahead (100.0%), 1 traced" in str(loop.explain())
    empty = open_reader(folder).next_epoch(4, capture=True)
    for _ in empty:
        pass
    assert str(empty.explain()) == head + "no calls in 2 steps"


def test_what_is_computed_ahead_in_no_group(folder: str) -> None:
    reader = open_reader(folder)
    loop = reader.next_epoch(2, capture=True)
    for files, labels in loop:
        images = gradiva.resize(gradiva.decoders.image(files), size=(16, 16))
        blurred = gradiva.gaussian_blur(gradiva.gaussian_blur(images, window_size=3), window_size=5)
        np.asarray(blurred)
        np.asarray(labels + 1)
    found = loop.explain()
    lines = str(found).splitlines()
    assert lines[1] == (
        "what is computed ahead: 1 fused group; outside of fused groups: gaussian_blur x 2, add"
    )
    assert lines[2].startswith("1. decoders.image + resize: fused in ")
    assert lines[1] in found._repr_html_()


def test_what_is_computed_ahead_without_any_group(folder: str) -> None:
    loop = open_reader(folder).next_epoch(2, capture=True)
    for _, labels in loop:
        np.asarray(labels + 1)
    text = str(loop.explain())
    assert "what is computed ahead: no fused groups; outside of fused groups: add" in text
    assert "what is computed ahead: no fused groups" in loop.explain()._repr_html_()


def test_a_program_that_has_not_run() -> None:
    group = GroupReport(("decoders.image", "resize"), None)
    assert str(group).startswith("decoders.image + resize: not run yet with this program\n")
    group.fused = 1
    assert str(group).startswith("decoders.image + resize: fused in 1 of 1 batches\n")


@pytest.mark.full  # Numba compiles for 7 s; the test of python_function above finds the same text
def test_a_compiled_function(explained: Callable[..., Explanation]) -> None:
    """It is listed as well, and where to read more is an operator that the command knows."""

    def plus_one(out: Any, image: Any) -> None:
        out[:] = image + 1

    def body(images: Any) -> None:
        uint8 = [gradiva.uint8]
        made = numba_function(
            images, run_fn=plus_one, in_types=uint8, out_types=uint8, ins_ndim=[3], outs_ndim=[3]
        )
        np.testing.assert_array_equal(np.asarray(made), np.asarray(images) + 1)

    listed = reasons(explained(body))
    assert set(listed) == {"numba_function"}
    assert listed["numba_function"][2].endswith("(see `gradiva ops python_function`)")


def test_batches_of_earlier_loops(folder: str) -> None:
    reader = open_reader(folder)
    texts = []
    for _ in range(2):
        loop = reader.next_epoch(2, capture=True)
        for files, _ in loop:
            gradiva.resize(gradiva.decoders.image(files), size=(16, 16))
        texts.append(str(loop.explain()))
        assert "ms a batch fused" in texts[-1]
    assert ["earlier loops" in text for text in texts] == [False, True]
