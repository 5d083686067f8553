"""readers.numpy against DALI: types, orders of axes, regions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import GradivaError

from .reference import REFUSALS, fn, run

SHAPES = ((7, 9), (5, 6), (8, 4))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("arrays")
    drawn = np.random.default_rng(4)
    for number, shape in enumerate(SHAPES):
        array = drawn.integers(-99, 99, shape).astype(np.int16)
        with (folder / f"{number}.npy").open("wb") as stream:
            np.save(stream, np.asfortranarray(array) if number == 1 else array)
    return [str(folder / f"{number}.npy") for number in range(len(SHAPES))]


REGIONS: list[dict[str, Any]] = [
    {},
    {"roi_start": [1, 2]},
    {"roi_start": 2},
    {"roi_end": [4, 3]},
    {"roi_shape": [2, 3], "roi_start": [1, 1]},
    {"rel_roi_start": [0.1, 0.3]},
    {"rel_roi_end": [0.5, 0.9]},
    {"rel_roi_shape": [0.4, 0.7]},
    {"rel_roi_start": [0.15, 0.25], "rel_roi_shape": [0.35, 0.55]},
    {"rel_roi_start": [0.15, 0.25], "rel_roi_end": [0.85, 0.75]},
    {"roi_start": [1, 1], "rel_roi_end": [0.5, 0.8]},
    {"rel_roi_start": [0.3], "roi_end": [4], "roi_axes": [1]},
    {"roi_start": [1], "roi_end": [3], "roi_axes": [-1]},
    {"roi_start": [1, 2], "roi_end": [3, 4], "roi_axes": [1, 0]},
    {"roi_start": [1], "roi_end": [1], "roi_axes": [0]},
    {"roi_start": [-2, 1], "roi_end": [9, 4], "out_of_bounds_policy": "pad"},
    {"roi_start": [-2, 1], "roi_end": [9, 9], "out_of_bounds_policy": "pad", "fill_value": 3.7},
    {"roi_start": [-2, 1], "roi_end": [9, 4], "out_of_bounds_policy": "trim_to_shape"},
    {"roi_start": [8, 1], "roi_shape": [2, 2], "out_of_bounds_policy": "trim_to_shape"},
    {"roi_start": [-1, 1]},
    {"roi_end": [99, 1]},
    {"roi_start": [3, 3], "roi_end": [2, 4]},
    {"roi_start": [1, 1], "rel_roi_start": [0.1, 0.1]},
    {"roi_end": [1, 1], "roi_shape": [1, 1]},
    {"roi_start": [1, 1, 1]},
    {"roi_start": [1], "roi_axes": [2]},
    {"out_of_bounds_policy": "wrap"},
]


@pytest.mark.parametrize("region", REGIONS, ids=str)
def test_regions(files: list[str], region: dict[str, Any]) -> None:
    def mine() -> list[Any]:
        (batch,) = gradiva.readers.Numpy(files=files, **region).next_epoch(batch_size=len(files))
        return [batch.at(i) for i in range(len(batch))]

    try:
        (expected,) = run(lambda: fn.readers.numpy(files=files, **region), len(files))
    except REFUSALS:
        with pytest.raises(GradivaError):
            mine()
        return
    for found, wanted in zip(mine(), expected, strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int8", "uint16", "int64", "float16", "float64"]
)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 4)])
def test_types(tmp_path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    path = str(tmp_path / "a.npy")
    np.save(path, np.arange(np.prod(shape), dtype=np.int64).reshape(shape).astype(dtype))
    (expected,) = run(lambda: fn.readers.numpy(files=[path]), 1)
    (batch,) = gradiva.readers.Numpy(files=[path]).next_epoch(batch_size=1)
    assert batch.at(0).dtype == expected[0].dtype
    np.testing.assert_array_equal(batch.at(0), expected[0])


def test_which_files(tmp_path: Path) -> None:
    for number, name in enumerate(["z.npy", "y.npy", "b/1.npy", "a/2.npy", "a/d/3.npy", "a/4.NPY"]):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        with (tmp_path / name).open("wb") as stream:
            np.save(stream, np.array([number]))
    root = str(tmp_path)
    for pattern in ("*.npy", "*.[nN]*", "?.npy"):
        reader = gradiva.readers.Numpy(file_root=root, file_filter=pattern)
        (found,) = reader.next_epoch(batch_size=9)

        def read(pattern: str = pattern) -> Any:
            return fn.readers.numpy(file_root=root, file_filter=pattern)

        (expected,) = run(read, len(found))
        assert [found.at(i).item() for i in range(len(found))] == [one.item() for one in expected]
