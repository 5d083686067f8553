"""`Checkpoint` of dynamic mode, plain data, and the files of checkpoints."""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import EvalContext, ExternalSource, random
from gradiva.checkpoint import Checkpoint
from gradiva.eager.checkpoint_file import (
    CheckpointError,
    CheckpointNotFoundError,
    load,
    pack,
    save,
    unpack,
)
from gradiva.eager.plain import from_plain, to_plain

from .loops import bits, make_folder
from .test_checkpoint_sources import generator


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

    whole, kept = [], objects()
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
    mine.number, _ = 9, rng.advance(4)
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


def test_files_are_kept_and_fallen_back_to(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for number in range(3):
        save(path, pack({"kind": "pipeline", "number": number}))
    assert sorted(os.listdir(tmp_path)) == ["file", "file.previous"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load(path, "pipeline")[0]["number"] == 2
    whole = path.read_bytes()
    for damage in (whole[:-1], whole[:30], b"", whole.replace(b'"number":2', b'"number":3')):
        path.write_bytes(damage)
        with pytest.warns(UserWarning, match="Instead the one before it"):
            assert load(path, "pipeline")[0]["number"] == 1
    # The damaged one does not take the place of the last good one.
    save(path, pack({"kind": "pipeline", "number": 9}))
    assert unpack((tmp_path / "file.previous").read_bytes(), "pipeline")["number"] == 1
    path.unlink()
    with pytest.warns(UserWarning, match="No such file"):
        assert load(path, "pipeline")[0]["number"] == 1
    (tmp_path / "file.previous").unlink()
    with pytest.raises(CheckpointNotFoundError, match="No such file"):
        load(path, "pipeline")


def test_saving_from_several_threads_and_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "file"
    (tmp_path / ".file.saving").write_text("left by a process that was killed" * 99)

    def write(first: int) -> None:
        for number in range(first, first + 15):
            save(path, pack({"kind": "pipeline", "number": number, "long": "x" * 9 * number}))

    threads = [threading.Thread(target=write, args=(100 * index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in ("file", "file.previous"):
        assert unpack((tmp_path / name).read_bytes(), "pipeline")["number"] % 100 < 15
    assert sorted(os.listdir(tmp_path)) == ["file", "file.previous"]


WHOLE = pack({"kind": "dynamic", "states": {"a": [{"number": 1.5}, None]}}).encode()


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255), st.booleans())
def test_every_flipped_byte_and_every_cut_is_found(place: int, change: int, cut: bool) -> None:
    damaged = bytearray(WHOLE)
    damaged[place] ^= change
    with pytest.raises(CheckpointError):
        unpack(WHOLE[:place] if cut else bytes(damaged), "dynamic")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200))
def test_rubbish_is_refused(rubbish: Any) -> None:
    with pytest.raises(CheckpointError):
        Checkpoint().deserialize(rubbish)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text() | st.integers() | st.just("$tuple"), inner, max_size=4)
    ),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(JSON)
def test_plain_data_come_back(value: Any) -> None:
    held = unpack(pack({"kind": "dynamic", "value": to_plain(value)}), "dynamic")
    assert repr(from_plain(held["value"])) == repr(value)


MARKED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["$tuple", "$bytes", "$dict", "$array", "$other", "a"]), inner
        )
    ),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None)
@given(MARKED)
def test_odd_data_are_an_error_or_data(value: Any) -> None:
    """JSON data that nobody has encoded, such as an unknown mark, are refused or are data."""
    found: Any = None
    with contextlib.suppress(gradiva.OperatorValueError):
        found = from_plain(value)
    assert isinstance(found, int | float | str | list | tuple | dict | bytes | np.ndarray | None)


def test_plain_arrays() -> None:
    arrays = [
        np.arange(6, dtype=">i2").reshape(2, 3),
        np.float32(0.1),
        np.zeros((0, 2), np.complex64),
        np.array(3, np.uint8),
        np.array(["a", "bc"]),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    ]
    for array, found in zip(arrays, from_plain(to_plain(arrays)), strict=True):
        assert type(found) is type(array)
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        assert np.array_equal(found, array)
    assert from_plain(to_plain(OrderedDict(a=1))) == {"a": 1}
    noise = np.random.default_rng(1)
    state = from_plain(to_plain(noise.bit_generator.state))
    expected = noise.random()
    noise.bit_generator.state = state
    assert noise.random() == expected
    endless: list[Any] = []
    endless.append(endless)
    for wrong in (endless, np.array([object()]), {1, 2}, print):
        with pytest.raises(TypeError, match=r"cannot be saved|nested too deeply"):
            to_plain(wrong)
    for wrong in (
        {"$array": ["|O", None, "AAAA"]},
        {"$array": ["<i4", [7], "AAAA"]},
        {"$bytes": "?"},
        {"$pickle": "x"},
        {"$tuple": 5},
    ):
        with pytest.raises(ValueError, match="no data of a checkpoint"):
            from_plain(wrong)
