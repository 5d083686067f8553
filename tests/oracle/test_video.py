"""Videos against DALI, which decodes VP8 and VP9 on the CPU: pixels, numbers, times."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from tests.ops.video.bars import as_array, encoded, write

from .reference import dali
from .reference import fn as theirs

LENGTHS = (1, 5, 17, 40)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Videos of several lengths and sizes, those of one rate and one with times of its own."""
    folder = tmp_path_factory.mktemp("videos")
    made = [
        write(folder / str(k % 2) / f"{k}.mp4", frames=n, gop=7, size=(34 + 2 * k, 66))
        for k, n in enumerate(LENGTHS)
    ]
    times = tuple(k * 40 + k % 3 * 10 for k in range(23))
    made.append(write(folder / "1" / "times.mp4", frames=23, gop=5, times=times))
    made.append(write(folder / "0" / "vp8.webm", "libvpx", "webm", 12, gop=5))
    return made


def outputs(library: Any, make: Any, runs: int, batch_size: int) -> list[Any]:
    pipe = library.Pipeline(
        batch_size=batch_size, num_threads=2, device_id=None, prefetch_queue_depth=1
    )
    with pipe:
        made = make()
        pipe.set_outputs(*(made if isinstance(made, list | tuple) else (made,)))
    pipe.build()
    found: list[Any] = []
    for _ in range(runs):
        batches = pipe.run()
        found += (
            [batches[0][k].source_info(), *(np.array(one.at(k)) for one in batches)]
            for k in range(len(batches[0]))
        )
    return found


def same(found: list[Any], expected: list[Any]) -> None:
    assert len(found) == len(expected)
    for sample, other in zip(found, expected, strict=True):
        assert sample[0] == other[0]
        for one, two in zip(sample[1:], other[1:], strict=True):
            assert one.dtype == two.dtype
            np.testing.assert_array_equal(one, two)


def compare_reader(arguments: dict[str, Any], batch_size: int = 3) -> None:
    settings = {"name": "R", **arguments}
    runs = 6
    expected = outputs(
        dali, lambda: theirs.experimental.readers.video(**settings), runs, batch_size
    )
    found = outputs(
        gradiva,
        lambda: gradiva.fn.experimental.readers.video(**settings, colorspace="bt601"),
        runs,
        batch_size,
    )
    same(found, expected)


MODES = (
    "none",
    "constant",
    "edge",
    "repeat",
    "reflect_101",
    "reflect",
    "reflect_1001",
    "symmetric",
)


def drawn_arguments(drawn: random.Random, files: list[str], folder: Path) -> dict[str, Any]:
    made: dict[str, Any] = {
        "sequence_length": drawn.randint(1, 9),
        "enable_frame_num": drawn.choice([False, True, "none", "scalar", "sequence"]),
        "enable_timestamps": drawn.random() < 0.7,
    }
    if drawn.random() < 0.2:
        made["uniform_sample"] = True
    else:
        made["stride"] = drawn.randint(1, 5)
        made["pad_mode"] = drawn.choice(MODES)
        if drawn.random() < 0.5:
            made["step"] = drawn.randint(1, 12)
        if drawn.random() < 0.5:
            made["fill_value"] = drawn.choice([7, [1, 2, 3]])
    kind = drawn.choice(["names", "labels", "frames", "timestamps", "root"])
    if kind == "root":
        made["file_root"] = str(Path(files[0]).parent.parent)
    elif kind in ("names", "labels"):
        made["filenames"] = drawn.sample(files, drawn.randint(1, len(files)))
        if kind == "labels":
            made["labels"] = [drawn.randint(0, 99) for _ in made["filenames"]]
    else:
        made |= listed(kind, drawn, files, folder)
    return made


