"""The receipts of the batches of a pipeline, made beside the batches."""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from gradiva.capture.compiler import code_digests
from gradiva.capture.graph.builtin_ops import constant
from gradiva.capture.graph.fingerprint import fingerprint, library_versions
from gradiva.capture.graph.graph import Graph, Node, Opaque
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.schedules.schedule import Schedule
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.provenance import Progress
from gradiva.eager.values.batch import Batch
from gradiva.ops.readers.core.identities import portable_identity
from gradiva.ops.readers.core.source import Source

from .digests import combined, sample_digests, type_text
from .options import ReceiptOptions
from .receipt import Receipt, graph_digest

metadata = lazy_module("importlib.metadata")

__all__ = [
    "BatchRecord",
    "ReceiptMaker",
    "identities_of",
    "outputs_of",
    "used_outputs",
    "versions_of",
]

_IDENTITY_BYTES = 16
_PACKAGES = ("numpy", "numba", "simplejpeg", "opencv-python-headless", "pillow", "soundfile", "av")
CONTENTS = "contents "
"""What the identity of a sample begins with that is a digest where others are none."""

Values = Mapping[tuple[Node, int], Batch]
Positions = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class BatchRecord:
    """The receipt of a batch, and what it takes to make that of some of its samples."""

    receipt: Receipt
    digests: Sequence[Sequence[bytes]]
    """Of the samples of each output."""
    maker: ReceiptMaker

    def select(self, kept: Sequence[int]) -> Receipt:
        """The receipt of these samples of the outputs, by their numbers in the batch."""
        if all(len(one) == len(kept) for one in self.digests):
            return self.receipt
        batch = dict(self.receipt.batch)
        batch["kept"] = [int(sample) for sample in kept]
        batch["outputs"] = outputs_of(
            [(one["type"], [own[sample] for sample in kept]) for one, own in self._described()],
            batch["hash"],
        )
        return self.maker.receipt(batch, self.receipt.made_by)

    def _described(self) -> Iterable[tuple[Any, Sequence[bytes]]]:
        return zip(self.receipt.batch["outputs"], self.digests, strict=True)


class ReceiptMaker:
    """Makes the receipts of the batches of a graph. Safe from any thread.

    graph: as it was recorded; seed: of the pipeline; batch_size: the most samples of a batch.
    """

    def __init__(self, graph: Graph, options: ReceiptOptions, seed: int, batch_size: int) -> None:
        self.options = options
        self._graph, self._seed, self._batch_size = graph, seed, batch_size
        self._per = schedules_per(graph)
        self._lock = threading.Lock()
        self._known: tuple[dict[str, Any], str, dict[str, Any]] | None = None
        self._data: dict[Node, Any] = {}
        self.used: dict[Node, Sequence[int]] = {}
        """The outputs of a source that somebody reads, if the source does not know that."""

    def _facts(self) -> tuple[dict[str, Any], str, dict[str, Any]]:
        """The fingerprint of the graph, its digest, and the versions: made once."""
        with self._lock:
            if self._known is None:
                plain = fingerprint(self._graph, anywhere=True)
                self._known = plain, graph_digest(plain), versions_of(self._graph)
            return self._known

    def receipt(self, batch: Mapping[str, Any], made_by: Mapping[str, Any]) -> Receipt:
        """The receipt of a batch of this graph."""
        return Receipt.of(batch, made_by, self._facts()[1])

    def of_inputs(
        self,
        sources: Mapping[Node, Source],
        values: Values,
        size: int,
        positions: Positions,
        progress: Progress | None,
        pool: WorkerPool,
    ) -> dict[str, Any]:
        """What a receipt says of the samples that were read: so many, with these positions."""
        said: dict[str, Any] = {
            "graph": self._facts()[0],
            "seed": self._seed,
            "epoch": None,
            "samples": size,
            "sources": [self._source(node, one, values, pool) for node, one in sources.items()],
            **self.options._asdict(),
        }
        if sources:
            said["epoch"] = said["sources"][0]["epoch"]
        else:
            said["positions"] = positions.tolist()
            said["step"] = 0 if progress is None else progress.step
        return said

    def _source(
        self, node: Node, source: Source, values: Values, pool: WorkerPool
    ) -> dict[str, Any]:
        used = self.used.get(node)
        used = used_outputs(node, source) if used is None else used
        where = values[node, 0].provenance
        said: dict[str, Any] = {
            "operator": node.operator.name,
            "names": [],
            "epoch": None,
            "data": self._contents(node, source),
            "identities": identities_of(node, used, values, self.options, pool),
        }
        if where is None:
            return said
        said["names"] = [os.path.basename(name) for name in values[node, 0].source_info()]
        said["positions"] = where.positions.tolist()
        if where.indices is not None:
            said["indices"] = where.indices.tolist()
        if where.places is not None:
            said["places"] = where.places.tolist()
        progress = where.progress
        if progress is not None:
            said["epoch"] = progress.epoch
            if "step" in self._per:
                said["step"] = progress.step
            if "sample" in self._per:
                said["numbers"] = progress.numbers(where.positions).tolist()
        return said

    def _contents(self, node: Node, source: Source) -> Any:
        """What a source says of its data; it is asked once."""
        with self._lock:
            if node not in self._data:
                self._data[node] = source.contents()
            return self._data[node]

    def of_outputs(
        self, said: Mapping[str, Any], number: int, outputs: Sequence[Batch], pool: WorkerPool
    ) -> BatchRecord:
        """The record of a batch, from what `of_inputs` has said and the outputs. number: how many
        batches were read before."""
        names = [one.pop("names") for one in said["sources"]]
        hash = self.options.hash
        digests = [sample_digests([batch], hash, pool) for batch in outputs]
        kinds = map(type_text, outputs)
        batch = {**said, "outputs": outputs_of(zip(kinds, digests, strict=True), hash)}
        made_by = {
            **self._facts()[2],
            "batch": number,
            "batch_size": self._batch_size,
            "names": names,
        }
        return BatchRecord(self.receipt(batch, made_by), digests, self)


