"""What only POSIX systems have is asked for: without it there are fallbacks, or errors that say so.

Windows is none of the systems that tests run on. Here a process of Python on Linux takes away what
is not there, before it imports gradiva."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import gradiva
from gradiva.eager.contexts import checkpoint_files
from gradiva.eager.support import positional
from tests.everything import EVERYTHING
from tests.ops.readers.formats import FORMATS, read_epoch
from tests.tiers import few

ROOT = Path(__file__).parents[2]
ABSENT: tuple[str, ...] = (
    "fork",
    "forkpty",
    "memfd_create",
    "pread",
    "preadv",
    "readv",
    "pwritev",
    "posix_fadvise",
)
ABSENT += ("posix_fallocate", "sched_getaffinity", "sched_setaffinity", "register_at_fork")
ABSENT += ("getuid", "geteuid", "getgid", "O_NONBLOCK", "O_CLOEXEC", "O_NOFOLLOW", "O_DIRECTORY")
PROGRAM = f"""
import asyncio, ctypes, importlib.util, multiprocessing, signal, socket, subprocess, sys, tempfile
import os
import numba, numpy
for name in {ABSENT}:
    if hasattr(os, name):
        delattr(os, name)
for module, names in ((socket, ["SCM_RIGHTS", "AF_UNIX"]), (signal, ["SIGKILL", "SIGRTMIN"])):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
for name in ("fcntl", "resource", "pwd", "grp"):
    sys.modules[name] = None  # importing it raises ImportError
library = ctypes.CDLL
def no_whole_program(name, *more, **options):
    if name is None:
        raise TypeError("as on Windows")
    return library(name, *more, **options)
ctypes.CDLL = no_whole_program

{EVERYTHING}
from gradiva import fn
photographs = os.path.join(os.path.dirname(gradiva.__file__), "photographs")
with gradiva.Pipeline(batch_size=2, num_threads=2, enable_checkpointing=True) as pipe:
    files, labels = fn.readers.file(file_root=photographs)
    pipe.set_outputs(fn.resize(fn.decoders.image(files), size=(8, 8)), labels)
first = pipe.run()
pipe.checkpoint("saved")
again = pipe.run()[0].as_array()
pipe.close()
with gradiva.Pipeline(
    batch_size=2, num_threads=2, enable_checkpointing=True, checkpoint="saved"
) as pipe:
    files, labels = fn.readers.file(file_root=photographs)
    pipe.set_outputs(fn.resize(fn.decoders.image(files), size=(8, 8)), labels)
assert numpy.array_equal(pipe.run()[0].as_array(), again)
pipe.close()

for method in ("fork", "spawn"):
    pipe = gradiva.Pipeline(
        batch_size=2, num_threads=1, py_num_workers=1, py_start_method=method
    )
    with pipe:
        batches = [numpy.zeros((2, 1))] * 5
        pipe.set_outputs(fn.external_source(source=batches, parallel=True))
    try:
        pipe.run()
    except gradiva.GradivaError as error:
        assert "worker processes" in str(error), error
    else:
        raise AssertionError("the workers ran")
    pipe.close()
print("all of it")
"""


@pytest.mark.full
def test_a_process_without_it(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert ran.stdout == "all of it\n"


@pytest.mark.parametrize("name", few(FORMATS, "tfrecord", "numpy", "webdataset"))
def test_reading_at_places(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = FORMATS[name]
    given = kind.write(tmp_path, 5)
    expected = read_epoch(kind.reader(**given), 2)
    for function in ("pread", "preadv", "readv", "posix_fadvise"):
        monkeypatch.delattr(os, function)
    assert read_epoch(kind.reader(**given), 2) == expected


def test_threads_that_read_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for function in ("pread", "preadv"):
        monkeypatch.delattr(os, function)
    content = np.arange(20_000, dtype="<u2")
    content.tofile(tmp_path / "numbers")
    handle = os.open(tmp_path / "numbers", os.O_RDONLY)
    wrong: list[int] = []

    def read(first: int) -> None:
        for place in range(first, 20_000 - 10, 97):
            target = bytearray(20)
            positional.read_into(handle, memoryview(target), 2 * place)
            if np.frombuffer(target, "<u2")[0] != place:
                wrong.append(place)

    threads = [threading.Thread(target=read, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.close(handle)
    assert not wrong


def test_checkpoints_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_files, "fcntl", None)
    monkeypatch.delattr(os, "O_DIRECTORY")
    checkpoint = gradiva.checkpoint.Checkpoint()
    checkpoint.register(gradiva.random.RNG(1), "a")
    checkpoint.collect()
    for _ in range(2):
        checkpoint.save(tmp_path / "saved")
    assert sorted(os.listdir(tmp_path)) == ["saved", "saved.previous"]
    assert gradiva.checkpoint.Checkpoint().load(tmp_path / "saved") == str(tmp_path / "saved")
