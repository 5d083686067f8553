"""`Checkpoint` of dynamic mode: what it collects, saves and puts back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import gradiva
from gradiva import EvalContext, ExternalSource, random
from gradiva.checkpoint import Checkpoint
from gradiva.eager.contexts.checkpoint_files import CheckpointError, pack
from tests.capture.loop.loops import bits, make_folder
from tests.capture.pipeline.test_checkpoint_sources import generator


class Counted:
    """An object of the user's."""

    def __init__(self, number: int = 0) -> None:
        self.number = number

    def get_state(self) -> Any:
        return {"number": self.number}

    def set_state(self, state: Any) -> None:
        self.number = state["number"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_folder(tmp_path_factory.mktemp("dynamic"))


@pytest.mark.parametrize("capture", [False, True])
def test_a_loop_goes_on(folder: str, tmp_path: Path, capture: bool) -> None:
    def objects() -> tuple[Any, Any, Any]:
        reader = gradiva.readers.File(file_root=folder, random_shuffle=True, seed=3)
        return reader, random.RNG(5), ExternalSource(generator, cycle="quiet")

    def steps(reader: Any, rng: Any, source: Any) -> Any:
        while True:
            for files, labels in reader.next_epoch(batch_size=2, capture=capture):
                noise = random.uniform(batch_size=files.batch_size, rng=rng)
                yield bits(files), bits(labels + noise), bits(source())

    whole: list[Any] = []
    kept = objects()
    held = Checkpoint()
    for name, one in zip(("reader", "rng", "source"), kept, strict=True):
        assert held.register(one, name) == name
    loop = steps(*kept)
    for _ in range(9):
        held.collect()
        assert held.save(tmp_path / "{seq}") == str(tmp_path / str(len(whole)))
        whole.append(next(loop))
    for number in range(9):
        again = Checkpoint()
        path = tmp_path / str(number)
        assert again.load(path) == str(path)
        fresh = objects()
        for name, one in zip(("reader", "rng", "source"), fresh, strict=True):
            again.register(one, name)
        loop = steps(*fresh)
        assert [next(loop) for _ in range(number, 9)] == whole[number:], number


def test_registering() -> None:
    held = Checkpoint()
    first, second = random.RNG(1), random.RNG(2)
    assert [held.register(one) for one in (first, second, first)] == ["__op_0", "__op_1", "__op_0"]
    assert held.register(Counted(), "mine") == "mine"
    assert (held.names, len(held)) == (("__op_0", "__op_1", "mine"), 3)
    assert held.register(Counted(7), "mine") == "mine"
    with pytest.raises(RuntimeError, match="registered already, under the name '__op_0'"):
        held.register(first, "other")
    with pytest.raises(ValueError, match="does not begin with '__op_'"):
        held.register(Counted(), "__op_7")
    with pytest.raises(ValueError, match="a name that is not empty"):
        held.register(Counted(), "")
    for wrong in (5, object(), None):
        with pytest.raises(TypeError, match="argument `op`: expected an object with get_state"):
            held.register(wrong)
    with pytest.raises(TypeError, match="argument `name`: expected a string"):
        held.register(Counted(), 3)  # type: ignore[arg-type]
    assert held.get_state("mine") is None
    assert not held.is_complete
    held.collect()
    assert (held.is_complete, held.is_loaded) == (True, False)
    assert held.get_state("mine") == {"number": 7}
    with pytest.raises(RuntimeError, match="call `clear` first"):
        held.register(Counted(), "late")
    with pytest.raises(KeyError, match="nothing is registered as 'late'"):
        held.set_state("late", 1)
    with pytest.raises(KeyError, match="nothing is registered as 'late'"):
        held.get_state("late")
    held.clear()
    assert (held.names, held.is_complete) == ((), False)


def test_restoring() -> None:
    held = Checkpoint()
    mine, rng = Counted(3), random.RNG(8)
    held.register(mine, "mine")
    held.register(rng, "rng")
    held.restore()
    held.collect()
    mine.number = 9
    rng.advance(4)
    held.restore()
    assert (mine.number, rng.state) == (3, (8, 0))

    again = Checkpoint()
    again.deserialize(held.serialize())
    assert (again.names, again.is_loaded, again.is_complete) == ((), True, False)
    with pytest.raises(RuntimeError, match="has states for 'mine', 'rng', but no object"):
        again.restore()
    with pytest.raises(RuntimeError, match="has states for 'mine', 'rng', but no object"):
        again.collect()
    with pytest.raises(KeyError, match="no state for 'other', but for 'mine', 'rng'"):
        again.register(Counted(), "other")
    with pytest.raises(KeyError, match="must be registered in the order"):
        again.register(Counted())
    with pytest.raises(TypeError, match="expected RNG, as in the checkpoint, got Counted"):
        again.register(Counted(), "rng")
    assert again.names == ()
    fresh = Counted()
    again.register(fresh, "mine")
    again.register(random.RNG(1), "rng")
    assert fresh.number == 3
    again.collect()
    assert (again.is_loaded, again.serialize()) == (False, held.serialize())

    partial = Checkpoint()
    partial.register(mine, "mine")
    partial.register(rng, "rng")
    partial.set_state("mine", {"number": 5}, Counted)
    with pytest.raises(RuntimeError, match="no state for 'rng'"):
        partial.restore()
    partial.set_state("rng", (4, 2), "RNG")
    partial.restore()
    assert (mine.number, rng.state) == (5, (4, 2))
    partial.set_state("rng", "x")
    with pytest.raises(ValueError, match="expected the state of an RNG"):
        partial.restore()
    with pytest.raises(TypeError, match=r"the state of 'rng'\[0\] cannot be saved"):
        partial.set_state("rng", [object()])
    with pytest.raises(TypeError, match="argument `op_type`"):
        partial.set_state("rng", 1, 5)
    with pytest.raises(RuntimeError, match="call `collect` first"):
        Checkpoint().serialize()
    for wrong in (5, None):
        with pytest.raises(TypeError, match="argument `data`"):
            again.deserialize(wrong)  # type: ignore[arg-type]
    for content in ({}, {"states": 3}, {"states": {"a": 5}}, {"states": {"a": [1, 2]}}):
        with pytest.raises(CheckpointError, match="the checkpoint has a bad entry"):
            again.deserialize(pack({"kind": "dynamic", **content}))
    with pytest.raises(CheckpointError, match="of another kind"):
        again.deserialize(pack({"kind": "pipeline"}))


def test_the_checkpoint_of_a_context() -> None:
    context = EvalContext(num_threads=1)
    assert context.checkpoint is context.checkpoint
    assert context.checkpoint is not EvalContext.default().checkpoint
    with context:
        EvalContext.current().checkpoint.register(Counted(), "mine")
    assert context.checkpoint.names == ("mine",)


def test_series_of_files(tmp_path: Path) -> None:
    held = Checkpoint()
    held.register(mine := Counted(), "mine")
    pattern = str(tmp_path / "new" / "run[1]_{seq:03d}.json")
    with pytest.raises(RuntimeError, match="call `collect` first"):
        held.save(pattern)
    with pytest.raises(FileNotFoundError, match="no file has a name like"):
        held.load(pattern)
    for number in range(3):
        mine.number = number
        held.collect()
        assert held.save(pattern) == pattern.format(seq=number)
    assert held.load(pattern) == pattern.format(seq=2)
    other = Checkpoint()
    other.set_state("mine", {"number": 4})
    assert other.save(pattern) == pattern.format(seq=3)
    assert sorted(os.listdir(tmp_path / "new")) == [f"run[1]_00{n}.json" for n in range(4)]
    Path(pattern.format(seq=3)).write_text("damaged")
    Path(pattern.format(seq=2)).write_bytes(Path(pattern.format(seq=2)).read_bytes()[:-20])
    with pytest.warns(UserWarning, match="Instead the one before it is loaded"):
        assert held.load(pattern) == pattern.format(seq=1)
    assert held.get_state("mine") == {"number": 1}
    for wrong in ("{seq}{", "{date}{seq}", "{seq!r}", "{seq:x}", "{}"):
        with pytest.raises(ValueError, match=r"Checkpoint.save: argument `filename`"):
            held.save(str(tmp_path / wrong))
    with pytest.raises(RuntimeError, match="the folder cannot be made"):
        held.save(pattern.format(seq=1) + "/below/{seq}")
