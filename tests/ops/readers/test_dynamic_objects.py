"""RNG, imread, readers and sources of dynamic mode: arguments, states and errors."""

from __future__ import annotations

import copy
import importlib.util
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import EvalContext, ExternalSource, checkpoint, readers
from gradiva.random import RNG, get_default_rng, set_seed, uniform


def drawn(rng: RNG) -> bytes:
    return np.asarray(uniform(shape=4, rng=rng)).tobytes()


def test_state_of_a_generator() -> None:
    rng = RNG(2**64 + 5)
    assert (rng.seed, rng.state, RNG(-1).seed) == (5, (5, 0), 2**64 - 1)
    drawn(rng)
    saved = rng.get_state(cuda_stream=None)
    expected = [drawn(rng), drawn(rng)]
    for twin in (RNG(state=saved), pickle.loads(pickle.dumps(RNG(state=saved)))):
        assert [drawn(twin), drawn(twin)] == expected
    rng.state = saved
    twins = [rng.clone(), copy.copy(rng), copy.deepcopy(rng)]
    assert [drawn(rng), drawn(rng)] == expected
    assert [[drawn(twin), drawn(twin)] for twin in twins] == [expected] * 3
    rng.seed = 9
    assert rng.state == (9, 0)
    assert drawn(rng) == drawn(RNG(9))
    assert (RNG(3)(), RNG(3)()) == (RNG(3)(),) * 2
    assert 0 <= RNG(3)() < 2**32


def test_advance() -> None:
    rng, other = RNG(4), RNG(4)
    values = [drawn(rng) for _ in range(6)]
    other.advance(2)
    other.advance(np.int8(1))
    other.advance(True)
    other.advance(0)
    assert drawn(other) == values[4]
    with pytest.raises(gradiva.OperatorValueError, match="from 0 on, got -1"):
        other.advance(-1)
    wrong: Any
    for wrong in (1.5, "x", None):
        with pytest.raises(gradiva.OperatorTypeError, match=r"RNG\.advance: argument `n`"):
            other.advance(wrong)
    assert drawn(other) == values[5]
    other.advance(2**40)
    assert len(drawn(other)) == 16


def test_generators_in_a_step() -> None:
    """The same meaning where calls are numbered by the step."""
    rng = RNG(6)
    with gradiva.step(10, 3):
        first, saved, twin = drawn(rng), rng.get_state(), rng.clone()
        second, third = drawn(rng), drawn(rng)
        assert len({first, second, third}) == 3
        assert [drawn(twin), drawn(twin)] == [second, third]
        rng.set_state(saved)
        rng.advance(1)
        assert drawn(rng) == third
        set_seed(3)
        again = np.asarray(uniform(batch_size=3).as_array())
        set_seed(3)
        np.testing.assert_array_equal(uniform(batch_size=3).as_array(), again)
    assert rng.get_state() == (6, 0)


def test_wrong_states_and_seeds() -> None:
    wrong: Any
    for wrong in ("ab", (1,), (1, -1), (1, 2, 3, 4), None, 5, (1.5, 2)):
        with pytest.raises(gradiva.OperatorValueError, match="the state of an RNG"):
            RNG(1).set_state(wrong)
    for wrong in (1.5, "x"):
        with pytest.raises(gradiva.OperatorTypeError, match="argument `seed`"):
            RNG(wrong)
        with pytest.raises(gradiva.OperatorTypeError, match="argument `seed`"):
            set_seed(wrong)
    with pytest.raises(gradiva.OperatorTypeError, match="argument `seed`"):
        set_seed(None)  # type: ignore[arg-type]
    with pytest.raises(gradiva.OperatorValueError, match="a seed or a state"):
        RNG(1, state=(1, 2))
    assert get_default_rng() is get_default_rng()


def test_forms_of_paths(photographs: Path, tmp_path: Path) -> None:
    name = photographs / "things" / "coffee.jpg"
    text = str(name)
    as_bytes = np.frombuffer(text.encode(), np.uint8)
    expected = np.asarray(gradiva.imread(name))
    for one in (text, text.encode(), gradiva.tensor(as_bytes), as_bytes):
        image = gradiva.imread(one)
        assert isinstance(image, gradiva.Tensor)
        np.testing.assert_array_equal(image, expected)
    assert image.layout == "HWC"
    batch = gradiva.batch([as_bytes, as_bytes])
    for several in ([name, text], (name, name), (each for each in [name, name]), batch):
        images = gradiva.imread(several)
        assert isinstance(images, gradiva.Batch)
        assert images.shape == [expected.shape] * 2
        assert images.source_info() == [text] * 2
    assert gradiva.imread([]).shape == []
    small = gradiva.imread(name, output_type=gradiva.types.GRAY, dtype=gradiva.float32)
    assert (small.shape[2], small.dtype) == (1, gradiva.float32)


