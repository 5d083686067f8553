"""Numbers of rows keep their bits: one rule of conversion in all readers of rows, against Python's
own numbers."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradiva import OperatorRuntimeError, OperatorValueError, readers
from gradiva.ops.readers.rows.lines import fields_of

from .formats import values

pytestmark = pytest.mark.filterwarnings("ignore:samples that cannot be read")

DTYPES = ("uint8", "int8", "int32", "int64", "uint64", "bool", "float16", "float32", "float64")
WHOLE = [0, 1, -1, 127, 128, 255, 300, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)]
HUGE = [2**63, 2**64 - 1]
FRACTIONS = [0.0, 1.0, 1.5, -1.0, 0.1, 1700000000.123, 16777217.0, 1e19, 1e300]
STRANGE = [math.nan, math.inf]
Write = Callable[[Path, list[Any]], dict[str, Any]]


def read(reader: Any, size: int = 99, **arguments: Any) -> list[np.ndarray[Any, Any]]:
    """The samples of the first batch of a reader with one output."""
    (column,) = values(next(reader(**arguments).next_epoch(batch_size=size)))
    return [column.array(sample) for sample in range(len(column))]


def wanted(value: Any, dtype: str) -> Any:
    """The value in the type as Python computes it; None where the type does not hold it."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        with np.errstate(over="ignore"):
            found = np.array(float(value)).astype(kind)
        return None if np.isinf(found) and math.isfinite(value) else found
    if isinstance(value, float) and not value.is_integer():
        return None
    limits = (0, 1) if dtype == "bool" else (np.iinfo(kind).min, np.iinfo(kind).max)
    return np.array(int(value), kind) if limits[0] <= value <= limits[1] else None


def jsonl(folder: Path, rows: list[Any]) -> dict[str, Any]:
    (folder / "d.jsonl").write_text("".join(json.dumps({"x": row}) + "\n" for row in rows))
    return {"paths": str(folder / "d.jsonl"), "columns": "x"}


def csv_file(folder: Path, rows: list[Any]) -> dict[str, Any]:
    (folder / "d.csv").write_text("".join(f"{row}\n" for row in ["x", *rows]))
    return {"paths": str(folder / "d.csv"), "columns": "x"}


def table(folder: Path, rows: list[Any]) -> dict[str, Any]:
    return {"source": rows}


def npz(folder: Path, rows: list[Any]) -> dict[str, Any]:
    np.savez(folder / "d.npz", x=np.array(rows))
    return {"paths": str(folder / "d.npz"), "columns": "x"}


def big_endian_npz(folder: Path, rows: list[Any]) -> dict[str, Any]:
    array = np.array(rows)
    np.savez(folder / "d.npz", x=array.astype(array.dtype.newbyteorder(">")))
    return {"paths": str(folder / "d.npz"), "columns": "x"}


def arrays(folder: Path, rows: list[Any]) -> dict[str, Any]:
    return {"source": list(np.array(rows))}


def parquet(folder: Path, rows: list[Any]) -> dict[str, Any]:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as arrow_parquet

    arrow_parquet.write_table(pyarrow.table({"x": np.array(rows)}), folder / "d.parquet")
    return {"paths": str(folder / "d.parquet"), "columns": "x"}


def hdf5(folder: Path, rows: list[Any]) -> dict[str, Any]:
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "d.h5", "w") as made:
        made["x"] = np.array(rows)
    return {"paths": str(folder / "d.h5"), "columns": "x"}


UNTYPED = {"jsonl": (jsonl, readers.JSONL), "csv": (csv_file, readers.CSV)}
WRITERS = UNTYPED | {
    "table": (table, readers.Table),
    "arrays": (arrays, readers.Table),
    "npz": (npz, readers.Npz),
    "big-endian npz": (big_endian_npz, readers.Npz),
    "parquet": (parquet, readers.Parquet),
    "hdf5": (hdf5, readers.HDF5),
}


