"""The digest of a run: one number that tests of training code compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256

from gradiva.capture.graph.fingerprint import fingerprint
from gradiva.capture.graph.graph import Graph
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.values.batch import Batch

from .digests import combined, sample_digests, type_text
from .receipt import canonical_json

__all__ = ["digest_of_run"]


def digest_of_run(
    graph: Graph, take: Callable[[], Sequence[Batch] | None], count: int, pool: WorkerPool
) -> str:
    """A SHA-256 of a recorded graph and of the next `count` batches, in hexadecimal digits.

    take: returns the outputs of the next batch, None at the end of the data.
    """
    digest = sha256(canonical_json(fingerprint(graph, anywhere=True)))
    for _ in range(count):
        outputs = take()
        if outputs is None:
            break
        for batch in outputs:
            text = combined(type_text(batch), sample_digests([batch], "sha256", pool), "sha256")
            digest.update(text.encode())
    return digest.hexdigest()
