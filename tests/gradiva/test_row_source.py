"""Streams of rows of other libraries as external sources: they go on from their place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Pipeline, fn, pipeline_def
from gradiva.plugin.row_source import RowSource

ROWS, SIZE = 20, 3


def row_of(number: int) -> dict[str, Any]:
    return {"x": np.full(2, number, np.int64), "y": number}


class Rows:
    """An iterable without a place, in another order in each epoch."""

    def __init__(self, *folder: Path) -> None:
        self.epoch = 0
        self.asked: list[int] = []

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for number in np.random.default_rng(self.epoch).permutation(ROWS).tolist():
            self.asked.append(number)
            yield row_of(number)


def hugging_face(folder: Path) -> Any:
    datasets = pytest.importorskip("datasets", exc_type=ImportError)
    data = datasets.Dataset.from_list([row_of(number) for number in range(ROWS)])
    return data.to_iterable_dataset(num_shards=4)


def grain(folder: Path) -> Any:
    library = pytest.importorskip("grain", exc_type=ImportError)
    return library.MapDataset.range(ROWS).shuffle(seed=4).map(row_of).to_iter_dataset()


def mosaicml(folder: Path) -> Any:
    streaming = pytest.importorskip("streaming", exc_type=ImportError)
    if not (folder / "index.json").exists():
        kinds = {"x": "ndarray", "y": "int"}
        with streaming.MDSWriter(out=str(folder), columns=kinds) as writer:
            for number in range(ROWS):
                writer.write(row_of(number))
    streaming.base.util.clean_stale_shared_memory()
    return streaming.StreamingDataset(local=str(folder), shuffle=True, batch_size=1)


def litdata(folder: Path) -> Any:
    library = pytest.importorskip("litdata", exc_type=ImportError)
    if not (folder / "index.json").exists():
        cache = library.streaming.Cache(str(folder), chunk_size=6)
        for number in range(ROWS):
            cache[number] = row_of(number)
        cache.done()
        cache.merge()
    return library.StreamingDataset(str(folder), shuffle=True)


def piped(source: Any, **resumed: Any) -> Pipeline:
    @pipeline_def(batch_size=SIZE, num_threads=1, enable_checkpointing=True)
    def pipe() -> Any:
        return tuple(
            fn.external_source(
                RowSource(source, ["x", "y"]), num_outputs=2, batch=False, cycle="raise"
            )
        )

    made: Pipeline = pipe(**resumed)
    return made


def steps(pipe: Pipeline, count: int) -> list[Any]:
    """So many batches, or "end"."""
    found: list[Any] = []
    for _ in range(count):
        try:
            x, y = (one.as_array() for one in pipe.run())
        except StopIteration:
            pipe.reset()
            found.append("end")
        else:
            assert np.array_equal(x[:, 0], y.ravel())
            found.append(y.ravel().tolist())
    return found


LIBRARIES: list[Any] = [
    Rows,
    *(
        pytest.param(made, marks=[pytest.mark.full, pytest.mark.filterwarnings("default")])
        for made in (hugging_face, grain, mosaicml, litdata)
    ),
]


@pytest.mark.parametrize("made", LIBRARIES)
def test_it_goes_on(made: Callable[[Path], Any], tmp_path: Path) -> None:
    """In the middle of the first epoch, at its end, and in the middle of the second one."""
    epoch = -(-ROWS // SIZE) + 1
    pipe = piped(made(tmp_path))
    whole, states = [], []
    for _ in range(2 * epoch):
        states.append(pipe.checkpoint())
        whole += steps(pipe, 1)
    pipe.close()
    assert whole.count("end") == 2
    for begin in (0, epoch):
        rows = [number for batch in whole[begin : begin + epoch - 1] for number in batch]
        assert sorted(rows) == list(range(ROWS))
    for place in (2, epoch - 1, epoch + 3):
        pipe = piped(made(tmp_path), checkpoint=states[place])
        assert steps(pipe, 2 * epoch - place) == whole[place:], place
        pipe.close()


@pytest.mark.full
@pytest.mark.filterwarnings("default")
def test_rows_by_number(tmp_path: Path) -> None:
    """What has them is a table as well, with our order."""
    reader = gradiva.readers.Table(
        source=litdata(tmp_path), columns=["x", "y"], random_shuffle=True, seed=3
    )
    seen: list[int] = []
    for x, y in reader.next_epoch(batch_size=SIZE):
        assert np.array_equal(x.as_array()[:, 0], y.as_array())
        seen += y.as_array().tolist()
    assert sorted(seen) == list(range(ROWS)) != seen


def test_no_row_is_made_in_vain() -> None:
    """But those before the place, where the iterable has none."""
    source = RowSource(Rows())
    assert source.state_dict() == {"epoch": -1, "taken": 0, "own": None}
    rows = RowSource(Rows(), "y")
    loop = iter(rows)
    first = [int(next(loop)[0]) for _ in range(5)]
    again = Rows()
    later = RowSource(again, ["y"])
    later.load_state_dict(rows.state_dict())
    assert [int(y) for (y,) in later] == [int(y) for (y,) in loop]
    assert again.asked[:5] == first


def test_refusals() -> None:
    with pytest.raises(gradiva.OperatorTypeError, match="`source`: expected an iterable of rows"):
        RowSource(3)  # type: ignore[arg-type]
    with pytest.raises(gradiva.OperatorValueError, match="`state_dict`"):
        RowSource(Rows()).load_state_dict({"epoch": 0})
    wanted = "row 0 of epoch 0 of Rows: the row has no `z`: it has 'x', 'y'"
    with pytest.raises(gradiva.OperatorRuntimeError, match=wanted):
        next(iter(RowSource(Rows(), ["z"])))
