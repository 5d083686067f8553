"""Readers of videos: which clips there are, and what is delivered of them."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def
from gradiva.eager.execution.quarantine import Quarantine

from ..video.bars import encoded, numbers_of, write
from ..video.frames import turned
from .formats import values

READER: Any = gradiva.experimental.readers.Video
LEGACY: Any = gradiva.readers.Video
RESIZED: Any = gradiva.readers.VideoResize


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Videos of 20, 7 and 9 frames; those of the last one show 100 more."""
    made = tmp_path_factory.mktemp("videos")
    write(made / "b" / "long.mp4", "libvpx-vp9", "mp4", 20)
    write(made / "b" / "short.mp4", "libvpx-vp9", "mp4", 7)
    write(made / "c" / "other.webm", "libvpx", "webm", 9, first=100)
    return made


@pytest.fixture
def long(folder: Path) -> str:
    return str(folder / "b" / "long.mp4")


@pytest.fixture
def short(folder: Path) -> str:
    return str(folder / "b" / "short.mp4")


def clips(reader: Any, batch_size: int = 2) -> list[list[Any]]:
    """For each clip, what its frames show, and its other outputs."""
    found: list[list[Any]] = []
    for outputs in reader.next_epoch(batch_size=batch_size):
        first, *others = values(outputs)
        found += (
            [numbers_of(first.at(k)), *(one.at(k).tolist() for one in others)]
            for k in range(len(first))
        )
    return found


def shown(**arguments: Any) -> list[list[int]]:
    return [clip[0] for clip in clips(READER(**arguments))]


def test_which_frames(long: str, short: str) -> None:
    """Clips follow one another; each stride counts whole, that behind the last frame too."""
    assert shown(filenames=short, sequence_length=3) == [[0, 1, 2], [3, 4, 5]]
    assert shown(filenames=short, sequence_length=3, step=2) == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
    strides = shown(filenames=long, sequence_length=3, stride=4)
    assert strides == [[0, 4, 8]]
    assert len(shown(filenames=[long, short], sequence_length=2, stride=2, step=1)) == 17 + 4
    legacy = LEGACY(filenames=long, sequence_length=3, stride=4, step=11)
    assert [clip[0] for clip in clips(legacy)] == [[0, 4, 8], [11, 15, 19]]


@pytest.mark.parametrize(
    ("mode", "tail"),
    [
        ("edge", [12, 16, 19]),
        ("repeat", [12, 16, 19]),
        ("reflect_101", [12, 16, 18]),
        ("reflect", [12, 16, 18]),
        ("symmetric", [12, 16, 19]),
        ("reflect_1001", [12, 16, 19]),
    ],
)
def test_pad_modes(long: str, mode: str, tail: list[int]) -> None:
    found = shown(filenames=long, sequence_length=3, stride=4, pad_mode=mode)
    assert found == [[0, 4, 8], tail]


def test_filled(short: str) -> None:
    reader = READER(
        filenames=short,
        sequence_length=5,
        pad_mode="constant",
        fill_value=[1, 2, 3],
        enable_frame_num="sequence",
        enable_timestamps=True,
    )
    ((videos, numbers, times),) = reader.next_epoch(batch_size=2)
    assert (np.asarray(videos.at(1))[2:] == [1, 2, 3]).all()
    assert numbers.as_array().tolist() == [[0, 1, 2, 3, 4], [5, 6, -1, -1, -1]]
    assert numbers.dtype == gradiva.int32
    np.testing.assert_allclose(times.as_array()[1], [0.2, 0.24, -1, -1, -1], atol=1e-9)
    padded = LEGACY(filenames=short, sequence_length=5, pad_sequences=True)
    ((videos,),) = ((one,) for one in padded.next_epoch(batch_size=2))
    assert not np.asarray(videos.at(1))[2:].any()


def test_uniform_samples(long: str, short: str) -> None:
    found = shown(filenames=[long, short], sequence_length=5, uniform_sample=True)
    assert found == [[0, 5, 10, 14, 19], [0, 2, 3, 5, 6]]
    with pytest.warns(UserWarning, match="`stride` means nothing"):
        READER(filenames=short, sequence_length=2, uniform_sample=True, stride=3)


def test_labels_and_first_frames(folder: Path, long: str, short: str) -> None:
    reader = READER(file_root=folder, sequence_length=7, enable_frame_num=True)
    assert [clip[1:] for clip in clips(reader)] == [[[0], [0]], [[0], [7]], [[0], [0]], [[1], [0]]]
    named = READER(filenames=[long, short], labels=[5, 3], sequence_length=7)
    assert [clip[1] for clip in clips(named)] == [[5], [5], [3]]
    assert len(values(next(iter(READER(filenames=short, sequence_length=7).next_epoch())))) == 1
    legacy = LEGACY(filenames=[long, short], labels=[], sequence_length=7)
    assert [clip[1] for clip in clips(legacy)] == [[0], [0], [1]]


