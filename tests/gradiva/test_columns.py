"""Functions of columns: for data sets of Hugging Face, and for Ray Data."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.plugin.columns import ColumnFunction
from gradiva.plugin.huggingface import Transform


def small(files: Any) -> Any:
    return gradiva.resize(gradiva.decoders.image(files), size=(8, 6))


def noisy(values: Any) -> Any:
    noise = gradiva.random.uniform(range=(0, 1), batch_size=values.batch_size)
    return gradiva.cast(values, dtype=gradiva.types.FLOAT) + noise


def encoded(count: int) -> list[bytes]:
    pillow = pytest.importorskip("PIL.Image")
    found = []
    for number in range(count):
        stream = io.BytesIO()
        image = np.full((9 + number, 12, 3), 20 * number, np.uint8)
        pillow.fromarray(image).save(stream, "PNG")
        found.append(stream.getvalue())
    return found


def test_lists_and_arrays() -> None:
    files = encoded(3)
    made = ColumnFunction(small, "image")({"image": files, "label": [1, 2, 3]})
    assert made["image"].shape == (3, 8, 6, 3)
    assert made["image"][2].max() == made["image"][2].min() == 40
    assert made["label"] == [1, 2, 3]
    rows = [{"bytes": one, "path": None} for one in files]
    again = ColumnFunction(small, "image", "small", keep=False)({"image": rows})
    assert list(again) == ["small"]
    assert np.array_equal(again["small"], made["image"])
    ragged = ColumnFunction(gradiva.decoders.image, ["image"])({"image": files})["image"]
    assert [one.shape for one in ragged] == [(9, 12, 3), (10, 12, 3), (11, 12, 3)]
    both = ColumnFunction(lambda one, two: {"sum": one + two}, ["a", "b"], keep=False)
    assert both({"a": np.arange(3), "b": [1, 1, 1]})["sum"].tolist() == [1, 2, 3]


def test_random_values_belong_to_rows() -> None:
    """The same in any batch and order; and in another process, where it is sent to."""
    function = ColumnFunction(noisy, "x", seed_column="key", seed=5)
    columns: dict[str, Any] = {
        "x": np.zeros(6, np.float32),
        "key": [f"file {number}" for number in range(6)],
    }
    whole = function(columns)["x"]
    assert len(set(whole.tolist())) == 6
    order = [4, 0, 5]
    again = pickle.loads(pickle.dumps(function))
    found = again({name: [columns[name][one] for one in order] for name in columns})["x"]
    assert np.array_equal(found, whole[order])
    numbers = ColumnFunction(noisy, "x", seed_column="key", seed=5)
    first = numbers({"x": np.zeros(2), "key": np.array([7, 9])})["x"]
    assert numbers({"x": np.zeros(1), "key": np.array([9])})["x"] == first[1:]


def test_refusals() -> None:
    with pytest.raises(gradiva.OperatorValueError, match="`seed_column`"):
        ColumnFunction(noisy, "x")({"x": np.zeros(2)})
    with pytest.raises(
        gradiva.OperatorValueError, match=r"columns that are there \('x'\), got 'y'"
    ):
        ColumnFunction(small, "y")({"x": [b""]})
    shared = ColumnFunction(lambda x: x * gradiva.random.coin_flip(), "x", seed_column="x")
    with pytest.raises(gradiva.OperatorValueError, match="depends on which batch"):
        shared({"x": np.arange(2)})
    with pytest.raises(gradiva.OperatorTypeError, match="`fn`"):
        ColumnFunction(3, "x")  # type: ignore[arg-type]
    with pytest.raises(gradiva.GradivaError, match=r"\n  in sample 1, file column x"):
        ColumnFunction(small, "x")({"x": [b"a", None]})
    with pytest.raises(gradiva.OperatorValueError, match="`outputs`: expected 1 names"):
        ColumnFunction(small, "x", ["a", "b"])({"x": encoded(2)})


@pytest.mark.full
@pytest.mark.filterwarnings("default")  # of the library about itself
def test_hugging_face(photographs: Path) -> None:
    """`with_transform`, and `map(batched=True)` of an iterable data set."""
    datasets = pytest.importorskip("datasets")
    paths = sorted(map(str, photographs.rglob("*.jpg")))[:4]
    data = datasets.Dataset.from_dict({"image": paths, "label": [0, 1, 2, 3]})
    data = data.cast_column("image", datasets.Image(decode=False))
    wanted = Transform(small, "image")({"image": [Path(path).read_bytes() for path in paths]})
    shown = data.with_transform(Transform(small, "image"))
    assert np.array_equal(shown[1:3]["image"], wanted["image"][1:3])
    assert np.array_equal(shown[0]["image"], wanted["image"][0])
    assert shown[2]["label"] == 2
    rows = data.to_iterable_dataset().map(Transform(small, "image"), batched=True, batch_size=3)
    for number, row in enumerate(rows):
        assert np.array_equal(np.asarray(row["image"], np.uint8), wanted["image"][number])
    assert number == 3
