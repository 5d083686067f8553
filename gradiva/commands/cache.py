"""`gradiva cache`: what a cache on disk holds, whether it is damaged, and removing
it."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gradiva.eager.support.errors import OperatorValueError
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.ops.cache import maintenance
from gradiva.ops.cache.entry import Entry

tqdm = lazy_module("tqdm", "tqdm")

__all__ = ["add_arguments", "run"]

_ACTIONS = {
    "info": "entries, bytes, shards, and when they were last used",
    "verify": "read everything; the exit status is 1 if something is damaged",
    "clear": "remove the files of the cache, and no others",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `gradiva cache`."""
    actions = parser.add_subparsers(dest="action", required=True)
    for name, text in _ACTIONS.items():
        action = actions.add_parser(name, help=text)
        action.add_argument("folder", metavar="DIR", help="the folder that was given as cache=DIR")
        action.add_argument("--json", action="store_true", help="print the result as JSON")
        if name == "clear":
            action.add_argument(
                "--older-than",
                type=float,
                metavar="DAYS",
                help="only what was last used so many days ago",
            )


def run(options: argparse.Namespace) -> int:
    """Print what was found or done. Returns 1 if `verify` finds damage. Raises OperatorValueError
    for what is no folder that can be read."""
    path = Path(options.folder).expanduser()
    facts: dict[str, Any] = {"operator": "cache", "argument": "folder"}
    if not path.is_dir():
        raise OperatorValueError(**facts, expected="a folder", got=str(path))
    try:
        if options.action == "info":
            return _info(path, options.json)
        if options.action == "verify":
            return _verify(path, options.json)
        return _clear(path, options.older_than, options.json)
    except OSError as error:
        reason = f"{path}: {error.strerror or error}"
        raise OperatorValueError(**facts, expected="a folder of yours", got=reason) from error


def _info(path: Path, as_json: bool) -> int:
    report = maintenance.examine(path)
    if as_json:
        print(json.dumps(report._asdict(), indent=1))
        return 0
    print(f"entries  {report.entries}")
    print(f"bytes    {report.bytes / 1e6:.1f} MB in {report.shards} shards")
    for name, count in report.kinds.items():
        print(f"  {name:20} {count}")
    if report.oldest_use is not None and report.newest_use is not None:
        print(f"used     {_date(report.oldest_use)} (oldest) to {_date(report.newest_use)}")
    for names, what in (
        (report.damaged_indices, "damaged, so that entries are lost"),
        (report.other_versions, "of another version of the format, and not read"),
    ):
        for name in names:
            print(f"{name} is {what}")
    return 0


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _verify(path: Path, as_json: bool) -> int:
    def counted(entries: Iterable[Entry], total: int) -> Iterator[Entry]:
        with tqdm.tqdm(entries, "verify", total, disable=None, leave=False, unit=" entries") as bar:
            yield from bar

    count, damaged = maintenance.verify(path, counted)
    if as_json:
        print(json.dumps({"entries": count, "damaged": damaged}))
    else:
        print(f"{count} entries, {damaged} damaged")
    return int(damaged > 0)


def _clear(path: Path, days: float | None, as_json: bool) -> int:
    count, size = maintenance.clear(path, days)
    if as_json:
        print(json.dumps({"files": count, "bytes": size}))
    else:
        print(f"{count} files removed, {size / 1e6:.1f} MB")
    return 0
