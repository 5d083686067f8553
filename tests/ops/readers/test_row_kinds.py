"""Kinds of columns of Parquet, HDF5, npz and of objects, as their libraries write them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import OperatorRuntimeError, OperatorValueError, readers
from gradiva.ops.readers.rows.hdf5 import HDF5Table
from gradiva.ops.readers.rows.hdf5_guard import GuardedFile

from .formats import values

pytestmark = pytest.mark.filterwarnings("ignore:samples that cannot be read")


def read(reader: Any, size: int = 99, **arguments: Any) -> list[np.ndarray[Any, Any]]:
    """The samples of the first batch of a reader with one output."""
    (column,) = values(next(reader(**arguments).next_epoch(batch_size=size)))
    return [column.array(sample) for sample in range(len(column))]


def parquet(folder: Path, **columns: Any) -> str:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as arrow_parquet

    arrow_parquet.write_table(arrow.table(columns), folder / "d.parquet", row_group_size=3)
    return str(folder / "d.parquet")


def test_names_with_dots(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    inner = arrow.struct([("c.d", arrow.int32()), ("e", arrow.struct([("f", arrow.int8())]))])
    rows = [{"c.d": 1, "e": {"f": 2}}, {"c.d": 3, "e": {"f": 4}}]
    path = parquet(
        tmp_path, **{"seg.png": [b"a", b"bc"], "a.b": arrow.array(rows, inner), "a": [5, 6]}
    )

    def column(name: str) -> list[Any]:
        return [one.tolist() for one in read(readers.Parquet, paths=path, columns=[name])]

    assert column("seg.png") == [[97], [98, 99]]
    assert (column("a.b.c.d"), column("a.b.e.f"), column("a")) == ([1, 3], [2, 4], [5, 6])
    for name in ("seg", "png", "a.b.c", "a.c"):
        with pytest.raises(OperatorValueError, match="`columns`"):
            column(name)
    (tmp_path / "d.jsonl").write_text('{"a.b": {"c": {"d.e": 7}}, "a": {"b": {"c": 1}}}')
    given: dict[str, Any] = {"paths": str(tmp_path / "d.jsonl")}
    assert read(readers.JSONL, **given, columns="a.b.c.d.e") == [7]


def test_nulls_of_nested_columns(tmp_path: Path) -> None:
    """What is not there is never a number or a text of its own."""
    arrow = pytest.importorskip("pyarrow")
    required = arrow.struct(
        [arrow.field("n", arrow.int32(), nullable=False), arrow.field("t", arrow.string())]
    )
    lists = arrow.list_(arrow.list_(arrow.float32()))
    path = parquet(
        tmp_path,
        s=arrow.array([{"n": 1, "t": "a"}, None, {"n": 3, "t": None}], required),
        l=arrow.array([[[1, 2]], [[1, None]], [None]], lists),
        i=arrow.array([[2**62 + 1], None, [3, None]], arrow.list_(arrow.int64())),
    )
    for name, kept in (("s.n", [1, 3]), ("s.t", [[97]]), ("l", [[[1, 2]]]), ("i", [[2**62 + 1]])):
        given: dict[str, Any] = {"paths": path, "columns": name}
        assert [one.tolist() for one in read(readers.Parquet, **given, on_error="skip")] == kept
        with pytest.raises(OperatorRuntimeError, match=r"no value|lacks a value"):
            read(readers.Parquet, **given)


def test_types_of_arrow(tmp_path: Path) -> None:
    """Views, extension types, dictionaries in structures, half floats in lists."""
    arrow = pytest.importorskip("pyarrow", "18")

    class Matrix(arrow.ExtensionType):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__(arrow.list_(arrow.list_(arrow.float32())), "tests.matrix")

        def __arrow_ext_serialize__(self) -> bytes:
            return b""

        @classmethod
        def __arrow_ext_deserialize__(cls, storage: Any, serialized: bytes) -> Any:
            return cls()

    numbers = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    storage = arrow.array(numbers.tolist(), arrow.list_(arrow.list_(arrow.float32())))
    words = arrow.array(["x", "yz"], arrow.string_view())
    arrow.register_extension_type(Matrix())
    try:
        path = parquet(
            tmp_path,
            s=words,
            b=arrow.array([b"x", b"yz"], arrow.binary_view()),
            inside=arrow.StructArray.from_arrays([words], ["v"]),
            matrix=arrow.ExtensionArray.from_storage(Matrix(), storage),
            tensor=arrow.FixedShapeTensorArray.from_numpy_ndarray(numbers),
            half=arrow.array([[np.float16(0.5)], [np.float16(2)]], arrow.list_(arrow.float16())),
            word=arrow.StructArray.from_arrays(
                [arrow.array(["x", "yz"]).dictionary_encode()], ["v"]
            ),
        )
        for name in ("s", "b", "inside.v", "word.v"):
            found = read(readers.Parquet, paths=path, columns=name)
            assert [one.tobytes() for one in found] == [b"x", b"yz"]
        for name in ("matrix", "tensor"):
            found = read(readers.Parquet, paths=path, columns=name)
            np.testing.assert_array_equal(found, numbers)
        found = read(readers.Parquet, paths=path, columns="half")
        assert [(one.dtype, one.tolist()) for one in found] == [
            (np.float16, [0.5]), (np.float16, [2.0])
        ]  # fmt: skip
    finally:
        arrow.unregister_extension_type("tests.matrix")


def test_images_by_their_paths(tmp_path: Path) -> None:
    """As `datasets` writes them: bytes, or the path of a file."""
    arrow = pytest.importorskip("pyarrow")
    kind = arrow.struct([("bytes", arrow.binary()), ("path", arrow.string())])
    (tmp_path / "x.png").write_bytes(b"content")
    rows = [
        {"bytes": b"abc", "path": "x.png"},
        {"bytes": None, "path": str(tmp_path / "x.png")},
        {"bytes": None, "path": str(tmp_path / "none.png")},
        {"bytes": None, "path": None},
        None,
    ]
    given: dict[str, Any] = {"paths": parquet(tmp_path, image=arrow.array(rows, kind))}
    found = read(readers.Parquet, **given, columns="image", on_error="skip")
    assert [one.tobytes() for one in found] == [b"abc", b"content"]
    with pytest.raises(OperatorRuntimeError, match=r"none\.png(?s:.*)d\.parquet at row 2"):
        read(readers.Parquet, **given, columns="image")


def test_kinds_of_hdf5(tmp_path: Path) -> None:
    """The other byte order, booleans, opaque bytes, texts as numbers."""
    h5py = pytest.importorskip("h5py")
    path = str(tmp_path / "d.h5")
    numbers = np.arange(12).reshape(4, 3)
    for dtype in (">i2", ">u4", ">i8", ">f2", ">f4", ">f8", "?"):
        with h5py.File(path, "w") as made:
            made["x"] = numbers.astype(dtype)
        found = read(readers.HDF5, paths=path, columns="x")
        assert {one.dtype for one in found} == {np.dtype(dtype).newbyteorder("=")}
        np.testing.assert_array_equal(found, numbers.astype(dtype))
        np.testing.assert_array_equal(
            read(readers.HDF5, paths=path, columns="x", dtypes="float64"), numbers.astype(dtype)
        )
    contents = [b"abc\0", b"\xff\xd8ef"]
    with h5py.File(path, "w") as made:
        made.create_dataset("x", data=np.array([np.void(one) for one in contents]))
        made.create_dataset("fields", data=np.zeros(2, [("a", "i4"), ("b", "f4")]))
    assert [one.tobytes() for one in read(readers.HDF5, paths=path, columns="x")] == contents
    for columns, dtypes in (("fields", None), ("x", "int32")):
        with pytest.raises(OperatorRuntimeError, match=r"no number"):
            read(readers.HDF5, paths=path, columns=columns, dtypes=dtypes)


def test_sources_of_hdf5_that_are_missing(tmp_path: Path) -> None:
    """The library puts fill values there; here it is an error of those rows."""
    h5py = pytest.importorskip("h5py")
    layout = h5py.VirtualLayout(shape=(6, 2), dtype="i4")
    for number in range(2):
        with h5py.File(tmp_path / f"{number}.h5", "w") as made:
            made["v"] = np.full((3, 2), number)
        layout[number::2] = h5py.VirtualSource(f"{number}.h5", "v", shape=(3, 2))
    given: dict[str, Any] = {"paths": str(tmp_path / "all.h5"), "columns": "v"}
    with h5py.File(given["paths"], "w") as made:
        made.create_virtual_dataset("v", layout, fillvalue=-5)
    assert [one[0] for one in read(readers.HDF5, **given)] == [0, 1] * 3
    for change in (
        lambda: os.remove(tmp_path / "1.h5"),
        lambda: h5py.File(tmp_path / "1.h5", "w").close(),
        lambda: (tmp_path / "1.h5").write_bytes(b"no"),
    ):
        change()
        assert [one.tolist() for one in read(readers.HDF5, **given, on_error="skip")] == [
            [0, 0]
        ] * 3
        with pytest.raises(
            OperatorRuntimeError, match=r"(1\.h5, of which|damaged HDF5)(?s:.*)all.h5 at row 1"
        ):
            read(readers.HDF5, **given)
    raw = str(tmp_path / "raw.bin")
    with h5py.File(given["paths"], "w") as made:
        made.create_dataset("v", (2, 3), "u1", external=[(raw, 0, 6)])[:] = 7
    assert [one.tolist() for one in read(readers.HDF5, **given)] == [[7] * 3] * 2
    os.truncate(raw, 5)
    with pytest.raises(OperatorRuntimeError, match=r"raw\.bin.* missing or too short"):
        read(readers.HDF5, **given)


def test_a_file_that_changes_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the first look at it and the last: an error, for all rows that were read."""
    h5py = pytest.importorskip("h5py")
    path = str(tmp_path / "d.h5")
    with h5py.File(path, "w") as made:
        made["x"] = np.arange(8)
    reader = readers.HDF5(paths=path, columns="x")
    found = HDF5Table._column

    def changing(*arguments: Any) -> Any:
        os.utime(path, ns=(1, 1))
        return found(*arguments)

    monkeypatch.setattr(HDF5Table, "_column", changing)
    with pytest.raises(OperatorRuntimeError, match=r"changed since the reader was made"):
        next(reader.next_epoch(batch_size=3))


