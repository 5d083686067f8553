"""Promise: of damaged files, in every format, there is an error that names the file, and nothing
worse."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from tests.ops.readers.formats import FORMATS, Format
from tests.oracle import flavors
from tests.soaking import Figures, scaled
from tests.tiers import few

from .damage import SIZE, damaged, outcome, refused_of

ROOT = Path(__file__).parents[2]


CHECKED = sorted(name for name, kind in FORMATS.items() if kind.checked)


@pytest.fixture(params=few(CHECKED, "numpy", "tfrecord", "webdataset"))
def kind(request: pytest.FixtureRequest) -> Format:
    return FORMATS[request.param]


def variants(kind: Format, data: dict[str, Any]) -> list[dict[str, Any]]:
    """The arguments with the index, and without it where it is not needed."""
    if kind.indexed is None:
        return [data]
    return [data, {name: value for name, value in data.items() if name != kind.indexed}]


@pytest.mark.parametrize("every", [pytest.param(True, marks=pytest.mark.full), False])
@pytest.mark.parametrize("scanned", [False, True])
def test_cut_at_each_byte(kind: Format, scanned: bool, every: bool, tmp_path: Path) -> None:
    """Of a large file, without `every`: around the ends of blocks, and some in between."""
    data = variants(kind, kind.write(tmp_path, SIZE))
    if scanned and len(data) == 1:
        return
    path = max(tmp_path.glob(kind.files))
    whole = path.read_bytes()
    for size in reversed(range(len(whole))):
        if not every and len(whole) > 1000 and 2 < size % 512 < 510 and size % 61:
            continue
        os.truncate(path, size)  # a file that is written anew costs several times as much
        found = outcome(kind, data[scanned], len(whole))
        if isinstance(found, int):
            # What is cut off was padding, or whole records that no index tells of.
            assert found == SIZE or (scanned and 0 < found < SIZE), size
        else:
            assert path.name in found, (size, found)


@pytest.mark.full
@pytest.mark.parametrize("scanned", few([False, True], False))
def test_flipped_bytes(kind: Format, scanned: bool, tmp_path: Path, figures: Figures) -> None:
    data = variants(kind, kind.write(tmp_path, SIZE))
    if scanned and len(data) == 1:
        return
    path = max(tmp_path.glob(kind.files))
    whole = path.read_bytes()
    drawn = random.Random(5)
    refused = 0
    for _ in range(scaled(150)):
        path.write_bytes(damaged(whole, drawn))
        found = outcome(kind, data[scanned], len(whole))
        if isinstance(found, str):
            assert path.name in found
            refused += 1
    figures(files=scaled(150), refused=refused)
    # Of an archive with an index no header is read.
    assert refused or (kind.files == "*.tar" and not scanned)


def test_flipped_index(kind: Format, tmp_path: Path, figures: Figures) -> None:
    data = kind.write(tmp_path, SIZE)
    if kind.indexed is None:
        return
    path = Path(data[kind.indexed])
    whole = path.read_bytes()
    files = sum(file.stat().st_size for file in tmp_path.glob(kind.files))
    drawn = random.Random(6)
    for _ in range(scaled(120)):
        bad = bytearray(whole)
        bad[drawn.randrange(len(bad))] = drawn.choice(b"0123456789 -\n\tx\xff\0")
        path.write_bytes(bad)
        found = outcome(kind, data, files)
        assert isinstance(found, int) or str(tmp_path) in found


def test_cut_index(kind: Format, tmp_path: Path) -> None:
    data = kind.write(tmp_path, SIZE)
    if kind.indexed is None:
        return
    path = Path(data[kind.indexed])
    whole = path.read_bytes()
    files = sum(file.stat().st_size for file in tmp_path.glob(kind.files))
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        found = outcome(kind, data, files)
        assert isinstance(found, int) or str(tmp_path) in found, size


FOREIGN = {"hdf5", "parquet"} & {*FORMATS}
"""What libraries read whose defects end the process."""
UNCHECKED = sorted({name for name, kind in FORMATS.items() if not kind.checked} - FOREIGN)


@pytest.mark.parametrize("name", few(UNCHECKED, "coco"))
def test_formats_of_others(name: str, tmp_path: Path, figures: Figures) -> None:
    """Rows, audio, pictures and annotations: what is read of a damaged file may be wrong, but it
    is as large as it can be, or there is an error of ours."""
    refused = refused_of(name, scaled(60), tmp_path)
    assert refused
    figures(files=scaled(60), refused=refused)


@pytest.mark.full
@pytest.mark.parametrize("name", sorted(FOREIGN))
def test_formats_of_libraries(name: str, figures: Figures) -> None:
    """In a process of their own, which a library may end, and no error of a library."""
    command = [sys.executable, "-m", "tests.promises.damage", name, str(scaled(30))]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert ran.returncode <= 0, ran.stderr
    if ran.returncode == 0:
        assert int(ran.stdout.split()[1]) > 0
    figures(files=scaled(30), ended_by_signal=-ran.returncode)


IMAGES = {**flavors.jpegs(), **flavors.others()}


@pytest.mark.parametrize("name", few(IMAGES, "jpeg_420", "tif_rgb"))
def test_images(name: str, figures: Figures) -> None:
    """A picture, wherever libraries forgive, or an error that names the sample."""
    drawn, whole = random.Random(name), IMAGES[name]()
    good = np.frombuffer(IMAGES["jpeg_gray"](), np.uint8)
    refused = 0
    for _ in range(scaled(6)):
        bad = damaged(whole, drawn)[: drawn.choice((None, None, drawn.randrange(len(whole))))]
        try:
            images = gradiva.decoders.image(
                gradiva.batch([good, np.frombuffer(bad, np.uint8), good]), max_pixels=1 << 20
            )
            assert [image.ndim for image in images] == [3, 3, 3]
        except gradiva.OperatorRuntimeError as error:
            refused += 1
            if error.sample != 1:
                raise
    figures(files=scaled(6), refused=refused)
