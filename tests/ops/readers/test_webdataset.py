"""`readers.webdataset`: which files are a sample, names of all kinds, indices."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradiva import OperatorRuntimeError, OperatorValueError, readers, types
from gradiva.__main__ import main
from gradiva.eager.execution.quarantine import Quarantine

from .formats import write_tar

MEMBERS = [
    ("s/0.jpg", b"A"), ("s/0.cls", b"0"), ("s/1.jpg", b"B"), ("s/1.CLS", b"1"), ("s/2.cls", b"2"),
    ("s/3.seg.png", b"P"), ("s/3.jpg", b"J"), ("t/3.jpg", b"K"),
]  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> str:
    write_tar(tmp_path / "a.tar", MEMBERS)
    return str(tmp_path / "a.tar")


def read(path: str, **arguments: Any) -> list[list[bytes]]:
    """For each sample its outputs."""
    (outputs,) = readers.Webdataset(paths=path, **arguments).next_epoch(batch_size=99)
    columns = outputs if isinstance(outputs, tuple) else (outputs,)
    return [[one.at(i).tobytes() for one in columns] for i in range(len(columns[0]))]


def test_which_file_goes_where(path: str) -> None:
    jpg = [b"A", b"B", b"", b"J", b"K"]
    assert read(path, ext="jpg") == [[one] for one in jpg]
    found = read(path, ext=["jpg", "cls"], case_sensitive_extensions=False)
    assert found == [[b"A", b"0"], [b"B", b"1"], [b"", b"2"], [b"J", b""], [b"K", b""]]
    assert read(path, ext=["seg.png", "png", "jpg"])[3] == [b"P", b"", b"J"]
    assert read(path, ext=["jpg", "x;jpg"], missing_component_behavior="skip") == [
        [one, one] for one in jpg if one
    ]
    assert read(path, ext=["jpg", "cls"], missing_component_behavior="Skip") == [[b"A", b"0"]]
    with pytest.raises(OperatorRuntimeError, match=r"lacks a file for output 1.*s/1.jpg"):
        read(path, ext=["jpg", "cls"], missing_component_behavior="error")
    with pytest.warns(UserWarning, match=r"output 0.*s/0.cls"):
        assert read(path, ext=["jpg;cls"])[:3] == [[b"A"], [b"B"], [b"2"]]


def test_names_of_files(path: str) -> None:
    ((images, labels),) = readers.Webdataset(paths=path, ext=["jpg", "cls"]).next_epoch(5)
    assert images.source_info()[:3] == [f"{path}:512:s/0.jpg", f"{path}:2560:s/1.jpg", ""]
    assert labels.source_info()[:3] == [f"{path}:1536:s/0.cls", "", f"{path}:4608:s/2.cls"]


def test_types(tmp_path: Path) -> None:
    values = np.arange(5, dtype=np.float32)
    members = [("0.f", values.tobytes()), ("0.i", b"\1\0\2\0"), ("1.f", b"12345"), ("1.i", b"")]
    write_tar(tmp_path / "a.tar", members)
    given: Any = {"paths": str(tmp_path / "a.tar"), "ext": ["f", "i"]}
    dtypes = [types.FLOAT, types.INT16]
    with Quarantine(warns=False) as bad:
        ((floats, integers),) = readers.Webdataset(
            **given, dtypes=dtypes, on_error="skip"
        ).next_epoch(2)
    np.testing.assert_array_equal(floats.at(0), values)
    assert integers.at(0).tolist() == [1, 2]
    assert (floats.dtype.name, integers.dtype.name, len(floats)) == ("float32", "int16", 1)
    assert "1.f" in bad[0].reason
    with pytest.raises(OperatorRuntimeError, match=r"1.f does not fit(?s:.)*sample 1.*a.tar"):
        next(readers.Webdataset(**given, dtypes=dtypes).next_epoch(2))
    with pytest.raises(OperatorValueError, match=r"`dtypes`.*2"):
        readers.Webdataset(**given, dtypes=dtypes[:1])


@pytest.mark.parametrize("kind", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_names_of_all_kinds(tmp_path: Path, kind: int) -> None:
    """Long ones, others than ASCII, with spaces and without dots; folders; what begins with a dot;
    a file that says it lies elsewhere is read where it lies."""
    deep = "/".join(["folder" * 4] * 3)
    members = [
        (f"{deep}/ä.jpg", b"0"), ("a b.jpg", b"1"), ("plain", b"2"), (".hidden.jpg", b"x"),
        ("d/.hidden.jpg", b"x"), ("../../up.jpg", b"3"), ("n" * 90 + ".jpg", b"4"),
    ]  # fmt: skip
    write_tar(tmp_path / "a.tar", members, kind)
    path = str(tmp_path / "a.tar")
    assert read(path, ext=["jpg;"]) == [[b"%d" % number] for number in range(5)]
    assert main(["wds2idx", path]) == 0
    index = tmp_path / "a.idx"
    assert index.read_text().startswith("v1.1 4\n")  # a file without a dot has no extension
    found = read(path, ext=["jpg"])
    assert read(path, ext=["jpg"], index_paths=str(index)) == [one for one in found if any(one)]


def test_other_members(tmp_path: Path) -> None:
    """Folders and links are no files."""
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for name, type_ in (("d", tarfile.DIRTYPE), ("d/0.jpg", tarfile.SYMTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = type_, "/etc/passwd"
            archive.addfile(member)
        member = tarfile.TarInfo("d/1.jpg")
        member.size = 3
        archive.addfile(member, io.BytesIO(b"abc"))
    assert read(str(tmp_path / "a.tar"), ext="jpg") == [[b"abc"]]


def test_a_header_that_is_damaged(path: str) -> None:
    """It is not the end of the archive."""
    data = bytearray(Path(path).read_bytes())
    data[2048 + 150] ^= 1
    Path(path).write_bytes(data)
    with pytest.raises(OperatorRuntimeError, match=r"damaged header.*byte 2048(?s:.)*a.tar"):
        read(path, ext="jpg")


def test_sizes_that_lie(path: str) -> None:
    data = bytearray(Path(path).read_bytes())
    for digits in (b"77777777777", b"\x80" + b"\0" * 6 + b"\x7f" * 4, b"\xff" * 11):
        bad = bytearray(data)
        bad[124 : 124 + len(digits)] = digits
        total = sum(bad[:148]) + 8 * 32 + sum(bad[156:512])
        bad[148:156] = b"%06o\0 " % total
        Path(path).write_bytes(bad)
        with pytest.raises(OperatorRuntimeError, match=r"cannot be read(?s:.)*a.tar"):
            read(path, ext="jpg")


def test_a_huge_extended_header(tmp_path: Path) -> None:
    """Its length is not believed."""
    member = tarfile.TarInfo("x")
    member.type, member.size = tarfile.XHDTYPE, 1 << 32
    (tmp_path / "a.tar").write_bytes(member.tobuf(tarfile.USTAR_FORMAT) + bytes(2048))
    with pytest.raises(OperatorRuntimeError, match=r"a header of \d+ bytes"):
        read(str(tmp_path / "a.tar"), ext="jpg")


@pytest.mark.parametrize("mode", ["w:gz", "w:xz", "w:bz2"])
def test_compressed(tmp_path: Path, mode: Any) -> None:
    with tarfile.open(tmp_path / "a.tar", mode) as archive:
        archive.addfile(tarfile.TarInfo("0.jpg"))
    with pytest.raises(OperatorRuntimeError, match=r"compressed with \w+: decompress it"):
        read(str(tmp_path / "a.tar"), ext="jpg")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no version"),
        ("1 2", "no version"),
        ("v9 1", "unsupported version v9"),
        ("v1.2", "no sample count"),
        ("v1.2 x", "no sample count"),
        ("v1.2 0", "must be positive"),
        ("v1.2 2\njpg 512 1 a", "more or fewer"),
        ("v1.2 1\njpg 512 1", "line 2: a component has"),
        ("v1.1 1\njpg 512", "line 2: a component has"),
        ("v1.1 1\njpg -512 1", "line 2: offset and size are numbers"),
        ("v1.1 1\njpg 513 1", "line 2: the offset is no multiple"),
        ("v1.1 1\njpg 512 999999", "line 2: the component ends behind"),
    ],
)
def test_bad_indices(path: str, text: str, reason: str, tmp_path: Path) -> None:
    index = tmp_path / "bad.idx"
    index.write_text(text)
    with pytest.raises(OperatorRuntimeError, match=rf"malformed.*{reason}(?s:.)*bad.idx"):
        read(path, ext="jpg", index_paths=str(index))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"ext": []}, "`ext`"),
        ({"missing_component_behavior": "leave"}, "`missing_component_behavior`"),
        ({"index_paths": ["a", "b"]}, "`index_paths`"),
        ({"paths": "/nowhere"}, "`paths`"),
    ],
)
def test_refusals(path: str, arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(OperatorValueError, match=text):
        readers.Webdataset(**{"paths": path, "ext": "jpg", **arguments})


def test_wds2idx(path: str, tmp_path: Path) -> None:
    index = tmp_path / "named.idx"
    assert main(["wds2idx", path, str(index)]) == 0
    lines = index.read_text().splitlines()
    assert lines[:2] == ["v1.2 5", "jpg 512 1 s/0.jpg cls 1536 1 s/0.cls"]
    given = {"ext": ["jpg", "cls", "seg.png"]}
    expected = read(path, **given)
    assert read(path, **given, index_paths=str(index)) == expected
    assert read(path, **given, index_paths=[]) == expected


def test_what_cannot_be_read_is_empty(path: str) -> None:
    """And never what lay in the memory before."""
    reader = readers.Webdataset(paths=path, ext=["jpg", "cls"], on_error="replace")
    Path(path).write_bytes(Path(path).read_bytes()[:-9])
    with Quarantine(warns=False) as bad:
        (columns,) = reader.next_epoch(batch_size=5)
    assert bad.total == 5
    assert [sample.size for column in columns for sample in column.arrays()] == [0] * 10
