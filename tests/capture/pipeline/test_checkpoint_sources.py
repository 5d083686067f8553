"""Checkpoints of pipelines with external sources of every kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Pipeline, fn, pipeline_def
from gradiva.eager.contexts.checkpoint_files import CheckpointError, pack, unpack
from tests.capture.pipeline.test_checkpoint import resumed, step
from tests.tiers import few


def item(number: int) -> Any:
    return np.arange(number, number + 6, dtype=np.float32).reshape(2, 3)


def generator() -> Iterator[Any]:
    for number in range(5):
        yield item(number)


class Shuffled:
    """Another order in each round: it depends on the rounds before."""

    def __init__(self) -> None:
        self.noise = np.random.default_rng(3)

    def __iter__(self) -> Iterator[Any]:
        yield from (item(int(number)) for number in self.noise.permutation(5))


class Failing:
    """An iterator that raises at one item, and goes on."""

    def __init__(self) -> None:
        self.number = -1

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self.number += 1
        if self.number == 3:
            raise KeyError("three")
        if self.number > 6:
            raise StopIteration
        return item(self.number)


class Stateful:
    """An iterable that tells its own state, a list that it goes on changing."""

    replayed = 0

    def __init__(self) -> None:
        self.seen: list[int] = []

    def __iter__(self) -> Iterator[Any]:
        while len(self.seen) < 6:
            self.seen.append(len(self.seen))
            Stateful.replayed += 1
            yield item(sum(self.seen))

    def state_dict(self) -> Any:
        return {"seen": self.seen, "extra": (1, np.arange(2))}

    def load_state_dict(self, state: Any) -> None:
        assert state["extra"][0] == 1
        self.seen = list(state["seen"])


class Cursor:
    """An iterator of a re-iterable that tells its own state."""

    def __init__(self) -> None:
        self.place = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.place == 5:
            raise StopIteration
        self.place += 1
        return item(10 * self.place)

    def state_dict(self) -> Any:
        return {"place": self.place}

    def load_state_dict(self, state: Any) -> None:
        self.place = state["place"]


class Cursors:
    def __iter__(self) -> Iterator[Any]:
        return Cursor()


class Counter:
    """A callable without arguments that tells its own state; also by one of its methods."""

    def __init__(self) -> None:
        self.place = 0

    def __call__(self) -> Any:
        self.place += 1
        if self.place > 7:
            raise StopIteration
        return item(self.place)

    def next_batch(self) -> Any:
        return self()

    state_dict = Cursor.state_dict
    load_state_dict = Cursor.load_state_dict


def by_number(number: int) -> Any:
    if number == 5:
        raise StopIteration
    if number == 3:
        raise KeyError("three")
    return item(number)


def by_batch(info: gradiva.types.BatchInfo) -> Any:
    if info.iteration == 4:
        raise StopIteration
    return item(100 * info.epoch_idx + info.iteration)


def by_sample(info: gradiva.types.SampleInfo) -> Any:
    if info.idx_in_epoch >= 9:
        raise StopIteration
    return np.full(3, 100 * info.epoch_idx + info.idx_in_epoch, np.float32)


KINDS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "number": (lambda: by_number, {}),
    "BatchInfo": (lambda: by_batch, {"batch_info": True}),
    "SampleInfo": (lambda: by_sample, {"batch": False}),
    "generator function": (lambda: generator, {"cycle": "raise"}),
    "generator function, no cycle": (lambda: generator, {}),
    "generator function, quiet": (lambda: generator, {"cycle": "quiet"}),
    "generator": (generator, {}),
    "list": (lambda: [item(number) for number in range(4)], {"cycle": "quiet"}),
    "list, raise": (lambda: [item(number) for number in range(4)], {"cycle": "raise"}),
    "list of samples": (lambda: [item(n)[0] for n in range(7)], {"batch": False, "cycle": "quiet"}),
    "array": (lambda: np.stack([item(number) for number in range(4)]), {"cycle": "raise"}),
    "shuffled": (Shuffled, {"cycle": "raise"}),
    "shuffled, quiet": (Shuffled, {"cycle": "quiet"}),
    "iterator": (lambda: map(item, range(5)), {}),
    "failing": (Failing, {}),
    "stateful": (Stateful, {}),
    "cursors": (Cursors, {"cycle": "raise"}),
    "cursors, quiet": (Cursors, {"cycle": "quiet"}),
    "cursor": (Cursor, {}),
    "counter": (Counter, {}),
    "method": (lambda: Counter().next_batch, {}),
    "repeat": (generator, {"repeat_last": True}),
    "repeat function": (lambda: by_batch, {"repeat_last": True, "batch_info": True}),
}


def maker(kind: str) -> Callable[..., Pipeline]:
    make, arguments = KINDS[kind]

    def made(**options: Any) -> Pipeline:
        @pipeline_def(batch_size=2, enable_checkpointing=True)
        def program() -> Any:
            value = fn.external_source(make(), name="source", **arguments)
            return value, value + fn.random.uniform(range=(0.0, 1.0))

        return program(**{"num_threads": 2, "seed": 9, **options})

    return made


def go_on(pipe: Pipeline) -> str:
    """One step; at the end of the data a new epoch begins with the step after it."""
    found = step(pipe)
    if found == "the end":
        pipe.reset()
    return found


@pytest.mark.parametrize("kind", few(KINDS, *list(KINDS)[::3]))
def test_kinds_of_sources(kind: str) -> None:
    make, steps = maker(kind), 12
    pipe = make()
    held, whole = [pipe.checkpoint()], []
    for _ in range(steps):
        whole.append(go_on(pipe))
        held.append(pipe.checkpoint())
    pipe.close()
    assert len({*whole}) > 4
    ways: list[dict[str, Any]] = [
        {},
        {"prefetch_queue_depth": 4},
        {"num_threads": 1},
        {"exec_async": False},
    ]
    for number, one in enumerate(held):
        pipe = make(checkpoint=one, **ways[number % 4])
        found = [go_on(pipe) for _ in range(number, steps)]
        assert found == whole[number:], (kind, number)
        # A checkpoint that was made after a resume is the one that was made without.
        if number < steps:
            assert pipe.checkpoint() == held[-1], (kind, number)
        pipe.close()


def test_at_the_end_before_reset() -> None:
    make = maker("BatchInfo")
    pipe = make()
    for _ in range(4):
        step(pipe)
    assert step(pipe) == "the end"
    held = pipe.checkpoint()
    for options in ({}, {"exec_async": False}):
        again = make(checkpoint=held, **options)
        assert [step(again), step(again)] == ["the end"] * 2
        again.reset()
        pipe = make(checkpoint=held)
        step(pipe)
        pipe.reset()
        assert [step(again) for _ in range(5)] == [step(pipe) for _ in range(5)]
        pipe.close()
        again.close()


def test_own_state_is_not_replayed() -> None:
    make = maker("stateful")
    pipe = make(exec_async=False)
    for _ in range(5):
        step(pipe)
    held = pipe.checkpoint()
    before = Stateful.replayed
    assert len(resumed(make, held, 1, exec_async=False)) == 1
    assert Stateful.replayed == before + 1


def test_sources_that_cannot_be_continued() -> None:
    def program(source: Any, **options: Any) -> Pipeline:
        @pipeline_def(batch_size=2, num_threads=1, enable_checkpointing=True)
        def one() -> Any:
            return fn.external_source(source)

        return one(seed=1, **options)

    def held_of(source: Any, steps: int) -> bytes:
        pipe = program(source)
        for _ in range(steps):
            pipe.run()
        held = pipe.checkpoint()
        pipe.close()
        return held

    def plain() -> Any:
        return item(1)

    with pytest.raises(TypeError, match=r"plain is a callable without an argument.*called 2 times"):
        program(plain, checkpoint=held_of(plain, 2)).build()
    program(plain, checkpoint=held_of(plain, 0)).run()

    held = held_of(generator(), 2)
    used = generator()
    next(used)
    with pytest.raises(TypeError, match="is an iterator that cannot be started again"):
        program(used, checkpoint=held).build()
    program(generator(), checkpoint=held).run()

    held = held_of([item(n) for n in range(5)], 4)
    with pytest.raises(
        CheckpointError, match=r"has changed: in 4 steps it gives 3 items, and gave 4"
    ):
        program([item(n) for n in range(3)], checkpoint=held).build()

    class Broken(Cursor):
        def state_dict(self) -> Any:
            raise KeyError("no state")

    pipe = program(Broken())
    pipe.run()
    with pytest.raises(RuntimeError, match=r"state_dict\(\) of .*Broken raised KeyError"):
        pipe.checkpoint()
    pipe.run()

    class Odd(Cursor):
        def state_dict(self) -> Any:
            return {"a": [object()]}

    with pytest.raises(TypeError, match=r"state_dict\(\) of .*Odd\['a'\]\[0\] cannot be saved"):
        program(Odd()).checkpoint()


class Grains:
    """An iterable whose iterators tell their state as those of Grain do."""

    def __init__(self) -> None:
        self.started = 0

    def __iter__(self) -> GrainIterator:
        self.started += 1
        return GrainIterator()


class GrainIterator:
    def __init__(self) -> None:
        self.place = 0

    def __iter__(self) -> GrainIterator:
        return self

    def __next__(self) -> Any:
        self.place += 1
        return [np.array([self.place])]

    def get_state(self) -> dict[str, int]:
        return {"next_index": self.place}

    def set_state(self, state: dict[str, int]) -> None:
        self.place = state["next_index"]


def values_of_grains(source: Any, count: int, checkpoint: bytes | None = None) -> tuple[Any, bytes]:
    @pipeline_def(batch_size=1, num_threads=1)
    def pipe() -> Any:
        return fn.external_source(source)

    with pipe(enable_checkpointing=True, checkpoint=checkpoint) as made:
        found = [int(made.run()[0].as_array().ravel()[0]) for _ in range(count)]
        return found, made.checkpoint()


def test_states_as_grain_has_them() -> None:
    """`get_state` and `set_state` of the iterator, and nothing is read again."""
    found, saved = values_of_grains(Grains(), 3)
    assert found == [1, 2, 3]
    again = Grains()
    assert values_of_grains(again, 2, saved)[0] == [4, 5]
    assert again.started == 1


@pytest.mark.filterwarnings("default")  # of the library about itself
def test_grain_itself() -> None:
    grain = pytest.importorskip("grain")
    data = grain.MapDataset.range(40).seed(3).shuffle().map(lambda one: np.array([one]))
    batches = data.to_iter_dataset().batch(1)
    whole, _ = values_of_grains(batches, 10)
    found, saved = values_of_grains(batches, 4)
    assert found + values_of_grains(batches, 6, saved)[0] == whole


@pytest.mark.filterwarnings("default")
def test_iterables_of_hugging_face() -> None:
    datasets = pytest.importorskip("datasets")

    def rows() -> Any:
        data = datasets.Dataset.from_dict({"x": list(range(20))}).with_format("numpy")
        return data.to_iterable_dataset().map(lambda row: {"x": row["x"] * 2})

    class Values:
        """The values of its rows, and its state."""

        def __init__(self) -> None:
            self.data = rows()
            self.state_dict = self.data.state_dict
            self.load_state_dict = self.data.load_state_dict

        def __iter__(self) -> Any:
            return (np.array([[row["x"]]]) for row in self.data)

    found, saved = values_of_grains(Values(), 4)
    assert found == [0, 2, 4, 6]
    assert values_of_grains(Values(), 3, saved)[0] == [8, 10, 12]


@pytest.mark.parametrize("number", [1e308, -1e308, float("inf"), float("nan"), 1.5, 2**62, -1])
def test_numbers_that_no_source_has_reached(number: float) -> None:
    """The checksum of a checkpoint that was edited may be right."""

    @pipeline_def(batch_size=3, num_threads=1, device_id=None)
    def definition() -> Any:
        return fn.external_source(source=lambda _: np.zeros(3, np.uint8), batch=False)

    pipe = definition(enable_checkpointing=True)
    pipe.run()
    content = unpack(pipe.checkpoint(), "pipeline")
    (saved,) = content["sources"].values()
    names = [name for name, value in saved["state"].items() if isinstance(value, int)]
    assert "position" in names
    for name in names:
        state = {**saved["state"], name: number}
        content["sources"] = {key: {**saved, "state": state} for key in content["sources"]}
        with pytest.raises(CheckpointError, match="state"):
            definition(enable_checkpointing=True, checkpoint=pack(content)).build()
