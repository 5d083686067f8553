"""Which files a reader reads, and their labels: a folder of folders, a list file, or a list. And
what the tables of files share."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from gradiva.eager import extension as op
from gradiva.eager.readers.remote_files import prefetch_any_files
from gradiva.eager.storage.folders import FolderEntry, list_folders, read_names
from gradiva.eager.storage.storage import Storage
from gradiva.eager.storage.urls import any_url, join, local_path, parent

from .containers import BLANKS, text_lines
from .left_out import warn_of_left_out
from .sampling.names import ListedFiles
from .sampling.sizes import file_sizes
from .table import Table


def list_files(given: Mapping[str, Any], storage: Storage) -> ListedFiles:
    """Paths and labels, in the order of the data set, for the arguments of `readers.file`. Raises
    OperatorValueError."""
    file_root, file_list, files = given["file_root"], given["file_list"], given["files"]
    labels, filters = given["labels"], given["file_filters"]
    if file_list is not None and files is not None:
        raise op.OperatorValueError("give either `file_list` or `files`, not both")
    if labels is not None and files is None:
        raise op.OperatorValueError("`labels` belong to `files`, which were not given")
    if files is not None:
        return _from_files(file_root, files, labels)
    if file_list is not None:
        return _from_list(file_root, file_list, storage)
    if file_root is None:
        raise op.OperatorValueError("give one of `file_root`, `file_list` and `files`")
    folders, exact = given["dir_filters"] or (), given["case_sensitive_filter"]
    return _from_folder(file_root, folders, filters, exact, storage)


def _from_files(
    root: str | None, files: Sequence[str], labels: Sequence[int] | None
) -> ListedFiles:
    if not files:
        raise op.OperatorValueError(argument="files", expected="at least one file", got="none")
    if labels is not None and len(labels) != len(files):
        raise op.wrong_value("labels", f"one per file, {len(files)}", len(labels))
    paths = [local_path(join(root or "", file)) for file in files]
    return ListedFiles(paths, list(range(len(files)) if labels is None else labels))


def _from_list(root: str | None, file_list: str, storage: Storage) -> ListedFiles:
    try:
        lines = read_names(file_list, storage)
    except OSError as error:
        raise op.OperatorValueError(
            argument="file_list",
            expected="a text file that can be read",
            got=str(error),
            file=file_list,
        ) from error
    folder = root if root is not None else parent(file_list)
    paths, labels = [], []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        name, _, label = line.rstrip().replace("\t", " ").rpartition(" ")
        if label.isdecimal() and len(label) < 19 and int(label) < 2**31:
            labels.append(int(label))
        else:
            name = ""
        if not name.strip() or "\0" in name:
            raise op.OperatorValueError(
                argument="file_list",
                expected="lines of the form 'path label'",
                got=f"line {number}: {line!r}",
                file=file_list,
            )
        paths.append(local_path(join(folder, line[: len(name.rstrip())])))
    if not paths:
        raise op.OperatorValueError(
            argument="file_list", expected="at least one line", got="an empty file", file=file_list
        )
    return ListedFiles(paths, labels)


def _from_folder(
    root: str,
    dir_filters: Sequence[str],
    file_filters: Sequence[str],
    case_sensitive: bool,
    storage: Storage,
) -> ListedFiles:
    try:
        (inside,) = list_folders([root], storage)
        folders = [one for one in inside if one.is_folder]
        if dir_filters:
            folders = [one for one in folders if _matches(one.name, dir_filters, case_sensitive)]
        paths, labels = _files_in(root, folders, file_filters, case_sensitive, storage)
    except OSError as error:
        raise op.wrong_value("file_root", "a folder that can be read", error) from error
    if not paths:
        raise op.OperatorValueError(
            argument="file_root",
            expected=f"a folder with one folder per label, holding files like "
            f"{', '.join(file_filters[:4])} ...",
            got=f"{root!r}, with {len(folders)} folders and no such file in them"
            + _hint(root, inside, file_filters, case_sensitive),
        )
    return ListedFiles(paths, labels, [folder.name for folder in folders])


def _files_in(
    root: str,
    folders: Sequence[FolderEntry],
    filters: Sequence[str],
    case_sensitive: bool,
    storage: Storage,
) -> tuple[list[str], list[int]]:
    paths, labels = [], []
    listed = list_folders([folder.path for folder in folders], storage)
    for label, entries in enumerate(listed):
        for entry in entries:
            if entry.is_file and _matches(entry.name, filters, case_sensitive):
                paths.append(entry.path)
                labels.append(label)
    warn_of_left_out(root, (entry.name for row in listed for entry in row), filters)
    return paths, labels


def _hint(
    root: str, inside: Sequence[FolderEntry], filters: Sequence[str], case_sensitive: bool
) -> str:
    loose = sum(_matches(entry.name, filters, case_sensitive) for entry in inside)
    if not loose:
        return ""
    return f" ({loose} files lie in {root!r} itself: pass them as `files`)"


def _matches(name: str, filters: Sequence[str], case_sensitive: bool) -> bool:
    if not case_sensitive:
        name = name.lower()
        filters = [pattern.lower() for pattern in filters]
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in filters)


def digest_of(paths: Sequence[str], labels: Sequence[int]) -> str:
    """A digest of the labels, and of the paths below the folder that all of them share."""
    # What the first and the last one in alphabetical order share, all share.
    shared = os.path.commonprefix([min(paths), max(paths)])  # noqa: RUF071  cut below
    start = shared.rfind(os.sep) + 1
    digest = blake2b(digest_size=16)
    for path, label in zip(paths, labels, strict=True):
        digest.update(f"{path[start:]}\0{label}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


class FilesTable(Table):
    """Samples that are files."""

    def __init__(self, paths: list[str], storage: Storage) -> None:
        self._paths = paths
        self.storage = storage if any_url(paths) else None

    def __len__(self) -> int:
        return len(self._paths)

    def names(self, indices: op.Int64Array) -> list[str]:
        return [self._paths[index] for index in indices.tolist()]

    def sizes(self) -> op.Int64Array | None:
        return file_sizes(self._paths, self.storage)

    def digest(self) -> dict[str, Any]:
        """The number of files, and a digest of their names below the folder that holds them all."""
        return {"files": len(self._paths), "names": digest_of(self._paths, [0] * len(self._paths))}

    def prefetch(self, indices: op.Int64Array) -> None:
        prefetch_any_files(self.names(indices), self.storage)


def list_arrays(
    root: str | None,
    pattern: str,
    listed: str | None,
    files: Sequence[str] | None,
    storage: Storage,
) -> list[str]:
    """The paths of files without labels, in their order. Raises OperatorValueError."""
    if listed is not None and files is not None:
        raise op.OperatorValueError("give either `file_list` or `files`, not both")
    if files is not None:
        found, argument = [join(root or "", file) for file in files], "files"
    elif listed is not None:
        folder = parent(listed) if root is None else root
        lines = [line.strip(BLANKS) for line in text_lines(listed, "file_list", storage)]
        found, argument = [join(folder, line) for line in lines if line], "file_list"
    elif root is not None:
        found, argument = _in_folders(root, pattern, storage), "file_root"
    else:
        raise op.OperatorValueError("give one of `file_root`, `file_list` and `files`")
    if not found:
        raise op.OperatorValueError(
            argument=argument, expected="at least one file", got="none", file=listed or root
        )
    return [local_path(path) for path in found]


def _in_folders(root: str, pattern: str, storage: Storage) -> list[str]:
    """Files in the folder, then those in the folders in it."""
    try:
        (inside,) = list_folders([root], storage)
        below = list_folders([entry.path for entry in inside if entry.is_folder], storage)
        return [
            entry.path
            for entries in (inside, *below)
            for entry in entries
            if entry.is_file and fnmatch.fnmatchcase(entry.name, pattern)
        ]
    except OSError as error:
        raise op.OperatorValueError(
            argument="file_root", expected="a folder that can be read", got=str(error)
        ) from error
