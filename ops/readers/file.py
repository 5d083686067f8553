"""`readers.file`: whole files as they are, with labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.readers.core.files import RateTracker, read_files
from gradiva.ops.readers.core.labels import LabelArguments, LabelForm
from gradiva.ops.readers.core.left_out import FILTERS
from gradiva.ops.readers.core.reader import reader_class
from gradiva.ops.readers.core.remote_files import read_any_files
from gradiva.ops.readers.core.source import source_operator
from gradiva.ops.readers.core.table import Failures, Records
from gradiva.ops.storage.storage import Storage

from .listing import FilesTable, ListedFiles, digest_of, list_files
from .reader_arguments import ReaderArguments, ReaderOptions, storage_of
from .sampling.names import LabelRule
from .table_source import opens_table


class FileOptions(LabelArguments, ReaderOptions, total=False):
    """For type checkers: what stands for `**options` of the type rule."""


@source_operator("readers.file", schema="readers__File", formerly=("file_reader",))
@op.uses_arguments(..., LabelArguments, ReaderArguments)
def file(
    *,
    file_root: op.Path | None = None,
    file_list: op.Path | None = None,
    files: op.Paths | None = None,
    labels: op.Ints | None = None,
    dir_filters: op.Strings | None = None,
    file_filters: op.Strings = FILTERS,
    case_sensitive_filter: bool = False,
    recursive: bool = False,
    label_fn: LabelRule | None = None,
    split: op.Floats | None = None,
    **options: op.Unpack[FileOptions],
) -> tuple[op.SampleType, op.SampleType]:
    """Read files and their labels, for example from one folder for each class.

    In dynamic mode `reader.classes` are the names of the labels, where folders or texts of
    `label_fn` are numbered.

    Args:
        file_root: a folder with one folder per label, in alphabetical order; or the folder that
            paths in `file_list` and `files` are relative to.
        file_list: a text file with lines `path label`.
        files, labels: the same as Python lists; without labels, files are numbered.
        dir_filters, file_filters: patterns such as `*.jpg` for the names of folders and files, case
            counting only with `case_sensitive_filter`. Where the usual `file_filters` leave out
            files with endings of other images and audio files, such as `.gif`, a warning counts
            them.
        case_sensitive_filter: whether case counts in `dir_filters` and `file_filters`.
        recursive: read files in nested folders of `file_root` too. Their label is still that of the
            folder in `file_root`.
        label_fn: where labels come from: a function of the file's path below `file_root`, or a
            regular expression, which is searched in it and whose first group counts. What it finds
            is the label if it is an integer, or consists of digits in all files; other texts are
            numbered in alphabetical order. Files in `file_root` itself are read too.
        split: read a part of the files: (0, 0.9) those nine tenths whose hash of the path below
            `file_root` is below 0.9, (0.9, 1) the others. A file stays in its part when others
            come and go. Labels are those of all files.

    Returns:
        The bytes of the files, uint8, 1-D, and their labels, by default int32 of shape (1,).

    Raises:
        OperatorValueError: for a missing folder or list, and for one that names no files.
        OperatorRuntimeError: with the file, for a file that cannot be read.

    Example:
        reader = gradiva.readers.File(file_root="photos", random_shuffle=True)
        for files, labels in reader.next_epoch(batch_size=4):
            images = gradiva.decoders.image(files)
    """
    return op.SampleType(op.uint8, 1, "", "cpu"), LabelForm.of(options).type


class FileTable(FilesTable):
    """Files, and a label for each."""

    selecting = frozenset(
        (
            *("labels", "dir_filters", "file_filters", "case_sensitive_filter", "recursive"),
            *("label_fn", "split", "label_dtype", "label_shape"),
        )
    )

    def __init__(self, listed: ListedFiles, form: LabelForm, storage: Storage) -> None:
        super().__init__(listed.paths, storage)
        self._rates = RateTracker()
        self._labels = np.array(listed.labels, np.int32)
        self._form = form.checked(self._labels)
        self._classes = listed.classes

    def read(self, indices: op.Int64Array, pool: op.WorkerPool) -> Records:
        failures: Failures = {}
        names = self.names(indices)
        if self.storage is None:
            contents = read_files(names, None, pool, failures, self._rates)
        else:
            contents = read_any_files(names, None, pool, failures, storage=self.storage)
        return Records((contents, self._form.column(self._labels[indices])), failures)

    def without_reading(self, indices: op.Int64Array) -> dict[int, op.Batch]:
        return {1: self._form.column(self._labels[indices])}

    def identities(
        self, indices: op.Int64Array, output: int, before: int | None = None
    ) -> Sequence[str | None]:
        if output == 1:
            return [f"{label} as {self._form}" for label in self._labels[indices].tolist()]
        return self.identities_of_files(indices, before)

    def digest(self) -> dict[str, Any]:
        """The number of files, and a digest of their names below the folder that holds them all,
        and of their labels."""
        names = digest_of(self._paths, self._labels.tolist())
        return {"files": len(self._paths), "names": names}

    def labels(self) -> op.Int64Array:
        return self._labels.astype(np.int64)

    def classes(self) -> list[str] | None:
        return self._classes


file.not_serializable("recursive", "label_fn", "split", "label_dtype", "label_shape")


@opens_table(file)
def _open(given: dict[str, Any]) -> FileTable:
    storage = storage_of(given)
    return FileTable(list_files(given, storage), LabelForm.of(given), storage)


File = reader_class("File", file)
