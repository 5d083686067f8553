"""Which files a reader reads, and their labels: a folder of folders, a list file, or a list. And
what the tables of files share."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from hashlib import blake2b
from typing import Any, NamedTuple

from gradiva.eager import extension as op
from gradiva.ops.readers.core.containers import BLANKS, text_lines
from gradiva.ops.readers.core.identities import file_identities
from gradiva.ops.readers.core.left_out import warn_of_left_out
from gradiva.ops.readers.core.remote_files import prefetch_any_files
from gradiva.ops.readers.core.table import Table
from gradiva.ops.storage.folders import FolderEntry, list_folders
from gradiva.ops.storage.storage import Storage
from gradiva.ops.storage.urls import any_url, is_url, join, local_path, parent

from .sampling.names import labels_by, names_in, split_places
from .sampling.sizes import file_sizes


class ListedFiles(NamedTuple):
    """The files of a data set, in their order. classes: the name of each label, where labels are
    numbers of names."""

    paths: list[str]
    labels: list[int]
    classes: list[str] | None = None


def list_files(given: Mapping[str, Any], storage: Storage) -> ListedFiles:
    """Paths and labels, in the order of the data set, for the arguments of `readers.file`. Raises
    OperatorValueError, OperatorTypeError."""
    root, file_list, files = given["file_root"], given["file_list"], given["files"]
    labels, rule = given["labels"], given["label_fn"]
    if rule is not None and labels is not None:
        raise op.OperatorValueError("give either `labels` or `label_fn`, not both")
    if given["recursive"] and (file_list is not None or files is not None or root is None):
        raise op.OperatorValueError(
            "`recursive` looks below `file_root`, without a list of files", argument="recursive"
        )
    if file_list is not None and files is not None:
        raise op.OperatorValueError("give either `file_list` or `files`, not both")
    if labels is not None and files is None:
        raise op.OperatorValueError("`labels` belong to `files`, which were not given")
    if files is not None:
        paths, labels, classes = _from_files(root, files, labels)
    elif file_list is not None:
        paths, labels, classes = _from_list(root, file_list, storage)
        root = parent(file_list) if root is None else root
    elif root is not None:
        paths, labels, classes = _from_folder(root, given, storage)
    else:
        raise op.OperatorValueError("give one of `file_root`, `file_list` and `files`")
    if rule is not None:
        labels, classes = labels_by(rule, names_in(paths, root))
    if given["split"] is not None:
        places = split_places(names_in(paths, root), given["split"])
        paths, labels = [paths[place] for place in places], [labels[place] for place in places]
    return ListedFiles(paths, labels, classes)


def _from_files(
    root: str | None, files: Sequence[str], labels: Sequence[int] | None
) -> ListedFiles:
    if not files:
        raise op.wrong_value("files", "at least one file", "none")
    if labels is not None and len(labels) != len(files):
        raise op.wrong_value("labels", f"one per file, {len(files)}", len(labels))
    paths = [local_path(join(root or "", file)) for file in files]
    return ListedFiles(paths, list(range(len(files)) if labels is None else labels))


def _from_list(root: str | None, file_list: str, storage: Storage) -> ListedFiles:
    folder = root if root is not None else parent(file_list)
    paths, labels = [], []
    for number, line in enumerate(text_lines(file_list, "file_list", storage), 1):
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


def _from_folder(root: str, given: Mapping[str, Any], storage: Storage) -> ListedFiles:
    """The files below a folder, labeled by the folder in it that holds them; those in the folder
    itself come first, where labels come from elsewhere."""
    exact, filters, deep = given["case_sensitive_filter"], given["file_filters"], given["recursive"]
    needs_folder = given["label_fn"] is None
    inside, folders, parts = list_root(root, storage, given["dir_filters"] or (), exact)
    loose = [] if needs_folder else [one for one in inside if one.is_file]
    if deep:
        outer = [frozenset([root if is_url(root) else os.path.realpath(root)])] * len(folders)
        with _readable_root():
            parts = _below(folders, parts, storage, outer)
    every = [(one, 0) for one in loose]
    every += [(one, label) for label, part in enumerate(parts) for one in part if one.is_file]
    warn_of_left_out(root, (one.name for one, _ in every), filters)
    kept = [(one, label) for one, label in every if _matches(one.name, filters, exact)]
    if not kept:
        some = ", ".join(filters[:4])
        if deep or not needs_folder:
            expected = f"a folder with files like {some} ..."
            raise op.wrong_value("file_root", expected, f"{root!r}, with {len(every)} others")
        raise op.OperatorValueError(
            argument="file_root",
            expected=f"a folder with one folder per label, holding files like {some} ...",
            got=f"{root!r}, with {len(folders)} folders and no such file in them"
            + _hint(root, inside, filters, exact),
        )
    names = [folder.name for folder in folders]
    return ListedFiles([one.path for one, _ in kept], [label for _, label in kept], names)


def list_root(
    root: str, storage: Storage, dir_filters: Sequence[str] = (), case_sensitive: bool = True
) -> tuple[list[FolderEntry], list[FolderEntry], list[list[FolderEntry]]]:
    """The entries of `file_root`, the folders among them that match, and the entries of each of
    these. Raises OperatorValueError."""
    with _readable_root():
        (inside,) = list_folders([root], storage)
        folders = [one for one in inside if one.is_folder]
        if dir_filters:
            folders = [one for one in folders if _matches(one.name, dir_filters, case_sensitive)]
        return inside, folders, list_folders([one.path for one in folders], storage)


@contextmanager
def _readable_root() -> Iterator[None]:
    """Turns an OSError into an OperatorValueError that names `file_root`."""
    try:
        yield
    except OSError as error:
        got = f"{error.filename!r}: {error.strerror}" if error.strerror else error
        raise op.wrong_value("file_root", "a folder that can be read", got) from error


def _below(
    folders: Sequence[FolderEntry],
    listed: Sequence[Sequence[FolderEntry]],
    storage: Storage,
    outer: Sequence[frozenset[str]],
) -> list[list[FolderEntry]]:
    """The files below each folder, also in nested folders, sorted by the names of folders and
    files; a link that leads back to one of the folders around it is not followed. listed: the
    entries of each folder; outer: the folders around each. Raises OSError."""
    here = [one.path if is_url(one.path) else os.path.realpath(one.path) for one in folders]
    entries = [
        [] if place in seen else row for row, place, seen in zip(listed, here, outer, strict=True)
    ]
    inner = [
        (one, outer[number] | {here[number]})
        for number, row in enumerate(entries)
        for one in row
        if one.is_folder
    ]
    nested: Iterator[list[FolderEntry]] = iter(())
    if inner:
        rows = list_folders([one.path for one, _ in inner], storage)
        nested = iter(_below([one for one, _ in inner], rows, storage, [seen for _, seen in inner]))
    found: list[list[FolderEntry]] = []
    for row in entries:
        files: list[FolderEntry] = []
        for one in row:
            if one.is_folder:
                files += next(nested)
            elif one.is_file:
                files.append(one)
        found.append(files)
    return found


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
    return any(fnmatchcase(name, pattern) for pattern in filters)


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

    def identities_of_files(
        self, indices: op.Int64Array, before: int | None = None
    ) -> list[str | None]:
        """What identifies the bytes of the files of these samples."""
        return file_identities(self.names(indices), self.storage, before)

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
        inside, _, below = list_root(root, storage)
        every = itertools.chain(inside, *below)
        found = [one.path for one in every if one.is_file and fnmatchcase(one.name, pattern)]
        argument = "file_root"
    else:
        raise op.OperatorValueError("give one of `file_root`, `file_list` and `files`")
    if not found:
        raise op.OperatorValueError(
            argument=argument, expected="at least one file", got="none", file=listed or root
        )
    return [local_path(path) for path in found]


def path_in_list(path: str, listed: str) -> str:
    """Where a path in a list or a manifest leads: from the working directory, or from where the
    list is."""
    beside = join(parent(listed), path)
    if is_url(listed) or is_url(path):
        return beside
    here = os.path.isabs(path) or os.path.exists(path)
    return path if here or not os.path.exists(beside) else beside
