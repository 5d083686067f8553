"""Timelines of runs: a table, a picture for notebooks, and JSON for Perfetto and Chrome.

The JSON is the Trace Event Format that Chrome's tracing tools and https://ui.perfetto.dev read.
"""

from __future__ import annotations

import html
import json
import os
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from gradiva.eager.support.errors import OperatorValueError
from gradiva.eager.support.tracing import Event, Recording

if TYPE_CHECKING:
    from .executor import Executor

_WIDTH, _LABEL, _LANE = 920.0, 130.0, 26.0
_COLORS = (
    "#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#eeca3b", "#9d755d",
    "#ff9da6", "#1f9e89", "#8c6bb1", "#a6761d",
)  # fmt: skip
_WAITING, _OTHER = "#d8dee4", "#9aa5b1"
_WORK = ("source", "operator")


class _TimelineRow(NamedTuple):
    """One line of the table."""

    name: str
    calls: int
    milliseconds: float
    share: float


def record_timeline(executor: Executor, batches: int) -> Timeline:
    """Take batches until that many of them were made in sight, or the data ends.

    Those that had been made ahead are taken first. Raises what making a batch raised.
    """
    pool, ended, taken = executor.plan.pool, False, 0
    with executor.recorded() as recording:
        while not ended and (recording.first is None or taken - recording.first < batches):
            began = recording.now()
            try:
                executor.get()
            except StopIteration:
                ended = True
            else:
                recording.done(pool, "run", "run", began, batch=taken)
                taken += 1
    return Timeline(recording, executor.plan.graph.title, taken, ended)