@pytest.mark.parametrize(
    ("line", "form", "begin", "end"),
    [
        ("0 4", "frames", 0, 4),
        ("-5 -1", "frames", 15, 19),
        ("2.5 7.5", "frames", 2, 8),
        ("17 99", "frames", 17, 20),
        ("-99 3", "frames", 0, 3),
        ("16", "frames", 16, 20),
        ("0.16 0.36", "timestamps", 4, 9),
        ("0.1 0.3", "timestamps", 2, 8),
        ("0.6 99", "timestamps", 15, 20),
        ("0.6", "timestamps", 15, 20),
        ("-1 0.08", "timestamps", 0, 2),
    ],
)
def test_ranges(tmp_path: Path, long: str, line: str, form: str, begin: int, end: int) -> None:
    """The end is not included, and clamped to that of the video."""
    listed = tmp_path / "list.txt"
    listed.write_text(f'\n"{long}"\t7 {line}\n')
    reader = READER(file_list=listed, file_list_format=form, sequence_length=1)
    assert clips(reader) == [[[frame], [7]] for frame in range(begin, end)]


@pytest.mark.parametrize(
    ("rounding", "begin", "end"),
    [
        ("start_down_end_up", 2, 8),
        ("start_up_end_down", 3, 7),
        ("all_up", 3, 8),
        ("all_down", 2, 7),
    ],
)
def test_rounding(tmp_path: Path, long: str, rounding: str, begin: int, end: int) -> None:
    listed = tmp_path / "list.txt"
    listed.write_text(f"{long} 0 0.1 0.3")
    found = shown(file_list=listed, file_list_rounding=rounding, sequence_length=1)
    assert found == [[frame] for frame in range(begin, end)]
    if rounding.startswith("start"):
        around = rounding == "start_down_end_up"
        legacy = LEGACY(
            file_list=listed, file_list_include_preceding_frame=around, sequence_length=1
        )
        assert [clip[0] for clip in clips(legacy)] == found


def test_paths_in_lists(tmp_path: Path) -> None:
    """From where the list is, if they are not from the working directory; spaces in quotes."""
    write(tmp_path / "with space.mp4", "libvpx-vp9", "mp4", 7)
    listed = tmp_path / "list.txt"
    listed.write_text('"with space.mp4" 2 1 3\n')
    assert clips(READER(file_list=listed, sequence_length=2, file_list_format="frames")) == [
        [[1, 2], [2]]
    ]


@pytest.mark.parametrize(
    "line", ["video.mp4", "video.mp4 -1", "video.mp4 1 x", "v.mp4 1 0 nan", "v 1 2 3 4"]
)
def test_lines_that_make_no_sense(tmp_path: Path, line: str) -> None:
    listed = tmp_path / "list.txt"
    listed.write_text(f"\n{line}\n")
    with pytest.raises(gradiva.OperatorValueError, match=r"line 2(.|\n)*list\.txt"):
        READER(file_list=listed, sequence_length=1)


def test_ranges_without_a_frame(tmp_path: Path, long: str) -> None:
    listed = tmp_path / "list.txt"
    listed.write_text(f"{long} 0 3 3\n{long} 1 9 4\n{long} 2 0 1\n{long} 3 50 60\n")
    with pytest.warns(UserWarning, match="left out") as warned:
        reader = READER(file_list=listed, file_list_format="frames", sequence_length=1)
    assert clips(reader) == [[[0], [2]]]
    assert len(warned) == 3


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"sequence_length": 0}, "`sequence_length`"),
        ({"stride": 0}, "`stride`"),
        ({"step": 0}, "`step`"),
        ({"pad_mode": "wrap"}, "`pad_mode`"),
        ({"fill_value": [1, 2]}, "`fill_value`"),
        ({"fill_value": 256}, "`fill_value`"),
        ({"labels": []}, "`labels`"),
        ({"labels": [1, 2]}, "`labels`"),
        ({"file_root": "x"}, "exactly one"),
        ({"filenames": None}, "exactly one"),
        ({"file_list_format": "x"}, "`file_list_format`"),
        ({"file_list_rounding": "x"}, "`file_list_rounding`"),
        ({"enable_frame_num": "x"}, "`enable_frame_num`"),
        ({"image_type": gradiva.ImageType.GRAY}, "`image_type`"),
        ({"colorspace": "x"}, "`colorspace`"),
        ({"sequence_length": 30}, "a clip of 30 frames"),
        ({"num_shards": 30}, "shards"),
    ],
)
def test_refusals(long: str, arguments: dict[str, Any], text: str) -> None:
    with pytest.raises((gradiva.OperatorValueError, gradiva.OperatorTypeError), match=text):
        READER(**{"filenames": long, "sequence_length": 2, **arguments})


