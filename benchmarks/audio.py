"""Speech features and decoding of audio, ours against DALI's, in one run.

256 WAV files of 3 to 16 s at 16 kHz, made here: syllables of noise and tones between silence. Every
rival makes whole epochs of its own; what is timed is the epoch, after one that warms it up.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import nvidia.dali.experimental.dynamic as dali_dynamic
from nvidia.dali import fn as dali_fn
from nvidia.dali import pipeline_def as dali_pipeline_def
from side_by_side import Row, in_turns, row, save

import gradiva
from gradiva import fn

AHEAD = 2
RATE = 16000


def make_audio(folder: Path, count: int) -> float:
    """Write the files, and return how many seconds they last together."""
    generator = np.random.default_rng(7)
    total = 0.0
    for number in range(count):
        seconds = generator.uniform(3, 16)
        total += seconds
        times = np.arange(int(seconds * RATE)) / RATE
        pitch = generator.uniform(90, 240)
        tones = sum(np.sin(2 * np.pi * pitch * k * times) / k for k in range(1, 20))
        syllables = np.clip(np.sin(2 * np.pi * generator.uniform(2, 5) * times), 0, 1)
        sound = syllables * (0.1 * tones + 0.05 * generator.normal(size=times.size))
        ends = generator.uniform(0.1, 0.6, 2) * RATE
        sound[: int(ends[0])] = 0
        sound[-int(ends[1]) :] = 0
        with wave.open(str(folder / f"{number:03}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(RATE)
            file.writeframes((sound.clip(-1, 1) * 32767).astype(np.int16).tobytes())
    return total


def features(library: Any, data: Any) -> Any:
    """Normalized log-mel spectra of what is not silent."""
    sound, _ = library.decoders.audio(data, downmix=True)
    begin, length = library.nonsilent_region(sound, cutoff_db=-60)
    sound = library.slice(sound, begin, length, axes=[0])
    sound = library.preemphasis_filter(sound)
    spectra = library.spectrogram(sound, nfft=512, window_length=320, window_step=160)
    mel = library.mel_filter_bank(spectra, sample_rate=RATE, nfilter=80)
    return library.normalize(library.to_decibels(mel, cutoff_db=-80), axes=[1])


def resampled(library: Any, data: Any) -> Any:
    """Audio at another rate."""
    return library.decoders.audio(data, downmix=True, sample_rate=22050)[0]


def pipelines(recipe: Any, files: list[str], options: Any) -> tuple[Any, Any]:
    """Functions that run an epoch as a pipeline of each library."""
    common = {
        "batch_size": options.batch_size,
        "num_threads": options.threads,
        "seed": 1,
        "prefetch_queue_depth": AHEAD,
    }

    @gradiva.pipeline_def(**common)
    def mine() -> Any:
        return recipe(fn, fn.readers.file(files=files)[0])

    @dali_pipeline_def(device_id=None, **common)
    def other() -> Any:
        return recipe(dali_fn, dali_fn.readers.file(files=files)[0])

    def epoch(pipe: Any) -> Callable[[], None]:
        pipe.build()

        def run() -> None:
            for _ in range(len(files) // options.batch_size):
                pipe.run()

        return run

    return epoch(mine()), epoch(other())


def loops(recipe: Any, files: list[str], options: Any, **capture: bool) -> tuple[Any, Any]:
    """Functions that run an epoch in the dynamic mode of each library."""
    gradiva.set_num_threads(options.threads)
    dali_dynamic.set_num_threads(options.threads)

    def epoch(library: Any) -> Callable[[], None]:
        reader = library.readers.File(files=files)

        def run() -> None:
            for data, _ in reader.next_epoch(batch_size=options.batch_size, **capture):
                recipe(library, data).evaluate()

        return run

    mine = epoch(gradiva)
    capture.clear()
    return mine, epoch(dali_dynamic)


def measure(name: str, rivals: tuple[Any, Any], rounds: int) -> Row:
    """Epochs of both in turns, in ms; what a pipeline has made ahead is made up for by what it
    makes ahead again."""

    def milliseconds(run: Callable[[], None]) -> float:
        started = time.perf_counter()
        run()
        return 1e3 * (time.perf_counter() - started)

    for run in rivals:
        run()
    mine, other = rivals
    ours, theirs = in_turns(lambda: milliseconds(mine), lambda: milliseconds(other), rounds)
    return row(name, ours, theirs, "ms", bigger=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--files", type=int, default=256)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        seconds = make_audio(Path(folder), options.files)
        files = sorted(str(path) for path in Path(folder).iterdir())
        print(f"{len(files)} files, {seconds:.0f} s of sound")
        rows = []
        for recipe in (features, resampled):
            name = recipe.__name__
            given = recipe, files, options
            rows.append(measure(f"{name}, pipeline", pipelines(*given), options.rounds))
            rows.append(measure(f"{name}, dynamic mode", loops(*given), options.rounds))
            captured = loops(*given, capture=True)
            rows.append(measure(f"{name}, captured loop", captured, options.rounds))
    save("audio", rows, seconds_of_sound=round(seconds))


if __name__ == "__main__":
    main()