def outputs_of(outputs: Iterable[tuple[str, Sequence[bytes]]], hash: str) -> list[dict[str, Any]]:
    """What a receipt says of outputs, from the types and the digests of their samples."""
    return [
        {"type": kind, "samples": len(digests), "digest": combined(kind, digests, hash)}
        for kind, digests in outputs
    ]


def identities_of(
    node: Node,
    used: Sequence[int],
    values: Values,
    options: ReceiptOptions,
    pool: WorkerPool,
    like: Sequence[str] = (),
) -> list[str]:
    """What identifies each sample of a source, of these outputs. like: earlier ones, whose form is
    taken: a digest of the contents where they have one."""
    batches = [values[node, output] for output in used]
    if not batches:
        return []
    known: list[list[str | None]] = []
    if options.data == "stat":
        origins = [None if one.provenance is None else one.provenance.origin for one in batches]
        known = [[*origin.identities] for origin in origins if origin is not None]
    if len(known) < len(batches):
        made = _digests(batches, options.hash, pool)
        return made if options.data == "contents" else [CONTENTS + one for one in made]
    found = [
        None if None in own else " | ".join(portable_identity(one) for one in own if one)
        for own in zip(*known, strict=True)
    ]
    for sample, one in enumerate(like[: len(found)]):
        if one.startswith(CONTENTS):
            found[sample] = None
    if None in found:
        made = _digests(batches, options.hash, pool)
        return [
            CONTENTS + other if own is None else own for own, other in zip(found, made, strict=True)
        ]
    return [one for one in found if one is not None]


def used_outputs(node: Node, source: Source) -> Sequence[int]:
    """The outputs of a source that somebody reads."""
    if source.counted:
        return ()
    return range(len(node.type)) if source.used is None else sorted(source.used)


def _digests(batches: Sequence[Batch], hash: str, pool: WorkerPool) -> list[str]:
    made = sample_digests(batches, hash, pool)
    return [digest[:_IDENTITY_BYTES].hex() for digest in made]


def versions_of(graph: Graph) -> dict[str, Any]:
    """The versions of what makes the values of a graph, and digests of the user's functions in
    it."""
    own_version, code, *own = code_digests.code_of(
        node.operator for node in graph.nodes if node.operator is not constant
    )
    return {
        "pipeline": graph.title,
        "gradiva": own_version,
        "code": code,
        "libraries": {**_packages(), **library_versions(graph)},
        "python": ".".join(platform.python_version_tuple()[:2]),
        "operators": own,
        "functions": _functions(graph),
    }


@cache
def _packages() -> dict[str, str]:
    """The packages that decode and compute, with their versions."""
    found = {}
    for name in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _functions(graph: Graph) -> dict[str, str]:
    """Digests of the code of functions in arguments, by what messages call them."""
    found: dict[str, str] = {}
    for number, node in enumerate(graph.nodes):
        for name, value in node.attributes:
            held = value.value if isinstance(value, Opaque) else None
            if not callable(held):
                continue
            text = getattr(held, "__qualname__", None) or type(held).__qualname__
            key = f"`{text}`, argument `{name}` of `{node.operator.name}` (node {number + 1})"
            found[key] = code_digests.code_of_function(held)
    return found


def schedules_per(graph: Graph) -> frozenset[str]:
    """What the schedules in a graph depend on: "epoch", "step", "sample"."""
    found: set[str] = set()
    waiting = [value for node in graph.nodes for _, value in node.attributes]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Schedule):
            found |= value.per
        elif isinstance(value, tuple | list):
            waiting += value
        elif isinstance(value, Opaque):
            waiting.append(value.value)
    return frozenset(found)
