"""`readers.numpy`: files of all kinds, and regions of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import OperatorRuntimeError, OperatorValueError, fn, pipeline_def, readers, types
from gradiva.eager.execution.quarantine import Quarantine
from gradiva.ops.decoders.npy_header import read_header
from gradiva.ops.readers import numpy as module
from gradiva.ops.storage.handles import read_fully
from tests.tiers import few


def save(folder: Path, *arrays: Any, version: tuple[int, int] | None = None) -> list[str]:
    paths = []
    for number, array in enumerate(arrays):
        path = folder / f"{number}.npy"
        with path.open("wb") as stream:
            np.lib.format.write_array(stream, np.asanyarray(array), version)
        paths.append(str(path))
    return paths


def read(files: list[str], **arguments: Any) -> list[Any]:
    (batch,) = readers.Numpy(files=files, **arguments).next_epoch(batch_size=len(files))
    return [batch.at(i) for i in range(len(batch))]


CUBE = np.arange(60, dtype=np.int32).reshape(3, 4, 5)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("dtype", ["?", "u1", "<i2", ">i4", "<u8", "<f2", ">f4", "<f8"])
def test_types(tmp_path: Path, dtype: str, version: tuple[int, int]) -> None:
    arrays = [CUBE.astype(dtype), np.asfortranarray(CUBE.astype(dtype)), CUBE[:0].astype(dtype)]
    found = read(save(tmp_path, *arrays, version=version))
    for mine, expected in zip(found, arrays, strict=True):
        np.testing.assert_array_equal(mine, expected)
        assert mine.dtype == np.dtype(dtype).newbyteorder("=")


def test_scalars_and_vectors(tmp_path: Path) -> None:
    assert [one.item() for one in read(save(tmp_path, np.float32(3.5), np.float32(4.5)))] == [
        3.5,
        4.5,
    ]
    assert [one.tolist() for one in read(save(tmp_path, [1, 2], [3]))] == [[1, 2], [3]]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    ("region", "expected"),
    [
        ({"roi_start": (1, 2, 3)}, CUBE[1:, 2:, 3:]),
        ({"roi_end": (2, 3, 4)}, CUBE[:2, :3, :4]),
        ({"roi_shape": 2}, CUBE[:2, :2, :2]),
        ({"roi_start": 1, "roi_end": 3}, CUBE[1:3, 1:3, 1:3]),
        ({"roi_start": (1, 2), "roi_shape": (1, 3), "roi_axes": (1, -1)}, CUBE[:, 1:2, 2:5]),
        ({"rel_roi_start": (0.5, 0.25, 0), "rel_roi_end": (1, 0.5, 0.5)}, CUBE[2:3, 1:2, 0:3]),
        ({"rel_roi_start": 0.2, "rel_roi_shape": 0.4, "roi_axes": 2}, CUBE[:, :, 1:3]),
        ({"roi_start": 1, "roi_end": 1, "roi_axes": 1}, CUBE[:, 1:1]),
        ({"roi_axes": ()}, CUBE),
        ({"roi_start": (), "roi_end": (), "roi_axes": ()}, CUBE),
        (
            {
                "roi_start": (-1, 3),
                "roi_shape": (2, 4),
                "roi_axes": (0, 2),
                "out_of_bounds_policy": "trim_to_shape",
            },
            CUBE[:1, :, 3:],
        ),
        (
            {
                "roi_start": (-1, 3),
                "roi_shape": (2, 4),
                "roi_axes": (0, 2),
                "out_of_bounds_policy": "pad",
                "fill_value": 6.5,
            },
            np.pad(CUBE[:1, :, 3:], ((1, 0), (0, 0), (0, 2)), constant_values=7),
        ),
        (
            {"roi_start": 9, "roi_shape": 1, "roi_axes": 0, "out_of_bounds_policy": "pad"},
            np.zeros((1, 4, 5)),
        ),
    ],
    ids=str,
)
def test_regions(tmp_path: Path, order: Any, region: dict[str, Any], expected: Any) -> None:
    for array in (CUBE, CUBE.astype(">i4")):
        (found,) = read(save(tmp_path, np.asarray(array, order=order)), **region)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("axes", few([None, [1]], [1]))
@pytest.mark.parametrize("free", few([False, True], True))
def test_a_region_for_each_sample(tmp_path: Path, axes: Any, free: bool) -> None:
    """Drawn in the pipeline or outside of it; cut from whole arrays by `slice`."""
    for number in range(4):
        np.save(tmp_path / f"{number}.npy", np.arange(90).reshape(9, 10) + number)
    count = 2 if axes is None else 1

    def begin() -> Any:
        return fn.random.uniform(range=(0, 3), shape=(count,), dtype=types.INT32)

    given = begin() if free else None

    @pipeline_def(batch_size=4, num_threads=1, device_id=None, seed=3)
    def pipe() -> Any:
        start = begin() if given is None else given
        region = {"roi_start": start, "rel_roi_end": [0.8] * count, "roi_axes": axes}
        whole = fn.readers.numpy(file_root=str(tmp_path))
        return fn.readers.numpy(file_root=str(tmp_path), **region), whole, start

    parts, arrays, starts = pipe().run()
    for sample in range(4):
        first = starts.at(sample).tolist()
        expected = arrays.at(sample)[:, first[-1] : 8]
        expected = expected if axes else expected[first[0] : 7]
        np.testing.assert_array_equal(parts.at(sample), expected)
    assert len({tuple(starts.at(sample).tolist()) for sample in range(4)}) > 1


def test_other_arguments_hold_for_all_samples(tmp_path: Path) -> None:
    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipe() -> Any:
        return fn.readers.numpy(file_root=str(tmp_path), fill_value=fn.random.uniform())

    with pytest.raises(gradiva.OperatorTypeError, match=r"`fill_value`: .*output of an operator"):
        pipe()


def test_only_the_rows_of_a_region_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []

    def counted(handle: int, offset: int, target: Any) -> None:
        sizes.append(target.nbytes)
        read_fully(handle, offset, target)

    monkeypatch.setattr(module, "read_fully", counted)
    array = np.arange(100 * 16, dtype=np.uint8).reshape(100, 16)
    (found,) = read(save(tmp_path, array), roi_start=(40, 3), roi_end=(45, 9))
    np.testing.assert_array_equal(found, array[40:45, 3:9])
    read(save(tmp_path, np.asfortranarray(array)), roi_start=(40, 3), roi_end=(45, 9))
    assert sizes == [5 * 16, 6 * 100]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "give one of"),
        ({"files": ["x"], "file_list": "y"}, "not both"),
        ({"files": []}, "at least one file"),
        ({"file_root": "/nowhere"}, "`file_root`"),
        ({"file_list": "/nowhere"}, "`file_list`"),
        ({"files": ["x"], "out_of_bounds_policy": "wrap"}, "`out_of_bounds_policy`"),
        ({"files": ["x"], "roi_start": 1, "rel_roi_start": 0.5}, "exclude"),
        ({"files": ["x"], "roi_end": 1, "rel_roi_shape": 0.5}, "exclude"),
        ({"files": ["x"], "use_o_direct": True}, "dont_use_mmap"),
    ],
)
def test_refusals(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(OperatorValueError, match=text):
        readers.Numpy(**arguments)


@pytest.mark.parametrize(
    ("region", "text"),
    [
        ({"roi_start": (-1, 0, 0)}, "leaves the sample"),
        ({"roi_end": (9, 1, 1)}, "leaves the sample"),
        ({"roi_start": 2, "roi_end": 1}, "ends before"),
        ({"roi_start": (1, 1)}, "1 or 3 numbers"),
        ({"roi_start": 1, "roi_axes": 3}, "`roi_axes`"),
    ],
)
def test_bad_regions(tmp_path: Path, region: dict[str, Any], text: str) -> None:
    with pytest.raises(OperatorValueError, match=rf"{text}(?s:.)*0.npy"):
        read(save(tmp_path, CUBE), **region)


def test_files_in_folders(tmp_path: Path) -> None:
    for number, name in enumerate(
        ["z.npy", "y.npy", "b/1.npy", "a/2.npy", "a/deep/3.npy", "a/x.txt"]
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        with (tmp_path / name).open("wb") as stream:
            np.save(stream, np.array([number]))
    reader = readers.Numpy(file_root=str(tmp_path))
    (found,) = reader.next_epoch(batch_size=9)
    assert found.as_array().ravel().tolist() == [1, 0, 3, 2]
    assert found.source_info()[2] == str(tmp_path / "a" / "2.npy")
    (tmp_path / "list.txt").write_text("b/1.npy\n\n z.npy \n")
    for root in (None, str(tmp_path)):
        reader = readers.Numpy(file_list=str(tmp_path / "list.txt"), file_root=root)
        (found,) = reader.next_epoch(batch_size=9)
        assert found.as_array().ravel().tolist() == [2, 0]
    (found,) = readers.Numpy(file_root=str(tmp_path), files=["y.npy"]).next_epoch(1)
    assert found.as_array().ravel().tolist() == [1]


def test_what_differs_in_a_batch(tmp_path: Path) -> None:
    files = save(tmp_path, CUBE, CUBE, CUBE.astype(np.float32))
    with pytest.raises(OperatorRuntimeError, match=r"one type(?s:.)*sample 2.*2.npy"):
        read(files)
    files = save(tmp_path, CUBE, CUBE[0])
    with pytest.raises(OperatorRuntimeError, match=r"number of axes(?s:.)*sample 1.*1.npy"):
        read(files)


def test_damaged_files(tmp_path: Path) -> None:
    files = save(tmp_path, CUBE, CUBE + 1, CUBE + 2)
    Path(files[1]).write_bytes(Path(files[1]).read_bytes()[:-1])
    with pytest.raises(OperatorRuntimeError, match=r"another length(?s:.)*sample 1.*1.npy"):
        read(files)
    with Quarantine(warns=False) as bad:
        assert [one[0, 0, 0] for one in read(files, on_error="skip")] == [0, 2]
        assert [one.shape for one in read(files, on_error="replace")][1] == (0, 0, 0)
        (alone,) = readers.Numpy(files=files[1:2], on_error="skip").next_epoch(batch_size=1)
        assert len(alone) == 0
    assert bad.total == 3
    assert [one.file for one in bad] == [files[1]] * 3
    Path(files[1]).unlink()
    with pytest.raises(OperatorRuntimeError, match="No such file"):
        read(files)
    for array in (np.array(["a"]), np.array([1j]), np.zeros(2, [("x", "i4")])):
        with pytest.raises(OperatorRuntimeError, match=r"type|header"):
            read(save(tmp_path, array))


def test_what_stands_behind_the_values(tmp_path: Path) -> None:
    """np.save appends to a stream: the first array is read, as np.load does."""
    files = save(tmp_path, CUBE)
    with open(files[0], "ab") as stream:
        np.save(stream, CUBE)
    np.testing.assert_array_equal(read(files)[0], CUBE)


def test_headers_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = save(tmp_path, CUBE, CUBE)
    parsed = []

    def counted(*given: Any) -> Any:
        parsed.append(given)
        return read_header(*given)

    monkeypatch.setattr(module, "read_header", counted)
    reader = readers.Numpy(files=files, cache_header_information=True)
    for _ in range(3):
        assert len(list(reader.next_epoch(batch_size=2))) == 1
    assert len(parsed) == 2
    save(tmp_path, CUBE[:1])
    (found,) = reader.next_epoch(batch_size=2)
    assert [gradiva.as_tensor(found.at(i)).shape[0] for i in range(2)] == [1, 3]
