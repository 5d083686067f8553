"""The commands that look at a data set before a training does."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

import gradiva
from gradiva.__main__ import main
from gradiva.ops.readers.core.plan import ShardedPlan

cv2: Any = pytest.importorskip("cv2")

PROGRAM = """
from gradiva import fn, pipeline_def

@pipeline_def(batch_size=4, num_threads=1, device_id=None)
def train():
    files, labels = fn.readers.file(file_root={root!r}, random_shuffle=True, name="photos")
    return files, labels, fn.external_source(source=lambda: 0, batch=False)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Images of all kinds in two folders; `labels` as `readers.file` gives them."""
    root = tmp_path / "images"
    for name in ("a", "b"):
        (root / name).mkdir(parents=True)
    pixels = np.arange(90 * 70 * 3).astype(np.uint8).reshape(90, 70, 3)
    picture = PIL.Image.fromarray(pixels)
    picture.save(root / "a" / "good.jpg")
    picture.convert("CMYK").save(root / "a" / "inks.jpg")
    (root / "b" / "again.jpg").write_bytes((root / "a" / "good.jpg").read_bytes())
    turned = PIL.Image.Exif()
    turned[0x0112] = 6
    picture.resize((300, 200)).save(root / "b" / "turned.jpg", exif=turned)
    picture.save(root / "b" / "fine.png")
    (root / "b" / "text.txt").write_text("no image")
    return root


def test_scan(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = tmp_path / "table.csv", tmp_path / "list.txt"
    options = ["--decode", "--table", str(files[0]), "--list", str(files[1])]
    assert main(["scan", str(folder), *options]) == 0
    found = capsys.readouterr().out
    for text in (
        "5 images",
        "4 different",
        "1 CMYK:\n  a/inks.jpg",
        "1 turned by EXIF:\n  b/turned",
    ):
        assert text in found
    assert "1 of the content of another file:\n  b/again.jpg" in found
    assert "64 to 127             4 ####" in found
    reader = gradiva.readers.File(file_list=str(files[1]))
    (outputs,) = reader.next_epoch(batch_size=9)
    names = [Path(name).stem for name in outputs[0].source_info()]
    assert names == ["good", "inks", "fine", "turned"]
    assert outputs[1].as_array().ravel().tolist() == [0, 0, 1, 1]
    columns: dict[str, Any] = {"columns": ["width", "mode"], "dtypes": ["int32", "uint8"]}
    (rows,) = gradiva.readers.CSV(paths=str(files[0]), **columns).next_epoch(batch_size=9)
    assert rows[0].as_array().tolist() == [70, 70, 70, 70, 300]


def test_scan_finds_damage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, cut in (("a/good.jpg", 100), ("b/fine.png", 30), ("b/turned.jpg", -90)):
        (folder / name).write_bytes((folder / name).read_bytes()[:-cut])
    whole = bytearray((folder / "b" / "again.jpg").read_bytes())
    whole[300:500] = bytes(200)
    (folder / "b" / "again.jpg").write_bytes(whole)
    assert main(["scan", str(folder), "--decode"]) == 1
    found = capsys.readouterr().out
    assert "4 damaged or cut:" in found
    for name in ("a/good.jpg", "b/fine.png"):
        assert f"{name}: ends early" in found
    for name in ("b/turned.jpg", "b/again.jpg"):
        assert f"{name}: damaged: " in found
    assert main(["scan", str(folder / "none")]) == 1
    assert "a folder with images" in capsys.readouterr().err


def encoded(pixels: np.ndarray[Any, Any], kind: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    PIL.Image.fromarray(pixels).save(stream, kind, **options)
    return stream.getvalue()


def rows_of(root: Path, tmp_path: Path, *options: str) -> dict[str, dict[str, str]]:
    """What the table says of each file, by its name."""
    table = tmp_path / "table.csv"
    main(["scan", str(root), "--table", str(table), *options])
    with table.open(newline="", encoding="utf-8", errors="surrogateescape") as stream:
        return {Path(row["path"]).name: row for row in csv.DictReader(stream)}


@pytest.mark.parametrize("decode", [[], ["--decode"]])
def test_scan_of_files_with_more_behind_their_end(tmp_path: Path, decode: list[str]) -> None:
    """A film, as phones put it there, zeros, text; and those that truly end early."""
    pixels = np.arange(90 * 70 * 3).astype(np.uint8).reshape(90, 70, 3)
    root = tmp_path / "images"
    root.mkdir()
    film = b"\0\0\0\x18ftypmp42" + bytes(range(200)) * 50
    files = {
        "baseline.jpg": encoded(pixels, "JPEG"),
        "progressive.jpg": encoded(pixels, "JPEG", progressive=True),
        "restarts.jpg": encoded(pixels, "JPEG", restart_marker_blocks=1),
        "filled.jpg": encoded(pixels, "JPEG")[:-2] + b"\xff\xff\xff\xd9",
        # The marker of an end inside of a segment is none.
        "preview.jpg": encoded(pixels, "JPEG", comment=encoded(pixels, "JPEG")[-9_000:]),
        "plain.png": encoded(pixels, "PNG"),
    }
    for name, content in files.items():
        for behind, more in (("", b""), ("film_", film), ("zeros_", bytes(9_000))):
            (root / (behind + name)).write_bytes(content + more)
        middle = content.index(b"\xff\xda") + 40 if name.endswith("jpg") else len(content) - 20
        (root / f"cut_{name}").write_bytes(content[:middle])
    found = rows_of(root, tmp_path, *decode)
    assert {name for name, row in found.items() if row["problem"]} == {
        name for name in found if name.startswith("cut_")
    }


def test_scan_tells_bits_and_what_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "images"
    root.mkdir()
    deep = (np.arange(40 * 30 * 3).reshape(40, 30, 3) * 17).astype(np.uint16)
    for name, array in (("rgb.png", deep), ("gray.png", deep[..., 0]), ("rgb.tif", deep)):
        cv2.imwrite(str(root / name), array)
    cv2.imwrite(str(root / "plain.png"), deep.astype(np.uint8))
    (root / "deep.pgm").write_bytes(b"P5 2 2 4095\n" + bytes(8))
    for name in ("a.gif", "b.GIF", "c.avif"):
        (root / name).write_bytes(b"GIF89a")
    assert main(["scan", str(root)]) == 0
    said = capsys.readouterr().out
    assert "3 files that readers.file leaves out (1 .avif, 2 .gif): see `file_filters`" in said
    assert "4 more than 8 bits:" in said
    found = rows_of(root, tmp_path)
    bits = {name: (row["mode"], row["bits"]) for name, row in found.items()}
    assert bits == {
        "deep.pgm": ("L", "12"),
        "gray.png": ("L", "16"),
        "plain.png": ("RGB", "8"),
        "rgb.png": ("RGB", "16"),
        "rgb.tif": ("RGB", "16"),
    }


def test_scan_of_large_images(tmp_path: Path) -> None:
    """As large as the decoders take, and larger. A header is enough to tell."""
    root = tmp_path / "images"
    root.mkdir()
    sizes = {"large.pgm": (16_384, 16_384), "larger.pgm": (16_384, 16_385)}
    for name, (height, width) in sizes.items():
        with open(root / name, "wb") as stream:
            stream.write(b"P5 %d %d 255\n" % (width, height))
    found = rows_of(root, tmp_path)
    assert found["large.pgm"]["problem"] == ""
    assert "larger than the limit" in found["larger.pgm"]["problem"]


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text there")
def test_scan_of_names_that_are_no_text(tmp_path: Path) -> None:
    """It runs to its end, also where its output takes no such names, and its list is read."""
    root = tmp_path / "images" / "a"
    root.mkdir(parents=True)
    pixels = np.zeros((30, 20, 3), np.uint8)
    names = [b"caf\xe9.jpg", "日本.jpg".encode(), b"cut\xff.jpg"]
    for number, name in enumerate(names):
        content = encoded(pixels + np.uint8(number), "JPEG")
        with open(os.fsencode(root) + b"/" + name, "wb") as stream:
            stream.write(content[:-40] if name.startswith(b"cut") else content)
    listed = tmp_path / "list.txt"
    program = [sys.executable, "-m", "gradiva", "scan", str(root.parent), "--list", str(listed)]
    told = {**os.environ, "PYTHONIOENCODING": "ascii:strict"}
    done = subprocess.run(program, capture_output=True, env=told, check=False)
    assert done.returncode == 1, done.stderr
    assert b"Traceback" not in done.stderr
    assert b"cut\\udcff.jpg: ends early" in done.stdout
    lines = listed.read_bytes().splitlines()
    assert [line.rpartition(b"/")[2] for line in lines] == [name + b" 0" for name in names[:2]]
    ((files, _),) = gradiva.readers.File(file_list=str(listed)).next_epoch(batch_size=9)
    assert [os.path.basename(name) for name in files.source_info()] == [
        os.fsdecode(name) for name in names[:2]
    ]


def test_what_scan_writes_is_whole_or_not_there(folder: Path, tmp_path: Path) -> None:
    there = tmp_path / "there.csv"
    there.write_text("as it was")
    link = tmp_path / "link.csv"
    link.symlink_to(there)
    assert main(["scan", str(folder), "--table", str(tmp_path / "none" / "x.csv")]) == 1
    assert main(["scan", str(folder), "--table", str(link), "--list", str(tmp_path / "l")]) == 0
    assert link.is_symlink()
    assert there.read_text().startswith("path,")
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"there.csv", "link.csv", "l", "images"}


def test_verify(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in range(20):
        (folder / "a" / f"{number}.jpg").write_bytes(b"x")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(root=str(folder)))
    assert main(["verify", str(program), "--world", "4", "--batch-size", "6"]) == 0
    found = capsys.readouterr().out
    assert "photos: 25 samples, 4 processes" in found
    assert found.count("each sample once; 6 to 7 samples a process") == 3
    assert found.count("1 to 2 batches: pad_last_batch=True") == 3
    assert "external_source: its samples have no numbers" in found
    whole = ShardedPlan.bounds
    monkeypatch.setattr(ShardedPlan, "bounds", lambda plan, epoch: (whole(plan, epoch)[0], 25))
    assert main(["verify", str(program), "--world", "2", "--epochs", "1"]) == 1
    assert "13 samples more than once (" in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "none.py")]) == 1
    assert "gradiva: verify: there is no file" in capsys.readouterr().err
    for option in ("--world", "--epochs", "--batch-size"):
        assert main(["verify", str(program), option, "0"]) == 1
