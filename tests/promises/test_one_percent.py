"""Promise: where one file in a hundred is damaged and left out, all others come, with the bits that
they always have, and the list of what was left out is exact."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.execution.quarantine import Quarantine
from tests.eager.execution.damaged import DAMAGE, damage, make
from tests.fuzzing import seeds
from tests.ops.readers.formats import FORMATS, values
from tests.ops.video.bars import encoded
from tests.soaking import Figures, scaled

pytestmark = pytest.mark.filterwarnings("ignore:samples that cannot be read")


def decoded(paths: list[str], capture: bool) -> dict[str, bytes]:
    reader = gradiva.readers.File(files=paths, random_shuffle=True, seed=3, on_error="skip")
    found: dict[str, bytes] = {}
    for files, _ in reader.next_epoch(batch_size=16, capture=capture):
        images = gradiva.resize(gradiva.decoders.image(files, on_error="skip"), size=(6, 5))
        for name, image in zip(images.source_info(), images, strict=True):
            found[name] = np.asarray(image).tobytes()
    return found


@pytest.mark.full
@pytest.mark.parametrize("capture", [False, True])
def test_images(capture: bool, tmp_path: Path, figures: Figures) -> None:
    count = scaled(200)
    paths = make(tmp_path, {}, 20)
    paths += [str(tmp_path / f"{k}.jpg") for k in range(20, count)]
    for number, path in enumerate(paths[20:]):
        Path(path).write_bytes(Path(paths[number % 20]).read_bytes())
    whole = decoded(paths, capture)
    assert len(whole) == count
    bad = paths[33::100]
    for number, path in enumerate(bad):
        damage(Path(path), DAMAGE[number % len(DAMAGE)])
    with Quarantine() as left_out:
        found = decoded(paths, capture)
    assert found == {path: bits for path, bits in whole.items() if path not in bad}
    assert sorted(str(one.file) for one in left_out) == sorted(bad)
    figures(files=count, damaged=len(bad))


def sounds(folder: str) -> Any:
    reader = gradiva.readers.File(file_root=folder, random_shuffle=True, seed=3, on_error="skip")
    for files, _ in reader.next_epoch(batch_size=16):
        yield gradiva.decoders.audio(files, on_error="skip")[0]


def videos(folder: str) -> Any:
    names = sorted(map(str, Path(folder).glob("*/*")))
    reader = gradiva.experimental.readers.Video(
        filenames=names, sequence_length=2, random_shuffle=True, seed=3, on_error="skip"
    )
    for frames in reader.next_epoch(batch_size=16):
        yield frames[0] if isinstance(frames, tuple) else frames


MEDIA: dict[str, tuple[str, Callable[[str], Any], Callable[[], bytes]]] = {
    "sounds": ("wav", sounds, lambda: seeds.sounds()[0]),
    "videos": ("mp4", videos, lambda: encoded(frames=2)),
}


@pytest.mark.full
@pytest.mark.parametrize("kind", MEDIA)
def test_sounds_and_videos(kind: str, tmp_path: Path, figures: Figures) -> None:
    ending, read, make_one = MEDIA[kind]
    count, content = scaled(200), make_one()
    paths = [tmp_path / "0" / f"{number:05}.{ending}" for number in range(count)]
    paths[0].parent.mkdir()
    for path in paths:
        path.write_bytes(content)
    bad = [str(path) for path in paths[33::100]]
    for number, name in enumerate(bad):
        Path(name).write_bytes((b"", b"not one", bytes(999), content[:9])[number % 4])
    found: list[str] = []
    with Quarantine() as left_out:
        for batch in read(str(tmp_path)):
            found += [str(name).partition(" ")[0] for name in batch.source_info()]
            assert len({np.asarray(sample).tobytes() for sample in batch}) <= 1
    assert sorted(found) == sorted({*map(str, paths)} - {*bad})
    assert sorted(str(one.file) for one in left_out) == sorted(bad)
    figures(files=count, damaged=len(bad))


def of_tfrecord(path: Path, places: list[int], record: int) -> None:
    """Bytes that are no message, in a record."""
    content = bytearray(path.read_bytes())
    content[places[record] + 12 : places[record] + 24] = b"\xff" * 12
    path.write_bytes(content)


def of_recordio(path: Path, places: list[int], record: int) -> None:
    """More labels than there are bytes."""
    content = bytearray(path.read_bytes())
    content[places[record] + 8 : places[record] + 12] = b"\xff\xff\xff\x0f"
    path.write_bytes(content)


RECORDS: dict[str, tuple[Any, str, int]] = {
    "tfrecord": (of_tfrecord, "*.tfrecord", 0),
    "mxnet": (of_recordio, "*.rec", 1),
}


@pytest.mark.parametrize("name", RECORDS)
def test_records(name: str, tmp_path: Path, figures: Figures) -> None:
    count = scaled(200)
    spoil, pattern, column = RECORDS[name]
    kind = FORMATS[name]
    data = kind.write(tmp_path, count)
    (path,) = tmp_path.glob(pattern)
    index = next(tmp_path.glob("*.idx")).read_text().splitlines()
    places = [int(line.split()[column]) for line in index]

    def read() -> list[list[bytes]]:
        reader = kind.reader(**data, on_error="skip")
        return [
            [column.array(sample).tobytes() for column in values(outputs)]
            for outputs in reader.next_epoch(batch_size=16)
            for sample in range(len(values(outputs)[0]))
        ]

    whole = read()
    assert len(whole) == count
    bad = range(33, count, 100)
    for record in bad:
        spoil(path, places, record)
    with Quarantine() as left_out:
        found = read()
    assert found == [row for number, row in enumerate(whole) if number not in bad]
    assert [str(places[record]) in str(one.file) for one, record in zip(left_out, bad, strict=True)]
    figures(records=count, damaged=len(bad))