class Timeline:
    """What happened in a traced run. Print it for a table; in a notebook it shows a picture too.

    title: the pipeline's function; batches: how many were taken; ended: whether the data ended;
    seconds: from the first call of `run` to the return of the last one.
    """

    def __init__(self, recording: Recording, title: str, batches: int, ended: bool) -> None:
        assert recording.end is not None
        self.title = title
        self.batches = batches
        self.ended = ended
        self.seconds = (recording.end - recording.begin) / 1e9
        self._begin, self._end = recording.begin, recording.end
        # What was still going on at the end is left out: others might see it half done.
        self._events = sorted(
            (
                event
                for event in list(recording.events)
                if event.end <= recording.end and (event.phase != "X" or event.end > event.begin)
            ),
            key=lambda event: (event.begin, -event.end),
        )
        self._user = threading.get_ident()
        names = dict(recording.threads)
        names[self._user] = f"user ({threading.current_thread().name})"
        order = sorted(names, key=lambda thread: (thread != self._user, _rank(names[thread])))
        self._threads = {thread: names[thread] for thread in order}

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events in the Trace Event Format: times in microseconds from the start of the run.

        Complete events (ph "X") are the calls of `run`, batches, sources, operators, ranges of
        samples in threads, and waits; counters (ph "C") the batches that are ready; flows (ph "s"
        and "f") lead from where a batch was made to where it was taken.
        """
        process = os.getpid()
        numbers = {thread: number for number, thread in enumerate(self._threads, 1)}
        found: list[dict[str, Any]] = [
            _metadata("process_name", process, 0, f"gradiva: {self.title}")
        ]
        for thread, number in numbers.items():
            found.append(_metadata("thread_name", process, number, self._threads[thread]))
        made = {event.facts["batch"] for event in self._events if event.kind == "batch"}
        taken = {event.facts["batch"] for event in self._events if event.kind == "run"}
        for event in self._events:
            begin = (event.begin - self._begin) / 1000
            common: dict[str, Any] = {
                "name": event.name,
                "cat": event.kind,
                "pid": process,
                "tid": numbers[event.thread],
                "ts": begin,
            }
            if event.phase == "C":
                found.append({**common, "ph": "C", "args": event.facts})
                continue
            duration = (event.end - event.begin) / 1000
            found.append({**common, "ph": "X", "dur": duration, "args": event.facts})
            batch = event.facts.get("batch")
            if event.kind in ("batch", "run") and batch in made & taken:
                flow = {**common, "name": "batch", "cat": "flow", "id": batch}
                # Both ends must lie within the events that they bind to.
                flow["ts"] = begin + duration * 0.999
                flow["ph"] = "s" if event.kind == "batch" else "f"
                found.append(flow if event.kind == "batch" else {**flow, "bp": "e"})
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the events as JSON. Raises OperatorValueError if that cannot be done."""
        try:
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"traceEvents": self.events, "displayTimeUnit": "ms"}, file)
        except OSError as error:
            raise OperatorValueError(
                f"the trace cannot be written: {error}",
                operator="Pipeline",
                argument="path",
                expected="a file that can be written",
                got=repr(os.fspath(path)),
            ) from error

    def _rows(self) -> list[_TimelineRow]:
        calls: dict[str, int] = {}
        times: dict[str, int] = {}
        for event in self._events:
            if event.kind in _WORK:
                calls[event.name] = calls.get(event.name, 0) + 1
                times[event.name] = times.get(event.name, 0) + event.end - event.begin
        whole = sum(times.values()) or 1
        order = sorted(times, key=lambda name: -times[name])
        return [
            _TimelineRow(name, calls[name], times[name] / 1e6, times[name] / whole)
            for name in order
        ]

    def _waited(self, word: str) -> float:
        """Milliseconds of waiting on a queue that was full, or empty."""
        return sum(
            (event.end - event.begin) / 1e6
            for event in self._events
            if event.kind == "wait" and event.name.endswith(word)
        )

    def _summary(self) -> str:
        plural = "" if self.batches == 1 else "es"
        return (
            f"{self.title}: {self.batches} batch{plural} in {self.seconds * 1000:.1f} ms; "
            f"the user waited {self._waited('empty'):.1f} ms on an empty queue, "
            f"the scheduler {self._waited('full'):.1f} ms on a full one"
        )

    def __str__(self) -> str:
        rows = self._rows()
        width = max(8, *(len(row.name) for row in rows)) if rows else 8
        lines = [self._summary(), f"{'operator':{width}}  calls    total ms   share"]
        lines += [
            f"{row.name:{width}}  {row.calls:5}  {row.milliseconds:10.2f}  {row.share:6.1%}"
            for row in rows
        ]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = self._rows()
        colors = {row.name: _COLORS[k % len(_COLORS)] for k, row in enumerate(rows)}
        cell = "style='text-align:right;padding:2px 10px'"
        body = "".join(
            "<tr><td style='text-align:left;padding:2px 10px'>"
            f"<span style='display:inline-block;width:10px;height:10px;margin-right:6px;"
            f"background:{colors[row.name]}'></span>{html.escape(row.name)}</td>"
            f"<td {cell}>{row.calls}</td><td {cell}>{row.milliseconds:.2f}</td>"
            f"<td {cell}>{row.share:.1%}</td></tr>"
            for row in rows
        )
        head = "".join(
            f"<th style='text-align:{side};padding:2px 10px'>{name}</th>"
            for name, side in (
                ("operator", "left"),
                ("calls", "right"),
                ("total ms", "right"),
                ("share", "right"),
            )
        )
        return (
            f"<div>{html.escape(self._summary())}</div>{self._picture(colors)}"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def _picture(self, colors: dict[str, str]) -> str:
        """A bar per thread, as SVG; gray is waiting."""
        height = _LANE * len(self._threads) + 34
        scale = (_WIDTH - _LABEL - 12) / max(self._end - self._begin, 1)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH:g}" height="{height:g}" '
            f'viewBox="0 0 {_WIDTH:g} {height:g}" font-family="sans-serif" font-size="11">'
            f'<rect width="{_WIDTH:g}" height="{height:g}" rx="8" fill="#ffffff"/>'
        ]
        for lane, (thread, name) in enumerate(self._threads.items()):
            top = 8 + lane * _LANE
            parts.append(
                f'<text x="10" y="{top + 15:g}" fill="#3d444d">{html.escape(name)}</text>'
                f'<rect x="{_LABEL:g}" y="{top:g}" width="{_WIDTH - _LABEL - 12:g}" '
                f'height="{_LANE - 5:g}" fill="#f6f8fa"/>'
            )
            drawn = 0.0
            for event in self._events:
                shown = event.thread == thread and event.phase == "X"
                if not shown or event.kind in ("batch", "run"):
                    continue
                if event.kind == "range" and not _is_worker(name):
                    continue  # within operators, which are drawn there
                left = _LABEL + (event.begin - self._begin) * scale
                wide = (event.end - event.begin) * scale
                if left + wide < drawn + 0.25:
                    continue  # less than can be seen
                drawn = left + wide
                parts.append(_bar(event, left, top, max(wide, 0.25), colors))
        base = height - 8
        for part in range(6):
            x = _LABEL + (_WIDTH - _LABEL - 12) * part / 5
            anchor = "end" if part == 5 else "middle" if part else "start"
            moment = self.seconds * 1000 * part / 5
            label = f"{moment:.3g}" if moment < 1000 else f"{moment:.0f}"
            label += " ms" if part == 5 else ""
            parts.append(
                f'<text x="{x:g}" y="{base:g}" text-anchor="{anchor}" fill="#6b7280">{label}</text>'
            )
        return "".join([*parts, "</svg>"])


def _bar(event: Event, left: float, top: float, wide: float, colors: dict[str, str]) -> str:
    color = _WAITING if event.kind == "wait" else colors.get(event.name, _OTHER)
    facts = ", ".join(f"{key} {value}" for key, value in event.facts.items())
    note = f"{event.name}: {(event.end - event.begin) / 1e6:.3f} ms {facts}".strip()
    return (
        f'<rect x="{left:.2f}" y="{top:g}" width="{wide:.2f}" height="{_LANE - 5:g}" '
        f'fill="{color}"><title>{html.escape(note)}</title></rect>'
    )


def _metadata(kind: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": process, "tid": thread, "ts": 0, "args": {"name": name}}


def _is_worker(name: str) -> bool:
    return name.removeprefix("gradiva-").isdigit()


def _rank(name: str) -> tuple[bool, bool, int, str]:
    """The scheduler before the runners before the workers, these by number."""
    return (name != "gradiva-scheduler", _is_worker(name), len(name), name)
