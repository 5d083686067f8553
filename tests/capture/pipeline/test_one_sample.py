"""`Pipeline.sample`: the bits of one sample, computed again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def, types

SIZE = 7


@pytest.fixture
def folder(tmp_path: Path) -> str:
    for number in range(SIZE):
        np.save(tmp_path / f"{number}.npy", np.full((2, number + 1), number, np.uint8))
    return str(tmp_path)


def piped(folder: str, batch_size: int = 3, **reader: Any) -> Any:
    @pipeline_def(batch_size=batch_size, num_threads=2, device_id=None, seed=5)
    def pipe() -> Any:
        arrays = fn.readers.numpy(file_root=folder, random_shuffle=True, **reader)
        noise = fn.random.uniform(range=(0, 1))
        return fn.cast(arrays, dtype=types.FLOAT) + noise, noise

    return pipe()


@pytest.mark.parametrize("shard", [None, 0, 1])
def test_the_same_bits(folder: str, shard: int | None) -> None:
    """Of any epoch, while the pipeline goes on where it is; also of other shards."""
    more = {} if shard is None else {"num_shards": 2, "shard_id": shard}
    with piped(folder, **more) as pipe, piped(folder) as asked:
        seen: set[int] = set()
        for _ in range(5):
            arrays, noise = pipe.run()
            for sample, place in enumerate(arrays.positions.tolist()):
                found = asked.sample(*divmod(place, SIZE))
                for one, batch in zip(found, (arrays, noise), strict=True):
                    assert np.asarray(one).tobytes() == np.asarray(batch.at(sample)).tobytes()
                seen.add(place)
        assert len(seen) == 15


def test_the_place_stays(folder: str) -> None:
    with piped(folder) as pipe, piped(folder) as other:
        for _ in range(4):
            pipe.sample(2, 6)
            assert pipe.run()[1].as_array().tobytes() == other.run()[1].as_array().tobytes()


def test_refusals(folder: str) -> None:
    with piped(folder) as pipe:
        with pytest.raises(gradiva.OperatorValueError, match=r"`position`: .*from 0 to 6.* 7"):
            pipe.sample(0, SIZE)
        with pytest.raises(gradiva.OperatorValueError, match="`epoch`"):
            pipe.sample(-1, 0)
        with pytest.raises(gradiva.OperatorTypeError, match="`position`"):
            pipe.sample(0, "first")

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def fed() -> Any:
        return fn.external_source(source=lambda: [np.zeros(1)])

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def drawn() -> Any:
        return fn.random.uniform()

    for pipe, text in ((fed(), "only readers"), (drawn(), "without a reader")):
        with pytest.raises(gradiva.OperatorTypeError, match=text):
            pipe.sample(0, 0)


@pytest.mark.filterwarnings("ignore:samples that cannot be read")
def test_a_sample_that_cannot_be_read(folder: str) -> None:
    with piped(folder, on_error="skip") as skipping, piped(folder) as pipe:
        pipe.build()
        skipping.build()
        for path in Path(folder).glob("*"):
            path.write_bytes(path.read_bytes()[:-1])
        with pytest.raises(gradiva.OperatorRuntimeError, match=r"another length(?s:.*)npy"):
            pipe.sample(0, 3)
        with pytest.raises(gradiva.OperatorRuntimeError, match=r"position 3 of epoch 0.* left out"):
            skipping.sample(0, 3)