class Bad:
    """It says that it is an array."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise ZeroDivisionError("of the object")


def test_what_objects_have_in_their_rows() -> None:
    """What is no array is an error of its row, whatever it raises."""
    good = np.ones(2)
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    for bad in (Bad(), masked, np.datetime64("2020"), 1j, np.ones(2, np.longdouble) * 1j, [Bad()]):
        with pytest.raises(OperatorRuntimeError, match="list at row 1"):
            read(readers.Table, source=[good, bad])
        assert len(read(readers.Table, source=[good, bad, good], on_error="skip")) == 2
    for dtype in (">i2", ">f4", ">f8"):
        (found,) = read(readers.Table, source=[np.arange(3).astype(dtype)])
        assert (found.dtype, found.tolist()) == (np.dtype(dtype).newbyteorder("="), [0, 1, 2])
    (found,) = read(readers.Table, source=[np.arange(3.0).data])
    assert found.tolist() == [0, 1, 2]


def test_images_of_pillow() -> None:
    """Gray ones, palettes and one bit among colored ones: HWC."""
    pillow = pytest.importorskip("PIL.Image")
    color = pillow.fromarray(np.arange(36, dtype=np.uint8).reshape(3, 4, 3))
    gray, one_bit, palette = color.convert("L"), color.convert("1"), color.convert("P")
    found = read(readers.Table, source=[color, gray, one_bit, palette])
    assert [one.shape for one in found] == [(3, 4, 3)] + [(3, 4, 1)] * 3
    for one, image in zip(found, (color, gray, one_bit.convert("L"), palette), strict=True):
        np.testing.assert_array_equal(np.squeeze(one), np.asarray(image))
    (flags,) = read(readers.Table, source=[one_bit], dtypes="bool")
    np.testing.assert_array_equal(flags[..., 0], np.asarray(one_bit))


def test_tensors_of_torch() -> None:
    torch = pytest.importorskip("torch")
    half = torch.tensor([1.5, -2.25], dtype=torch.bfloat16)
    (column,) = values(next(readers.Table(source=[half]).next_epoch(batch_size=1)))
    assert column.dtype == gradiva.bfloat16
    assert read(readers.Table, source=[half], dtypes="float32")[0].tolist() == [1.5, -2.25]
    assert read(readers.Table, source=[torch.ones(2)._neg_view()])[0].tolist() == [-1, -1]
    grown = torch.arange(4.0).reshape(2, 2).T.requires_grad_()
    assert read(readers.Table, source=[grown])[0].tolist() == [[0, 2], [1, 3]]
    for bad in (torch.eye(2).to_sparse(), torch.ones(2, dtype=torch.complex64)):
        with pytest.raises(OperatorRuntimeError, match="list at row 1"):
            read(readers.Table, source=[torch.ones(2), bad])


def test_heaps_in_heaps_are_looked_at(tmp_path: Path) -> None:
    """Also where the bytes of the outer one are here already."""
    mark, wide = b"GCOL\1\0\0\0", (48).to_bytes(8, "little")
    inner = mark + (32).to_bytes(8, "little") + bytes(16)
    outer = mark + (64 + 16).to_bytes(8, "little") + bytes([1, 0, 1, 0, 0, 0, 0, 0]) + wide + inner
    path = tmp_path / "heap"
    path.write_bytes(outer + bytes(48))
    with GuardedFile(str(path), None, {}) as file:
        assert file.read(16) == outer[:16]
        file.seek(32)
        with pytest.raises(OSError, match="heap at byte 32"):
            file.read(32)


@pytest.mark.parametrize("begin", [0, 8])
def test_heaps_are_looked_at(begin: int, tmp_path: Path) -> None:
    """HDF5's library never comes to the end of a heap with an empty object in it, so it must not
    see one. What stands here is no HDF5 file."""

    def thing(number: int, content: bytes) -> bytes:
        head = number.to_bytes(8, "little") + len(content).to_bytes(8, "little")
        return head + content + bytes(-len(content) % 8)

    objects = b"".join(thing(number, b"x" * number) for number in range(1, 20))
    size = 16 + len(objects) + 16
    head = b"GCOL\1\0\0\0" + size.to_bytes(8, "little")
    free = bytes(8) + (16).to_bytes(8, "little")
    path = tmp_path / "heap"
    known: dict[int, int] = {}
    for damage, good in (
        (free, True),
        (bytes(16), False),
        (bytes(8) + b"\xff" * 8, False),
        (thing(3, b"")[:8] + b"\xf1" + b"\xff" * 7, False),
        (free, True),
    ):
        content = bytes(8) + head + objects + damage + bytes(40)
        path.write_bytes(content)
        for count in (20, len(content)):
            with GuardedFile(str(path), None, known) as file:
                assert file.seek(0, 2) == len(content)
                file.seek(begin)
                target = bytearray(min(count, len(content) - begin))
                if good:
                    assert file.readinto(target) == len(target)
                    assert target == content[begin : begin + len(target)]
                    assert file.read(30) == content[begin + len(target) :][:30]
                else:
                    with pytest.raises(OSError, match="heap at byte 8"):
                        file.readinto(target)
