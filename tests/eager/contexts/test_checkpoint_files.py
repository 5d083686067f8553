"""The files of checkpoints, damaged ones too, and plain data."""

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
from gradiva.checkpoint import Checkpoint
from gradiva.eager.contexts.checkpoint_files import (
    CheckpointError,
    CheckpointNotFoundError,
    load,
    pack,
    save,
    unpack,
)
from gradiva.eager.contexts.json_codec import from_json_value, to_json_value
from tests.tiers import examples


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


@settings(max_examples=examples(300), deadline=None)
@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255), st.booleans())
def test_every_flipped_byte_and_every_cut_is_found(place: int, change: int, cut: bool) -> None:
    damaged = bytearray(WHOLE)
    damaged[place] ^= change
    with pytest.raises(CheckpointError):
        unpack(WHOLE[:place] if cut else bytes(damaged), "dynamic")


@settings(max_examples=examples(200), deadline=None)
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


@settings(max_examples=examples(200), deadline=None)
@given(JSON)
def test_plain_data_come_back(value: Any) -> None:
    held = unpack(pack({"kind": "dynamic", "value": to_json_value(value)}), "dynamic")
    assert repr(from_json_value(held["value"])) == repr(value)


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


@settings(max_examples=examples(300), deadline=None)
@given(MARKED)
def test_odd_data_are_an_error_or_data(value: Any) -> None:
    """JSON data that nobody has encoded, such as an unknown mark, are refused or are data."""
    found: Any = None
    with contextlib.suppress(gradiva.OperatorValueError):
        found = from_json_value(value)
    assert isinstance(found, int | float | str | list | tuple | dict | bytes | np.ndarray | None)


@pytest.mark.parametrize("held", ["", "AAAAAAAAAAA="])
def test_a_number_of_several_values(held: str) -> None:
    with pytest.raises(gradiva.OperatorValueError, match="a number of"):
        from_json_value({"$array": ["<f4", None, held]})


def test_plain_arrays() -> None:
    arrays: list[Any] = [
        np.arange(6, dtype=">i2").reshape(2, 3),
        np.float32(0.1),
        np.zeros((0, 2), np.complex64),
        np.array(3, np.uint8),
        np.array(["a", "bc"]),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    ]
    for array, found in zip(arrays, from_json_value(to_json_value(arrays)), strict=True):
        assert type(found) is type(array)
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        assert np.array_equal(found, array)
    assert from_json_value(to_json_value(OrderedDict(a=1))) == {"a": 1}
    noise = np.random.default_rng(1)
    state = from_json_value(to_json_value(noise.bit_generator.state))
    expected = noise.random()
    noise.bit_generator.state = state
    assert noise.random() == expected
    endless: list[Any] = []
    endless.append(endless)
    values: list[Any] = [endless, np.array([object()]), {1, 2}, print]
    for value in values:
        with pytest.raises(TypeError, match=r"cannot be saved|nested too deeply"):
            to_json_value(value)
    for wrong in (
        {"$array": ["|O", None, "AAAA"]},
        {"$array": ["<i4", [7], "AAAA"]},
        {"$bytes": "?"},
        {"$pickle": "x"},
        {"$tuple": 5},
    ):
        with pytest.raises(ValueError, match="no data of a checkpoint"):
            from_json_value(wrong)
