"""Manifests of audio: which lines count, parts, outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import OperatorRuntimeError, OperatorTypeError, OperatorValueError
from gradiva.eager.execution.quarantine import Quarantine
from gradiva.ops.decoders.audio.audio import wav_file
from gradiva.samplers import Bucket

Array = np.ndarray[Any, Any]
MONO = np.arange(-50, 50, dtype=np.int16).reshape(-1, 1) * 100
STEREO = np.arange(80, dtype=np.int16).reshape(-1, 2) * 100


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mono.wav").write_bytes(wav_file(MONO, 8000).tobytes())
    (tmp_path / "stereo.wav").write_bytes(wav_file(STEREO, 16000).tobytes())
    return tmp_path


def manifest(folder: Path, *lines: dict[str, Any] | str, name: str = "m.json") -> str:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (folder / name).write_text("\n".join(texts) + "\n", encoding="utf-8")
    return str(folder / name)


def read(paths: str | list[str], **arguments: Any) -> list[tuple[Array, ...]]:
    reader = gradiva.readers.NemoAsr(manifest_filepaths=paths, **arguments)
    made = []
    for step in reader.next_epoch(batch_size=2):
        columns = step if isinstance(step, tuple) else (step,)
        made += list(zip(*(one.arrays() for one in columns), strict=True))
    return made


def test_outputs(folder: Path) -> None:
    lines = (
        {"audio_filepath": "mono.wav", "text": "dzień \u2028 dobry"},
        {"audio_filepath": "stereo.wav"},
    )
    path = manifest(folder, *lines)
    one, other = read(path, read_idxs=True, dtype=gradiva.int16, downmix=False)
    np.testing.assert_array_equal(one[0], MONO)
    np.testing.assert_array_equal(other[0], STEREO)
    assert [float(x[1]) for x in (one, other)] == [8000, 16000]
    assert bytes(one[2]).decode() == "dzień \u2028 dobry"
    assert other[2].size == 0
    assert [x[3].tolist() for x in (one, other)] == [[0], [1]]
    (mixed,) = read(path, read_text=False, read_sample_rate=False)[1]
    np.testing.assert_array_equal(mixed, STEREO.astype(np.float32).mean(axis=1) / 32768)


def test_parts_and_limits(folder: Path) -> None:
    """Seconds become frames by rounding down; limits are those of the manifest's durations."""
    whole = {"audio_filepath": "mono.wav"}
    parts: list[dict[str, Any]] = [
        {**whole, "duration": 0.00199},
        {**whole, "offset": 0.01},
        {**whole, "offset": 0.0101, "duration": 99},
        {**whole, "offset": -1, "duration": 0},
    ]
    path = manifest(folder, *parts)
    made = [one[0].tolist() for one in read(path, dtype=gradiva.int16)]
    flat = MONO.ravel()
    assert made == [flat[:15].tolist(), flat[80:].tolist(), flat[80:].tolist(), []]
    kept = [one[-1].item() for one in read(path, read_idxs=True, max_duration=1)]
    assert kept == [0, 1, 2]
    assert len(read(path, max_duration=1)[2][0]) == 0
    assert len(read(path, min_duration=0.001)) == 2


def test_rates(folder: Path) -> None:
    """Signals are resampled, and the rate stays that of the file."""
    sound, rate, _ = read(manifest(folder, {"audio_filepath": "mono.wav"}), sample_rate=16000)[0]
    floats = gradiva.batch([MONO.ravel().astype(np.float32) / 32768])
    expected = gradiva.audio_resample(floats, in_rate=8000, out_rate=16000)
    np.testing.assert_array_equal(sound, expected.at(0))
    assert float(rate) == 8000


def test_lines_that_are_left_out(folder: Path) -> None:
    path = manifest(
        folder,
        "",
        "[1]",
        '{"text": "x"}',
        {"audio_filepath": 5, "text": "y"},
        {"audio_filepath": "mono.wav", "text": 7},
    )
    with pytest.warns(UserWarning, match="3 lines of .*m.json have no audio_filepath"):
        ((sound, _, text),) = read(path)
    assert sound.size == 100
    assert text.size == 0


