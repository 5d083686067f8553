"""`readers.table`: rows of any object, with our order and our places."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def


class Rows:
    """Nine rows, of which some are damaged."""

    def __init__(self, bad: tuple[int, ...] = (), several: bool = False) -> None:
        self.bad = bad
        self.asked: list[Any] = []
        if several:
            self.__getitems__ = self.get_several

    def __len__(self) -> int:
        return 9

    def __getitem__(self, number: int) -> Any:
        self.asked.append(number)
        if number in self.bad:
            raise KeyError(f"row {number} is gone")
        return {"image": np.full((2, number + 1), number, np.uint8), "label": number, "text": "a"}

    def get_several(self, numbers: list[int]) -> list[Any]:
        found = [self[number] for number in numbers]
        self.asked.append(tuple(numbers))
        return found


def test_rows_in_our_order() -> None:
    """Shuffled, in batches; each row once, and the state goes on."""
    given: Any = {"source": Rows(), "columns": ["image", "label", "text"], "random_shuffle": True}
    reader = gradiva.readers.Table(**given, seed=3)
    seen = []
    for images, labels, texts in reader.next_epoch(batch_size=4):
        seen += labels.as_array().tolist()
        assert [one.max() for one in images.arrays()] == labels.as_array().tolist()
        assert texts.at(0).tobytes() == b"a"
        assert images.source_info()[0] == f"Rows at row {images.indices[0]}"
    assert sorted(seen) == list(range(9)) != seen
    state = reader.get_state()
    other = gradiva.readers.Table(**given, seed=3)
    other.set_state(state)
    again = [batch.indices.tolist() for batch, *_ in other.next_epoch(batch_size=4)]
    assert again == [batch.indices.tolist() for batch, *_ in reader.next_epoch(batch_size=4)]


def test_all_of_a_batch_at_once() -> None:
    rows = Rows(several=True)
    reader = gradiva.readers.Table(source=rows, columns="label")
    (first, *_) = reader.next_epoch(batch_size=3)
    assert first.as_array().tolist() == [0, 1, 2]
    assert (0, 1, 2) in rows.asked
    rows.bad = (4,)
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"Rows\[4\] raised KeyError.*\n.*row 4"):
        list(reader.next_epoch(batch_size=3))


def test_bad_rows_are_left_out() -> None:
    @pipeline_def(batch_size=9, num_threads=1)
    def pipe() -> Any:
        return fn.readers.table(source=Rows(bad=(2, 5)), columns=["label"], on_error="skip")

    made = pipe()
    with pytest.warns(UserWarning, match="row 2 is gone"):
        assert made.run()[0].as_array().tolist() == [0, 1, 3, 4, 6, 7, 8]
    assert [entry.file for entry in made.quarantine] == ["Rows at row 2", "Rows at row 5"]
    made.close()


def test_forms_of_rows() -> None:
    pillow = pytest.importorskip("PIL.Image")
    image = pillow.fromarray(np.arange(12, dtype=np.uint8).reshape(2, 2, 3))
    rows = [
        (image, {"bytes": b"abc", "path": None}, [1.5, 2.5]),
        (image, {"bytes": b"d", "path": None}, [0.5]),
    ]
    reader = gradiva.readers.Table(source=rows, columns=["0", "1", "2"], dtypes=None)
    (batch,) = reader.next_epoch(batch_size=2)
    images, files, numbers = batch
    assert images.shape == [(2, 2, 3)] * 2
    assert [one.tobytes() for one in files.arrays()] == [b"abc", b"d"]
    assert numbers.at(1).tolist() == [0.5]
    (whole,) = gradiva.readers.Table(source=[3, 4], dtypes="int32").next_epoch(batch_size=2)
    assert (whole.as_array().tolist(), str(whole.dtype)) == ([3, 4], "int32")


def test_refusals() -> None:
    for bad in (3, {"a": 1}, "text", iter([1])):
        with pytest.raises(gradiva.OperatorTypeError, match=r"`source`: .*whose rows have numbers"):
            gradiva.readers.Table(source=bad)
    with pytest.raises(gradiva.OperatorValueError, match="`source`: expected rows, got none"):
        gradiva.readers.Table(source=[])
    with pytest.raises(gradiva.GradivaError, match="the row has no `boxes`: it has 'image'"):
        list(gradiva.readers.Table(source=Rows(), columns="boxes").next_epoch(batch_size=2))


@pytest.mark.filterwarnings("default")  # of the library about itself
def test_data_of_hugging_face(photographs: Any) -> None:
    """Encoded images, decoded by us."""
    datasets = pytest.importorskip("datasets")
    paths = sorted(map(str, photographs.rglob("*.jpg")))[:3]
    data = datasets.Dataset.from_dict({"image": paths, "label": [0, 1, 2]})
    data = data.cast_column("image", datasets.Image(decode=False))
    reader = gradiva.readers.Table(source=data, columns=["image", "label"])
    for files, labels in reader.next_epoch(batch_size=3):
        assert labels.as_array().tolist() == [0, 1, 2]
        assert files.at(1).tobytes() == Path(paths[1]).read_bytes()
        assert gradiva.decoders.image(files).shape[0][2] == 3


@pytest.mark.filterwarnings("default")
def test_grain() -> None:
    grain = pytest.importorskip("grain")
    data = grain.MapDataset.range(10).map(lambda number: {"value": np.int64(number) * 2})
    reader = gradiva.readers.Table(source=data, columns="value", random_shuffle=True)
    seen = [one for batch in reader.next_epoch(batch_size=3) for one in batch.as_array().tolist()]
    assert sorted(seen) == list(range(0, 20, 2))


@pytest.mark.full  # its import takes many seconds
@pytest.mark.filterwarnings("default")
def test_mosaicml(tmp_path: Any) -> None:
    # Its own dependencies may not fit each other.
    streaming = pytest.importorskip("streaming", exc_type=ImportError)
    with streaming.MDSWriter(out=str(tmp_path), columns={"x": "bytes", "y": "int"}) as writer:
        for number in range(7):
            writer.write({"x": bytes([number]) * (number + 1), "y": number})
    data = streaming.LocalDataset(str(tmp_path))
    reader = gradiva.readers.Table(source=data, columns=["x", "y"], random_shuffle=True)
    seen = []
    for values, numbers in reader.next_epoch(batch_size=3):
        seen += numbers.as_array().tolist()
        assert [len(one) - 1 for one in values.arrays()] == numbers.as_array().tolist()
    assert sorted(seen) == list(range(7))
