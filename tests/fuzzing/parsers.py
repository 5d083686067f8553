"""The table of parsers: what reads bytes that others have made.

A parser takes the bytes of a file. It returns, or raises one of the errors that are allowed; an
error about a file must name it. Nothing else may come out, and no output may be larger than the
bytes can hold.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import struct
import tempfile
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradiva
from gradiva import GradivaError
from gradiva.capture.serialization.reader import read_pipeline
from gradiva.eager.contexts import checkpoint_files
from gradiva.eager.contexts.json_codec import from_json_value
from gradiva.ops.decoders.formats.probe import check_data, probe
from gradiva.ops.decoders.image.plan import Headers
from gradiva.ops.decoders.image_info import at_scale
from gradiva.ops.decoders.jpeg.cpu import decode_jpeg
from gradiva.ops.decoders.jpeg.eighth import fill_eighth
from gradiva.ops.decoders.jpeg.eighth_scan import read_scan
from gradiva.ops.decoders.jpeg.gpu.frame import read_frame
from gradiva.ops.decoders.jpeg.plain_headers import PlainHeader, read_plain_headers
from gradiva.ops.decoders.jpeg.rows import shortenable
from gradiva.ops.decoders.jpeg.segments import count_scans, ends_well
from gradiva.ops.decoders.jpeg.small import Parts, decode_small_jpegs
from gradiva.ops.decoders.jpeg.window import COLORS, _decode, window_at, window_decoder_works
from gradiva.ops.decoders.npy_header import read_header
from gradiva.ops.readers.records import tar_archive as archive
from gradiva.ops.readers.records import tar_headers as plain_headers
from gradiva.ops.storage.errors import StorageError
from gradiva.ops.video.video_file import NoVideoError
from tests.capture.serialization.stored import again
from tests.ops.readers.formats import FORMATS, values, write_lmdb

from . import (
    cache_files,
    hdf5_heaps,
    image_processors,
    receipt_lines,
    seeds,
    video_scans,
    video_units,
)
from .edited_values import edited
from .http_parsers import http_answer, http_page, pages
from .sound_parsers import movies, mp4_edits, mpeg_audio, sound, sound_sizes

simplejpeg: Any = pytest.importorskip("simplejpeg")

__all__ = ["PARSERS", "Parser", "clear", "survives"]

MOST_PIXELS = 1 << 14
_FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, struct.error)
"""What no error of ours may come from: bytes that nobody has thought of, and no damage."""


class Parser(NamedTuple):
    """read: of the bytes of a file; seeds: bytes to begin with; allowed: what it may raise;
    compiled: its kernels cannot run as Python, or would take long."""

    read: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]
    allowed: tuple[type[Exception], ...] = (GradivaError,)
    compiled: bool = False


def survives(parser: Parser, data: bytes) -> bool:
    """Whether the bytes were taken; False where they were refused as they may be."""
    refused: Exception | None = None
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            parser.read(data)
        except parser.allowed as error:
            str(error).encode()
            refused = error
    assert not isinstance(refused and refused.__cause__, _FAULTS), f"by accident: {refused!r}"
    foreign = [one for one in heard if one.category is not UserWarning]
    assert not foreign, f"warned: {foreign[0].message}"
    return refused is None


@cache
def _folder() -> Path:
    """Of this process. Not in /dev/shm, where tests of other processes see that nothing is left."""
    made = tempfile.mkdtemp(prefix="gradiva-fuzzing-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def clear() -> None:
    """Remove the files of this process, whose end may come without a farewell."""
    shutil.rmtree(_folder(), ignore_errors=True)
    for kept in (_folder, _data_set):
        kept.cache_clear()


# Images and arrays.


def image_header(data: bytes) -> None:
    """The header; the walk over plain ones must say the same."""
    array = np.frombuffer(data, np.uint8)
    plain = _plain_header(array)
    info = probe(array, max_pixels=MOST_PIXELS)
    check_data(array, info)
    if info.format == "jpeg":
        count_scans(array.data), ends_well(array.data), shortenable(array.data, info)
        read_scan(array.data), read_frame(array, info)
    if plain.channels:
        assert plain[:3] == (info.height, info.width, info.channels)
        assert (info.coding, info.bits) == ("baseline", 8)
        assert plain.has_exif or info.orientation == 1


def _plain_header(array: np.ndarray[Any, Any]) -> PlainHeader:
    found = np.full((1, len(PlainHeader._fields)), 7, np.int64)
    read_plain_headers(array, np.array([0]), np.array([array.size]), MOST_PIXELS, found)
    return PlainHeader._make(found[0].tolist())


def image(data: bytes) -> None:
    """All pixels, and a window."""
    array = np.frombuffer(data, np.uint8)
    shape = np.asarray(gradiva.peek_image_shape(array))
    whole = gradiva.decoders.image(array, output_type=gradiva.types.ANY_DATA, **_LIMIT)
    assert sorted(whole.shape[:2]) == sorted(shape[:2].tolist())
    gradiva.decoders.image_crop(array, crop=(3, 5), **_LIMIT)


def jpeg_window(data: bytes) -> None:
    """A window that libjpeg-turbo finds nothing to say about has the pixels of the whole image."""
    array = np.frombuffer(data, np.uint8)
    info = probe(array, max_pixels=MOST_PIXELS)
    check_data(array, info)
    if info.format != "jpeg" or info.channels == 4 or not window_decoder_works():
        return
    shape = info.height, info.width, 3
    top, left = info.height // 3, info.width // 3
    window = top, left, (info.height + 2) // 3, (info.width + 2) // 3
    memory = np.empty(info.height * info.width * 3, np.uint8)
    found = _decode(array, info, "RGB", window, False, memory)
    if found is not None:
        part = window_at(*found, (*window[2:], 3), memory)
        whole = decode_jpeg(array, info, "RGB", np.empty(shape, np.uint8), False)
        expected = whole[top : top + window[2], left : left + window[3]]
        assert np.array_equal(part, expected)


def jpeg_eighth(data: bytes) -> None:
    """What is read at an eighth has the pixels of the library, which says nothing about it."""
    array = np.frombuffer(data, np.uint8).copy()
    info = probe(array, max_pixels=MOST_PIXELS)
    check_data(array, info)
    size = -(-info.height // 8), -(-info.width // 8)
    known = at_scale(info, size)
    if known.scale != 8 or info.channels == 4:
        return
    out = np.empty((*size, 3), np.uint8)
    if fill_eighth(array, "RGB", out):
        whole = simplejpeg.decode_jpeg(array, "RGB", min_height=size[0], min_width=size[1])
        assert np.array_equal(out, whole)


def plain_frame(data: bytes) -> None:
    """The walk over the headers of a batch finds what `read_frame` does, or nothing."""
    array = np.frombuffer(data, np.uint8)
    info = probe(array, max_pixels=MOST_PIXELS)
    plain = _plain_header(array)
    if plain.is_whole:
        frame = read_frame(array, info)
        factors = plain.first, plain.second, plain.third
        assert frame.factors == tuple(divmod(pair, 16) for pair in factors[: plain.channels])
        known = frame.stored_rgb, frame.restart_interval, frame.interleaved, frame.damage
        assert known == (bool(plain.is_rgb), plain.restart, True, "")


def small_jpegs(data: bytes) -> None:
    """A small JPEG behind another one has the pixels that it has alone, whole and in a window."""
    array = np.frombuffer(data, np.uint8)
    info, first = probe(array, max_pixels=MOST_PIXELS), np.frombuffer(seeds.images()[0], np.uint8)
    check_data(array, info)
    before, size = probe(first), info.height * info.width * 3
    facts = Headers.of([before, info, info]).small_jpegs(np.full(3, COLORS["RGB"]))
    parts = Parts.whole(3)
    window = info.height // 3, info.width // 3, -(-info.height // 3), -(-info.width // 3)
    parts.windows[2] = window
    several = decode_small_jpegs(gradiva.as_batch([first, array, array]), facts, False, parts)
    if several is None:
        return
    memory = np.empty(2 * size + before.height * before.width * 3, np.uint8)
    done = several.make(memory, np.array([2 * size, size, 0]), 0, 3)
    assert done[0] == (facts[0, 3] != 0)
    if done[1]:
        whole = np.empty((info.height, info.width, 3), np.uint8)
        made = memory[size : 2 * size]
        assert np.array_equal(made, decode_jpeg(array, info, "RGB", whole, False).ravel())
    if not facts[2, 3]:
        return
    alone = np.empty(size, np.uint8)
    found = _decode(array, info, "RGB", window, False, alone)
    assert done[2] == (found is not None)
    if found is not None:
        shape, (at, pitch) = (*window[2:], 3), parts.laid[2].tolist()
        assert np.array_equal(window_at(at, pitch, shape, memory), window_at(*found, shape, alone))
    of_one = Parts(parts.windows[2:], parts.laid[2:])
    by_row = decode_small_jpegs(gradiva.as_batch([array]), facts[2:], False, of_one, by_row=True)
    assert by_row is not None
    rows = np.empty(3 * window[2] * window[3], np.uint8)
    assert by_row.make(rows, np.zeros(1, np.int64), 0, 1) == [found is not None]
    if found is not None:
        assert np.array_equal(rows.reshape(shape), window_at(*found, shape, alone))


_LIMIT: dict[str, Any] = {"max_pixels": MOST_PIXELS}


def npy(data: bytes) -> None:
    header = read_header(lambda count: data[:count], len(data))
    found = np.asarray(gradiva.decoders.numpy(np.frombuffer(data, np.uint8)))
    assert found.shape == header.shape
    assert found.nbytes <= len(data)


# Files of records and rows: a data set of which one file is replaced.


@cache
def _data_set(kind: str, use: str = "") -> tuple[Path, dict[str, Any]]:
    folder = _folder() / f"{kind}{use}"
    folder.mkdir()
    return folder, FORMATS[kind].write(folder, 3)


def _read(reader: Any, arguments: dict[str, Any], name: str, most: int) -> None:
    """An epoch. An error names the file, and outputs are no larger than `most`."""
    try:
        for outputs in reader(**arguments).next_epoch(batch_size=2):
            for output in values(outputs):
                assert output.nbytes <= most, output.nbytes
    except GradivaError as error:
        if name not in str(error):
            raise AssertionError(f"no {name} in: {error}") from error
        raise


def records(kind: str, pattern: str, drop: tuple[str, ...], data: bytes, **more: Any) -> None:
    """The file of a data set that the pattern finds holds these bytes. drop: arguments."""
    folder, arguments = _data_set(kind, "".join(filter(str.isalpha, pattern)))
    path = max(folder.glob(pattern))
    path.write_bytes(data)
    given = {key: value for key, value in arguments.items() if key not in drop} | more
    # An index is at fault, or does not fit what it belongs to.
    named = str(folder) if path.suffix == ".idx" else path.name
    _read(FORMATS[kind].reader, given, named, (len(data) << 4) + (1 << 16))


def seed_files(kind: str, pattern: str) -> Callable[[], list[bytes]]:
    def made() -> list[bytes]:
        with tempfile.TemporaryDirectory() as folder:
            FORMATS[kind].write(Path(folder), 3)
            return [path.read_bytes() for path in sorted(Path(folder).glob(pattern))[:2]]

    return made


def of_records(kind: str, pattern: str, *drop: str, **more: Any) -> Parser:
    return Parser(partial(records, kind, pattern, drop, **more), seed_files(kind, pattern))


def lmdb_value(kind: str, data: bytes) -> None:
    """A message in a database."""
    reader = FORMATS[kind].reader
    path = write_lmdb(_folder() / f"{kind}-value", [(b"0", data)])
    _read(reader, {"path": path}, "key 0", (len(data) << 4) + (1 << 16))


def tar_headers(data: bytes) -> None:
    """With checksums that are right: the compiled walk and `tarfile` must say the same."""
    content = bytearray(data)
    for place in range(0, len(content) - 511, 512):
        block = content[place : place + 512]
        if block[257:262] == b"ustar":
            block[148:156] = b" " * 8
            content[place + 148 : place + 156] = b"%06o\0 " % sum(block)
    path = _folder() / "headers.tar"
    path.write_bytes(content)
    handle = os.open(path, os.O_RDONLY)
    try:
        before, plain_headers._background._seen = plain_headers._background._seen, 1 << 20
        known = plain_headers.plain_scan(handle, len(content))
        plain_headers._background._seen = before
        if known is not None:
            (places, names), end = archive._scan_any(handle, len(content))
            assert known[0][0].tolist() == places.tolist()
            assert (known[0][1], known[1]) == (names, end)
    finally:
        os.close(handle)
    archive.scanned(str(path))


def preprocessed(data: bytes) -> None:
    """A file of the annotations that were stored before; the first byte says which."""
    source, arguments = _data_set("coco", "-stored")
    folder = _folder() / "preprocessed"
    keys = {"polygon_masks": True, "image_ids": True}
    if not folder.exists():
        kept = {"save_preprocessed_annotations": True}
        where = {"save_preprocessed_annotations_dir": str(folder)}
        for _ in gradiva.readers.COCO(**{**arguments, **keys, **kept, **where}).next_epoch(3):
            pass
        for path in folder.iterdir():
            path.rename(f"{path}.whole")
    whole = sorted(folder.glob("*.whole"))
    for path in whole:
        shutil.copy(path, path.with_suffix(""))
    chosen = whole[data[0] % len(whole)].with_suffix("") if data else whole[0].with_suffix("")
    chosen.write_bytes(data[1:])
    given = {"file_root": str(source), "preprocessed_annotations": str(folder), **keys}
    _read(gradiva.readers.COCO, {**given, "on_error": "skip"}, folder.name, 1 << 20)


def preprocessed_seeds() -> list[bytes]:
    with contextlib.suppress(GradivaError):  # of the file that it empties
        preprocessed(b"")
    whole = sorted((_folder() / "preprocessed").glob("*.whole"))
    return [bytes([number]) + path.read_bytes() for number, path in enumerate(whole)]


def file_list(data: bytes) -> None:
    """A list of files; those that it names are not there."""
    path = _folder() / "list.txt"
    path.write_bytes(data)
    photograph = str(Path(gradiva.__file__).parent / "photographs")
    arguments = {"file_list": str(path), "file_root": photograph, "on_error": "skip"}
    _read(gradiva.readers.File, arguments, path.name, 1 << 22)


# What is said in JSON: bytes as they are, and whole data of which values are replaced.


def coco_values(data: bytes) -> None:
    coco(seeds.as_json(edited(seeds.coco(), data)))


def coco(data: bytes) -> None:
    """Images that are not there are left out."""
    for dropped, more in (((), {}), (("polygon_masks",), seeds.COCO_MASKS)):
        records("coco", "annotations.json", dropped, data, on_error="skip", **more)


def jsonl_values(data: bytes) -> None:
    records("jsonl", "*.jsonl", (), seeds.as_lines(edited(seeds.lines(), data)))


def manifest_values(data: bytes) -> None:
    folder, _ = _data_set("nemo_asr")
    lines = seeds.manifest(str(folder / "data00.wav"))
    manifest(seeds.as_lines(edited(lines, data)))


def manifest(data: bytes) -> None:
    folder, arguments = _data_set("nemo_asr")
    (folder / "manifest.json").write_bytes(data)
    given = {**arguments, "on_error": "skip"}
    _read(FORMATS["nemo_asr"].reader, given, "manifest.json", 1 << 22)


@cache
def _generators() -> tuple[Any, Any]:
    photographs = str(Path(gradiva.__file__).parent / "photographs")
    return gradiva.readers.File(file_root=photographs), gradiva.random.RNG(1)


def _use_checkpoint(text: str | bytes) -> None:
    checkpoint = gradiva.checkpoint.Checkpoint()
    checkpoint.deserialize(text)
    reader, generator = _generators()
    checkpoint.register(reader, "reader")
    checkpoint.register(generator, "generator")


def checkpoint_text() -> str:
    checkpoint = gradiva.checkpoint.Checkpoint()
    reader, generator = _generators()
    checkpoint.register(reader, "reader")
    checkpoint.register(generator, "generator")
    checkpoint.collect()
    return checkpoint.serialize()


def checkpoint(data: bytes) -> None:
    """The text as it is; without a first line, with one that is right."""
    if not data.startswith(b"gradiva"):
        body = data.decode("ascii", "replace").replace("\ufffd", "?")
        head = f"gradiva checkpoint {checkpoint_files.VERSION} sha256 "
        _use_checkpoint(head + checkpoint_files._digest(body) + f"\n{body}\n")
    else:
        _use_checkpoint(data)


def checkpoint_values(data: bytes) -> None:
    content = checkpoint_files.unpack(checkpoint_text(), "dynamic")
    _use_checkpoint(checkpoint_files.pack(edited(content, data)))


def json_state(data: bytes) -> None:
    """What stands for arrays, bytes and tuples."""
    from_json_value(edited(seeds.state(), data))


def stored_pipeline(data: bytes) -> None:
    """A graph is made of it, and stored again."""
    pipe = again(read_pipeline(data))
    assert pipe.graph.outputs
    again(read_pipeline(pipe.serialize()))


PARSERS: dict[str, Parser] = {
    "image_header": Parser(image_header, seeds.images, (ValueError,)),
    "image_processor": Parser(image_processors.read, image_processors.seeds),
    "image": Parser(image, seeds.images, compiled=True),
    "jpeg_window": Parser(jpeg_window, seeds.images, (ValueError,), compiled=True),
    "jpeg_eighth": Parser(jpeg_eighth, seeds.images, (ValueError,), compiled=True),
    "plain_frame": Parser(plain_frame, seeds.images, (ValueError,)),
    "small_jpegs": Parser(small_jpegs, seeds.images, (ValueError,), compiled=True),
    "npy": Parser(npy, seeds.npy),
    "sound": Parser(sound, seeds.sounds),
    "mpeg_audio": Parser(mpeg_audio, seeds.mpeg_audio, (ValueError,)),
    "sound_sizes": Parser(sound_sizes, seeds.sound_headers, (ValueError,)),
    "mp4_edits": Parser(mp4_edits, movies, (ValueError,)),
    "video_units": Parser(video_units.units, video_units.seeds, ()),
    "video_index": Parser(video_scans.index, video_scans.seeds, (NoVideoError,)),
    "tfrecord": of_records("tfrecord", "*.tfrecord", "index_path"),
    "tfrecord_index": of_records("tfrecord", "*.idx"),
    "recordio": of_records("mxnet", "*.rec", "index_path"),
    "recordio_index": of_records("mxnet", "*.idx"),
    "tar": of_records("webdataset", "*.tar", "index_paths", missing_component_behavior="empty"),
    "tar_index": of_records("webdataset", "*.idx"),
    "tar_headers": Parser(tar_headers, seeds.archives, compiled=True),
    "lmdb": of_records("caffe", "*/data.mdb"),
    "caffe_value": Parser(partial(lmdb_value, "caffe"), seeds.datums),
    "caffe2_value": Parser(partial(lmdb_value, "caffe2"), seeds.tensors),
    "fits": of_records("fits", "*.fits"),
    "hdf5_heaps": Parser(hdf5_heaps.read, hdf5_heaps.seeds, (OSError,)),
    "csv": of_records("csv", "*.csv"),
    "jsonl": of_records("jsonl", "*.jsonl"),
    "jsonl_values": Parser(jsonl_values, seeds.edits),
    "npz": of_records("npz", "*.npz"),
    "coco": Parser(coco, lambda: [seeds.as_json(seeds.coco())]),
    "coco_values": Parser(coco_values, seeds.edits),
    "coco_preprocessed": Parser(preprocessed, preprocessed_seeds),
    "manifest": Parser(manifest, seed_files("nemo_asr", "manifest.json")),
    "manifest_values": Parser(manifest_values, seeds.edits),
    "file_list": Parser(file_list, seeds.lists),
    "checkpoint": Parser(checkpoint, lambda: [checkpoint_text().encode()]),
    "checkpoint_values": Parser(checkpoint_values, seeds.edits),
    "json_state": Parser(json_state, seeds.edits),
    "receipt": Parser(receipt_lines.read, receipt_lines.lines),
    "receipt_values": Parser(receipt_lines.values, seeds.edits, compiled=True),
    "pipeline": Parser(stored_pipeline, seeds.pipelines),
    "http_answer": Parser(http_answer, seeds.answers, (StorageError,)),
    "http_page": Parser(http_page, pages, ()),
    "cache_files": Parser(cache_files.read, cache_files.seeds, (), compiled=True),
}
