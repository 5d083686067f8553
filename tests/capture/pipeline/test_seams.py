"""Where features of pipelines meet: errors and sources that wait, iterators and samples that were
left out, checkpoints and epochs, blocks that are left in the wrong order, ends in other threads."""

from __future__ import annotations

import gc
import mmap
import os
import signal
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import gradiva
from gradiva import GradivaError, Pipeline, fn, pipeline_def
from gradiva.capture.iterators.iterator import LastBatchPolicy, PipelineIterator
from gradiva.eager.operators.interpreter import current_interpreter
from gradiva.ops.external_source.workers import shared_memory
from tests.garbage import settle
from tests.tiers import few

pytestmark = pytest.mark.filterwarnings("ignore:samples that cannot be read")

WAYS: list[dict[str, Any]] = [{}, {"exec_async": False}, {"prefetch_queue_depth": 1}]
BAD = (2, 8, 9, 10)


def number(value: int) -> Any:
    return np.full((2, 1), value, np.int32)


def first(outputs: Any) -> list[int]:
    """The first element of each output."""
    return [int(batch.as_array()[0, 0]) for batch in outputs]


def piped(body: Callable[[], Any], **options: Any) -> Pipeline:
    made: Pipeline = pipeline_def(batch_size=2, num_threads=2, **options)(body)()
    return made


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """Eleven images; those with the numbers in BAD are none."""
    os.makedirs(tmp_path / "images" / "a")
    for index in range(11):
        name = tmp_path / "images" / "a" / f"{index:02}.png"
        if index in BAD:
            name.write_bytes(b"no image")
        else:
            Image.fromarray(np.full((4, 4, 3), index, np.uint8)).save(name)
    return str(tmp_path / "images")


def within(seconds: float, work: Callable[[], Any]) -> Any:
    """What `work` returns or raises, in a thread; fails if it takes longer."""
    found: list[Any] = []

    def call() -> None:
        try:
            found.append(work())
        except BaseException as error:  # noqa: BLE001  it is looked at below
            found.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(seconds)
    assert found, "it hangs"
    return found[0]


class AsksWhileDefined(Pipeline):
    def define_graph(self) -> Any:
        data = fn.external_source(number)
        self.epoch_size()
        return data


def test_a_pipeline_that_asks_about_itself_while_it_is_defined_does_not_hang() -> None:
    error = within(10, lambda: AsksWhileDefined(2, 1).build())
    assert isinstance(error, GradivaError)
    assert "is being built" in str(error)


def test_blocks_that_are_left_in_the_wrong_order() -> None:
    outer, inner = Pipeline(2, 1), Pipeline(2, 1)
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(GradivaError, match="pop_current"):
        outer.__exit__(None, None, None)
    assert Pipeline.current() is None
    assert current_interpreter() is None
    with pytest.raises(GradivaError, match="not current"):
        inner.__exit__(None, None, None)


def test_an_exception_ends_what_was_made_current_in_the_block() -> None:
    def leave() -> None:
        with Pipeline(2, 1):
            Pipeline.push_current(Pipeline(2, 1))
            raise KeyError

    with pytest.raises(KeyError):
        leave()
    assert Pipeline.current() is None
    assert current_interpreter() is None


@pytest.mark.parametrize("way", WAYS)
def test_what_other_sources_have_waits_for_what_is_fed_late(way: Any) -> None:
    pipe = piped(
        lambda: (
            fn.external_source(number),
            fn.external_source(name="a"),
            fn.external_source(name="b"),
        ),
        **way,
    )
    pipe.feed_input("a", number(0))
    pipe.feed_input("a", number(1))
    for index in range(2):
        with pytest.raises(GradivaError, match="there is no data for this batch"):
            pipe.run()
        pipe.feed_input("b", number(index))
        assert first(pipe.run()) == [index, index, index]


class SetsUp(Pipeline):
    """Four batches by `iter_setup`."""

    calls = 0

    def define_graph(self) -> Any:
        self.data = fn.external_source()
        return self.data

    def iter_setup(self) -> None:
        if self.calls == 4:
            raise StopIteration
        self.feed_input(self.data, number(self.calls))
        self.calls += 1


