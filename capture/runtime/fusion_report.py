"""Reports on the fused groups of a program: how often each ran fused, why not, and for how long."""

from __future__ import annotations

import enum
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gradiva.capture.graph.graph import Graph, Node
from gradiva.capture.graph.html_table import html_table
from gradiva.eager.jit.jit import compiled_kernels
from gradiva.eager.support.errors import Location

__all__ = [
    "FusionExplanation",
    "FusionReport",
    "GroupReport",
    "NotFusableError",
    "Reason",
    "Stopwatch",
    "notes_of",
]

NOTICED_S = 1.0
"""A group that ran unfused for less time than this, in seconds, gives no warning."""
COSTLY = 0.2
"""The fraction of a program's time from which on there is a warning."""
GAIN = 0.5
"""The assumed gain of fusing, for a group that never ran fused."""


class Reason(enum.Enum):
    """Why the members of a group ran one by one: a code, and its meaning."""

    EMPTY_BATCH = "the batch is empty"
    BAD_SAMPLE = "a sample could not be read, and is left out or replaced"
    MEMBER_ERROR = "a member raised an error"
    DTYPE = "a dtype that the fused kernels do not compute with"
    ROUNDING = "a half-precision value is rounded between two members"
    PER_FRAME = "an argument per frame"
    LAYOUT = "a layout without height and width beside each other"
    VOLUME = "a resize of volumes"
    CHANNELS = "samples of a batch with different numbers of channels"
    PLANES = "arithmetic between channels that are planes"
    PARAMETERS = "parameters for another number of channels"
    ORDER = "a window or flip after a change of values"
    FLIP_BEFORE_RESIZE = "on a GPU, a flip before a resize"
    MEMBER = "a member whose effect on this batch the fused kernels do not have"
    DECODER_ALONE = "a decoder and nothing else"
    NO_RESIZE = "on a GPU a group begins with a resize"
    MEMORY = "there is not enough memory"
    OPERANDS = "operands that the fused arithmetic does not take"


class NotFusableError(Exception):
    """The data do not fit the fused kernels. reason: the code; detail: about these data; call,
    first: of the first member that does not fit, if it is known, and its number."""

    def __init__(
        self, reason: Reason, detail: str = "", call: Any = None, first: int | None = None
    ) -> None:
        super().__init__(f"{reason.value} ({detail})" if detail else reason.value)
        self.reason = reason
        self.detail = detail
        self.call = call
        self.first = first


@dataclass(frozen=True, slots=True)
class Timing:
    """Timed runs: their number, their samples and their seconds."""

    runs: int = 0
    samples: int = 0
    seconds: float = 0.0

    def plus(self, samples: int, seconds: float | None) -> Timing:
        """With one more run; None means that it was not timed."""
        if seconds is None:
            return self
        return Timing(self.runs + 1, self.samples + samples, self.seconds + seconds)


@dataclass(slots=True)
class GroupReport:
    """The runs of one group. location: the user's line of its first member.

    batches: that were not empty; fused: of these, those that ran as one; partly: those of which
    some members ran as one; reasons: how often not all did, by code and detail. Runs in which a
    kernel was compiled are not timed.
    """

    members: tuple[str, ...]
    location: Location | None
    fused: int = 0
    partly: int = 0
    separate: int = 0
    reasons: Counter[tuple[Reason, str]] = field(default_factory=Counter)
    time_fused: Timing = Timing()
    time_partly: Timing = Timing()
    time_separate: Timing = Timing()
    warned: bool = False

    @property
    def batches(self) -> int:
        return self.fused + self.partly + self.separate

    @property
    def cost(self) -> float:
        """The additional seconds of running unfused, compared with running fused. Estimated if the
        group never ran fused."""
        fused, separate = self.time_fused, self.time_separate
        if not fused.samples:
            return separate.seconds * GAIN
        return max(0.0, separate.seconds - separate.samples * fused.seconds / fused.samples)

    @property
    def title(self) -> str:
        return " + ".join(self.members)

    def __str__(self) -> str:
        lines = [f"{self.title}: {'fused in ' if self.batches else ''}{self.runs}"]
        lines[0] += "".join(f", {text}" for text in self.times())
        lines.append(f"  {self.location or 'no line known'}")
        lines += [f"  not fused: {text}" for text in self.whys()]
        return "\n".join(lines)

    @property
    def runs(self) -> str:
        """The number of fused runs."""
        if not self.batches:
            return "not run yet with this program"
        parts = f", in parts in {self.partly}" if self.partly else ""
        return f"{self.fused} of {self.batches} batches{parts}"

    def times(self) -> list[str]:
        """The mean time of a batch: fused, partly fused and unfused."""
        timings = (
            (self.time_fused, "ms a batch fused"),
            (self.time_partly, "ms a batch in parts"),
            (self.time_separate, "ms a batch member by member"),
        )
        return [f"{1e3 * it.seconds / it.runs:.2f} {how}" for it, how in timings if it.runs]

    def whys(self) -> list[str]:
        """Each reason with its code, the most frequent first."""
        return [
            f"{count} x {reason.name}: {reason.value}{f' ({detail})' if detail else ''}"
            for (reason, detail), count in self.reasons.most_common()
        ]


