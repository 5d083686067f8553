"""Promise: a program ends when it wants to, or is told to by Ctrl+C, whatever is running: with its
own exit status, and without words about what was going on inside."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.soaking import Figures, scaled

from .exit_programs import INTERRUPTED, PROGRAMS

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
PATIENCE = 200.0
"""Seconds, on a machine that has much else to do; what hangs, hangs for ever."""


def _heed() -> None:
    """As from a terminal: a shell starts its background jobs with the signal ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def start(name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.promises.exit_programs", name],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        preexec_fn=_heed,  # noqa: PLW1509
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_exits(name: str, figures: Figures) -> None:
    for _ in range(scaled(1)):
        program = start(name)
        _, told = program.communicate(timeout=PATIENCE)
        assert program.returncode == PROGRAMS[name][1], told
        if name == "raises":
            assert told.rstrip().endswith("ValueError: of the program"), told
            assert told.count("Traceback") == 1, told
        elif name == "in a thread":  # which may be told why its run ended, or be cut short in that
            assert "Fatal" not in told
        else:
            assert told == ""
    figures(exits=scaled(1))


@pytest.mark.parametrize("name", INTERRUPTED)
def test_control_c(name: str, figures: Figures) -> None:
    moments = random.Random(name)
    for _ in range(scaled(1)):
        program = start(name)
        assert program.stdout is not None
        assert program.stdout.readline() == "running\n"
        time.sleep(moments.uniform(0, 0.05))  # at any moment
        program.send_signal(signal.SIGINT)
        _, told = program.communicate(timeout=PATIENCE)
        assert program.returncode == -signal.SIGINT, told
        assert told.count("KeyboardInterrupt") == 1, told
        assert "Exception ignored" not in told
    figures(interrupts=scaled(1))
