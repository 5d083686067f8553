"""A process that forks while another of its threads compiles: the child compiles for itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.full, pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")]

PROGRAM = """
import os, signal, sys, threading, time, warnings

warnings.simplefilter("ignore")  # Python warns of forks of processes with threads
import numpy as np
import gradiva
from gradiva.eager.jit import jit as module

first, second = sys.argv[1:]
CALLS = {{
    "brightness": lambda: gradiva.fn.brightness(images, brightness=1.5),
    "hue": lambda: gradiva.fn.hue(images, hue=40.0),
}}
images = gradiva.batch([np.arange(9 * 8 * 3, dtype=np.uint8).reshape(9, 8, 3)], layout="HWC")
done = []
thread = threading.Thread(target=lambda: done.append(CALLS[first]()))
thread.start()
while thread.is_alive() and not module._since and {loading} == 0:
    time.sleep(0.001)
while {loading} and "numba" not in sys.modules:
    time.sleep(0.001)
child = os.fork()
if child == 0:
    signal.alarm(120)  # if it hangs, the system ends it
    made = CALLS[second]()
    os._exit(int(made.at(0).size == 0))
thread.join()
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert done
print("both are there")
"""


@pytest.mark.parametrize(
    ("first", "second", "loading"), [("hue", "hue", 0), ("brightness", "hue", 1)]
)
def test_a_fork_while_a_kernel_is_compiled(
    tmp_path: Path, first: str, second: str, loading: int
) -> None:
    """loading: while Numba itself is being imported."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(loading=loading))
    told = {**os.environ, "GRADIVA_CACHE": str(tmp_path / "cache"), "GRADIVA_PREBUILT": "0"}
    done = subprocess.run(
        [sys.executable, str(program), first, second],
        env=told,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout == "both are there\n", done.stderr
