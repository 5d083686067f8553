"""Videos that change while a data set is read.

`python -m tests.promises.changed_videos CHANGE COUNT` reads so many data sets in this process,
which what is freed too early would end.
"""

from __future__ import annotations

import errno
import json
import os
import random
import resource
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gradiva
from tests.ops.video.bars import encoded, numbers_of

__all__ = ["CHANGES"]

FILES, FRAMES, LENGTH = 4, 24, 3
KINDS = (
    ("libvpx-vp9", "webm"),
    ("libx264", "mp4"),
    ("libx264", "mpegts"),
    ("mpeg4", "avi"),
    ("mjpeg", "avi"),
)
READERS = (gradiva.experimental.readers.Video, gradiva.readers.Video, gradiva.readers.VideoResize)


def _touch(path: Path, _other: bytes) -> None:
    os.utime(path)


def _remove(path: Path, _other: bytes) -> None:
    path.unlink()


def _cut(path: Path, _other: bytes) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _empty(path: Path, _other: bytes) -> None:
    os.truncate(path, 0)


def _replace(path: Path, other: bytes) -> None:
    beside = path.with_suffix(".new")
    beside.write_bytes(other)
    beside.replace(path)


def _shorten(path: Path, other: bytes) -> None:
    _replace(path, other[: len(other) // 2])


def _write_over(path: Path, other: bytes) -> None:
    path.write_bytes(other)


def _fold(path: Path, _other: bytes) -> None:
    path.unlink()
    path.mkdir()


CHANGES: dict[str, Callable[[Path, bytes], None]] = {
    "touch": _touch,
    "remove": _remove,
    "cut": _cut,
    "empty": _empty,
    "replace": _replace,
    "shorten": _shorten,
    "write over": _write_over,
    "folder": _fold,
}


def _clips(outputs: Any) -> list[tuple[list[int], int, int]]:
    """Of each clip the numbers that its frames show, its label and its first frame."""
    frames, labels, firsts = outputs
    return [
        (numbers_of(frames.at(k)), int(labels.at(k)[0]), int(firsts.at(k)[0]))
        for k in range(len(labels))
    ]


def _read(number: int, change: str, folder: Path) -> tuple[int, int]:
    """Read a data set, in which a file changes. How many clips there were, and how many not."""
    drawn = random.Random(f"{change} {number}")
    codec, form = KINDS[number % len(KINDS)]
    kind = READERS[number % len(READERS)]
    options: dict[str, Any] = {"frames": FRAMES, "gop": drawn.choice((3, 6, 24))}
    paths = []
    for k in range(FILES):
        paths.append(folder / f"{number} {k}.{form}")
        paths[-1].write_bytes(encoded(codec, form, first=40 * k, **options))
    size: dict[str, Any] = {"size": [32, 64]} if kind is gradiva.readers.VideoResize else {}
    step = drawn.choice((1, 3))
    reader = kind(
        filenames=[str(path) for path in paths],
        labels=[*range(FILES)],
        sequence_length=LENGTH,
        step=step,
        enable_frame_num="scalar" if "experimental" in str(kind.__module__) else True,
        random_shuffle=drawn.random() < 0.8,
        on_error="skip",
        seed=number,
        **size,
    )
    changed = drawn.sample(paths, drawn.choice((1, 2)))
    moment = drawn.randrange(1, 6)
    found = 0
    gradiva.set_num_threads(drawn.choice((1, 2, 4)))
    for _ in range(3):
        for batch, outputs in enumerate(reader.next_epoch(batch_size=4)):
            for shown, label, first in _clips(outputs):
                assert shown == [40 * label + first + k for k in range(LENGTH)], (shown, label)
                found += 1
            if batch == moment:
                other = encoded(codec, form, first=200, **options)
                for path in changed:
                    CHANGES[change](path, other)
                changed = []
    starts = range(0, FRAMES - LENGTH + 1, step)
    return found, 3 * FILES * len(starts) - found


def _check(error: Exception) -> None:
    assert os.strerror(errno.EMFILE) in str(error), error


def _finish(reader: Any) -> None:
    """Read what is left of an epoch. Batches that were begun ahead may have failed as well."""
    while True:
        try:
            for _ in reader.next_epoch(batch_size=4):
                pass
            return
        except gradiva.OperatorRuntimeError as error:
            _check(error)


def _without_descriptors(count: int, folder: Path) -> tuple[int, int]:
    """Read where files cannot be opened any more: that is no fault of theirs, and passes."""
    paths = []
    for k in range(FILES):
        paths.append(folder / f"{k}.webm")
        paths[-1].write_bytes(encoded("libvpx-vp9", "webm", first=40 * k, frames=FRAMES))
    reader = gradiva.experimental.readers.Video(
        filenames=[str(path) for path in paths], sequence_length=LENGTH, on_error="skip", seed=1
    )
    refused = found = 0
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    for _ in range(count):
        batches = reader.next_epoch(batch_size=4)
        next(batches)
        resource.setrlimit(resource.RLIMIT_NOFILE, (4, most[1]))
        try:
            for outputs in batches:
                found += len(outputs)
        except gradiva.OperatorRuntimeError as error:
            _check(error)
            refused += 1
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, most)
        _finish(reader)
        whole = sum(len(outputs) for outputs in reader.next_epoch(batch_size=4))
        assert whole == FILES * FRAMES // LENGTH, whole
        found += whole
    return found, refused


def _size() -> int:
    """Bytes of addresses that this process has."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _without_memory(count: int, folder: Path) -> tuple[int, int]:
    """Read where memory is short: no clip is left out as damaged, and it passes."""
    gradiva.set_num_threads(1)
    found = refused = 0
    most = resource.getrlimit(resource.RLIMIT_AS)
    for codec, form in KINDS[:2]:
        data = encoded(codec, form, frames=6, size=(1504, 2000))
        path = folder / f"large.{form}"
        path.write_bytes(data)
        reader = gradiva.experimental.readers.Video(
            filenames=[str(path)], sequence_length=1, on_error="skip"
        )
        file = gradiva.batch([np.frombuffer(data, np.uint8)])
        # Code that is loaded when it is first needed: LLVM ends the process where it cannot be.
        gradiva.decoders.video(file, frames=[3], on_error="skip")
        _finish(reader)
        for extra in range(0, 8 * count, 2):
            resource.setrlimit(resource.RLIMIT_AS, (_size() + (extra << 20), most[1]))
            try:
                found += len(gradiva.decoders.video(file, frames=[3], on_error="skip"))
                found += sum(len(outputs) for outputs in reader.next_epoch(batch_size=1))
            except (gradiva.OperatorRuntimeError, MemoryError):
                refused += 1
            finally:
                resource.setrlimit(resource.RLIMIT_AS, most)
    assert not gradiva.quarantine(), [*gradiva.quarantine()][:3]
    return found, refused


def _audio(count: int, folder: Path) -> tuple[int, int]:
    """Decode audio by PyAV, whole ones and damaged ones, in several threads."""
    av: Any = __import__("av")
    path = folder / "sound.m4a"
    with av.open(str(path), "w", format="ipod") as container:
        stream = container.add_stream("aac", rate=16000, layout="mono")
        values = (8000 * np.sin(np.arange(16000) / 20)).astype(np.int16)[np.newaxis]
        frame = av.AudioFrame.from_ndarray(values, format="s16", layout="mono")
        frame.rate = 16000
        for packet in (*stream.encode(frame), *stream.encode()):
            container.mux(packet)
    whole, drawn = path.read_bytes(), random.Random(3)
    good = bad = 0
    for _ in range(count):
        files = []
        for _ in range(8):
            data = bytearray(whole)
            for _ in range(drawn.choice((0, 1, 4))):
                data[drawn.randrange(len(data))] ^= 1 << drawn.randrange(8)
            files.append(np.frombuffer(bytes(data), np.uint8))
        decoded = gradiva.decoders.audio(gradiva.batch(files), on_error="skip")[0]
        good, bad = good + len(decoded), bad + 8 - len(decoded)
    return good, bad


def _run(change: str, count: int, folder: Path) -> tuple[int, int]:
    if change == "descriptors":
        return _without_descriptors(count, folder)
    if change == "memory":
        return _without_memory(count, folder)
    if change == "audio":
        return _audio(count, folder)
    found = lost = 0
    for number in range(count):
        one, other = _read(number, change, folder)
        found, lost = found + one, lost + other
    return found, lost


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as place:
        print(json.dumps(_run(sys.argv[1], int(sys.argv[2]), Path(place))))