def test_several_manifests(folder: Path) -> None:
    one = manifest(folder, {"audio_filepath": "mono.wav"}, name="a.json")
    other = manifest(folder, {"audio_filepath": str(folder / "stereo.wav")}, name="b.json")
    assert [float(sample[1]) for sample in read([other, one])] == [16000, 8000]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{nonsense", "line 2"),
        ('{"audio_filepath": "mono.wav", "duration": "1"}', "a number as 'duration'"),
        ('{"audio_filepath": "mono.wav", "offset": true}', "a number as 'offset'"),
        ('{"audio_filepath": "mono.wav", "offset": Infinity}', "a number as 'offset'"),
        ("[" * 100000, "a JSON object in each line"),
    ],
    ids=["no JSON", "text", "bool", "infinity", "deep"],
)
def test_lines_that_are_refused(folder: Path, line: str, message: str) -> None:
    path = manifest(folder, {"audio_filepath": "mono.wav"}, line)
    with pytest.raises(OperatorValueError, match=message) as raised:
        read(path)
    assert "m.json" in str(raised.value)


def test_arguments_that_are_refused(folder: Path) -> None:
    path = manifest(folder, {"audio_filepath": "mono.wav", "duration": 1})
    with pytest.raises(OperatorValueError, match="a text file that can be read"):
        read(str(folder / "none.json"))
    with pytest.raises(OperatorValueError, match="1 entries"):
        read(path, min_duration=2)
    with pytest.raises(OperatorValueError, match="`quality`"):
        read(path, quality=101)
    with pytest.raises(OperatorTypeError, match="`dtype`"):
        read(path, dtype=gradiva.uint8)


def test_files_that_cannot_be_read(folder: Path) -> None:
    (folder / "text.wav").write_text("this is not a sound file at all")
    good = {"audio_filepath": "mono.wav"}
    bad: list[tuple[dict[str, Any], str]] = [
        ({"audio_filepath": "none.wav"}, "none.wav"),
        ({"audio_filepath": "text.wav"}, "text.wav"),
        ({"audio_filepath": "mono.wav", "offset": 1}, "its offset is 1 s"),
    ]
    for line, message in bad:
        path = manifest(folder, good, line)
        with pytest.raises(OperatorRuntimeError, match=message):
            read(path)
        with Quarantine(warns=False) as found:
            assert len(read(path, on_error="skip")) == 1
            replaced = read(path, on_error="replace")
        assert found.total == 2
        assert replaced[1][0].size == 0


def test_buckets_by_duration(folder: Path) -> None:
    """Seconds of the manifest, all of which are needed; of mixtures too."""
    seconds = [0.004, 0.001, 0.003, 0.001, 0.004, 0.002]
    lines: list[dict[str, Any]] = [
        {"audio_filepath": "mono.wav", "duration": one, "text": str(one)} for one in seconds
    ]
    bucket = Bucket(key="duration", max_tokens=0.008)
    path = manifest(folder, *lines)
    one, other = (gradiva.readers.NemoAsr(manifest_filepaths=path) for _ in range(2))

    def texts(reader: Any) -> list[list[str]]:
        batches = reader.next_epoch(bucket=bucket)
        return [[text.tobytes().decode() for text in made[2].arrays()] for made in batches]

    found = texts(one)
    assert [*map(sorted, found)] == [["0.003", "0.004"], ["0.001", "0.001", "0.002"], ["0.004"]]
    mixed = gradiva.readers.mix([one, other], stop="all")
    batches = texts(mixed)
    assert sorted(text for batch in batches for text in batch) == sorted(map(str, seconds * 2))
    assert all(len(batch) * max(map(float, batch)) <= 0.008 for batch in batches)
    del lines[2]["duration"]
    reader = gradiva.readers.NemoAsr(manifest_filepaths=manifest(folder, *lines))
    images = gradiva.readers.File(files=[__file__])
    for unknown in (reader, images):
        with pytest.raises(gradiva.OperatorValueError, match="does not know that of its samples"):
            unknown.next_epoch(bucket=bucket)
