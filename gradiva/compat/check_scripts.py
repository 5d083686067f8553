"""`gradiva check SCRIPT.py`: what a script uses of DALI, and what of it is here.

The script is read and never run. Names and arguments are looked up where they are declared: in
gradiva's modules, and in the registry of its operators.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from gradiva.compat import names, uses
from gradiva.compat.differences import rows
from gradiva.compat.meanings import Call
from gradiva.compat.report import Finding, Report, Verdict
from gradiva.compat.script_reader import read
from gradiva.eager.support.errors import OperatorValueError

__all__ = ["add_arguments", "check", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `gradiva check`."""
    parser.add_argument(
        "paths", nargs="+", metavar="SCRIPT.py", help="files, or folders with all that is in them"
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument(
        "--all", action="store_true", help="list what is there line by line, too, not in one line"
    )


def run(options: argparse.Namespace) -> int:
    """Print what was found. Returns the exit status: 1 if something is missing."""
    report = check(*options.paths)
    if options.json:
        print(json.dumps(report.as_dict(), indent=1))
    else:
        color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        print(report.text(color, options.all))
    return 0 if report.ok else 1


def check(*paths: str | os.PathLike[str]) -> Report:
    """What scripts use of `nvidia.dali`, and whether it is here.

    paths: files, or folders of which all `*.py` are read. A notebook shows the report as a table;
    `report.missing` lists what is not there. Raises OperatorValueError for a path that is not there
    and for a file that is no Python.
    """
    findings: list[Finding] = []
    files = list(_files(paths))
    for file in files:
        findings += _Check(file).findings()
    return Report(findings, [str(file) for file in files])


def _files(paths: Iterable[str | os.PathLike[str]]) -> Iterator[Path]:
    for path in map(Path, paths):
        if path.is_dir():
            yield from sorted(path.rglob("*.py"))
        elif path.is_file():
            yield path
        else:
            raise OperatorValueError(f"there is no file {path}", operator="check")


@cache
def _resolve(path: str) -> Any:
    """What a name is, or ABSENT; also where a library is not installed that its module needs."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return names.look_up(path)
    except ImportError:
        return names.ABSENT


class _Check:
    """The findings of one file, each name or argument of a line once."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._found: dict[tuple[int, str, str | None, bool], Finding] = {}
        self._optional: set[str] = set()

    def findings(self) -> list[Finding]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about the script's escape sequences
                tree = ast.parse(self._file.read_bytes(), str(self._file))
        except (SyntaxError, ValueError, OSError) as error:
            raise OperatorValueError(
                f"{self._file} cannot be read: {error}", operator="check"
            ) from None
        read(tree, self._name, self._call, _resolve)
        return sorted(self._found.values(), key=lambda one: (one.line, one.what))

    def _add(
        self, line: int, path: str, argument: str | None, verdict: Verdict, text: str = ""
    ) -> None:
        name = uses.short_name(path)
        key = (line, name, argument, verdict == "rare")
        before = self._found.get(key)
        if before is None or before.verdict == "there":
            if before is not None and before.text and text:
                text = f"{before.text}\n{text}"
            self._found[key] = Finding(str(self._file), line, name, argument, verdict, text)

    def _name(self, path: str, line: int, optional: bool) -> None:
        ours = path.startswith((f"{names.SOURCE}.", f"{names.TARGET}."))
        if not ours or path.rpartition(".")[2].startswith("__"):
            return
        found = _resolve(path)
        if found is not names.ABSENT:
            if not isinstance(found, ModuleType):
                self._add(line, path, None, "there", uses.note_on(path))
            return
        while "." in uses.short_name(path) and _resolve(path.rpartition(".")[0]) is names.ABSENT:
            path = path.rpartition(".")[0]  # what it is in is missing
        if path in self._optional:
            return  # the script knows
        if optional:
            self._optional.add(path)
        try:
            why = names.reason_for(path) or "there is no such name"
        except ImportError as error:
            why = f"it needs {error.name}, which is not installed"
        row = next((row for row in rows() if uses.short_name(path) in row.names), None)
        why += f" ({row.place})" if row is not None else ""
        self._add(line, path, None, "optional" if optional else "missing", why)

    def _call(self, call: Call, optional: bool) -> None:
        found = _resolve(call.path)
        if found is names.ABSENT or not callable(found):
            return
        for name, (line, value) in call.arguments.items():
            verdict, text = uses.argument_verdict(found, call.path, name, value, call.own)
            if name not in call.own:
                verdict = "optional" if optional and verdict == "missing" else verdict
                self._add(line, call.path, name, verdict, text)
        given = {name: value for name, (_, value) in call.arguments.items()}
        rows_of_call = uses.differences(found, call.path, given)
        for verdict, chosen in (
            ("differs", [row for row in rows_of_call if not row.rare]),
            ("rare", [row for row in rows_of_call if row.rare]),
        ):
            if chosen:
                text = "\n".join(f"{row.what} ({row.place})" for row in chosen)
                self._add(call.line, call.path, None, verdict, text)
