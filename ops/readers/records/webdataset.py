"""`readers.webdataset`: samples from tar archives, a file for each output."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import BoolVector
from gradiva.ops.readers.core.containers import Containers, Places, check_not_empty
from gradiva.ops.readers.core.partial_reads import widened
from gradiva.ops.readers.core.reader import reader_class
from gradiva.ops.readers.core.source import source_operator
from gradiva.ops.readers.core.table import Failures, Records, Table
from gradiva.ops.readers.reader_arguments import (
    DTypes,
    ReaderArguments,
    ReaderOptions,
    dtypes_of,
    storage_of,
)
from gradiva.ops.readers.table_source import opens_table
from gradiva.ops.storage.folders import expect_files

from .tar_archive import Component, indexed, scanned

__all__ = ["Webdataset", "webdataset"]


@source_operator("readers.webdataset", schema="readers__Webdataset")
@op.uses_arguments(ReaderArguments)
def webdataset(
    *,
    paths: op.Paths,
    ext: op.Strings,
    index_paths: op.Paths | None = None,
    missing_component_behavior: str = "",
    dtypes: DTypes | None = None,
    case_sensitive_extensions: bool = True,
    **options: op.Unpack[ReaderOptions],
) -> tuple[op.SampleType, ...]:
    """Read samples from WebDataset archives, which are tar files.

    Files that follow each other and have one name up to the first dot are a sample.

    Args:
        paths: the archives, one or several; not compressed ones.
        ext: for each output the extension of its file, all behind the first dot of the name; or
            several with ";" between them, of which the first file that has one is taken.
        index_paths: index files, one for each archive, as `gradiva wds2idx` writes them.
            Without them, the archives are scanned, which is done once for each large archive.
        missing_component_behavior: what to do with a sample that lacks a file: deliver no bytes
            ("empty", or ""), leave the sample out ("skip"), or refuse the archive ("error").
        dtypes: for each output the type that its bytes are; uint8 by default.
        case_sensitive_extensions: whether case counts in `ext`.

    Returns:
        For each output the bytes of its files, 1-D, in its type.

    Raises:
        OperatorValueError: for a missing archive.
        OperatorRuntimeError: with the archive and the place in it, for a damaged archive, an index
            that does not belong to it, a file whose size is no multiple of its type's, and a sample
            that lacks a file with "error".

    Example:
        reader = gradiva.readers.Webdataset(paths="data.tar", ext=["jpg", "cls"])
        for files, labels in reader.next_epoch(batch_size=4):
            images = gradiva.decoders.image(files)
    """
    return tuple(op.SampleType(dtype, 1, "", "cpu") for dtype in _types(ext, dtypes))


def _types(ext: Any, dtypes: Any) -> tuple[op.DType, ...]:
    """The types of the outputs. Raises OperatorValueError."""
    count = 1 if isinstance(ext, str) else len(ext)
    if not count:
        raise op.wrong_value("ext", "at least one", "none")
    given = (op.uint8,) * count if dtypes is None else dtypes_of(dtypes)
    if len(given) != count:
        raise op.wrong_value("dtypes", f"one for each extension, {count}", len(given))
    return given


class ArchivedSample(NamedTuple):
    """The files of a sample: the number of the archive, and a component for each output, if there
    is one."""

    archive: int
    components: tuple[Component | None, ...]


class SampleTable(Table):
    """Samples in archives."""

    def __init__(
        self, containers: Containers, samples: list[ArchivedSample], dtypes: tuple[op.DType, ...]
    ) -> None:
        self._containers, self._samples, self._dtypes = containers, samples, dtypes
        self.storage = containers.storage
        self._files = np.array([sample.archive for sample in samples], np.int64)
        places = [
            [(0, 0) if one is None else (one.offset, one.size) for one in sample.components]
            for sample in samples
        ]
        self._places = np.array(places, np.int64).reshape(len(samples), len(dtypes), 2)

    def __len__(self) -> int:
        return len(self._samples)

    def _name(self, index: int, component: Component | None) -> str:
        if component is None:
            return ""
        path = self._containers.paths[self._samples[index].archive]
        return f"{path}:{component.offset}:{component.name}"

    def names(self, indices: op.Int64Array) -> list[str]:
        found = []
        for index in indices.tolist():
            sample = self._samples[index]
            first = next((one for one in sample.components if one is not None), None)
            found.append(self._name(index, first) or self._containers.paths[sample.archive])
        return found

    def _chosen(self, indices: op.Int64Array, output: int) -> Places:
        return Places(
            self._files[indices], self._places[indices, output, 0], self._places[indices, output, 1]
        )

    def read(self, indices: op.Int64Array, pool: op.WorkerPool) -> Records:
        return self.read_some(indices, np.ones(len(indices), np.bool_), frozenset(), pool)

    def read_some(
        self, indices: op.Int64Array, needed: BoolVector, free: frozenset[int], pool: op.WorkerPool
    ) -> Records:
        failures: Failures = {}
        columns, names = [], []
        for output, dtype in enumerate(self._dtypes):
            places = self._chosen(indices, output)
            bad = places.sizes % dtype.itemsize != 0
            for sample in np.flatnonzero(bad).tolist():
                component = self._samples[int(indices[sample])].components[output]
                failures[sample] = op.SampleDataError(
                    f"the size of {component.name if component else 'a file'} does not fit its "
                    "type",
                    expected=f"a multiple of {dtype.itemsize} bytes",
                    got=str(places.sizes[sample]),
                )
            places = places._replace(sizes=np.where(bad, 0, places.sizes))
            if output in free:
                rows = np.flatnonzero(needed)
                part = Places(*(one[rows] for one in places))
                columns.append(self._read_rows(part, rows, len(indices), pool, failures, dtype))
            else:
                columns.append(self._containers.read(places, pool, failures, dtype))
            names.append(
                [
                    self._name(index, self._samples[index].components[output])
                    for index in indices.tolist()
                ]
            )
        return Records(tuple(columns), failures, tuple(names))

    def _read_rows(
        self,
        places: Places,
        rows: op.Int64Array,
        size: int,
        pool: op.WorkerPool,
        failures: Failures,
        dtype: op.DType,
    ) -> op.Batch:
        """The files at these places, as a batch of `size` samples, of which they are these rows."""
        found = {place: failures[row] for place, row in enumerate(rows.tolist()) if row in failures}
        made = self._containers.read(places, pool, found, dtype)
        failures.update({int(rows[place]): error for place, error in found.items()})
        return widened(made, rows, size)

    def identities(
        self, indices: op.Int64Array, output: int, before: int | None = None
    ) -> Sequence[str | None]:
        return self._containers.identities(self._chosen(indices, output), before)

    def sizes(self) -> op.Int64Array:
        return np.asarray(self._places[:, :, 1].sum(axis=1), np.int64)

    def digest(self) -> dict[str, Any]:
        return {"samples": len(self), "names": self._containers.digest(self._files, self._places)}

    def prefetch(self, indices: op.Int64Array) -> None:
        self.prefetch_some(indices, np.ones(len(indices), np.bool_), frozenset())

    def prefetch_some(
        self, indices: op.Int64Array, needed: BoolVector, free: frozenset[int]
    ) -> bool:
        for output in range(len(self._dtypes)):
            wanted = indices[needed] if output in free else indices
            self._containers.prefetch(self._chosen(wanted, output))
        return True


class _OutputsByExtension:
    """Which files of a sample go to which output."""

    def __init__(self, ext: tuple[str, ...], case_sensitive: bool) -> None:
        self._fold = not case_sensitive
        self._outputs: dict[str, list[int]] = {}
        self._count = len(ext)
        self._warned = False
        for output, names in enumerate(ext):
            for name in names.split(";"):
                outputs = self._outputs.setdefault(self._folded(name), [])
                if output not in outputs:
                    outputs.append(output)

    def _folded(self, extension: str) -> str:
        return extension.lower() if self._fold else extension

    def choose(self, sample: list[Component], path: str) -> tuple[Component | None, ...]:
        """The first file of the sample for each output."""
        chosen: list[Component | None] = [None] * self._count
        for component in sample:
            for output in self._outputs.get(self._folded(component.extension), ()):
                if chosen[output] is None:
                    chosen[output] = component
                elif not self._warned:
                    self._warned = True
                    warnings.warn(
                        f"readers.webdataset: several files of a sample match output {output}, the "
                        f"first is taken: {component.name} in {path} is not",
                        UserWarning,
                        stacklevel=2,
                    )
        return tuple(chosen)


_BEHAVIORS = {"": "empty", "empty": "empty", "skip": "skip", "error": "error"}


@opens_table(webdataset, container=True)
def _open(given: dict[str, Any]) -> SampleTable:
    dtypes = _types(given["ext"], given["dtypes"])
    behavior = _BEHAVIORS.get(given["missing_component_behavior"].lower())
    if behavior is None:
        raise op.wrong_value(
            "missing_component_behavior",
            "'empty', 'skip' or 'error'",
            repr(given["missing_component_behavior"]),
        )
    storage = storage_of(given)
    indices = given["index_paths"] or None
    expect_files(indices or (), storage)  # on their way while the containers are looked at
    containers = Containers(given["paths"], "paths", storage)
    if indices is not None and len(indices) != len(containers.paths):
        raise op.wrong_value(
            "index_paths", f"as many files as in `paths`, {len(containers.paths)}", len(indices)
        )
    wanted = _OutputsByExtension(given["ext"], given["case_sensitive_extensions"])
    samples = []
    for number, (path, facts) in enumerate(zip(containers.paths, containers.facts, strict=True)):
        for sample in (
            scanned(path, storage)
            if indices is None
            else indexed(indices[number], path, facts.size, storage)
        ):
            chosen = wanted.choose(sample, path)
            if None in chosen and behavior == "error":
                raise op.OperatorRuntimeError(
                    f"a sample lacks a file for output {chosen.index(None)}: "
                    f"{sample[0].name if sample else 'an empty one'}",
                    argument="ext",
                    file=path,
                )
            if behavior != "skip" or None not in chosen:
                samples.append(ArchivedSample(number, chosen))
    check_not_empty(len(samples), containers, "paths")
    return SampleTable(containers, samples, dtypes)


Webdataset = reader_class("Webdataset", webdataset)