@pytest.mark.parametrize("name", WRITERS)
def test_what_a_type_holds(name: str, tmp_path: Path) -> None:
    """Each value in each type: as it is, rounded to the nearest fraction, or an error."""
    write, reader = WRITERS[name]
    for rows in (WHOLE, HUGE, FRACTIONS, STRANGE, [True, False]):
        given = write(tmp_path, rows)
        for dtype in DTYPES:
            if (name, dtype) == ("csv", "uint8"):
                continue  # that is the text itself
            found = read(reader, **given, dtypes=dtype, on_error="skip")
            known = [one for one in (wanted(row, dtype) for row in rows) if one is not None]
            assert [one.dtype for one in found] == [np.dtype(dtype)] * len(known), (rows, dtype)
            np.testing.assert_array_equal(np.array(found), np.array(known))
            if len(known) < len(rows):
                with pytest.raises(OperatorRuntimeError, match="does not hold"):
                    read(reader, **given, dtypes=dtype)


@pytest.mark.parametrize("name", ["jsonl", "csv", "table", "parquet", "hdf5"])
def test_texts_that_say_numbers(name: str, tmp_path: Path) -> None:
    """In all readers as in CSV: the number, never the codes of the letters."""
    texts = ["5", " 7 ", "1.0", "1e2", "True", "false", "-3", "9007199254740993.0"]
    if name == "hdf5":
        h5py = pytest.importorskip("h5py")
        given: dict[str, Any] = {"paths": str(tmp_path / "d.h5"), "columns": "x"}
        reader: Any = readers.HDF5
        with h5py.File(tmp_path / "d.h5", "w") as made:
            made.create_dataset("x", data=texts, dtype=h5py.string_dtype())
    else:
        write, reader = WRITERS[name]
        given = write(tmp_path, texts)
    found = read(reader, **given, dtypes="int64")
    assert [one.tolist() for one in found] == [5, 7, 1, 100, 1, 0, -3, 9007199254740993]
    assert read(reader, **given, dtypes="float64")[:3] == [5.0, 7.0, 1.0]
    assert [one.tobytes() for one in read(reader, **given)][:2] == [b"5", b" 7 "]
    assert [one.tolist() for one in read(reader, **given, dtypes="bool", on_error="skip")] == [
        True, True, False
    ]  # fmt: skip
    if name in ("jsonl", "csv", "table"):
        for bad in ("five", "1_000", "0x10", "1e400", "-"):
            for dtype in ("int32", "float32", "bool"):
                with pytest.raises(OperatorRuntimeError, match=r"no number|not hold"):
                    read(reader, **write(tmp_path, [bad]), dtypes=dtype)


def test_numbers_without_types(tmp_path: Path) -> None:
    """In JSON: int64, float32, bool; what these do not hold is an error that says what does."""
    for row, dtype in (
        (2**63 - 1, np.int64),
        (0.1, np.float32),
        (True, np.bool_),
        ([], np.float32),
    ):
        (found,) = read(readers.JSONL, **jsonl(tmp_path, [row]))
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, np.array(row, dtype))
    beyond: list[Any] = [2**63, [2**63], [1, 2**63], -(2**63) - 1]
    for bad in beyond:
        with pytest.raises(OperatorRuntimeError, match=r"int64.*`dtypes`.*uint64"):
            read(readers.JSONL, **jsonl(tmp_path, [bad]))
    beyond = [1e300, [1e300, 0.5]]
    for bad in beyond:
        with pytest.raises(OperatorRuntimeError, match=r"float32, or `dtypes`.*float64"):
            read(readers.JSONL, **jsonl(tmp_path, [bad]))
    for line in ('{"x": 1e400}', '{"x": [1, 1e400]}', '{"x": 1e99999999999999999999}'):
        (tmp_path / "d.jsonl").write_text(line)
        with pytest.raises(OperatorRuntimeError):
            read(readers.JSONL, paths=str(tmp_path / "d.jsonl"), columns="x", dtypes="float64")


@pytest.mark.parametrize(
    ("row", "dtype"),
    [
        ([2**63, 1], "uint64"),
        ([9007199254740993, 1.0], "int64"),
        ([[0.1, 1e300], [2, 3]], "float64"),
        ([-(2**63), 2**53 + 1], "int64"),
        ([True, False], "uint8"),
    ],
)
def test_lists(row: Any, dtype: str, tmp_path: Path) -> None:
    for write, reader in (UNTYPED["jsonl"], WRITERS["table"]):
        (found,) = read(reader, **write(tmp_path, [row]), dtypes=dtype)
        assert found.tolist() == row
        assert found.dtype == dtype


