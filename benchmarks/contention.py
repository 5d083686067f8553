"""What the interpreter's lock allows on more cores than there are here: a prediction from numbers
that two cores can tell.

Of each recipe three numbers are measured by two and by sixteen worker threads: the CPU time of an
image, the time for which the interpreter is held for it (`py-spy`, without pauses), and how often a
batch makes a thread wait and wake (voluntary context switches). A simulation of runners, worker
threads, cores and the lock makes images per second of them:

- a batch holds the interpreter for its time, in as many pieces as it has waits;
- who gets the lock from another thread begins when it has woken up, and until then nobody has it;
- the rest of the batch is shared by the worker threads; all that run share the cores, of which one
  with two threads does 1.25 times the work of one with one.

`python benchmarks/contention.py`: needs `py-spy`. What it predicts for the machine of
`results/scaling_16_cores.txt`, for which only the rate by two threads is taken from there, stands
beside what was measured on it.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import tempfile
import threading
import time
from collections import deque
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from scaling import RECIPES, SIZES, make_data, pipeline, rate
from side_by_side import RESULTS, save

import gradiva

BATCH: Final = 64
CORES: Final = (2, 4, 8, 16, 32, 64)
BOTH: Final = 1.25
"""The work of a core that two threads share, of that of a core with one."""
PER_SECOND: Final = 500
_THREADS: Final = (2, 16)


@dataclass(frozen=True)
class Load:
    """What a batch takes: seconds of CPU time without and with the interpreter, and waits."""

    work: float
    held: float
    waits: float


@dataclass(frozen=True)
class Machine:
    """cores: of the processor; threads: that it runs at once on them; wake: seconds until a thread
    runs that was woken."""

    cores: int
    threads: int
    wake: float

    def speed(self, running: float) -> float:
        """How fast each of so many threads runs, of the speed that it has alone."""
        alone = min(running, self.cores)
        beside = min(max(running - self.cores, 0.0), self.threads - self.cores)
        return (alone + beside * (BOTH - 1.0)) / max(running, 1e-9)


class _Runner:
    """Makes batch after batch: holds the interpreter, shares the work, and so on."""

    def __init__(self, load: Load, pieces: int) -> None:
        self.load, self.pieces = load, pieces
        self.piece = 0
        self.left = 0.0
        self.state = "waiting"


def simulated(load: Load, machine: Machine, workers: int, seconds: float = 2.0) -> float:
    """Batches per second, by so many worker threads."""
    runners = 2 if workers <= 4 else 1 + max(2, min(2, workers // 4))
    pieces = max(int(round(load.waits)), 1)
    everybody = [_Runner(load, pieces) for _ in range(runners)]
    queue = deque(everybody)
    holder: _Runner | None = None
    waking = 0.0
    now, made = 0.0, 0
    while now < seconds:
        if holder is None and queue and waking <= 0.0:
            holder = queue.popleft()
            holder.state, holder.left = "holding", load.held / pieces
        shared = [one for one in everybody if one.state == "working"]
        busy = min(workers, machine.threads) if shared else 0
        speed = machine.speed(busy + (holder is not None))
        steps = [holder.left / speed] if holder is not None else []
        # The batch that began first has all worker threads.
        if shared:
            steps.append(shared[0].left / (busy * speed))
        if waking > 0.0:
            steps.append(waking)
        step = max(min(steps), 1e-9) if steps else seconds
        now += step
        waking -= step
        if shared:
            shared[0].left -= step * busy * speed
            if shared[0].left <= 1e-12:
                shared[0].state = "waiting"
                queue.append(shared[0])
        if holder is not None:
            holder.left -= step * speed
            if holder.left <= 1e-12:
                made += _end_of_piece(holder, everybody, queue)
                waking, holder = (machine.wake if queue else 0.0), None
    return made / now


def _end_of_piece(holder: _Runner, everybody: list[_Runner], queue: deque[_Runner]) -> int:
    """The holder gives the interpreter away. Returns the batches that are done by that."""
    holder.piece += 1
    if holder.piece < holder.pieces:
        holder.state, holder.left = "working", holder.load.work / holder.pieces
    else:
        holder.piece, holder.state, holder.left = 0, "working", holder.load.work / holder.pieces
    everybody.remove(holder)
    everybody.append(holder)  # who began to work last is served last
    return int(holder.piece == 0)


def wake_time(rounds: int = 2000) -> float:
    """Seconds until a thread runs that waits for a lock, and then for the interpreter."""
    there, back = threading.Lock(), threading.Lock()
    there.acquire()
    back.acquire()

    def answer() -> None:
        for _ in range(rounds):
            there.acquire()
            back.release()

    thread = threading.Thread(target=answer)
    thread.start()
    began = time.perf_counter()
    for _ in range(rounds):
        there.release()
        back.acquire()
    passed = time.perf_counter() - began
    thread.join()
    return passed / rounds / 2


def held_share(pid: int, seconds: int) -> float:
    """The share of the time in which a thread of the process holds the interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "stacks"
        asked = ["--gil", "--nonblocking", "-f", "raw", "-r", str(PER_SECOND), "-d", str(seconds)]
        command = ["py-spy", "record", *asked, "-o", str(found), "--pid", str(pid)]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        stacks = found.read_text().splitlines() if found.exists() else []
    return sum(int(line.rsplit(" ", 1)[1]) for line in stacks) / (PER_SECOND * seconds)


