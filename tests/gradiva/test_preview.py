"""`gradiva preview`: the contact sheet of a pipeline or function in a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import PIL.Image
import pytest

from gradiva.__main__ import main
from gradiva.commands.contact_sheet import CELL

SCRIPT = """
import numpy as np
import gradiva
from gradiva import fn, pipeline_def

ROOT = {root!r}

def of_files(files):
    images = gradiva.decoders.image(files)
    return vary(gradiva.resize(images, size=(40, 40)))

def of_images(images):
    return vary(gradiva.resize(images, size=(40, 40)))

def with_labels(files, labels):
    return labels, of_files(files)

def vary(images):
    return gradiva.brightness(
        images, brightness=gradiva.random.uniform(range=(0.2, 1.8), batch_size=images.batch_size)
    )

def three(a, b, c):
    return a

def no_picture(files):
    return {{"labels": gradiva.cast(gradiva.as_batch([1] * len(files)), dtype="int32")}}

def fails(files):
    raise gradiva.OperatorTypeError("mine")

@pipeline_def(batch_size=3, num_threads=2, seed=3)
def training():
    files, labels = fn.readers.file(file_root=ROOT, random_shuffle=True)
    return labels, vary(fn.resize(fn.decoders.image(files), size=(40, 40)))

@pipeline_def(batch_size=2, num_threads=1)
def without_reader():
    return fn.random.uniform(range=(0.0, 1.0), shape=(4, 4, 3))

@pipeline_def(batch_size=2, num_threads=1)
def from_arrays():
    return fn.external_source(lambda: [np.full((9, 9, 3), 80, np.uint8)] * 2, layout="HWC")

value = 3
"""


@pytest.fixture(name="script")
def made_script(tmp_path: Path) -> str:
    root = tmp_path / "data"
    for number in range(3):
        (root / "a").mkdir(parents=True, exist_ok=True)
        pixels = np.full((30, 50, 3), 60 + 40 * number, np.uint8)
        PIL.Image.fromarray(pixels).save(root / "a" / f"{number}.png")
    path = tmp_path / "mine.py"
    path.write_text(SCRIPT.format(root=str(root)))
    return str(path)


def sheet(script: str, name: str, *options: str) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    out = Path(script).parent / "sheet.png"
    assert main(["preview", f"{script}:{name}", str(out), *options]) == 0
    with PIL.Image.open(out) as page:
        return np.asarray(page)


def centers(
    page: np.ndarray[tuple[int, ...], np.dtype[np.uint8]], rows: int, columns: int
) -> list[list[int]]:
    """The brightness in the middle of each cell."""
    return [
        [
            int(page[64 + row * (CELL + 32) + CELL // 2, 14 + column * (CELL + 14) + CELL // 2, 0])
            for column in range(columns)
        ]
        for row in range(rows)
    ]


@pytest.mark.parametrize("name", ["of_files", "of_images", "with_labels"])
def test_functions(script: str, name: str) -> None:
    data = str(Path(script).parent / "data")
    options = ("--data", data, "--images", "2", "--draws", "3")
    page = sheet(script, name, *options)
    assert page.shape == (64 + 2 * (CELL + 32) + 14, 14 + 4 * (CELL + 14), 3)
    found = centers(page, 2, 4)
    assert [row[0] for row in found] == [60, 100]  # as they are
    assert len({*found[0][1:]}) == 3  # three draws of each
    np.testing.assert_array_equal(sheet(script, name, *options), page)
    other = centers(sheet(script, name, *options, "--seed", "1"), 2, 4)
    assert [row[0] for row in other] == [60, 100]
    assert other != found


def test_a_pipeline_shows_the_same_samples_under_several_seeds(script: str) -> None:
    found = centers(sheet(script, "training", "--images", "3", "--draws", "2"), 3, 3)
    assert {row[0] for row in found} == {60, 100, 140}
    assert all(len({*row[1:]}) == 2 for row in found)


def test_the_packages_photographs_and_arrays_of_a_source(script: str) -> None:
    page = sheet(script, "of_files", "--images", "1", "--draws", "1")
    assert page.shape[0] == 64 + (CELL + 32) + 14
    found = centers(sheet(script, "from_arrays", "--draws", "1"), 2, 2)
    assert found == [[80, 80], [80, 80]]


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("", (), "gradiva: preview: "),
        ("", (), "has several pipelines"),
        ("nothing", (), "has no `nothing`"),
        ("value", (), "is no pipeline and no function"),
        ("three", (), "a function of a batch"),
        ("no_picture", (), "return pictures"),
        ("fails", (), "mine"),
        ("without_reader", (), "that reads images"),
        ("training", ("--data", "."), "reads its own data"),
        ("of_files", ("--draws", "0"), "--draws"),
        ("of_files", ("--images", "65"), "--images"),
        ("of_files", ("--data", "/no/such/folder"), "a folder that exists"),
    ],
)
def test_what_is_refused(
    script: str, capsys: pytest.CaptureFixture[str], name: str, options: tuple[str, ...], text: str
) -> None:
    place = f"{script}:{name}" if name else script
    out = str(Path(script).parent / "out.png")
    assert main(["preview", place, out, *options]) == 1
    assert text in capsys.readouterr().err


def test_a_file_that_cannot_be_written(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    for out, text in (("/no/such/out.png", "a folder that exists"), ("out.what", "be written")):
        place = out if out.startswith("/") else str(Path(script).parent / out)
        assert main(["preview", f"{script}:of_files", place, "--draws", "1"]) == 1
        assert text in capsys.readouterr().err
