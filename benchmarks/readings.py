"""What `before_after.py` measures besides the recipes: rows, audio and videos that are read, and
functions of numbers. Each program works on files that are made once, in a folder of its own."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import soundfile
from audio import make_audio
from photographs import encoded_photographs
from video import write_video

import gradiva
from gradiva import fn

ROWS = 20_000
SOUNDS = 24
SOUND_FORMATS = {"FLAC": ("flac", "PCM_16"), "WAV": ("wav", "PCM_16"), "MP3": ("mp3", None)}
CODECS = {"VP9": "libvpx-vp9", "H.264": "libx264"}
FRAMES = 240
NUMBERS = 1 << 21


def make(folder: Path) -> None:
    """Write all files."""
    make_rows(folder)
    make_formats(folder)
    photograph = next(encoded_photographs(1))
    for name, codec in CODECS.items():
        write_video(folder / f"{name}.mp4", codec, photograph, FRAMES, 30)


def make_rows(folder: Path) -> None:
    """Two numbers, a list of eight and a text in each row."""
    generator = np.random.default_rng(5)
    identity, value = np.arange(ROWS), generator.normal(size=ROWS)
    vector = generator.normal(size=(ROWS, 8)).astype(np.float32)
    rows = [
        {"id": k, "value": float(value[k]), "vector": vector[k].tolist(), "text": "a text"}
        for k in range(ROWS)
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with (folder / "rows.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "value", "text"])
        writer.writerows([row["id"], row["value"], row["text"]] for row in rows)
    np.savez(folder / "rows.npz", id=identity, value=value, vector=vector)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "rows.parquet")


def make_formats(folder: Path) -> None:
    """The same audio in each format."""
    source = folder / "sounds"
    source.mkdir()
    make_audio(source, SOUNDS)
    for path in sorted(source.glob("*.wav")):
        samples, rate = soundfile.read(path, dtype="int16")
        for name, (ending, subtype) in SOUND_FORMATS.items():
            (folder / name).mkdir(exist_ok=True)
            with io.BytesIO() as file:
                soundfile.write(file, samples, rate, format=ending, subtype=subtype)
                (folder / name / f"{path.stem}.{ending}").write_bytes(file.getvalue())


def programs(folder: Path, options: Any) -> dict[str, Callable[[], Iterator[int]]]:
    """By name, what runs an epoch and yields how many rows, files, frames or numbers it read."""
    found: dict[str, Callable[[], Iterator[int]]] = {}
    columns = {"id": gradiva.int64, "value": gradiva.float64}
    readers: Any = gradiva.readers
    for name in ("JSONL", "CSV", "Parquet", "Npz"):
        path = str(folder / f"rows.{name.lower()}")
        given = {"columns": list(columns), "dtypes": list(columns.values())}
        if name not in ("CSV",):
            given = {
                "columns": [*columns, "vector"],
                "dtypes": [*columns.values(), gradiva.float32],
            }
        found[f"rows of {name}"] = _epochs(partial(getattr(readers, name), paths=[path], **given))
    for name in SOUND_FORMATS:
        found[f"sounds of {name}"] = _sounds(folder / name, options)
    for name in CODECS:
        found[f"clips of {name}"] = _clips(folder / f"{name}.mp4", options)
    for name in ("exp", "log", "sin", "atan2", "fpow"):
        found[f"math.{name}, float32"] = _numbers(name)
    return found


def _epochs(make_reader: Callable[[], Any]) -> Callable[[], Iterator[int]]:
    reader = make_reader()

    def run() -> Iterator[int]:
        for first, *_ in reader.next_epoch(batch_size=256):
            yield len(first)

    return run


def _sounds(folder: Path, options: Any) -> Callable[[], Iterator[int]]:
    files = [np.frombuffer(path.read_bytes(), np.uint8) for path in sorted(folder.iterdir())]

    def run() -> Iterator[int]:
        gradiva.decoders.audio(gradiva.as_batch(files))
        yield len(files)

    return run


def _clips(path: Path, options: Any) -> Callable[[], Iterator[int]]:
    @gradiva.pipeline_def(batch_size=4, num_threads=options.threads, seed=1)
    def define() -> Any:
        return fn.experimental.readers.video(filenames=[str(path)], sequence_length=8, step=8)

    pipe = define()
    pipe.build()

    def run() -> Iterator[int]:
        for _ in range(FRAMES // 32):
            pipe.run()
            yield 32

    return run


def _numbers(name: str) -> Callable[[], Iterator[int]]:
    generator = np.random.default_rng(2)
    given = [gradiva.as_tensor(np.abs(generator.normal(size=NUMBERS)).astype(np.float32))]
    given *= 2 if name in ("atan2", "fpow") else 1

    def run() -> Iterator[int]:
        getattr(gradiva.math, name)(*given)
        yield NUMBERS

    return run
