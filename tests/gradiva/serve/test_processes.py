"""Batchers and the ends of programs, Ctrl+C, and forks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.core,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="signals and forks are those of POSIX"),
]

ROOT = Path(__file__).parents[3]
PROGRAM = """
import os, signal, sys, threading, time
from gradiva.serve import Batcher, BatcherClosed

never = threading.Event()
signal.signal(signal.SIGINT, signal.default_int_handler)


def hangs(batch):
    print("running", flush=True)
    never.wait()
    return batch


"""


def run(text: str, interrupt: bool = False) -> tuple[int, str, str]:
    """The exit status, the output and the errors of a program, which ends by itself. interrupt:
    after its first line it gets Ctrl+C."""
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM + text],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    first = ""
    if interrupt:
        assert program.stdout is not None
        first = program.stdout.readline()
        program.send_signal(signal.SIGINT)
    told, errors = program.communicate(timeout=200)
    return program.returncode, first + told, errors


FORK = """
def double(batch):
    return batch * 2


def wait(batch):
    never.wait(60)
    return batch


batcher, held = Batcher(double), Batcher(wait)
assert batcher(1).item() == 2
running = held.submit(1)
while not held.stats()["running"]:
    time.sleep(0.001)
waits = held.submit(2)
child = os.fork()
if not child:
    # Its own threads; the counts begin again.
    assert [batcher(k).item() for k in range(5)] == [0, 2, 4, 6, 8]
    assert batcher.stats()["requests"] == 5
    for future in (running, waits):
        try:
            future.result(60)
        except BatcherClosed as error:
            assert "made before a fork" in str(error)
        else:
            raise AssertionError
    never.set()
    assert held(3).item() == 3
    assert batcher.close() and held.close()
    print("child")
    sys.stdout.flush()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
never.set()
assert [running.result(60).item(), waits.result(60).item()] == [1, 2]
assert batcher(2).item() == 4
print("parent")
"""


def test_a_fork() -> None:
    """Both processes go on; a request is answered by the process that made it."""
    assert run(FORK)[:2] == (0, "child\nparent\n")


@pytest.mark.full
def test_a_fork_in_the_function() -> None:
    """The child has no thread that waits for requests: it ends."""
    code, told, errors = run(
        """
def forks(batch):
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0
        print("ended", flush=True)
    return batch


print(Batcher(forks)(5).item())
"""
    )
    assert (code, told) == (0, "ended\n5\n"), errors


@pytest.mark.full
def test_ctrl_c_while_a_client_waits() -> None:
    """The program ends, although the function never returns."""
    code, told, errors = run("Batcher(hangs)(1)", interrupt=True)
    assert (code, told) == (-signal.SIGINT, "running\n")
    assert errors.count("KeyboardInterrupt") == 1
    assert "Exception ignored" not in errors


@pytest.mark.full
@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("batcher = Batcher(hangs); futures = [batcher.submit(k) for k in range(9)]", 0),
        ("batcher = Batcher(hangs); batcher.submit(1); sys.exit(3)", 3),
        ("with Batcher(hangs) as b: b.submit(1); b._engine.close(0.1)", 0),
        (
            "batcher = Batcher(hangs)\n"
            "threading.Thread(target=batcher, args=(1,), daemon=True).start()\n"
            "while not batcher.stats()['running']: time.sleep(0.001)",
            0,
        ),
    ],
)
def test_the_end_of_a_program(text: str, status: int) -> None:
    code, _, errors = run(text)
    assert code == status, errors
    assert "Fatal" not in errors
    assert "Exception ignored" not in errors
    if status == 3:
        assert errors == ""


@pytest.mark.full
def test_requests_of_other_threads_at_the_end() -> None:
    """Threads that are no daemons get their results before the program ends."""
    code, told, errors = run(
        """
def slow(batch):
    time.sleep(0.2)
    return batch


batcher = Batcher(slow)
threads = [threading.Thread(target=lambda k=k: print(batcher(k).item())) for k in range(3)]
for thread in threads:
    thread.start()
"""
    )
    assert code == 0, errors
    assert sorted(told.replace("\n", "")) == ["0", "1", "2"]
    assert errors == ""