def test_resized(long: str) -> None:
    plain = LEGACY(filenames=long, sequence_length=5)
    given: dict[str, Any] = {"filenames": long, "sequence_length": 5}
    resized = RESIZED(**given, resize_shorter=9, antialias=False)
    for batch, other in zip(
        plain.next_epoch(batch_size=3), resized.next_epoch(batch_size=3), strict=True
    ):
        expected = gradiva.resize(batch, resize_shorter=9, antialias=False)
        for k in range(len(batch)):
            np.testing.assert_array_equal(other.at(k), expected.at(k))


@pytest.mark.full
def test_sizes_per_sample(long: str) -> None:
    given: dict[str, Any] = {"filenames": long, "sequence_length": 5}

    @pipeline_def(batch_size=2, num_threads=2, device_id=None)
    def drawn(together: bool) -> Any:
        size = fn.random.uniform(range=(8, 30), seed=3)
        if together:
            return fn.readers.video_resize(**given, resize_x=size)
        return fn.resize(fn.readers.video(**given), resize_x=size)

    with drawn(True) as one, drawn(False) as two:
        for found, expected in zip(one.run(), two.run(), strict=True):
            for k in range(2):
                np.testing.assert_array_equal(found.at(k), expected.at(k))


def test_floats(short: str) -> None:
    (bytes_,) = LEGACY(filenames=short, sequence_length=7).next_epoch(batch_size=1)
    for normalized, scale in ((False, 1), (True, 255)):
        reader = LEGACY(
            filenames=short, sequence_length=7, dtype=gradiva.float32, normalized=normalized
        )
        (floats,) = reader.next_epoch(batch_size=1)
        expected = bytes_.as_array().astype(np.float32) / np.float32(scale)
        np.testing.assert_array_equal(floats.as_array(), expected)
    with pytest.raises(gradiva.OperatorValueError, match="`dtype`"):
        LEGACY(filenames=short, sequence_length=7, normalized=True)


def test_other_colors(short: str) -> None:
    given: dict[str, Any] = {"filenames": short, "sequence_length": 7}
    (rgb,) = READER(**given).next_epoch(batch_size=1)
    (other,) = READER(**given, image_type=gradiva.ImageType.YCbCr).next_epoch(batch_size=1)
    expected = gradiva.color_space_conversion(
        rgb, image_type=gradiva.ImageType.RGB, output_type=gradiva.ImageType.YCbCr
    )
    np.testing.assert_array_equal(other.as_array(), expected.as_array())


def test_bad_files(tmp_path: Path) -> None:
    """What is no video is left out of folders with a warning; what is damaged is a sample."""
    write(tmp_path / "a" / "good.mp4", "libvpx-vp9", "mp4", 7)
    write(tmp_path / "a" / "late.webm", "libvpx", "webm", 9)
    cut = tmp_path / "a" / "late.webm"
    cut.write_bytes(cut.read_bytes()[:-60])
    (tmp_path / "a" / "notes.txt").write_text("This is no video.")
    head = tmp_path / "a" / "head.mp4"
    head.write_bytes((tmp_path / "a" / "good.mp4").read_bytes()[:-200])
    given: dict[str, Any] = {"file_root": tmp_path, "sequence_length": 3}
    with pytest.warns(UserWarning, match=r"notes\.txt is left out"):
        reader = READER(**given, on_error="skip")
    with Quarantine(warns=False) as bad:
        found = clips(reader, 8)
    assert [clip[0] for clip in found][:2] == [[0, 1, 2], [3, 4, 5]]
    assert sorted(Path(str(entry.file)).name for entry in bad) == ["head.mp4", "late.webm"]
    with pytest.warns(UserWarning, match="notes"):
        reader = READER(**given)
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"head\.mp4"):
        clips(reader, 8)
    missing = READER(filenames=[tmp_path / "none.mp4"], sequence_length=2)
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"none\.mp4"):
        clips(missing)
    replaced = READER(filenames=[tmp_path / "none.mp4"], sequence_length=2, on_error="replace")
    with Quarantine(warns=False):
        ((batch,),) = ((one,) for one in replaced.next_epoch(batch_size=1))
    assert batch.at(0).size == 0


