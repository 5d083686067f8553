"""The files that the examples of the operators name: photographs, audio, videos and data sets."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import gradiva
from gradiva import Batch, Tensor
from gradiva.ops.decoders.audio.audio import wav_file
from tests.ops.readers import formats

PHOTOGRAPHS = Path(gradiva.__file__).parent / "photographs"
RATE = 16000


def _image(number: int) -> bytes:
    """A small JPEG."""
    stream = io.BytesIO()
    Image.new("RGB", (64, 48), (40 * number, 90, 120)).save(stream, "JPEG")
    return stream.getvalue()


def _photographs(folder: Path) -> None:
    shutil.copytree(PHOTOGRAPHS, folder / "photos", ignore=shutil.ignore_patterns("*.md"))
    for name, source in (("cat", "animals/chelsea"), ("coffee", "things/coffee")):
        shutil.copy(PHOTOGRAPHS / f"{source}.jpg", folder / f"{name}.jpg")


def _arrays(folder: Path) -> None:
    (folder / "arrays").mkdir()
    for number in range(4):
        np.save(folder / "arrays" / f"{number}.npy", np.full((6, 8), number, np.float32))
    depth = np.arange(24, dtype=np.uint16).tobytes()
    # An LZ4 block of literals alone: 15 in the token, the others in the byte after it.
    (folder / "depth.lz4").write_bytes(bytes([0xF0, len(depth) - 15]) + depth)


def _sounds(folder: Path) -> None:
    """A second: silence, half a second of a tone, silence."""
    wave = np.zeros((RATE, 1), np.float32)
    wave[RATE // 4 : 3 * RATE // 4, 0] = 0.5 * np.sin(np.arange(RATE // 2) * 0.2)
    data = wav_file((wave * 32767).astype(np.int16), RATE).tobytes()
    (folder / "speech.wav").write_bytes(data)
    line = {"audio_filepath": "speech.wav", "duration": 1.0, "text": "hello"}
    (folder / "manifest.json").write_text(json.dumps(line) + "\n")


def _videos(folder: Path) -> None:
    from tests.ops.video.bars import write

    write(folder / "clip.mp4", frames=32)
    (folder / "videos" / "walking").mkdir(parents=True)
    shutil.copy(folder / "clip.mp4", folder / "videos" / "walking")


def _records(folder: Path) -> None:
    images = [_image(number) for number in range(4)]
    _, index = formats.write_recordio(
        folder, "data", [formats.image_record(one, [float(k)]) for k, one in enumerate(images)]
    )
    Path(index).rename(folder / "data.rec.idx")
    rows = [
        formats.example({"image": formats.feature(one), "label": formats.feature([number])})
        for number, one in enumerate(images)
    ]
    formats.write_tfrecord(folder, "data", rows)
    members = [
        (f"{number}.{ext}", data)
        for number, one in enumerate(images)
        for ext, data in (("jpg", one), ("cls", b"%d" % number))
    ]
    formats.write_tar(folder / "data.tar", members)
    formats.write_lmdb(
        folder / "caffe_lmdb",
        [(b"%08d" % n, formats.datum(one, n, encoded=1)) for n, one in enumerate(images)],
    )
    formats.write_lmdb(
        folder / "caffe2_lmdb",
        [
            (b"%08d" % n, formats.tensors(formats.tensor(4, one), formats.tensor(2, [n])))
            for n, one in enumerate(images)
        ],
    )


def _folders(folder: Path) -> None:
    """COCO annotations, folders with frames, FITS files."""
    (folder / "frames" / "walking").mkdir(parents=True)
    (folder / "coco").mkdir()
    for number in range(4):
        (folder / "frames" / "walking" / f"{number}.jpg").write_bytes(_image(number))
        (folder / "coco" / f"{number}.jpg").write_bytes(_image(number))
    listed = [
        {"id": number, "file_name": f"{number}.jpg", "height": 48, "width": 64}
        for number in range(4)
    ]
    objects = [
        {"id": number, "image_id": number, "category_id": 1, "bbox": [8, 6, 24, 18], "iscrowd": 0}
        for number in range(4)
    ]
    data = {"images": listed, "annotations": objects, "categories": [{"id": 1, "name": "cat"}]}
    (folder / "coco" / "annotations.json").write_text(json.dumps(data))
    (folder / "fits").mkdir()
    (folder / "fits" / "sky.fits").write_bytes(
        formats.unit(None, 1) + formats.unit(np.zeros((4, 6)))
    )


def _tables(folder: Path) -> None:
    images = np.zeros((4, 8, 8, 3), np.uint8)
    np.savez(folder / "data.npz", images=images, labels=np.arange(4))
    lines = [json.dumps({"text": f"row {number}", "label": number}) for number in range(4)]
    (folder / "data.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "data.csv").write_text("text,label\n" + "".join(f"row {k},{k}\n" for k in range(4)))


def _parquet(folder: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    images = [_image(number) for number in range(4)]
    table = pyarrow.table({"image": images, "label": list(range(4))})
    parquet.write_table(table, folder / "data.parquet")


def _hdf5(folder: Path) -> None:
    import h5py

    with h5py.File(folder / "data.h5", "w") as made:
        made["train/images"] = np.zeros((4, 8, 8, 3), np.uint8)
        made["train/labels"] = np.arange(4)


PLAIN = (_photographs, _arrays, _sounds, _records, _folders, _tables)
NEEDING: dict[str, Callable[[Path], None]] = {"av": _videos, "pyarrow": _parquet, "h5py": _hdf5}
"""Files that other packages write."""


def write_files(folder: Path, absent: list[str]) -> None:
    """All files. absent: the packages that are not installed, whose files are left out."""
    for make in PLAIN:
        make(folder)
    for package, make_more in NEEDING.items():
        if package not in absent:
            make_more(folder)


def namespace() -> dict[str, Any]:
    """The names that examples use without importing them."""
    names = {"gradiva": gradiva, "np": np}
    return {**names, "fn": gradiva.fn, "types": gradiva.types, "pipeline_def": gradiva.pipeline_def}


def shown(value: Any) -> str:
    """A value as the comments of examples have it: the numbers of a tensor or a batch."""
    if isinstance(value, Batch):
        return f"[{', '.join(map(shown, value))}]"
    return repr(_rounded(np.asarray(value).tolist()) if isinstance(value, Tensor) else value)


def _rounded(values: Any) -> Any:
    if isinstance(values, list):
        return [*map(_rounded, values)]
    return round(values, 4) if isinstance(values, float) else values
