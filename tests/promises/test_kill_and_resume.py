"""Promise: a training loop that is killed at any moment, saving included, goes on bit by bit."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from gradiva import Pipeline, fn, pipeline_def
from gradiva.ops.decoders.audio.audio import wav_file
from tests.capture.loop.loops import bits
from tests.ops.video.bars import write
from tests.soaking import Figures, scaled

KILLS = scaled(20)


def shuffled() -> Iterator[Any]:
    """Another order in each round, so that earlier rounds count."""
    noise = np.random.default_rng(8)
    for number in noise.permutation(17):
        yield np.full((3, 4), number, np.float32)


def callback(info: Any) -> Any:
    return np.full((2,), info.idx_in_epoch, np.int32)


def arithmetic(folder: str, **options: Any) -> Pipeline:
    @pipeline_def(batch_size=3, enable_checkpointing=True, seed=5)
    def program() -> Any:
        rounds = fn.external_source(shuffled, cycle="quiet")
        numbers = fn.external_source(callback, batch=False)
        return rounds * 2 + fn.random.uniform(range=(0.0, 1.0)), numbers + 1

    return program(**options)


def pictures(folder: str, **options: Any) -> Pipeline:
    @pipeline_def(batch_size=3, enable_checkpointing=True, seed=6)
    def program() -> Any:
        files, labels = fn.readers.file(file_root=folder, random_shuffle=True)
        images = fn.flip(fn.decoders.image(files), horizontal=fn.random.coin_flip())
        return images, labels

    return program(**options)


def media(folder: str, **options: Any) -> Pipeline:
    """Videos, and audio of another length of the epoch."""

    @pipeline_def(batch_size=3, enable_checkpointing=True, seed=7)
    def program() -> Any:
        names = [f"{folder}/../{number}" for number in range(5)]
        films = [f"{name}.mp4" for name in names[:3]]
        frames = fn.experimental.readers.video(
            filenames=films, sequence_length=2, random_shuffle=True
        )
        files, _ = fn.readers.file(files=[f"{name}.wav" for name in names], random_shuffle=True)
        sounds, _ = fn.decoders.audio(files)
        return frames, sounds * fn.random.uniform(range=(0.0, 1.0))

    return program(**options)


PROGRAMS: dict[str, Callable[..., Pipeline]] = {
    "arithmetic": arithmetic,
    "pictures": pictures,
    "media": media,
}


def digest(pipe: Pipeline) -> str:
    found = repr([bits(batch) for batch in pipe.run()])
    return hashlib.sha256(found.encode()).hexdigest()[:16]


def train(name: str, folder: str, work: Path, life: int, steps: int | None) -> None:
    """One life of the training: from the checkpoint on, a line in the log and a checkpoint after
    each step, up to `steps` in all or until it is killed."""
    path, number = work / "checkpoint", 0
    options = {"num_threads": 1 + life % 3, "prefetch_queue_depth": 1 + life % 4}
    if path.exists():
        pipe = PROGRAMS[name](folder, checkpoint=path, **options)
        context = pipe.checkpoint_context
        assert context is not None
        number = context["step"]
    else:
        pipe = PROGRAMS[name](folder, **options)
    log = os.open(work / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    while steps is None or number < steps:
        line = f"{number} {digest(pipe)}\n"
        os.write(log, line.encode())
        number += 1
        pipe.checkpoint(path, context={"step": number})
    pipe.close()


@pytest.mark.alone
@pytest.mark.full
@pytest.mark.parametrize("name", PROGRAMS)
def test_killed_at_random_moments(name: str, tmp_path: Path, figures: Figures) -> None:
    noise = np.random.default_rng(5)
    folder = tmp_path / "pictures"
    for number in range(7):
        (folder / str(number % 2)).mkdir(parents=True, exist_ok=True)
        pixels = noise.integers(0, 255, (12, 12, 3), np.uint8)
        Image.fromarray(pixels).save(folder / str(number % 2) / f"{number}.png")
    for number in range(5):
        sound = np.arange(number, number + 40, dtype=np.int16).reshape(-1, 2)
        (tmp_path / f"{number}.wav").write_bytes(wav_file(sound, 8000).tobytes())
        if name == "media" and number < 3:
            write(tmp_path / f"{number}.mp4", frames=4, first=4 * number)
    work = tmp_path / "work"
    work.mkdir()
    whole = PROGRAMS[name](str(folder), num_threads=2)
    digest(whole)  # compiles what the children need

    # Forked children start with everything imported and compiled.
    processes = multiprocessing.get_context("fork")
    moments = random.Random(7)
    during_save = 0
    for life in range(KILLS):
        log = work / "log"
        before = log.stat().st_size if log.exists() else 0
        (work / ".checkpoint.saving").touch()  # what an earlier life may have left there
        left = (work / ".checkpoint.saving").stat()
        child = processes.Process(target=train, args=(name, str(folder), work, life, None))
        child.start()
        deadline = time.monotonic() + 60
        # Lives of two kinds: those that are killed at once, and those that come to some steps.
        patience = moments.uniform(0.0, 0.05) if life % 5 == 0 else None
        while patience is None and time.monotonic() < deadline:
            if log.exists() and log.stat().st_size > before + moments.randrange(200):
                break
            time.sleep(0.001)
        time.sleep(moments.uniform(0.0, 0.02) if patience is None else patience)
        assert child.is_alive()
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)
        child.join(10)
        assert child.exitcode == -signal.SIGKILL
        saving = work / ".checkpoint.saving"
        during_save += saving.exists() and saving.stat().st_mtime_ns != left.st_mtime_ns
    lines = [line.split() for line in (work / "log").read_text().splitlines()]
    steps = max(int(number) for number, _ in lines) + 4
    last = processes.Process(target=train, args=(name, str(folder), work, KILLS, steps))
    last.start()
    last.join(60)
    assert last.exitcode == 0

    lines = [line.split() for line in (work / "log").read_text().splitlines()]
    whole.close()
    whole = PROGRAMS[name](str(folder), num_threads=2)
    expected = [digest(whole) for _ in range(steps)]
    whole.close()
    assert {int(number) for number, _ in lines} == set(range(steps))
    # A step whose checkpoint was not saved any more was made twice, with the same bits.
    assert [found for _, found in lines] == [expected[int(number)] for number, _ in lines]
    assert during_save > 0
    figures(kills=KILLS, steps=steps, twice=len(lines) - steps, during_save=during_save)
    assert steps > KILLS
    assert sorted(os.listdir(work)) == ["checkpoint", "checkpoint.previous", "log"]
