"""Captured loops as a whole: leaving, re-entering, checkpoints, errors, threads, what is freed."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import random, readers
from gradiva.capture.loop.captured_loop import LoopState
from gradiva.capture.loop.pending import LazyBatch
from tests.capture.loop.loops import (
    ahead_threads,
    bits,
    make_folder,
    no_thread_is_left,
    noisy,
    normalized,
    open_reader,
    run,
    same,
    threads_end,
)
from tests.tiers import few

__all__ = ["no_thread_is_left"]

pytestmark = [pytest.mark.core, pytest.mark.usefixtures("no_thread_is_left")]

FOREIGN = "it reads a batch that does not come from the loop's source"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_folder(tmp_path_factory.mktemp("loop"))


def steps_with_breaks(folder: str, capture: bool, stop: int, sizes: list[int]) -> list[Any]:
    """Leave the loop after `stop` steps, again and again; then one whole epoch."""
    reader = open_reader(folder)
    found: list[Any] = []
    for size in sizes:
        for step, (files, labels) in enumerate(reader.next_epoch(size, capture=capture)):
            found.append([bits(v) for v in (*noisy(files), labels)])
            if step == stop:
                break
        found.append((reader.get_state(), bits(random.uniform(batch_size=2))))
    found += [bits(normalized(files)) for files, _ in reader.next_epoch(batch_size=4)]
    return found


@pytest.mark.parametrize("stop", few(range(7), every=3))
def test_break_at_every_step_and_re_entry(folder: str, stop: int) -> None:
    for sizes in ([2, 2, 2], [2, 3, 1]):
        assert steps_with_breaks(folder, True, stop, sizes) == steps_with_breaks(
            folder, False, stop, sizes
        )


@pytest.mark.parametrize("at", range(5))
def test_checkpoint_and_restore(folder: str, at: int) -> None:
    def follow(capture: bool) -> list[Any]:
        reader = open_reader(folder)
        found: list[Any] = []
        states: list[Any] = []
        for step, (files, _) in enumerate(reader.next_epoch(2, capture=capture)):
            found.append([bits(value) for value in noisy(files)])
            states.append(reader.get_state())
            if step == 4 and len(states) < 8:
                reader.set_state(states[at])
        fresh = open_reader(folder)
        fresh.set_state(states[at])
        found += [
            [bits(v) for v in noisy(files)] for files, _ in fresh.next_epoch(2, capture=capture)
        ]
        return [found, states]

    assert follow(True) == follow(False)


def test_two_loops_at_once(folder: str) -> None:
    def both(capture: bool) -> list[Any]:
        one, two = open_reader(folder), readers.File(file_root=folder, random_shuffle=True, seed=3)
        found = []
        loops = [one.next_epoch(2, capture=capture), two.next_epoch(2, capture=capture)]
        for (files, _), (others, _) in zip(*loops, strict=True):
            x, y = normalized(files), normalized(others)
            found.append([bits(v) for v in (x, y, x + y, *noisy(files), *noisy(others))])
        if capture:
            first, second = (loop.explain() for loop in loops)
            assert first.share == 1.0, str(first)
            # The last source that was read counts the random calls.
            assert {entry.operator for entry in second} == {"random.normal", "add"}, str(second)
            assert {entry.reason for entry in second} == {FOREIGN}
        return [found, one.get_state(), bits(random.uniform(batch_size=2))]

    assert both(True) == both(False)


def test_two_loops_over_one_reader(folder: str) -> None:
    """Each takes the next batch, in the order in which they are asked."""

    def both(capture: bool) -> list[Any]:
        reader = open_reader(folder)
        one, two = (reader.next_epoch(1, capture=capture) for _ in range(2))
        turns = [one, two, one, one, two, two, one, two, one]
        return [bits(normalized(next(loop)[0])) for loop in turns] + [reader.get_state()]

    assert both(True) == both(False)


def test_nested_loops(folder: str) -> None:
    def nested(capture: bool) -> list[Any]:
        outer, inner = open_reader(folder), readers.File(file_root=folder, seed=1)
        found = []
        for files, _ in outer.next_epoch(4, capture=capture):
            before = bits(random.uniform(batch_size=2))
            for others, _ in inner.next_epoch(3, capture=capture):
                found.append([bits(v) for v in noisy(others)])
            found.append([before, *(bits(v) for v in noisy(files))])
        return found

    assert nested(True) == nested(False)


def test_several_threads(folder: str) -> None:
    expected = steps_with_breaks(folder, False, 9, [2])[:6]
    found: dict[int, Any] = {}

    def work(number: int) -> None:
        reader = readers.File(file_root=folder, random_shuffle=True, seed=7)
        kept = []
        for files, labels in reader.next_epoch(2, capture=True):
            kept.append((*noisy(files), labels))
        found[number] = [[bits(value) for value in step] for step in kept]

    random.set_seed(7)
    users = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for user in users:
        user.start()
    for user in users:
        user.join(60)
    assert len(found) == 4
    assert all(steps == expected for steps in found.values())


def test_values_looked_at_by_other_threads(folder: str) -> None:
    """What lies inside of a fused group is computed for whoever asks first, also late."""
    reader = open_reader(folder)
    asked: list[tuple[Any, Any]] = []
    for files, _ in reader.next_epoch(2, capture=True):
        images = gradiva.resize(gradiva.decoders.image(files), size=(20, 20))
        asked.append((images, gradiva.flip(images) * 2))
    found: list[list[Any]] = [[] for _ in range(4)]

    def look(number: int) -> None:
        found[number] = [(bits(a), bits(b)) for a, b in asked]

    users = [threading.Thread(target=look, args=(number,)) for number in range(4)]
    for user in users:
        user.start()
    for user in users:
        user.join(60)
    expected = []
    for files, _ in open_reader(folder).next_epoch(2):
        images = gradiva.resize(gradiva.decoders.image(files), size=(20, 20))
        expected.append((bits(images), bits(gradiva.flip(images) * 2)))
    assert found == [expected] * 4


def test_a_dropped_loop_ends(folder: str) -> None:
    others = ahead_threads()
    reader = open_reader(folder)
    loop = reader.next_epoch(2, capture=True)
    for _ in range(3):
        normalized(next(loop)[0])
    assert ahead_threads(others)
    gone = weakref.ref(loop)
    del loop
    assert gone() is None
    assert len(list(reader.next_epoch(2))) == 3
    assert ahead_threads(others) == [], "who reads the source next has stopped the threads"
    loop = reader.next_epoch(2, capture=True)
    normalized(next(loop)[0])
    normalized(next(loop)[0])
    assert ahead_threads(others)
    del loop
    assert threads_end(others)


def test_a_dropped_reader_ends(folder: str) -> None:
    for files, _ in open_reader(folder).next_epoch(2, capture=True):
        normalized(files)


def test_kept_and_overwritten_values(folder: str) -> None:
    """What the user keeps stays as it was; what the user writes into is seen by nobody else."""

    def body(files: Any, labels: Any, step: int) -> Any:
        images = gradiva.resize(gradiva.decoders.image(files), size=(20, 20))
        flipped = gradiva.flip(images)
        kept.append((bits(flipped), flipped))
        np.asarray(gradiva.flip(images, vertical=1))[...] = 77
        result = flipped + 1
        yield result
        np.asarray(result)[...] = 5

    kept: list[Any] = []
    for explanation in same(folder, body, epochs=2):
        assert explanation.share == 1.0
    assert all(bits(value) == before for before, value in kept)


@pytest.mark.parametrize("size", [64, 200])
@pytest.mark.parametrize("of", ["source", "call", "outside"])
def test_writing_into_the_input_of_a_later_call(folder: str, of: str, size: int) -> None:
    """A call sees its input as it is at the call, as without capture; what was computed ahead is
    read-only."""
    outside = gradiva.as_batch(np.full((2, 64, 64, 1), 9, np.uint8), layout="HWC")
    steps: list[int] = []

    def body(files: Any, labels: Any, step: int) -> Any:
        images = gradiva.resize(gradiva.decoders.image(files), size=(size, size))
        if of == "source":
            labels.as_array()[...] += 5
        elif of == "call":
            np.asarray(images)[:, 3:9] = step
        else:
            np.asarray(outside)[...] = step
        steps.append(step)
        cut = gradiva.crop(images, crop=(64, 64))
        return labels * 2, gradiva.flip(gradiva.flip(images), vertical=1), cut + outside

    if of == "outside":
        same(folder, body, batch_size=2, pad_last_batch=True)
        return
    with pytest.raises(ValueError, match="read-only"):
        run(folder, body, capture=True, pad_last_batch=True)
    assert steps == [0], "the first step is traced: its calls run one by one"


def test_a_copy_may_be_written(folder: str) -> None:
    """What the error of a write into a value that is computed ahead is answered by."""

    def body(files: Any, labels: Any, step: int) -> Any:
        images = gradiva.resize(gradiva.decoders.image(files), size=(64, 64))
        mine = np.asarray(images).copy()
        mine[:, 3:9] = step
        return gradiva.flip(images), gradiva.as_batch(mine, layout="HWC") * 2

    for explanation in same(folder, body):
        assert explanation.unserved == 0 or "it reads nothing that" in str(explanation)


def test_equal_calls_and_views_have_memory_of_their_own_or_are_read_only(folder: str) -> None:
    """Where values are computed together they may lie in one memory: nothing that is written into
    one shows in another."""

    def body(files: Any, labels: Any, step: int) -> Any:
        images = gradiva.resize(gradiva.decoders.image(files), size=(64, 64))
        one, other = gradiva.flip(images), gradiva.flip(images)
        flat = gradiva.reshape(one, shape=[-1])
        same_type = gradiva.cast(labels, dtype=gradiva.int32)
        for value in (one, flat, same_type):
            captured = isinstance(value, LazyBatch) and step > 0
            assert not (captured and np.asarray(value).flags.writeable)
        alone = gradiva.reshape(gradiva.flip(images, vertical=1), shape=[-1])
        np.asarray(alone)[...] = 7  # an output of the step, which nothing else can see
        written = np.asarray(gradiva.flip(images, horizontal=0))
        written[...] = 5
        again = gradiva.flip(images, horizontal=0)
        return one, other, labels, same_type, flat, alone, written, again

    same(folder, body)


def test_dlpack_takes_outputs_and_copies_what_is_needed(folder: str) -> None:
    shared: list[bool] = []

    def body(files: Any, labels: Any, step: int) -> Any:
        images = gradiva.resize(gradiva.decoders.image(files), size=(64, 64))
        result = gradiva.flip(images)
        for value in (images, result):
            capsule = value.__dlpack__()
            assert "dltensor" in repr(capsule)
        shared.append(np.asarray(result).flags.writeable)
        return result, images

    same(folder, body, epochs=1)
    assert all(shared)


def test_states(folder: str) -> None:
    """A loop is traced, computed ahead, paused while its source is read elsewhere, and ended."""
    reader = readers.File(file_root=folder)
    loop: Any = reader.next_epoch(batch_size=2, capture=True)
    seen = []
    for number in range(3):
        gradiva.decoders.image(next(loop)[0]).evaluate()
        seen.append(loop.state)
        if number == 1:
            next(iter(reader.next_epoch(batch_size=2)))
            seen.append(loop.state)
    tracing, ahead, paused, ended = LoopState
    assert seen == [tracing, ahead, paused, ahead]
    loop.close()
    assert loop.state is ended
    again: Any = reader.next_epoch(batch_size=2, capture=True)
    assert again.state is paused, "it begins with what the last one has learned"
    assert next(again, None) is not None
    assert again.state is ahead
    again.close()


def test_the_next_loop_has_another_body(folder: str) -> None:
    """It begins with what the last one has learned, and forgets what it does not do."""
    reader = readers.File(file_root=folder)
    for files, _ in reader.next_epoch(batch_size=2, capture=True):
        gradiva.flip(gradiva.resize(gradiva.decoders.image(files), size=(8, 8))).evaluate()
    loop = reader.next_epoch(batch_size=2, capture=True)
    for step, (files, _) in enumerate(loop):
        gradiva.decoders.image(files, output_type=gradiva.types.GRAY).evaluate()
        if step == 2:
            assert loop.graph is not None
            assert [node.operator.name for node in loop.graph] == ["readers.file", "decoders.image"]
    found = loop.explain()
    assert found.unserved == 0
    assert found.traced == 1
    again = reader.next_epoch(batch_size=2, capture=True, strict=True)
    for files, _ in again:
        gradiva.decoders.image(files, output_type=gradiva.types.GRAY).evaluate()
    assert again.explain().traced == 0