class Stopwatch:
    """A start time."""

    __slots__ = ("_began", "_compiled")

    def __init__(self) -> None:
        self._began, self._compiled = time.perf_counter(), len(compiled_kernels)

    def seconds(self) -> float | None:
        """The seconds since then; None if a kernel was compiled or loaded meanwhile."""
        same = len(compiled_kernels) == self._compiled
        return time.perf_counter() - self._began if same else None


class FusionReport:
    """The reports of the groups of one program, which several threads may run."""

    def __init__(self, graph: Graph) -> None:
        self._lock = threading.Lock()
        self._seconds = 0.0
        self._groups: dict[Node, GroupReport] = {}
        for node in graph.nodes:
            if node.members:
                names = tuple(member.operator.name for member in node.members)
                lines = graph.locations.get(node.members[0]) or graph.locations.get(node) or ()
                self._groups[node] = GroupReport(names, next(iter(lines), None))

    def ran(self, began: Stopwatch) -> None:
        """The program has run since this mark."""
        seconds = began.seconds()
        with self._lock:
            self._seconds += seconds or 0.0

    def fused(self, node: Node, samples: int, began: Stopwatch) -> None:
        """A group ran fused."""
        seconds = began.seconds()
        with self._lock:
            group = self._groups[node]
            group.fused += 1
            group.time_fused = group.time_fused.plus(samples, seconds)

    def partly(
        self, node: Node, samples: int, began: Stopwatch, reason: Reason, detail: str
    ) -> None:
        """Some members of a group ran fused."""
        seconds = began.seconds()
        with self._lock:
            group = self._groups[node]
            group.partly += 1
            group.time_partly = group.time_partly.plus(samples, seconds)
            group.reasons[reason, detail] += 1

    def separate(
        self, node: Node, samples: int, began: Stopwatch, reason: Reason, detail: str
    ) -> None:
        """The members of a group ran one by one. Warns once if that takes much of the time."""
        if reason is Reason.EMPTY_BATCH:
            return
        seconds = began.seconds()
        with self._lock:
            group = self._groups[node]
            group.separate += 1
            group.time_separate = group.time_separate.plus(samples, seconds)
            group.reasons[reason, detail] += 1
            total = self._seconds + (seconds or 0.0)
            costly = group.time_separate.seconds > NOTICED_S and group.cost > COSTLY * total
            if not costly or group.warned:
                return
            group.warned = True
        _warn(group, group.cost / total)

    def groups(self) -> list[GroupReport]:
        """The current reports, in the order of the graph."""
        with self._lock:
            return [replace(it, reasons=it.reasons.copy()) for it in self._groups.values()]


def _warn(group: GroupReport, share: float) -> None:
    text = (
        f"{group.title} runs member by member in {group.separate} of {group.batches} batches, "
        f"at an estimated cost of {share:.0%} of the time: {group.whys()[0]} (explain() tells more)"
    )
    where = group.location
    if where is None:
        warnings.warn(text, stacklevel=2)
    else:
        warnings.warn_explicit(text, UserWarning, where.code.co_filename, where.line)


def notes_of(graph: Graph | None) -> list[str]:
    """What `explain` says of calls beside groups and caches."""
    nodes = () if graph is None else graph.nodes
    texts = [
        node.operator.note(dict(node.attributes))
        for node in nodes
        if node.operator.note is not None
    ]
    return [text for text in texts if text]


class FusionExplanation(Sequence[GroupReport]):
    """The groups of one or several programs. Prints as text, and as a table in a notebook.

    others: the names of the operators of the calls that are in no group, for a text that says all
    that a program computes. caches: what the caches of the program have done, and notes on calls, a
    line for each.
    """

    def __init__(
        self,
        title: str,
        groups: Iterable[GroupReport],
        others: Iterable[str] = (),
        caches: Iterable[str] = (),
    ) -> None:
        self.title = title
        self.others = tuple(others)
        self.caches = tuple(caches)
        self._groups = tuple(groups)

    def __len__(self) -> int:
        return len(self._groups)

    def __getitem__(self, number):  # type: ignore[no-untyped-def]
        return self._groups[number]

    def __iter__(self) -> Iterator[GroupReport]:
        return iter(self._groups)

    def __str__(self) -> str:
        count = len(self)
        head = f"{self.title}: {count or 'no'} fused group{'' if count == 1 else 's'}"
        if self.others:
            times = Counter(self.others).items()
            names = (name if many == 1 else f"{name} x {many}" for name, many in times)
            head += f"; outside of fused groups: {', '.join(names)}"
        texts = (f"{number}. {group}" for number, group in enumerate(self, start=1))
        return "\n".join([head, *(text.replace("\n", "\n   ") for text in texts), *self.caches])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        columns = ("group", "runs fused", "per batch", "why not", "`line`")
        rows = (
            (
                group.title,
                group.runs,
                ", ".join(group.times()),
                "\n".join(group.whys()),
                group.location or "no line known",
            )
            for group in self
        )
        table = html_table(str(self).partition("\n")[0], columns, rows)
        return table + "".join(html_table(text, (), ()) for text in self.caches)
