"""`Diagnosis`: the bottleneck of a pipeline, and the gain of removing it.

Each part of a pipeline has a rate that it would allow on its own: the measured rate divided by the
fraction of the time in which the part was busy (the utilization law of queueing networks; Denning
and Buzen, The Operational Analysis of Queueing Network Models, 1978). The part with the lowest rate
is the bottleneck, and the next one limits what removing it can gain.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from gradiva.capture.caches.options import described
from gradiva.capture.graph.html_table import html_table
from gradiva.eager.runtime.usage import Usage, used_since
from gradiva.eager.runtime.worker_pool import default_num_threads
from gradiva.eager.support.errors import OperatorValueError
from gradiva.eager.support.tracing import Recording

if TYPE_CHECKING:
    from .executor import Executor

__all__ = ["Diagnosis", "Limit", "diagnose"]

SATURATED = 0.75
"""From this fraction of the time on, a part is taken to delay the others."""
BLOCKED = 0.3
"""From this fraction of the time of working threads on, their waiting is reported."""
CROWDED = 0.2
"""The same, for waiting for a core."""
SLOW_DISK = 1e6
"""Reading from a disk is reported from this many bytes per second on."""


@dataclass(frozen=True)
class Limit:
    """A part of the pipeline. busy: the fraction of the time in which it was busy; rate: samples
    per second if this part were the only limit; note: what it did."""

    part: str
    busy: float
    rate: float
    note: str


@dataclass(frozen=True)
class Diagnosis:
    """What a pipeline spent its time on. Prints as a sentence and tables.

    rate: samples per second; limits: the parts, the slowest first: "threads" (the worker threads of
    the pipeline, `num_threads`), "processors" (the cores of the machine, with all that this process
    runs on them), "reading" (readers and sources, which one thread runs), "your loop" (the
    consumer); bottleneck: the part that holds the others up, or "one thread at a time", "the
    interpreter", "other programs"; gain: how many times faster it could be without that, as far as
    can be told; verdict: the sentence; operators: the share of the working time of each; waiting:
    of the working threads' time, the share spent on waiting for the interpreter's lock or for
    files; crowded: on waiting for a core; None where the system does not tell; caches: what each
    cache of the pipeline has done so far.
    """

    title: str
    seconds: float
    batches: int
    rate: float
    limits: tuple[Limit, ...]
    operators: dict[str, float]
    waiting: float | None
    crowded: float | None
    usage: Usage = field(repr=False)
    bottleneck: str = ""
    gain: float = 1.0
    verdict: str = ""
    caches: tuple[str, ...] = ()

    def __str__(self) -> str:
        width = max(map(len, (*self.operators, *(limit.part for limit in self.limits))))
        lines = [self.verdict, f"{'part':{width}}   busy  samples/s", *self._parts(width)]
        lines += [f"{'operator':{width}}  share"]
        lines += [f"{name:{width}}  {share:5.1%}" for name, share in self.operators.items()]
        return "\n".join([*lines, *self._notes()])

    __repr__ = __str__

    def _parts(self, width: int) -> list[str]:
        return [
            f"{it.part:{width}}  {it.busy:5.0%}  {it.rate:9.0f}  {it.note}".rstrip()
            for it in self.limits
        ]

    def _notes(self) -> list[str]:
        usage, found = self.usage, list[str]()
        if self.waiting is not None:
            found.append(
                f"working threads waited for the interpreter or for files: {self.waiting:.0%}"
            )
        if self.crowded is not None:
            found.append(f"and for a core: {self.crowded:.0%}")
        if usage.disk_bytes is not None:
            found.append(f"read from disk: {usage.disk_bytes / self.seconds / 1e6:.1f} MB/s")
        if usage.faults is not None:
            found.append(f"pages read from disk: {usage.faults}")
        return [*found, *self.caches]

    def _repr_html_(self) -> str:
        parts = html_table(
            self.verdict,
            ("part", "busy:", "samples/s:", ""),
            ((it.part, f"{it.busy:.0%}", f"{it.rate:.0f}", it.note) for it in self.limits),
        )
        shares = ((name, f"{share:.1%}") for name, share in self.operators.items())
        return parts + html_table("; ".join(self._notes()), ("operator", "share:"), shares)

    def to_json(self) -> str:
        """All of it for a program."""
        return json.dumps(asdict(self))


def diagnose(
    executor: Executor,
    take: Callable[[], tuple[Any, ...]],
    seconds: float,
    consumer: Callable[[tuple[Any, ...]], object] | None,
) -> Diagnosis:
    """Take batches for about so long, and say what held them up. take: the next batch; it begins
    again where the data end. Raises what making a batch raises; OperatorValueError without data."""
    for _ in range(executor.depth + 2):  # the kernels are loaded and the queues are filled
        _use(take(), consumer)
    batches = samples = 0
    consumed = 0
    pool = executor.plan.pool
    with executor.recorded() as recording:
        before = Usage.now()
        while recording.now() - recording.begin < seconds * 1e9:
            outputs = take()
            batches += 1
            samples += max(map(len, outputs), default=0)
            began = recording.now()
            _use(outputs, consumer)
            consumed += recording.now() - began
            del outputs
    usage = used_since(before)
    assert recording.end is not None
    wall = recording.end - recording.begin
    if not samples:
        raise OperatorValueError(
            "the batches are empty", operator="Pipeline.diagnose", argument="seconds"
        )
    sums = _sums(recording)
    waiting = crowded = None
    ranges = sums.get("range", 0)
    work = ranges if pool.num_threads > 1 and ranges else sums["operator"] + sums["source"]
    if ranges and len(usage.threads) >= pool.num_threads > 1:
        ran = sum(ran for ran, _ in usage.threads.values())
        ready = sum(ready for _, ready in usage.threads.values())
        waiting = max(0.0, 1 - (ran + ready) / ranges)
        crowded = min(ready / ranges, 1.0)
    threads = min(work / wall, float(pool.num_threads))  # the clocks of several threads
    cores = default_num_threads()
    limits = [
        _limit(
            "threads",
            threads / pool.num_threads,
            samples / wall * 1e9,
            f"{threads:.1f} of {pool.num_threads} at work",
        ),
        _limit(
            "processors",
            usage.cpu_time * 1e9 / wall / cores,
            samples / wall * 1e9,
            f"{usage.cpu_time * 1e9 / wall:.1f} of {cores}",
        ),
        _limit("reading", sums["source"] / wall, samples / wall * 1e9, _read(usage, wall)),
    ]
    if consumer is not None:
        limits.append(_limit("your loop", consumed / wall, samples / wall * 1e9, ""))
    found = Diagnosis(
        title=executor.plan.graph.title,
        seconds=wall / 1e9,
        batches=batches,
        rate=samples / wall * 1e9,
        limits=tuple(sorted(limits, key=lambda limit: limit.rate)),
        operators=_shares(recording),
        waiting=waiting,
        crowded=crowded,
        usage=usage,
        caches=tuple(described(executor.plan.graph)),
    )
    return _judged(found, pool.num_threads, cores)


def _use(outputs: tuple[Any, ...], consumer: Callable[[tuple[Any, ...]], object] | None) -> None:
    if consumer is not None:
        consumer(outputs)


def _limit(part: str, busy: float, rate: float, note: str) -> Limit:
    return Limit(part, busy, rate / busy if busy > 0 else float("inf"), note)


def _read(usage: Usage, wall: int) -> str:
    speed = (usage.disk_bytes or 0) * 1e9 / wall
    return f"{speed / 1e6:.0f} MB/s from disk" if speed > SLOW_DISK else ""


def _sums(recording: Recording) -> dict[str, int]:
    """Nanoseconds by kind of event."""
    found = {"operator": 0, "source": 0}
    for event in recording.events:
        if event.phase == "X" and recording.end is not None:
            took = min(event.end, recording.end) - event.begin
            found[event.kind] = found.get(event.kind, 0) + max(took, 0)
    return found


def _shares(recording: Recording) -> dict[str, float]:
    """The share of each operator in the total time, the largest first."""
    times: dict[str, int] = {}
    for event in recording.events:
        if event.kind in ("operator", "source"):
            times[event.name] = times.get(event.name, 0) + event.end - event.begin
    whole = sum(times.values()) or 1
    order = sorted(times.items(), key=lambda item: -item[1])
    return {name: took / whole for name, took in order}


def _judged(found: Diagnosis, threads: int, cores: int) -> Diagnosis:
    """The result with bottleneck, gain and verdict."""
    slowest = found.limits[0]
    rates = [limit.rate for limit in found.limits if limit.part != slowest.part]
    heaviest, share = next(iter(found.operators.items()), ("", 0.0))
    heavy = f"{heaviest} takes {share:.0%} of the work"
    gain = min(rates) / found.rate
    part = slowest.part
    crowded = (found.crowded or 0.0) > CROWDED
    if slowest.busy < SATURATED and not crowded:
        gain = slowest.rate / found.rate
        if (found.waiting or 0.0) > BLOCKED:
            part = "the interpreter"
            why = (
                f"the threads spend {found.waiting:.0%} of their time waiting for the interpreter's"
                " lock or for files: larger samples, operators in place of Python functions, or "
                "parallel=True for an external source relieve it"
            )
        else:
            part = "one thread at a time"
            why = (
                "reading, the threads that compute and your loop wait for one another, and none is "
                "busy all the time: a larger batch_size gives the threads more samples at once, "
                "and a larger prefetch_queue_depth lets reading and computing overlap more"
            )
    elif slowest.busy < SATURATED:
        part, gain, why = "other programs", *_crowded(found, heavy)
    elif part == "your loop":
        why = f"it is busy {slowest.busy:.0%} of the time, and batches wait for it"
    elif part == "reading":
        note = f", {slowest.note}" if slowest.note else ""
        why = f"one thread reads, {slowest.busy:.0%} of the time ({heaviest}{note})"
    elif crowded and part != "processors":
        part, gain, why = "other programs", *_crowded(found, heavy)
    elif part == "threads" and threads < cores:
        gain = min(gain, cores / threads)
        why = f"{slowest.note}, and there are {cores} cores: num_threads={cores}; {heavy}"
    else:
        part = "processors" if threads >= cores else part
        others = [limit.rate for limit in found.limits if limit.part not in ("threads", part)]
        gain = min(others, default=slowest.rate) / found.rate
        why = f"all {cores} cores are at work; {heavy}"
    gain = max(gain, 1.0)
    more = f" Without that: up to about {found.rate * gain:,.0f} samples/s." if gain > 1.05 else ""
    verdict = f"{found.title}: {found.rate:,.0f} samples/s, held up by {part}: {why}.{more}"
    return Diagnosis(**{**vars(found), "bottleneck": part, "gain": gain, "verdict": verdict})


def _crowded(found: Diagnosis, heavy: str) -> tuple[float, str]:
    """The gain and the reason if other programs use the cores."""
    waits = found.crowded or 0.0
    why = f"the threads wait {waits:.0%} of their time for a core; {heavy}"
    return 1 / (1 - min(waits, 0.9)), why