def test_a_file_that_changed(tmp_path: Path) -> None:
    path = Path(write(tmp_path / "video.mp4", "libvpx-vp9", "mp4", 7))
    reader = READER(filenames=path, sequence_length=3)
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"changed.*"):
        clips(reader)


class _Ranges(http.server.SimpleHTTPRequestHandler):
    """A server that knows ranges."""

    def do_GET(self) -> None:
        data = Path(self.translate_path(self.path)).read_bytes()
        first, _, last = self.headers.get("Range", f"bytes=0-{len(data) - 1}")[6:].partition("-")
        part = data[int(first) : int(last or len(data)) + 1]
        self.send_response(206 if "Range" in self.headers else 200)
        self.send_header("Content-Length", str(len(part)))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Range", f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}")
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, *_arguments: Any) -> None:
        pass


@pytest.fixture
def server(folder: Path) -> Iterator[str]:
    def handler(*arguments: Any) -> _Ranges:
        return _Ranges(*arguments, directory=str(folder))

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{made.server_address[1]}"
        made.shutdown()
        thread.join()


@pytest.mark.full
@pytest.mark.parametrize("whole", [True, False])
def test_on_another_machine(
    folder: Path, server: str, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same clips, of files that are fetched whole and of those that are read in parts."""
    pytest.importorskip("fsspec")
    pytest.importorskip("aiohttp")
    if not whole:
        monkeypatch.setattr("gradiva.ops.readers.video.video_files._SMALL", 0)
    names = ["b/long.mp4", "c/other.webm"]
    options: dict[str, Any] = {"sequence_length": 3, "random_shuffle": True, "seed": 3}
    expected = clips(READER(filenames=[str(folder / name) for name in names], **options))
    assert clips(READER(filenames=[f"{server}/{name}" for name in names], **options)) == expected


def test_few_indices_in_memory(long: str, short: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was forgotten is found again."""
    monkeypatch.setattr("gradiva.ops.readers.video.video_files._MOST_KEPT", 1)
    given: dict[str, Any] = {"sequence_length": 3, "random_shuffle": True, "seed": 5}
    found = shown(filenames=[long, short], **given)
    monkeypatch.undo()
    assert found == shown(filenames=[long, short], **given)


def test_captured_loops(long: str, short: str) -> None:
    """The same bits as without capture, and as in a pipeline."""
    given: dict[str, Any] = {
        "filenames": [long, short],
        "sequence_length": 3,
        "random_shuffle": True,
    }

    def body(batch: Any) -> Any:
        return gradiva.flip(batch, horizontal=1)

    plain = READER(**given, seed=4)
    expected = [body(batch) for batch in plain.next_epoch(batch_size=2)]
    captured = READER(**given, seed=4)
    found = [body(batch) for batch in captured.next_epoch(batch_size=2, capture=True)]

    @pipeline_def(batch_size=2, num_threads=2, device_id=None, seed=4)
    def pipe() -> Any:
        return body(fn.experimental.readers.video(**given, seed=4))

    with pipe() as made:
        for one, two in zip(expected, found, strict=True):
            (three,) = made.run()
            for k in range(len(one)):
                np.testing.assert_array_equal(one.at(k), two.at(k))
                np.testing.assert_array_equal(one.at(k), three.at(k))


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_upright(tmp_path: Path, turns: int) -> None:
    """Turned as the file says, where that is asked for, with the index kept or not."""
    a, b = [(1, 0), (0, -1), (-1, 0), (0, 1)][turns]
    video = turned(encoded("libx264", frames=4), a, b, -b, a)
    path = tmp_path / "turned.mp4"
    path.write_bytes(video)
    data = {"filenames": [str(path)], "sequence_length": 4}

    def read(reader: Any, **options: Any) -> Any:
        (batch,) = reader(**data, **options).next_epoch(1)
        return np.asarray((batch[0] if isinstance(batch, tuple) else batch).at(0))

    for reader in (gradiva.readers.Video, gradiva.experimental.readers.Video):
        plain = read(reader)
        assert numbers_of(plain) == [0, 1, 2, 3]
        np.testing.assert_array_equal(
            read(reader, apply_rotation=True), np.rot90(plain, turns, (1, 2))
        )
    files = gradiva.batch([np.frombuffer(video, np.uint8)])
    made = gradiva.decoders.video(files, apply_rotation=True)
    np.testing.assert_array_equal(made.at(0), np.rot90(plain, turns, (1, 2)))

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipe() -> Any:
        return fn.experimental.inputs.video(name="fed", sequence_length=4, apply_rotation=True)

    with pipe() as fed:
        fed.feed_input("fed", [np.frombuffer(video, np.uint8)])
        np.testing.assert_array_equal(fed.run()[0].at(0), np.rot90(plain, turns, (1, 2)))
