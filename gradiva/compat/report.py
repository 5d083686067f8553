"""What a check of scripts found: for terminals, notebooks and programs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, Literal

from gradiva.capture.graph.html_table import html_table
from gradiva.compat.differences import FILE

__all__ = ["Finding", "Report", "Verdict"]

Verdict = Literal["there", "differs", "rare", "missing", "optional"]
_COLORS = {"missing": "31", "differs": "33", "rare": "2", "optional": "36", "there": "32"}
_HEADINGS = {
    "optional": "missing, where the script catches the error",
    "rare": "rare (differs for unusual values and files, or where DALI stops with an error)",
}
_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Finding:
    """A name or an argument of DALI that a script uses.

    argument: None if it is about the name itself. verdict: "missing", "differs" (`text` has the
    rows of docs/differences.md), "rare" (the same, for rows that few scripts meet), "there", or
    "optional": missing, but the script catches the error.
    text: what to do, or what differs.
    """

    file: str
    line: int
    name: str
    argument: str | None
    verdict: Verdict
    text: str = ""

    @property
    def what(self) -> str:
        """`fn.resize(size=)`."""
        return self.name if self.argument is None else f"{self.name}({self.argument}=)"


class Report(Sequence[Finding]):
    """All findings, by file and line. A notebook shows it as a table."""

    def __init__(self, findings: Sequence[Finding], files: Sequence[str]) -> None:
        self.findings = tuple(findings)
        self.files = tuple(files)

    def __getitem__(self, index: Any) -> Any:
        return self.findings[index]

    def __len__(self) -> int:
        return len(self.findings)

    @property
    def missing(self) -> list[Finding]:
        """What is not there."""
        return self._of("missing")

    @property
    def differs(self) -> list[Finding]:
        """What is there and differs."""
        return self._of("differs")

    @property
    def rare(self) -> list[Finding]:
        """What is there and differs in a way that few scripts meet."""
        return self._of("rare")

    @property
    def there(self) -> list[Finding]:
        """What is there."""
        return self._of("there")

    @property
    def ok(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing

    def summary(self) -> str:
        """One line."""
        names = {one.what for one in self.findings}
        missing = {one.what for one in self.missing}
        differs = {one.what for one in self.differs} - missing
        files = "1 file" if len(self.files) == 1 else f"{len(self.files)} files"
        return (
            f"{files}, {len(names)} names and arguments: {len(missing)} missing, "
            f"{len(differs)} differ, {len(names - missing - differs)} there"
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "ok": self.ok,
            "summary": self.summary(),
            "files": list(self.files),
            "findings": [asdict(one) for one in self.findings],
        }

    def text(self, color: bool = False, everything: bool = False) -> str:
        """For a terminal. everything: what is there line by line, too."""
        return "\n".join(self._lines(color, everything))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Report: {self.summary()}>"

    def _repr_html_(self) -> str:
        rows = (
            (file, one.line, one.what, one.verdict, one.text)
            for file, findings in _by_file(self.findings)
            for one in findings
        )
        return html_table(self.summary(), ("file", "line", "`what`", "", ""), rows)

    def _of(self, verdict: Verdict) -> list[Finding]:
        return [one for one in self.findings if one.verdict == verdict]

    def _lines(self, color: bool, everything: bool) -> Iterator[str]:
        for file, findings in _by_file(self.findings):
            yield file
            for verdict in ("missing", "optional", "differs", "rare"):
                yield from _section(verdict, findings, color)
            names = dict[str, list[int]]()
            notes = dict[str, str]()
            listed = {one.what for one in findings if one.verdict not in ("there", "rare")}
            for one in findings:
                if one.verdict == "there" and one.what not in listed:
                    names.setdefault(one.what, []).append(one.line)
                    notes[one.what] = f" ({one.text})" if one.text else ""
            if names and everything:
                yield _heading("there", color)
                yield from (f"    {_lines_of(names[what])}: {what}{notes[what]}" for what in names)
            elif names:
                listed_names = ", ".join(f"{what}{notes[what]}" for what in sorted(names))
                first, *others = _wrapped(listed_names, 9)
                yield f"{_heading('there', color)} {first.strip()}"
                yield from others
        if any("docs/differences.md" in one.text for one in self.findings):
            yield f"docs/differences.md is {FILE}"
        yield self.summary()


def _section(verdict: Verdict, findings: Sequence[Finding], color: bool) -> Iterator[str]:
    """What has one verdict, each name once, with the lines where it is used."""
    lines: dict[tuple[str, str], list[int]] = {}
    for one in findings:
        if one.verdict == verdict:
            lines.setdefault((one.what, one.text), []).append(one.line)
    if lines:
        yield _heading(verdict, color)
    for (what, text), places in lines.items():
        if verdict in ("differs", "rare"):
            yield f"    {_lines_of(places)}: {what}"
            for row in text.split("\n"):
                yield from _wrapped(row, 6, 8)
        else:
            yield f"    {_lines_of(places)}: {what}: {text}"


def _heading(verdict: Verdict, color: bool) -> str:
    text = _HEADINGS.get(verdict, verdict)
    return f"  \033[{_COLORS[verdict]}m{text}\033[0m:" if color else f"  {text}:"


def _lines_of(lines: Sequence[int]) -> str:
    numbers = sorted(set(lines))
    return f"line{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def _wrapped(text: str, indent: int, others: int | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent if others is None else others),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _by_file(findings: Sequence[Finding]) -> Iterator[tuple[str, list[Finding]]]:
    for file, found in groupby(findings, lambda one: one.file):
        yield file, list(found)