def load_of(pipe: Any, seconds: int) -> Load:
    """What a batch of a pipeline takes here."""
    rate(pipe, BATCH, 20 * BATCH)
    shares: list[float] = []
    watcher = threading.Thread(target=lambda: shares.append(held_share(_own(), seconds)))
    watcher.start()
    made, began, before = 0, time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    while watcher.is_alive():
        pipe.run()
        made += 1
    passed, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    held = shares[0] * passed / made
    waits = (after.ru_nvcsw - before.ru_nvcsw) / made
    return Load(max(processor / made - held, 0.0), held, waits)


def _own() -> int:
    return int(Path("/proc/self").resolve().name)


def known_rates(name: str) -> dict[int, float]:
    """Images per second by threads, as they were measured on sixteen threads of eight cores."""
    found: dict[int, float] = {}
    text = (RESULTS / "scaling_16_cores.txt").read_text()
    pattern = rf"^{re.escape(name)}, (\d+) threads +ours +([\d.]+)"
    for threads, images in re.findall(pattern, text, re.MULTILINE):
        found.setdefault(int(threads), float(images))
    return found


def between(first: Load, last: Load, workers: int) -> Load:
    """The load by so many worker threads, from those by two and by sixteen: waits grow with the
    threads."""
    low, high = _THREADS
    part = (workers - low) / (high - low)
    return replace(first, waits=max(first.waits + part * (last.waits - first.waits), 1.0))


def predicted(name: str, loads: list[Load], wake: float) -> dict[str, Any]:
    """A row: images per second by cores, and beside those that are known."""
    row: dict[str, Any] = {"name": name, "held_us": round(1e6 * loads[0].held / BATCH, 2)}
    row["waits_per_batch"] = {
        str(t): round(one.waits, 1) for t, one in zip(_THREADS, loads, strict=True)
    }
    row["by_cores"] = {}
    for cores in CORES:
        load, machine = between(*loads, cores), Machine(cores, cores, wake)
        row["by_cores"][str(cores)] = round(BATCH * simulated(load, machine, cores))
    known = known_rates(name)
    if known:
        scale = _fitted(loads, known[2], wake)
        row["known"] = {}
        for workers, images in sorted(known.items()):
            load = between(*loads, workers)
            load = replace(load, work=load.work * scale, held=load.held * scale)
            made = BATCH * simulated(load, Machine(8, 16, wake), workers)
            row["known"][str(workers)] = {
                "measured": round(images),
                "predicted": round(made),
                "error": round(made / images - 1, 3),
            }
    return row


def _fitted(loads: list[Load], images: float, wake: float) -> float:
    """How much slower a core of that machine is, by its rate with two threads."""
    low, high = 0.1, 10.0
    for _ in range(30):
        scale = (low * high) ** 0.5
        load = replace(loads[0], work=loads[0].work * scale, held=loads[0].held * scale)
        if BATCH * simulated(load, Machine(8, 16, wake), 2, seconds=0.5) > images:
            low = scale
        else:
            high = scale
    return scale


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--seconds", type=int, default=6, help="for each measurement")
    parser.add_argument("--only", default="", help="a part of the names of the rows to measure")
    options = parser.parse_args()
    wake = wake_time()
    print(f"waking a thread takes {1e6 * wake:.1f} us")
    rows = []
    for size, (width, height, sizes) in SIZES.items():
        with tempfile.TemporaryDirectory() as folder:
            make_data(Path(folder), width, height, options.files)
            for label, (recipe, names) in RECIPES.items():
                name = f"{label}, {size}"
                if options.only not in name:
                    continue
                program = partial(recipe, **{one: sizes[one] for one in names})
                loads = []
                for threads in _THREADS:
                    pipe = pipeline(gradiva, program, folder, threads, BATCH)
                    loads.append(load_of(pipe, options.seconds))
                    pipe.close()
                rows.append(predicted(name, loads, wake))
                print(rows[-1])
    save("contention", rows, wake_us=round(1e6 * wake, 2))


if __name__ == "__main__":
    main()
