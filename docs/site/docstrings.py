"""Docstrings as sections: what is said of arguments, results and errors, each for itself.

Two forms are read. In Google's, sections stand under `Args:`, `Returns:`, `Raises:`, `Example:`, as
`gradiva.eager.operators.docstrings` reads them. In the other one a paragraph has lines such as
`quality: 1 (lowest) to 100`, and sentences that begin with "Returns" and "Raises".
"""

from __future__ import annotations

import fnmatch
import inspect
import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from gradiva.eager.operators.docstrings import COMMON, sections

__all__ = ["Sections", "is_google", "paragraphs", "parse"]

_NAMES = r"\**[A-Za-z_*][\w*]*(?:(?:, and |, | or | and )\**[A-Za-z_*][\w*]*)*"
_ENTRY = re.compile(rf"^({_NAMES}): ?(.*)$")
_NAMES_GO_ON = re.compile(r"^((?:[\w*]+, )*[\w*]+,)\n +", re.MULTILINE)
_FIELD = re.compile(r"^([\w*., ]+?): ?(.*)$")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])")
_ERROR = re.compile(r"(?:,|;|,? and)\s+(?=(?:and )?[A-Z]\w*(?:Error|Iteration)\b)")


@dataclass
class Sections:
    """What a docstring says. args: (names, text) in the order of the text; common: those of these
    names that all operators take; raises: (error, text). Texts keep their lines, without the
    indentation of the section."""

    summary: str = ""
    body: list[str] = field(default_factory=list)
    args: list[tuple[tuple[str, ...], str]] = field(default_factory=list)
    common: list[str] = field(default_factory=list)
    returns: str = ""
    raises: list[tuple[str, str]] = field(default_factory=list)
    example: str = ""

    def text_of(self, name: str) -> str:
        """What is said of an argument, or nothing."""
        return "\n\n".join(text for names, text in self.args if name in names)

    @property
    def named(self) -> list[str]:
        """All arguments that are spoken of."""
        return [name for names, _ in self.args for name in names]


def is_google(text: str) -> bool:
    """Whether a docstring has a section of Google's form."""
    return len(sections(text)) > 1


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, their lines as they are."""
    return [part.strip("\n") for part in re.split(r"\n[ \t]*\n", text) if part.strip()]


def parse(text: str, names: Iterable[str] = ()) -> Sections:
    """The sections of a docstring of either form. names: the arguments of the signature."""
    if is_google(text):
        return _google(text)
    return _paragraph_form(inspect.cleandoc(text), list(names))


def _google(text: str) -> Sections:
    found = Sections()
    contents = {
        heading: inspect.cleandoc("\n" + content) for heading, content in sections(text).items()
    }
    opening = paragraphs(contents[""])
    found.summary, found.body = "\n".join(opening[:1]), opening[1:]
    for heading in ("Args", COMMON):
        found.args += [
            (tuple(name.lstrip("*") for name in re.split(r", *", head)), said)
            for head, said in _fields(contents.get(heading, ""))
        ]
    found.common = [name for name, _ in _fields(contents.get(COMMON, ""))]
    found.raises = _fields(contents.get("Raises", ""))
    found.returns = contents.get("Returns", "")
    found.example = contents.get("Example", "")
    return found


def _fields(content: str) -> list[tuple[str, str]]:
    """`name: text` entries; further lines of an entry are indented, also those of its names."""
    found: list[tuple[str, list[str]]] = []
    while content != (content := _NAMES_GO_ON.sub(r"\1 ", content)):
        pass
    for line in content.splitlines():
        matched = _FIELD.match(line) if line[:1].strip() else None
        if matched:
            found.append((matched[1], [matched[2]]))
        elif found:
            found[-1][1].append(line)
    return [
        (name, "\n".join([lines[0], inspect.cleandoc("\n".join(["", *lines[1:]]))]).strip())
        for name, lines in found
    ]


class _Known:
    """The arguments of a signature, as texts name them: `roi_*` means several."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def expand(self, written: str) -> tuple[str, ...]:
        """The arguments that the text before a colon names; none if it names anything else."""
        found: list[str] = []
        for word in re.split(r", and |, | or | and ", written):
            matches = [one for one in self.names if fnmatch.fnmatchcase(one, word)]
            if word == "inputs":
                matches = [name for name in self.names if name in ("input", "more", "inputs")]
            if not matches:
                return ()
            found += matches
        return tuple(dict.fromkeys(found))


