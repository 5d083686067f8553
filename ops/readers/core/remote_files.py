"""The bytes of whole files, of which some are on other machines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.support.errors import GradivaError
from gradiva.eager.support.local_files import open_regular
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.types.dtypes import uint8
from gradiva.eager.types.provenance import Provenance
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch
from gradiva.ops.storage.errors import StorageError
from gradiva.ops.storage.ranges import Content, Want, fill
from gradiva.ops.storage.storage import Storage, default_storage
from gradiva.ops.storage.urls import is_url, local_path

from .files import RateTracker, prefetch_files, read_files, unreadable, without_bytes

_FEW = 8


def read_any_files(
    paths: list[str],
    where: Provenance | None,
    pool: WorkerPool,
    failures: dict[int, GradivaError] | None = None,
    rates: RateTracker | None = None,
    storage: Storage | None = None,
) -> Batch:
    """As `read_files`, where paths may be URLs. storage: what reads them, if they are known."""
    if storage is None and not any("://" in path for path in paths):
        return read_files(paths, where, pool, failures, rates)
    return _read(paths, where, pool, failures, storage or default_storage())


def _read(
    paths: list[str],
    where: Provenance | None,
    pool: WorkerPool,
    failures: dict[int, GradivaError] | None,
    storage: Storage,
) -> Batch:
    wrong: dict[int, OSError] = {}
    contents: list[Content] = [[] for _ in paths]
    remote = [index for index, path in enumerate(paths) if is_url(path)]
    for index, found in zip(remote, storage.take([Want(paths[i]) for i in remote]), strict=True):
        if isinstance(found, StorageError):
            wrong[index] = found
        else:
            contents[index] = found
    for index in sorted({*range(len(paths))} - {*remote}):
        try:
            with open(open_regular(local_path(paths[index])), "rb") as stream:
                contents[index] = [memoryview(stream.read())]
        except OSError as error:
            wrong[index] = error
    for index in sorted(wrong):
        _note(wrong[index], index, paths[index], failures)
    sizes = np.array([sum(map(len, one)) for one in contents], np.int64).reshape(-1, 1)
    batch = Batch.empty(BatchShape.of(sizes), SampleType(uint8, 1, "", "cpu"), where)
    targets = batch.batch_shape.views(batch.data)

    def copy(begin: int, end: int) -> None:
        for index in range(begin, end):
            fill(targets[index], contents[index])

    pool.run(copy, [(i, min(i + _FEW, len(paths))) for i in range(0, len(paths), _FEW)])
    return without_bytes(batch, list(failures)) if failures else batch


def _note(error: OSError, sample: int, path: str, failures: dict[int, GradivaError] | None) -> None:
    failed = unreadable(error, path, sample).complete(sample=sample, file=path)
    if failures is None:
        raise failed from error
    failures[sample] = failed


def prefetch_any_files(paths: Sequence[str], storage: Storage | None) -> None:
    """As `prefetch_files`; `storage` is told of what will be wanted of other machines."""
    if storage is None:
        prefetch_files([*paths])
        return
    far = [is_url(path) for path in paths]
    storage.expect([Want(path) for path, there in zip(paths, far, strict=True) if there])
    if not all(far):
        prefetch_files(
            [local_path(path) for path, there in zip(paths, far, strict=True) if not there]
        )