def test_paths_that_cannot_be_read(photographs: Path, tmp_path: Path) -> None:
    good, gone, bad = photographs / "things" / "coffee.jpg", tmp_path / "no", tmp_path / "bad.png"
    bad.write_bytes(b"\x89PNG\r\n\x1a\nrubbish")
    for path, reason in ((gone, "No such file"), (tmp_path, "Is a directory"), (bad, "PNG")):
        with pytest.raises(gradiva.OperatorRuntimeError, match=reason) as caught:
            gradiva.imread([good, path])
        assert (caught.value.sample, caught.value.file) == (1, str(path))
    wrong: Any
    for wrong in (None, 5, [5], np.zeros(3, np.float32)):
        with pytest.raises(gradiva.OperatorTypeError, match="a path or several"):
            gradiva.imread(wrong)
    with pytest.raises(gradiva.OperatorValueError, match="without a NUL"):
        gradiva.imread("a\0b")
    with pytest.raises(gradiva.OperatorTypeError, match="no argument `size`"):
        gradiva.imread(good, size=3)
    with pytest.raises(gradiva.OperatorRuntimeError, match="is not available: "):
        gradiva.imread(good, device="gpu")


def test_batch_sizes_of_sources(photographs: Path) -> None:
    reader = readers.File(file_root=str(photographs))
    assert len(next(iter(reader.next_epoch(batch_size=np.int64(2))))[0]) == 2  # type: ignore[call-overload]
    source = ExternalSource([np.zeros(2)] * 3)
    for call in (
        lambda size: reader.next_epoch(batch_size=size),
        lambda size: source(batch_size=size),
        lambda size: source.captured(batch_size=size),
    ):
        for size in (0, -1):
            with pytest.raises(gradiva.OperatorValueError, match="`batch_size`"):
                call(size)
        for no_size in (1.5, "x"):
            with pytest.raises(gradiva.OperatorTypeError, match="`batch_size`"):
                call(no_size)
    with pytest.raises(gradiva.OperatorTypeError, match="`ctx`: expected an EvalContext"):
        reader.next_epoch(batch_size=2, ctx=5)
    with pytest.raises(gradiva.OperatorTypeError, match="`ctx`: expected an EvalContext"):
        source.captured(2, ctx=5)


def test_metadata_and_shards(photographs: Path) -> None:
    whole = readers.File(file_root=str(photographs))
    size = whole.get_metadata()["epoch_size"]
    shards = [
        readers.File(file_root=str(photographs), num_shards=2, shard_id=shard, stick_to_shard=True)
        for shard in range(2)
    ]
    assert shards[1].get_metadata(batch_size=3) == {
        "epoch_size": size,
        "epoch_size_padded": size,
        "number_of_shards": 2,
        "shard_id": 1,
        "pad_last_batch": 0,
        "stick_to_shard": 1,
    }
    names = [file.source_info() for reader in shards for file, _ in reader.next_epoch()]
    assert sorted(names) == sorted(file.source_info() for file, _ in whole.next_epoch())


def test_names_that_are_not_there() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Coco'"):
        _ = readers.Coco  # type: ignore[attr-defined]
    if importlib.util.find_spec("torchdata") is None:
        with pytest.raises(ImportError, match="needs torchdata: pip install torchdata"):
            _ = gradiva.pytorch.nodes
    with pytest.raises(AttributeError, match="has no attribute 'loader'"):
        _ = gradiva.pytorch.loader


def test_the_current_checkpoint() -> None:
    assert checkpoint.current() is EvalContext.default().checkpoint
    with EvalContext() as context:
        assert checkpoint.current() is context.checkpoint is not EvalContext.default().checkpoint


def test_what_captured_loops_have(photographs: Path) -> None:
    reader: Any = gradiva.readers.File(file_root=str(photographs))
    for name in ("explain", "graph"):
        for value in (reader, reader.next_epoch(batch_size=2)):
            said = rf"no attribute '{name}'.*capture=True\)`, then `loop\.{name}`"
            with pytest.raises(AttributeError, match=said):
                getattr(value, name)
        assert hasattr(reader.next_epoch(batch_size=2, capture=True), name)
    with pytest.raises(AttributeError, match=r"no attribute 'run': loop over reader\.next_epoch"):
        _ = reader.run
    for value in (reader, reader.next_epoch(batch_size=2)):
        with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
            _ = value.nothing