def test_large_fractions_of_json_keep_their_digits(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"x": 9007199254740993.0}\n{"x": 9.007199254740995e15}\n')
    given: dict[str, Any] = {"paths": str(tmp_path / "d.jsonl"), "columns": "x"}
    found = read(readers.JSONL, **given, dtypes="int64")
    assert [one.tolist() for one in found] == [9007199254740993, 9007199254740995]


@pytest.mark.parametrize("name", ["jsonl", "table"])
def test_what_is_no_number(name: str, tmp_path: Path) -> None:
    write, reader = WRITERS[name]
    for bad in (None, [1, None], ["a"], [[1], [2, 3]], [[1], 2], [{"a": 1}]):
        for dtypes in (None, "float32"):
            with pytest.raises(OperatorRuntimeError):
                read(reader, **write(tmp_path, [bad]), dtypes=dtypes)


BOXES: list[Any] = [[[1, 2, 3, 4]], [], [[5, 6, 7, 8], [9, 8, 7, 6]]]


@pytest.mark.parametrize("name", ["jsonl", "table", "parquet", "parquet fixed", "parquet large"])
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (1, 1, 2)])
@pytest.mark.parametrize("arguments", [{}, {"dtypes": "int32"}, {"on_error": "skip"}])
def test_pictures_without_boxes(
    name: str, order: tuple[int, ...], arguments: dict[str, Any], tmp_path: Path
) -> None:
    """An empty list among lists of boxes has their axes and type, wherever it stands."""
    rows = [BOXES[number] for number in order]
    reader, given = boxes(name, rows, tmp_path)
    found = read(reader, **given, **arguments)
    assert [one.shape for one in found] == [(len(row), 4) for row in rows]
    assert [one.tolist() for one in found] == rows
    assert {one.dtype for one in found} == {np.dtype(arguments.get("dtypes", "int64"))}


def boxes(name: str, rows: list[Any], folder: Path) -> tuple[Any, dict[str, Any]]:
    if not name.startswith("parquet"):
        return WRITERS[name][1], WRITERS[name][0](folder, rows)
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as arrow_parquet

    inner = arrow.list_(arrow.int64(), 4) if "fixed" in name else arrow.list_(arrow.int64())
    outer = arrow.large_list(inner) if "large" in name else arrow.list_(inner)
    arrow_parquet.write_table(arrow.table({"x": arrow.array(rows, outer)}), folder / "d.parquet")
    return readers.Parquet, {"paths": str(folder / "d.parquet"), "columns": "x"}


@pytest.mark.parametrize("name", ["jsonl", "parquet", "parquet fixed"])
def test_a_batch_without_boxes(name: str, tmp_path: Path) -> None:
    """It is as another batch of the data set, whatever the size of batches."""
    reader, given = boxes(name, [BOXES[1], BOXES[1], BOXES[0]], tmp_path)
    for size in (1, 2, 3):
        (found, *_) = read(reader, size, **given)
        assert (found.shape, found.dtype) == ((0, 4), np.int64)


def test_empty_lists_of_more_axes(tmp_path: Path) -> None:
    rows: list[Any] = [[], [[[1, 2], [3, 4], [5, 6]]], [[]]]
    for name in ("jsonl", "table"):
        write, reader = WRITERS[name]
        found = read(reader, **write(tmp_path, rows))
        assert [one.shape for one in found] == [(0, 3, 2), (1, 3, 2), (1, 0, 2)]
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as arrow_parquet

    kind = arrow.list_(arrow.list_(arrow.list_(arrow.float32())))
    arrow_parquet.write_table(arrow.table({"x": arrow.array(rows, kind)}), tmp_path / "d.parquet")
    given: dict[str, Any] = {"paths": str(tmp_path / "d.parquet"), "columns": "x"}
    assert [one.ndim for one in read(readers.Parquet, **given)] == [3, 3, 3]
    # Arrays without elements, of the type that NumPy gives them.
    source = [np.array([]), np.ones((2, 4), np.float32), np.zeros((0, 4), np.float32)]
    assert [one.shape for one in read(readers.Table, source=source)] == [(0, 4), (2, 4), (0, 4)]


def test_lists_of_several_lengths(tmp_path: Path) -> None:
    """Where lists differ in length, an empty one has none of them."""
    found = read(readers.JSONL, **jsonl(tmp_path, [[], [[1, 2]], [[1, 2, 3]]]))
    assert [one.shape for one in found] == [(0, 0), (1, 2), (1, 3)]
    with pytest.raises(OperatorRuntimeError, match="one type and number of axes"):
        read(readers.JSONL, **jsonl(tmp_path, [[[1, 2]], ""]))


