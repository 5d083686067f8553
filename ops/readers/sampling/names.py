"""Labels of files, and parts of a data set, by the names of the files."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.argument_types import ArgumentType
from gradiva.eager.storage.folders import FolderEntry, list_folders
from gradiva.eager.storage.storage import Storage
from gradiva.eager.storage.urls import is_url, local_path, parent
from gradiva.ops.readers.left_out import warn_of_left_out

__all__ = [
    "LabelRule",
    "ListedFiles",
    "chosen_files",
    "labels_by",
    "names_in",
    "part_of",
    "split_places",
]

Rule: TypeAlias = "Callable[[str], Any] | str | re.Pattern[str]"


class ListedFiles(NamedTuple):
    """The files of a data set, in their order. classes: the name of each label, where labels are
    numbers of names."""

    paths: list[str]
    labels: list[int]
    classes: list[str] | None = None


def chosen_files(
    given: Mapping[str, Any], plain: Callable[[], ListedFiles], storage: Storage
) -> ListedFiles:
    """Paths and labels for the arguments `recursive`, `label_fn` and `split` of `readers.file`.
    plain: lists the files without them. Raises OperatorValueError, OperatorTypeError."""
    rule, root = given["label_fn"], given["file_root"]
    if rule is not None and given["labels"] is not None:
        raise op.OperatorValueError("give either `labels` or `label_fn`, not both")
    listed = given["file_list"] is not None or given["files"] is not None
    if given["recursive"] and (listed or root is None):
        raise op.OperatorValueError(
            "`recursive` looks below `file_root`, without a list of files", argument="recursive"
        )
    if root is not None and not listed and (given["recursive"] or rule is not None):
        paths, labels, classes = _in_folder(root, given, storage)
    else:
        paths, labels, classes = plain()
    if root is None and given["file_list"] is not None:
        root = parent(given["file_list"])
    names = names_in(paths, root)
    if rule is not None:
        labels, classes = labels_by(rule, names)
    if given["split"] is not None:
        places = split_places(names, given["split"])
        paths, labels = [paths[place] for place in places], [labels[place] for place in places]
    return ListedFiles(paths, labels, classes)


def _in_folder(root: str, given: Mapping[str, Any], storage: Storage) -> ListedFiles:
    """The files below a folder, labeled by the folder in it that holds them."""
    exact, needs_folder = given["case_sensitive_filter"], given["label_fn"] is None
    try:
        (inside,) = list_folders([root], storage)
        folders = [one for one in inside if one.is_folder]
        if given["dir_filters"]:
            folders = [one for one in folders if _matches(one.name, given["dir_filters"], exact)]
        loose = [] if needs_folder else [one.path for one in inside if one.is_file]
        outer = [frozenset([root if is_url(root) else os.path.realpath(root)])] * len(folders)
        parts = _below([one.path for one in folders], storage, given["recursive"], outer)
        paths = [*loose, *(one.path for part in parts for one in part)]
        labels = [0] * len(loose)
        labels += [label for label, part in enumerate(parts) for _ in part]
    except OSError as error:
        raise op.wrong_value("file_root", "a folder that can be read", error) from error
    kept = [
        place
        for place, path in enumerate(paths)
        if _matches(os.path.basename(path), given["file_filters"], exact)
    ]
    if not kept:
        raise op.OperatorValueError(
            argument="file_root",
            expected=f"a folder with files like {', '.join(given['file_filters'][:4])} ...",
            got=f"{root!r}, with {len(paths)} others",
        )
    warn_of_left_out(root, paths, given["file_filters"])
    names = [folder.name for folder in folders]
    return ListedFiles([paths[place] for place in kept], [labels[place] for place in kept], names)


def _matches(name: str, filters: Sequence[str], exact: bool) -> bool:
    if not exact:
        name, filters = name.lower(), [pattern.lower() for pattern in filters]
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in filters)


def names_in(paths: Sequence[str], root: str | None) -> list[str]:
    """The paths as they are called below the folder `root`, with slashes."""
    prefix = "" if not root else os.path.join(local_path(root), "")
    return [path.removeprefix(prefix).replace(os.sep, "/") for path in paths]


def _below(
    folders: Sequence[str], storage: Storage, deep: bool, outer: Sequence[frozenset[str]] = ()
) -> list[list[FolderEntry]]:
    """The files below each folder, sorted by the names of folders and files; a link that leads back
    is not followed. deep: also those in nested folders. Raises OSError."""
    outer = outer or [frozenset()] * len(folders)
    here = [folder if is_url(folder) else os.path.realpath(folder) for folder in folders]
    again = [place in seen for place, seen in zip(here, outer, strict=True)]
    listed = list_folders([f for f, seen in zip(folders, again, strict=True) if not seen], storage)
    rows = iter(listed)
    entries = [[] if seen else next(rows) for seen in again]
    inner = [
        (one.path, outer[number] | {here[number]})
        for number, row in enumerate(entries)
        for one in row
        if one.is_folder and deep
    ]
    paths, seen_by = [path for path, _ in inner], [seen for _, seen in inner]
    nested = iter(_below(paths, storage, deep, seen_by) if inner else ())
    found: list[list[FolderEntry]] = []
    for row in entries:
        files: list[FolderEntry] = []
        for one in row:
            if one.is_folder and deep:
                files += next(nested)
            elif one.is_file:
                files.append(one)
        found.append(files)
    return found


def labels_by(rule: Rule, names: Sequence[str]) -> tuple[list[int], list[str] | None]:
    """The labels that a function, or a regular expression, finds in names, and the text of each
    label, where texts were found. Raises OperatorValueError, OperatorTypeError,
    OperatorRuntimeError, naming the file."""
    found = [_found(name, rule) for name in names]
    if all(isinstance(one, int) for one in found):
        for name, one in zip(names, found, strict=True):
            if not -(2**31) <= one < 2**31:
                raise _refused(name, "a label that fits into int32", one)
        return found, None
    texts = [str(one) for one in found]
    if isinstance(rule, str | re.Pattern) and all(
        text.isdecimal() and int(text) < 2**31 for text in texts
    ):
        return [int(text) for text in texts], None
    classes = sorted(set(texts))
    numbers = {text: number for number, text in enumerate(classes)}
    return [numbers[text] for text in texts], classes


def _found(name: str, rule: Rule) -> Any:
    if isinstance(rule, str | re.Pattern):
        match = re.search(rule, name)
        if match is None:
            raise _refused(name, f"a name in which {rule!r} is found", name)
        value = match.group(match.re.groups and 1)
        if value is None:
            raise _refused(name, f"a name in which the group of {rule!r} is found", name)
        return value
    try:
        value = rule(name)
    except Exception as error:
        raise op.OperatorRuntimeError(
            f"the function has raised {type(error).__name__}: {error}",
            argument="label_fn",
            file=name,
        ) from error
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise op.OperatorTypeError(
            argument="label_fn",
            expected="an integer, or a text, from the function",
            got=repr(value),
            file=name,
        )
    return value


def _refused(name: str, expected: str, got: object) -> op.OperatorValueError:
    return op.OperatorValueError(argument="label_fn", expected=expected, got=repr(got), file=name)


def as_rule(rule: Any) -> Rule:
    """A function, or a regular expression. Raises OperatorTypeError, OperatorValueError."""
    if isinstance(rule, re.Pattern) and isinstance(rule.pattern, str):
        return rule
    if isinstance(rule, str):
        try:
            re.compile(rule)
        except re.error as error:
            raise op.OperatorValueError(
                argument="label_fn", expected="a regular expression", got=f"{rule!r}: {error}"
            ) from None
        return rule
    if not callable(rule):
        raise op.OperatorTypeError(
            argument="label_fn",
            expected="a function of the name, or a regular expression",
            got=repr(rule),
        )
    named: Callable[[str], Any] = rule
    return named


def split_places(names: Sequence[str], split: Sequence[float]) -> list[int]:
    """The places of the names that belong to a part of the data set: those whose hash, as a number
    from 0 to 1, lies in it. Raises OperatorValueError."""
    if len(split) != 2 or not 0 <= split[0] < split[1] <= 1:
        raise op.OperatorValueError(
            argument="split",
            expected="where a part begins and ends, such as (0, 0.9)",
            got=str(tuple(split)),
        )
    begin, end = (int(round(edge * 2**53)) << 11 for edge in split)
    found = [place for place, name in enumerate(names) if begin <= _hash(name) < end]
    if not found:
        raise op.OperatorValueError(
            argument="split",
            expected="a part that has files",
            got=f"{tuple(split)}, which has none of {len(names)}",
        )
    return found


def part_of(paths: list[str], root: str, split: Sequence[float] | None) -> list[str]:
    """The paths below a folder that belong to a part of the data set, by default all."""
    if split is None:
        return paths
    return [paths[place] for place in split_places(names_in(paths, root), split)]


def _hash(name: str) -> int:
    held = name.encode("utf-8", "surrogateescape")
    return int.from_bytes(blake2b(held, digest_size=8).digest(), "little")


LabelRule: TypeAlias = Annotated[
    Any, ArgumentType("LabelRule", "a function of the name, or a regular expression", as_rule)
]
