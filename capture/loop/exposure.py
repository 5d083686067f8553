"""Which values of a loop the user has got at, and whether they have been written into since."""

from __future__ import annotations

import zlib
from typing import Any

from gradiva.capture.lazy.pending import Pending
from gradiva.eager.types.device import CPU
from gradiva.eager.values.batch import Batch

__all__ = ["Looks"]

_SMALL = 1 << 18
"""Values of at most so many bytes are summed up at once when somebody looks at them."""


class Looks:
    """The values whose memory was handed out, with a checksum where it is worth one.

    A call that reads such a value must see what the user has written. Large values are summed up
    only if a step before has shown that a call reads them after somebody has looked at them.
    """

    def __init__(self) -> None:
        self._watched: set[tuple[int, int]] = set()

    def note(self, pending: Pending, output: int) -> None:
        """The memory of a value is about to be handed out."""
        if pending.shown.get(output) is None:
            batch = pending.value(output)
            if batch.device is not CPU:
                return  # it would have to be fetched: it counts as written into
            if (pending.signature, output) in self._watched or batch.data.nbytes <= _SMALL:
                pending.shown[output] = _sum(batch)

    def changed(self, call: Pending) -> bool:
        """Whether an input of the call may have been written into since it was computed."""
        return any(
            self._changed(ref.source, ref.output)
            for ref in call.inputs
            if isinstance(ref.source, Pending) and ref.output in ref.source.shown
        )

    def _changed(self, source: Pending, output: int) -> bool:
        before: Any = source.shown[output]
        if before is None:
            self._watched.add((source.signature, output))
            return True
        return bool(_sum(source.value(output)) != before)


def _sum(batch: Batch) -> int:
    return zlib.crc32(batch.data.tobytes())