@pytest.mark.parametrize("delimiter", [",", "§"])
@pytest.mark.parametrize("chunk", [1, 5, 1 << 22])
def test_rows_of_csv_are_those_of_python(
    delimiter: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawn texts of quotation marks, delimiters and line breaks."""
    monkeypatch.setattr("gradiva.ops.readers.rows.lines._CHUNK", chunk)
    drawn = np.random.default_rng(chunk)
    path = tmp_path / "d.csv"
    compared = 0
    letters = ["a", '"', '""', delimiter, delimiter, "\n", "\r\n", '"\n', f'{delimiter}"', "ü"]
    for _ in range(50):
        text = "".join(drawn.choice(letters, drawn.integers(1, 24)).tolist())
        content = f"x{delimiter}y\n{text}\n"
        path.write_bytes(content.encode())
        *rows, last = rows_of_python(f"{content}end\n", delimiter)
        if last != ["end"]:  # quoted text that does not end is an error here
            rows = [*rows_of_python(content, delimiter)][:-1]
        known = [row for row in rows[1:] if len(row) == 2]
        if not known:
            continue
        given: dict[str, Any] = {"paths": str(path), "columns": ["x", "y"], "delimiter": delimiter}
        found = values(next(readers.CSV(**given, on_error="skip").next_epoch(batch_size=99)))
        texts = [[one.tobytes().decode() for one in column.arrays()] for column in found]
        assert [*map(list, zip(*texts, strict=True))] == known, repr(content)
        compared += 1
    assert compared > 5


def rows_of_python(content: str, delimiter: str) -> list[list[str]]:
    return [row for row in csv.reader(io.StringIO(content, newline=""), delimiter=delimiter) if row]


def test_quoted_text_that_does_not_end(tmp_path: Path) -> None:
    given = csv_file(tmp_path, ["a", '"b', "c"])
    assert [one.tobytes() for one in read(readers.CSV, **given, on_error="skip")] == [b"a"]
    with pytest.raises(OperatorRuntimeError, match="does not end"):
        read(readers.CSV, **given)
    for delimiter in ('"', "\n", ",,"):
        with pytest.raises(OperatorValueError, match="one character"):
            read(readers.CSV, **given, delimiter=delimiter)


def test_a_mark_of_the_byte_order_is_no_line(tmp_path: Path) -> None:
    path = tmp_path / "marked"
    for end in (b"\n", b"\r\n"):
        for first in (b"", end, end * 3):
            path.write_bytes(b"\xef\xbb\xbf" + first + b"x,y" + end + b'"a",b' + end)
            assert read(readers.CSV, paths=str(path), columns="x")[0].tobytes() == b"a"
            path.write_bytes(b"\xef\xbb\xbf" + first + b'{"x": 5}' + end)
            assert [int(one) for one in read(readers.JSONL, paths=str(path), columns="x")] == [5]


@pytest.mark.full
def test_rows_of_several_threads() -> None:
    """Long ones raise the limit of Python's module for a moment, which others may see."""
    long, short = '"' + "a" * 200_000 + '"', '"' + "b" * 140_000 + '"'
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda row: fields_of(row, ","), [long, short] * 200))
    assert found == [[long[1:-1]], [short[1:-1]]] * 200


def test_long_fields_of_csv(tmp_path: Path) -> None:
    """Longer than the limit of Python's module, which stays as it was."""
    limit = csv.field_size_limit()
    long = "a" * (limit + 7)
    for field, text in ((long, long), (f'"{long}"', long), (f'"{long},"""', f'{long},"')):
        (found,) = read(readers.CSV, **csv_file(tmp_path, [field]))
        assert found.tobytes() == text.encode()
    assert csv.field_size_limit() == limit


def test_compressed_files_are_named(tmp_path: Path) -> None:
    for reader in (readers.JSONL, readers.CSV):
        (tmp_path / "d.gz").write_bytes(gzip.compress(b'{"x": 1}\n'))
        with pytest.raises(OperatorRuntimeError, match=r"compressed with gzip(?s:.*)d\.gz"):
            read(reader, paths=str(tmp_path / "d.gz"), columns="x")
