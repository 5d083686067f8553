"""Quarantine: a list of samples that could not be read, and were dropped or replaced.

Operators with `on_error="skip"` or `"replace"` report to the current collector of the calling
context: by default that of the process, otherwise that of a `with` block or of a pipeline's batch.
"""

from __future__ import annotations

import csv
import json
import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, overload

from gradiva.eager.support.user_warning import warn_user

_MOST = 10_000
_REMEMBERED = 1024


class Quarantined(NamedTuple):
    """One sample that could not be read. file, position: as in `Batch.source_info` and
    `Batch.positions`, None where not known; operator: that met the error; reason: what it said;
    iteration: of the pipeline, counted from 0, None in dynamic mode."""

    file: str | None
    position: int | None
    operator: str
    reason: str
    iteration: int | None = None


def place_of(entry: Quarantined) -> int:
    """The sort key of the entries of a batch."""
    return -1 if entry.position is None else entry.position


class Quarantine(Sequence[Quarantined]):
    """A bounded list of `Quarantined` samples; may be read while it grows.

    most: how many entries are kept; `total` goes on counting. The first entry gives a warning, if
    `warns`. As a block, `with Quarantine() as bad:`, it collects what dynamic mode meets there.
    """

    _of_one_batch = False

    def __init__(self, most: int = _MOST, warns: bool = True) -> None:
        self.most = most
        self.total = 0
        """The number of samples so far, including those beyond `most`."""
        self._warns = warns
        self._entries: list[Quarantined] = []
        self._recent: OrderedDict[tuple[str | None, int], Quarantined] = OrderedDict()
        self._lock = threading.Lock()

    def record(self, entries: Iterable[Quarantined]) -> None:
        """Add entries. A sample that another operator has just reported counts once."""
        with self._lock:
            first = not self.total
            for entry in entries:
                if self._is_known(entry):
                    continue
                self.total += 1
                if len(self._entries) < self.most:
                    self._entries.append(entry)
            warns = self._warns and first and self.total > 0
            one = self._entries[0] if self._entries else None
        if warns:
            _warn(one)

    def _is_known(self, entry: Quarantined) -> bool:
        if entry.position is None:
            return False
        key = (entry.file, entry.position)
        known = self._recent.get(key)
        self._recent[key] = known or entry
        self._recent.move_to_end(key)
        if len(self._recent) > _REMEMBERED:
            self._recent.popitem(last=False)
        if known is None:
            return False
        return known.operator != entry.operator or (self._of_one_batch and known == entry)

    def clear(self) -> None:
        """Remove all entries; the next entry warns again."""
        with self._lock:
            self._entries.clear()
            self._recent.clear()
            self.total = 0

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the entries: as CSV if the name ends in `.csv`, else one JSON object per line.

        Raises OSError for a path that cannot be written.
        """
        entries = list(self)
        with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as stream:
            if os.fspath(path).endswith(".csv"):
                writer = csv.writer(stream)
                writer.writerow(Quarantined._fields)
                writer.writerows(entries)
            else:
                stream.writelines(json.dumps(entry._asdict()) + "\n" for entry in entries)

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> Quarantined: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Quarantined]: ...
    def __getitem__(self, index: Any) -> Any:
        return self._entries[index]

    def __iter__(self) -> Iterator[Quarantined]:
        with self._lock:
            return iter(list(self._entries))

    def __enter__(self) -> Quarantine:
        _before.set((*_before.get(), _collector.get()))
        _collector.set(self)
        return self

    def __exit__(self, *details: object) -> None:
        *rest, before = _before.get()
        _before.set(tuple(rest))
        _collector.set(before)

    def __repr__(self) -> str:
        return f"<Quarantine, {self.total} samples>"


def _warn(entry: Quarantined | None) -> None:
    what = "" if entry is None else f" (the first: {entry.file or 'no file'}: {entry.reason})"
    warn_user(f"samples that cannot be read are left out or replaced{what}; see `quarantine`")


_collector: ContextVar[Quarantine | None] = ContextVar("gradiva_quarantine", default=None)
_before: ContextVar[tuple[Quarantine | None, ...]] = ContextVar(
    "gradiva_quarantines_before", default=()
)
"""The collector before each open block of this context. Several threads may enter one list."""
_of_process = Quarantine()


def quarantine() -> Quarantine:
    """The list that dynamic mode adds to in this context: that of the innermost `with Quarantine()`
    block, otherwise that of the process."""
    chosen = _collector.get()
    return _of_process if chosen is None else chosen


def record(entries: Iterable[Quarantined]) -> None:
    """Report entries to the current collector."""
    quarantine().record(entries)


class _OfOneBatch(Quarantine):
    """In a batch, an operator may run several times for a sample, once for each cache below it."""

    _of_one_batch = True


def isolated() -> Quarantine:
    """An empty list of one batch for `collecting_in`, which reports to nothing else."""
    return _OfOneBatch(most=1 << 60, warns=False)


@contextmanager
def collecting() -> Iterator[Quarantine]:
    """Collect what is recorded in the block in a list of its own, for the code that delivers the
    batch."""
    collector = isolated()
    with collecting_in(collector):
        yield collector


@contextmanager
def collecting_in(collector: Quarantine) -> Iterator[None]:
    """Make `collector` the current collector in the block, in this context."""
    token = _collector.set(collector)
    try:
        yield
    finally:
        _collector.reset(token)
