"""Processes where little is allowed: another user than root, a home that cannot be written, no
shared memory in a folder, a locale of ASCII."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
import os, sys
import numpy as np
import gradiva
from gradiva import fn
from gradiva.eager.jit.kernel_cache import why_no_cache_folder
from gradiva.ops.external_source.workers import shared_memory


def callback(sample):
    return np.full(3, sample.idx_in_epoch, np.int32)


def attempt(folder):
    name = os.path.join(folder, os.fsdecode("\u00fc\u2603.npy".encode()))
    np.save(name, np.arange(6).reshape(1, 2, 3))
    for method in ("fork", "spawn") if "ASCII" in sys.argv else ("fork",):
        pipe = gradiva.Pipeline(
            batch_size=2, num_threads=2, py_num_workers=1, py_start_method=method,
            enable_checkpointing=True,
        )
        with pipe:
            numbers = fn.external_source(source=callback, parallel=True, batch=False)
            pipe.set_outputs(fn.readers.numpy(files=[name]), numbers)
        arrays, numbers = pipe.run()
        assert np.array_equal(arrays.at(0), np.arange(6).reshape(1, 2, 3))
        assert numbers.as_array().tolist() == [[0] * 3, [1] * 3]
        pipe.checkpoint(os.path.join(folder, "saved"))
        pipe.close()
    missing = os.path.join(folder, os.fsdecode("\u00fc.npy".encode()))
    reader = gradiva.readers.Numpy(files=[name, missing])
    try:
        for _ in reader.next_epoch(batch_size=2):
            pass
    except gradiva.GradivaError as error:
        print(error)  # in an encoding that has no such letters, they are escaped
    else:
        raise AssertionError("a file that is not there")
    assert os.path.exists(os.path.join(folder, "saved"))


if __name__ == "__main__":
    os.mkdir("first")
    assert bool(why_no_cache_folder()) == ("no home" in sys.argv)
    if "no shared folder" in sys.argv:
        shared_memory._HAS_MEMFD = False
        shared_memory._SHARED = shared_memory.Path("/nowhere")
    attempt("first")
    if "another user" in sys.argv:
        # What it needs is imported now: the interpreter may be where that user cannot look.
        os.mkdir("second")
        os.chmod("second", 0o777)
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        attempt("second")
    print("all of it")
"""
KINDS: dict[str, dict[str, str]] = {
    "another user": {},
    "no shared folder": {},
    "no home": {"HOME": "/proc/none"},
    "ASCII": {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_needed_there(kind: str) -> None:
    if kind == "another user" and os.geteuid() != 0:
        pytest.skip("this is another user already")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **KINDS[kind]}
    if kind == "no home":
        for name in ("GRADIVA_CACHE", "XDG_CACHE_HOME"):
            environment.pop(name, None)
    with tempfile.TemporaryDirectory() as folder:  # others cannot look into that of pytest
        os.chmod(folder, 0o755)
        (Path(folder) / "program.py").write_text(PROGRAM, encoding="utf-8")
        ran = subprocess.run(
            [sys.executable, "program.py", kind],
            cwd=folder,
            env=environment,
            capture_output=True,
            check=False,
        )
    assert ran.returncode == 0, ran.stderr.decode(errors="replace")[-3000:]
    assert ran.stdout.endswith(b"all of it\n")
