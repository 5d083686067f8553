"""`readers.file`: whole files as they are, with labels."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.execution.error_policy import keep_rows, quarantine_samples
from gradiva.eager.operators.argument_types import Path, Paths, Strings
from gradiva.eager.readers.files import Pace, read_files
from gradiva.eager.readers.reader import reader_class
from gradiva.eager.readers.source import Source, source_operator

from .listing import digest_of, list_files
from .order import Order

_FILTERS = (
    "*.jpg", "*.jpeg", "*.png", "*.bmp", "*.tif", "*.tiff", "*.pnm", "*.ppm", "*.pgm", "*.pbm",
    "*.jp2", "*.webp", "*.flac", "*.ogg", "*.wav",
)  # fmt: skip


@source_operator("readers.file", schema="readers__File", formerly=("file_reader",))
def file(
    *,
    file_root: Path | None = None,
    file_list: Path | None = None,
    files: Paths | None = None,
    labels: op.Ints | None = None,
    dir_filters: Strings | None = None,
    file_filters: Strings = _FILTERS,
    case_sensitive_filter: bool = False,
    random_shuffle: bool = False,
    shuffle_after_epoch: bool = False,
    shuffle_after_epoch_seed: int | None = None,
    initial_fill: int = 1024,
    num_shards: int = 1,
    shard_id: int = 0,
    stick_to_shard: bool = False,
    pad_last_batch: bool = False,
    lazy_init: bool = False,
    read_ahead: bool = False,
    prefetch_queue_depth: int = 1,
    dont_use_mmap: bool = False,
    skip_cached_images: bool = False,
    tensor_init_bytes: int = 1048576,
    on_error: op.OnError = "raise",
    **common: op.Unpack[op.Common],
) -> tuple[op.SampleType, op.SampleType]:
    """Read files: their bytes (uint8, 1-D) and their labels (int32, shape (1,)).

    Args:
        file_root: a folder with one folder per label, in alphabetical order; or the folder that
            paths in `file_list` and `files` are relative to.
        file_list: a text file with lines `path label`.
        files, labels: the same as Python lists; without labels, files are numbered.
        dir_filters, file_filters: patterns such as `*.jpg` for the names of folders and files, case
            counting only with `case_sensitive_filter`.
        case_sensitive_filter: whether case counts in `dir_filters` and `file_filters`.
        random_shuffle: read each epoch in an order of its own, a permutation of the whole data set
            that depends on the seed and the epoch only.
        shuffle_after_epoch: means the same here.
        shuffle_after_epoch_seed: sets the seed of it.
        initial_fill: the size of the shuffling buffer elsewhere; accepted and not needed: the whole
            data set is the buffer.
        num_shards, shard_id: read one part of the data set; the parts are equal up to one sample.
        stick_to_shard: keep to this part, instead of moving to the next one at each epoch.
        pad_last_batch: repeat the last sample so that all shards have epochs of one length and the
            last batch is full.
        lazy_init: look for the files at the first read.
        read_ahead: ask the system to fetch the files of the next `prefetch_queue_depth` batches.
        prefetch_queue_depth: with `read_ahead`, of how many batches the files are fetched.
        dont_use_mmap: files are always read and never mapped, because a mapped file that shrinks
            kills the process.
        skip_cached_images: there is no decoder cache on the CPU.
        tensor_init_bytes: buffers are sized from the files.
        on_error: the error policy for a file that cannot be read. "raise" (default) fails the
        batch;
            "skip" takes the sample out of it, with its label, while the positions of the others
            stay; "replace" delivers no bytes, and the label. A decoder says of no bytes that the
            file is empty, so it needs an `on_error` of its own. See `docs/errors.md`.

    Returns:
        The bytes of the files, uint8, 1-D, and their labels, int32 of shape (1,).

    Raises:
        OperatorValueError: for a missing folder or list, and for one that names no files.
        OperatorRuntimeError: with the file, for a file that cannot be read.
    """
    return op.SampleType(op.uint8, 1, "", "cpu"), op.SampleType(op.int32, 1, "", "cpu")


@file.opens
class FileSource(Source):
    """The files, and the place in their stream."""

    def __init__(self, arguments: dict[str, Any], seed: int) -> None:
        if arguments["random_shuffle"] and arguments["shuffle_after_epoch"]:
            raise op.OperatorValueError(
                "`random_shuffle` and `shuffle_after_epoch` cannot be used together"
            )
        if arguments["stick_to_shard"] and arguments["shuffle_after_epoch"]:
            raise op.OperatorValueError(
                "`stick_to_shard` and `shuffle_after_epoch` cannot be used together: the shards "
                "of a shuffled data set are other files in each epoch"
            )
        chosen = arguments["shuffle_after_epoch_seed"]
        self._seed = seed if chosen is None else chosen
        self._arguments = arguments
        self._order: Order | None = None
        self._contents: dict[str, Any] | None = None
        self._paths: list[str] = []
        self._pace = Pace()
        self._labels = np.empty((0, 1), np.int32)
        if not arguments["lazy_init"]:
            self._look()

    def _look(self) -> Order:
        if self._order is not None:
            return self._order
        given = self._arguments
        self._paths, labels = list_files(given)
        self._labels = np.array(labels, np.int32).reshape(-1, 1)
        shuffled = given["random_shuffle"] or given["shuffle_after_epoch"]
        shards = {name: given[name] for name in ("num_shards", "shard_id", "stick_to_shard")}
        pad = given["pad_last_batch"]
        self._order = Order(len(labels), self._seed, shuffled, pad=pad, **shards)
        return self._order

    def read(self, batch_size: int, pool: op.WorkerPool) -> tuple[op.Batch, ...]:
        return self._load(*self._look().take(batch_size), pool)

    def read_epoch(self, batch_size: int, pool: op.WorkerPool) -> tuple[op.Batch, ...]:
        return self._load(*self._look().take_in_epoch(batch_size), pool)

    def _load(
        self, samples: op.Int64Array, positions: op.Int64Array, pool: op.WorkerPool
    ) -> tuple[op.Batch, ...]:
        paths = [self._paths[sample] for sample in samples.tolist()]
        where = op.Provenance(positions, paths)
        labels = op.Batch.over(
            self._labels[samples].reshape(-1),
            op.BatchShape.equal(len(paths), (1,)),
            op.SampleType(op.int32, 1, "", "cpu"),
            where,
        )
        if self._arguments["read_ahead"]:
            self._advise(len(paths) * self._arguments["prefetch_queue_depth"])
        policy = self._arguments["on_error"]
        failures: dict[int, op.GradivaError] | None = None if policy == "raise" else {}
        contents = read_files(paths, where, pool, failures, self._pace)
        self.lost = ()
        if failures:
            quarantine_samples(failures, file.name, where)
            if policy == "skip":
                self.lost = sorted(failures)
                kept = np.delete(np.arange(len(paths)), self.lost)
                return keep_rows(contents, kept), keep_rows(labels, kept)
        return contents, labels

    def _advise(self, count: int) -> None:
        """Ask the system to fetch what comes next; where it cannot be asked, nothing is lost."""
        order = self._look()
        state = order.get_state()
        coming, _ = order.take(count)
        order.set_state(state)
        for sample in coming.tolist() if hasattr(os, "posix_fadvise") else ():
            try:
                handle = os.open(self._paths[sample], os.O_RDONLY)
            except OSError:
                continue  # the read that follows will say so
            try:
                os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_WILLNEED)
            finally:
                os.close(handle)

    def remaining(self) -> int | None:
        order = self._look()
        return order.length - order.index

    def epoch_length(self) -> int:
        return self._look().length

    def shard_length(self) -> int:
        begin, end = self._look().bounds
        return end - begin

    def skip_epoch(self) -> None:
        self._look().skip_epoch()

    def meta(self) -> dict[str, int]:
        return self._look().meta()

    def contents(self) -> dict[str, Any]:
        """The number of files, and a digest of their names below the folder that holds them all,
        and of their labels; so a data set may be moved as a whole."""
        self._look()
        if self._contents is None:
            self._contents = {
                "files": len(self._paths),
                "names": digest_of(self._paths, self._labels.ravel().tolist()),
            }
        return self._contents

    def get_state(self) -> dict[str, Any]:
        return self._look().get_state()

    def set_state(self, state: dict[str, Any]) -> None:
        self._look().set_state(state)


File = reader_class("File", file)