def listed(form: str, drawn: random.Random, files: list[str], folder: Path) -> dict[str, Any]:
    """Ranges within the videos: with others DALI drops the file. Times are not those of
    frames, which it finds by single precision."""
    rounding = ["start_down_end_up", "start_up_end_down", "all_up", "all_down"]
    lines = []
    for label, path in enumerate(files):
        count = {f"{k}.mp4": n for k, n in enumerate(LENGTHS)}.get(Path(path).name, 12)
        if count < 5:
            continue
        begin = drawn.randint(0, count - 4)
        end = drawn.randint(begin + 3, count - 1)
        low, high = drawn.choice([0, 0.3, 0.6]), drawn.choice([0.2, 0.4])
        if form == "frames":
            lines.append(f"{path} {label} {begin + low} {end - high}")
        else:
            lines.append(
                f"{path} {label} {(begin + low + 0.2) * 0.04:.4f} {(end - high) * 0.04:.4f}"
            )
    (folder / "list.txt").write_text("\n".join(lines) + "\n")
    return {
        "file_list": str(folder / "list.txt"),
        "file_list_format": form,
        "file_list_rounding": drawn.choice(rounding),
        "file_list_include_end": drawn.random() < 0.5,
    }


@pytest.mark.parametrize("seed", range(60))
def test_drawn_readers(seed: int, files: list[str], tmp_path: Path) -> None:
    drawn = random.Random(seed)
    arguments = drawn_arguments(drawn, files, tmp_path)
    reader: Any = gradiva.experimental.readers.Video
    try:
        reader(**arguments)
    except gradiva.OperatorValueError:
        with pytest.raises(RuntimeError, match="number of input samples: 0"):
            compare_reader(arguments)
    else:
        compare_reader(arguments)


@pytest.mark.parametrize("size", [(32, 64), (33, 65), (34, 67), (120, 160)])
def test_pixels(size: tuple[int, int], tmp_path: Path) -> None:
    path = write(tmp_path / "video.mp4", frames=6, size=size)
    compare_reader({"filenames": path, "sequence_length": 3})


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"frames": [3, 1, 1, 6]},
        {"start_frame": 5, "sequence_length": 5},
        {"start_frame": 2, "end_frame": 12, "stride": 3},
        {"start_frame": -2, "sequence_length": 4},
        {"stride": 2},
        {"fill_value": 9, "sequence_length": 9},
        {"fill_value": [9, 8, 7], "frames": [-1, 0, 7]},
        {"frames": []},
        {"sequence_length": 0},
    ],
)
@pytest.mark.parametrize("mode", ["none", "constant", "edge", "reflect_101", "reflect_1001"])
def test_decoder(mode: str, arguments: dict[str, Any]) -> None:
    videos = [as_array(encoded(frames=7)), as_array(encoded(frames=11, size=(40, 72)))]
    if mode == "none" and min(arguments.get("frames") or [0]) < 0:
        return
    if mode == "none" and arguments.get("start_frame", 0) < 0:
        return
    if mode == "none" and max(arguments.get("frames") or [0]) > 6:
        return

    def make(library: Any, operator: Any, **others: Any) -> Any:
        fed = library.external_source(lambda: videos, batch=True)
        return operator(fed, **arguments, pad_mode=mode, **others)

    expected = outputs(dali, lambda: make(theirs, theirs.decoders.video), 1, 2)
    found = outputs(
        gradiva, lambda: make(gradiva.fn, gradiva.fn.decoders.video, colorspace="bt601"), 1, 2
    )
    same(found, expected)


@pytest.mark.parametrize("policy", ["partial", "pad"])
@pytest.mark.parametrize(("length", "batch_size"), [(4, 3), (5, 2), (20, 1), (30, 2), (1, 7)])
def test_input(policy: str, length: int, batch_size: int) -> None:
    videos = [as_array(encoded(frames=20)), as_array(encoded(frames=7))]
    runs = sum(-(-n // (length * batch_size)) for n in (20, 7))

    def run(library: Any, operator: Any, **others: Any) -> list[Any]:
        pipe = library.Pipeline(
            batch_size=batch_size, num_threads=2, device_id=None, prefetch_queue_depth=1
        )
        with pipe:
            pipe.set_outputs(
                operator(name="V", sequence_length=length, last_sequence_policy=policy, **others)
            )
        pipe.build()
        for video in videos:
            pipe.feed_input("V", [video])
        found = []
        for _ in range(runs):
            (batch,) = pipe.run()
            found.append([np.array(batch.at(k)) for k in range(len(batch))])
        with pytest.raises(RuntimeError):
            pipe.run()
        return found

    expected = run(dali, theirs.experimental.inputs.video)
    found = run(gradiva, gradiva.fn.experimental.inputs.video, colorspace="bt601")
    for one, two in zip(found, expected, strict=True):
        for sample, other in zip(one, two, strict=True):
            np.testing.assert_array_equal(sample, other)