@pytest.mark.parametrize("way", WAYS)
def test_reset_amid_an_epoch_loses_nothing_that_was_fed(way: Any) -> None:
    pipe = SetsUp(2, 1, **way)
    found = []
    for _ in range(4):
        found += first(pipe.run())
        pipe.reset()
    assert found == [0, 1, 2, 3]
    with pytest.raises(StopIteration):
        pipe.run()
    pipe.calls = 0
    pipe.reset()
    assert first(pipe.run()) == [0]


def test_reset_amid_an_epoch_keeps_what_was_scheduled() -> None:
    pipe = piped(lambda: fn.external_source(number))
    pipe.schedule_run()
    pipe.schedule_run()
    assert first(pipe.share_outputs()) == [0]
    pipe.reset()
    assert not pipe.empty()
    assert first(pipe.share_outputs()) == [1]
    assert pipe.empty()


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
def test_close_in_another_thread_is_not_the_end_of_the_data(way: Any) -> None:
    pipe = piped(lambda: fn.external_source(name="a", blocking=True), **way)
    threading.Timer(0.3, pipe.close).start()
    error = within(10, pipe.run)
    assert isinstance(error, GradivaError)
    assert "was closed while a batch was awaited" in str(error)


def children() -> set[str]:
    """Processes that this one has started and that still run."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        found |= set((task / "children").read_text().split())
    return found


@pytest.mark.full
def test_a_build_that_fails_late_leaves_no_process(folder: str) -> None:
    def made(place: Any = None) -> Any:
        return piped(
            lambda: (fn.external_source(number, parallel=True), *readers(folder, "replace")()),
            py_num_workers=2,
            enable_checkpointing=True,
            checkpoint=place,
        )

    pipe = made()
    pipe.run()
    place = pipe.checkpoint()
    pipe.close()
    os.rename(os.path.join(folder, "a", "00.png"), os.path.join(folder, "a", "99.png"))
    before = children()
    pipe = made(place)
    for _ in range(2):
        with pytest.raises(GradivaError, match="the data are not those"):
            pipe.build()
    assert children() == before


@pytest.mark.full
def test_close_by_two_threads_at_once() -> None:
    for attempt in range(8):
        pipe = piped(lambda: fn.external_source(number, parallel=True), py_num_workers=1)
        pipe.run()
        pool = pipe._built().processes
        errors: list[BaseException] = []

        def close(pool: Any = pool, errors: list[BaseException] = errors) -> None:
            try:
                pool.close()
            except BaseException as error:  # noqa: BLE001  it is looked at below
                errors.append(error)

        threads = [threading.Thread(target=close) for _ in range(3)]
        for thread in threads:
            thread.start()
            time.sleep(0.001 * attempt)
        for thread in threads:
            thread.join(10)
        assert not errors
        pipe.close()


class CallsItself(Pipeline):
    """Its source is a method of its own."""

    def define_graph(self) -> Any:
        return fn.external_source(self.make)

    def make(self, index: int) -> Any:
        return number(index)


@pytest.mark.full
def test_a_pipeline_that_is_its_own_source_goes_when_it_is_dropped() -> None:
    threads = threading.active_count()
    pipe = CallsItself(2, 2)
    assert first(pipe.run()) == [0]
    gone = weakref.ref(pipe)
    del pipe
    until = time.monotonic() + 10
    while gone() is not None and time.monotonic() < until:
        time.sleep(0.05)
        gc.collect()
    assert gone() is None
    settle()
    assert threading.active_count() <= threads


@pytest.mark.parametrize("way", WAYS)
def test_what_is_repeated_is_in_the_checkpoint(way: Any) -> None:
    def made(place: Any = None) -> Pipeline:
        return piped(
            lambda: fn.external_source(name="a", repeat_last=True),
            enable_checkpointing=True,
            checkpoint=place,
            **way,
        )

    pipe = made()
    pipe.feed_input("a", number(7))
    assert first(pipe.run()) == [7]
    assert first(made(pipe.checkpoint()).run()) == [7]


def test_the_end_can_be_met_for_ever() -> None:
    pipe = piped(lambda: fn.external_source([number(0)]))
    depths = []
    for _ in range(50):
        try:
            pipe.run()
        except StopIteration as end:
            trace, depth = end.__traceback__, 0
            while trace is not None:
                trace, depth = trace.tb_next, depth + 1
            depths.append(depth)
    assert len(depths) == 49
    assert max(depths[1:]) == min(depths[1:])  # the first one comes from where it was met


def readers(folder: str, policy: Any = "skip", **options: Any) -> Callable[[], Any]:
    """Images, and their numbers as labels."""
    names = sorted(os.listdir(os.path.join(folder, "a")))
    files = [os.path.join(folder, "a", name) for name in names]
    options = {"files": files, "labels": list(range(len(files))), **options}

    def body() -> Any:
        data, labels = fn.readers.file(name="R", **options)
        return fn.decoders.image(data, on_error=policy), labels

    return body


@pytest.mark.parametrize(
    ("count", "options", "given"),
    [
        ([3, 4, 0], {}, {"size": 11}),
        ([3, 4, 0], {"pad_last_batch": True}, {"reader_name": "R"}),
        ([3, 4, 0], {}, {"reader_name": "R"}),
        ([3, 1], {"num_shards": 2, "pad_last_batch": True}, {"reader_name": "R"}),
    ],
)
def test_last_batches_are_cut_where_samples_were_left_out(
    count: Any, options: Any, given: Any, folder: str
) -> None:
    pipe = pipeline_def(batch_size=4, num_threads=2)(readers(folder, **options))()
    loop = PipelineIterator(
        pipe, ["image", "label"], last_batch_policy=LastBatchPolicy.PARTIAL, **given
    )
    assert [len(batch["label"]) for (batch,) in loop] == count


@pytest.mark.parametrize("policy", LastBatchPolicy)
def test_a_lost_batch_is_one_of_the_epoch(policy: Any, folder: str) -> None:
    pipe = pipeline_def(batch_size=4, num_threads=2)(readers(folder, "raise"))()
    loop = PipelineIterator(
        pipe,
        ["image", "label"],
        reader_name="R",
        last_batch_policy=policy,
        prepare_first_batch=False,
    )
    found: list[Any] = []
    while True:
        try:
            found.append(next(loop)[0]["image"][:, 0, 0, 0].tolist())
        except GradivaError:
            found.append("error")
        except StopIteration:
            break
    assert len(found) == len(loop)
    assert found[:2] == ["error", [4, 5, 6, 7]]


@pytest.mark.parametrize("policy", LastBatchPolicy)
@pytest.mark.parametrize("moving", few([False, True], True))
def test_an_iterator_goes_on_amid_the_epoch(policy: Any, moving: bool, folder: str) -> None:
    def made(place: Any = None) -> Any:
        options = {"num_shards": 2, "stick_to_shard": False} if moving else {}
        pipe = pipeline_def(
            batch_size=2, num_threads=2, enable_checkpointing=True, checkpoint=place
        )(lambda: readers(folder, "replace", **options)()[1])()
        return pipe, PipelineIterator(
            pipe,
            ["label"],
            reader_name="R",
            last_batch_policy=policy,
            auto_reset=True,
            prepare_first_batch=False,
        )

    pipe, loop = made()
    epochs: list[list[Any]] = []
    places: list[tuple[int, int, bytes]] = []
    for _ in range(3):
        epochs.append([])
        for (batch,) in loop:
            epochs[-1].append(batch["label"].ravel().tolist())
            places.append((len(epochs) - 1, len(epochs[-1]), pipe.checkpoint()))
    for epoch, done, place in places[:-1]:
        _, again = made(place)
        rest = epochs[epoch][done:]
        expected = [rest, *epochs[epoch + 1 :]] if rest else epochs[epoch + 1 :]
        got = [[batch["label"].ravel().tolist() for (batch,) in again] for _ in expected]
        assert got == expected, (epoch, done)


def test_iterators_of_checkpoints_that_do_not_belong_together(folder: str) -> None:
    options: Any = {"batch_size": 2, "num_threads": 1, "enable_checkpointing": True}
    pipe = pipeline_def(**options)(readers(folder, "replace"))()
    places = [pipe.checkpoint()]
    pipe.run()
    places.append(pipe.checkpoint())
    both = [pipeline_def(checkpoint=p, **options)(readers(folder, "replace"))() for p in places]
    with pytest.raises(GradivaError, match="made together"):
        PipelineIterator(both, ["image", "label"], size=11)


def slow(info: Any) -> Any:
    time.sleep(0.2)
    return np.zeros(1, np.int32)


@pytest.mark.full
def test_the_quarantine_survives_a_worker_that_dies(folder: str) -> None:
    def body() -> Any:
        data, _ = fn.readers.file(file_root=folder, name="R", on_error="skip")
        return data, fn.external_source(slow, batch=False, parallel=True)

    pipe = pipeline_def(batch_size=4, num_threads=2, py_num_workers=1, prefetch_queue_depth=1)(
        body
    )()
    pipe.build()
    os.remove(os.path.join(folder, "a", "01.png"))
    pool = pipe._built().processes
    assert pool is not None
    (worker,) = pool.pids
    threading.Timer(0.3, lambda: os.kill(worker, signal.SIGKILL)).start()
    with pytest.raises(GradivaError, match="worker process"):
        pipe.run()
    data, _ = pipe.run()
    assert len(data) == 3
    assert [os.path.basename(str(entry.file)) for entry in pipe.quarantine] == ["01.png"]
    pipe.close()


def test_a_batch_that_is_made_does_not_wake_who_waits_for_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pipe = piped(lambda: fn.external_source(number))
    pipe.build()
    executor, gate = pipe._built().executor, threading.Event()
    compute = executor.plan.compute

    def later(read: Any) -> Any:
        gate.wait()
        return compute(read)

    monkeypatch.setattr(executor.plan, "compute", later)
    executor.start()
    until(lambda: len(executor.items) == 3 and len(waiters(executor._changed)) == 1)
    asleep = waiters(executor._changed)
    gate.set()
    executor.wait()
    until(lambda: all(item.done for item in executor.items))
    assert executor.waiting() == 2
    assert waiters(executor._changed) == asleep
    assert [first(pipe.run()) for _ in range(4)] == [[0], [1], [2], [3]]
    pipe.close()


def until(reached: Callable[[], bool]) -> None:
    """Wait for a state, for long."""
    end = time.monotonic() + 60.0
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.001)


def waiters(condition: threading.Condition) -> list[Any]:
    """The locks of who waits for it; who is woken is not among them any more."""
    found: list[Any] = list(condition._waiters)  # type: ignore[attr-defined]
    return found


def test_a_forked_child_lets_go_of_a_pipeline_at_once() -> None:
    pipe = piped(lambda: fn.external_source(number))
    pipe.run()
    with pipe._built().executor._changed:  # as when another thread is at it
        pid = os.fork()
        if not pid:
            child = threading.Thread(target=pipe.close, daemon=True)
            child.start()
            child.join(5.0)
            os._exit(1 if child.is_alive() else 0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert first(pipe.run()) == [1]
    pipe.close()
    assert gradiva.Pipeline.current() is None


def test_a_view_that_goes_in_a_forked_child_takes_only_its_own_memory_with_it() -> None:
    """What was not copied into the child would be unmapped there all the same: under others."""
    segment = shared_memory.Segment(1 << 20)
    view = segment.array(np.dtype(np.uint8), (1 << 20,))
    pid = os.fork()
    if not pid:
        code = 1
        try:
            fresh = [mmap.mmap(-1, 1 << 20) for _ in range(64)]  # where there is room
            del view, segment
            gc.collect()
            for number, block in enumerate(fresh):
                block[::4096] = bytes([number]) * 256
            code = int(any(block[0] != number for number, block in enumerate(fresh)))
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert len(view) == 1 << 20