def _paragraph_form(text: str, names: list[str]) -> Sections:
    found = Sections()
    known = _Known(names)
    parts = paragraphs(text)
    if parts and _ENTRY.match(parts[0]) and known.expand(_ENTRY.match(parts[0])[1]):  # type: ignore[index]
        parts.insert(0, "")
    found.summary = "\n".join(parts[:1])
    for part in parts[1:]:
        _read_paragraph(found, known, part)
    for number, (heading, text) in enumerate(found.args):
        # What is said of results and errors below the last argument is not about it.
        kept, *rest = re.split(r"(?<=[.;])\s+(?=(?:Raises [A-Z]|Returns ))", text, maxsplit=1)
        found.args[number] = (heading, kept)
        for part in rest:
            _read_prose(found, part)
    found.args = [piece for heading, text in found.args for piece in _split(known, heading, text)]
    return found


def _read_paragraph(found: Sections, known: _Known, part: str) -> None:
    """Sort the lines of a paragraph: those of an argument, and others."""
    prose: list[str] = []
    entry: list[str] | None = None
    entries: list[tuple[tuple[str, ...], list[str]]] = []
    lines = part.splitlines()
    inside = list(itertools.takewhile(lambda line: line.startswith("    "), lines))
    if found.args and inside:
        names, text = found.args[-1]
        found.args[-1] = (names, text + "\n\n" + "\n".join(line[4:] for line in inside))
        lines = lines[len(inside) :]
    for position, line in enumerate(lines):
        matched = _ENTRY.match(line)
        if matched is None and position + 1 < len(lines) and line.endswith(",") and not prose:
            matched = _ENTRY.match(f"{line} {lines[position + 1].strip()}")
            matched = matched if matched and known.expand(matched[1]) else None
            if matched:
                lines[position + 1] = ""
        named = known.expand(matched[1]) if matched else ()
        if matched and named:
            entry = [matched[2]]
            entries.append((named, entry))
        elif entry is not None and not re.match(r"(Returns|Raises) ", line):
            if line:
                entry.append(line.removeprefix("    "))
        else:
            entry = None
            if line:
                prose.append(line)
    if prose and entries and prose[-1].endswith(":"):
        prose[-1] = prose[-1][:-1] + "."
    if prose:
        _read_prose(found, "\n".join(prose))
    found.args += [(named, "\n".join(lines)) for named, lines in entries]


def _read_prose(found: Sections, text: str) -> None:
    """Take the sentences about results and errors out of a paragraph; the rest is of the body."""
    if not re.search(r"(^|[.;]\s)(Returns|Raises)\s", text):
        found.body.append(text)
        return
    text = " ".join(text.split())
    rest: list[str] = []
    results: list[str] = []
    errors: list[str] = []
    target = rest
    for sentence in _SENTENCE.split(text):
        if sentence.startswith("Returns "):
            target = results
            plain = sentence.removeprefix("Returns ")
            results.append(plain[:1].upper() + plain[1:])
        elif sentence.startswith("Raises "):
            errors.append(sentence.removeprefix("Raises "))
            target = rest
        else:
            target.append(sentence)
    if results:
        found.returns = " ".join(filter(None, [found.returns, *results]))
    for sentence in errors:
        found.raises += _errors(sentence)
    if rest:
        found.body.append(" ".join(rest))


def _errors(sentence: str) -> list[tuple[str, str]]:
    """ "A for x, B for y." as (A, "for x."), (B, "for y.")."""
    found = []
    for part in _ERROR.split(" ".join(sentence.split())):
        matched = re.match(
            r"(?:and )?((?:[A-Z]\w*(?:, | or | and )?)+?)(?=,? [a-z`]|\.|$),? ?(.*)", part
        )
        if matched:
            found.append((matched[1], matched[2].rstrip(".") + "."))
    return found


def _split(known: _Known, names: tuple[str, ...], text: str) -> list[tuple[tuple[str, ...], str]]:
    """An entry whose text goes on to speak of other arguments, as one entry for each."""
    inner = re.compile(rf"(?<=[.;])\s+(?=({_NAMES}):\s)")
    pieces: list[tuple[tuple[str, ...], str]] = []
    start = 0
    current = names
    for matched in inner.finditer(text):
        named = known.expand(matched[1])
        if named and not set(named) & set(names):
            pieces.append((current, _ended(text[start : matched.start()])))
            current, start = named, matched.end() + len(matched[1]) + 2
    pieces.append((current, _ended(text[start:])))
    return pieces


def _ended(text: str) -> str:
    text = text.strip()
    return text[:-1] + "." if text.endswith(";") else text
