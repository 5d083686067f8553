"""Folders and small files, local or remote."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from gradiva.eager.support.local_files import open_regular

from .ranges import Want
from .storage import Storage
from .urls import is_url, local_path


class FolderEntry(NamedTuple):
    """An entry of a folder; path: including the path of the folder."""

    name: str
    path: str
    is_folder: bool
    is_file: bool


def list_folders(folders: Sequence[str], storage: Storage) -> list[list[FolderEntry]]:
    """The entries of each folder, sorted by name. Raises OSError."""
    remote = [folder for folder in folders if is_url(folder)]
    found = dict(zip(remote, storage.entries(remote) if remote else (), strict=True))
    return [
        [FolderEntry(one.name, one.url, one.is_folder, not one.is_folder) for one in found[folder]]
        if folder in found
        else _local(local_path(folder))
        for folder in folders
    ]


def _local(folder: str) -> list[FolderEntry]:
    with os.scandir(folder) as entries:
        rows = [FolderEntry(one.name, one.path, one.is_dir(), one.is_file()) for one in entries]
    return sorted(rows)


def read_bytes(path: str, storage: Storage) -> bytes:
    """The contents of a file. Raises OSError."""
    if is_url(path):
        return storage.read(path)
    with open(open_regular(local_path(path)), "rb") as stream:
        return stream.read()


def expect_files(paths: Sequence[str], storage: Storage) -> None:
    """Prefetch these files: all remote ones are requested at once."""
    urls = [path for path in paths if is_url(path)]
    if urls:
        storage.expect(map(Want, urls))
        storage.fetch(urgent=True)


def read_text(path: str, storage: Storage, errors: str = "strict") -> str:
    """The text of a file. Raises OSError, UnicodeDecodeError."""
    text = read_bytes(path, storage).decode("utf-8", errors)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_names(path: str, storage: Storage) -> list[str]:
    """The lines of a list of files, whose names may be any bytes. Raises OSError."""
    # Other line separators may be part of names.
    return read_text(path, storage, "surrogateescape").removeprefix("\ufeff").split("\n")
