"""Files of the formats of readers, damaged.

`python -m tests.promises.damage NAME COUNT` reads so many in this process: HDF5's and Arrow's
libraries may end it, which is theirs (SECURITY.md).
"""

from __future__ import annotations

import random
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import gradiva
from tests.ops.readers.formats import FORMATS, Format, values

__all__ = ["SIZE", "damaged", "outcome", "refused_of"]

SIZE = 3


def damaged(whole: bytes, drawn: random.Random) -> bytes:
    """Some bytes of it are others."""
    bad = bytearray(whole)
    for _ in range(drawn.choice((1, 1, 2, 5))):
        bad[drawn.randrange(len(bad))] = drawn.choice((0, 1, 127, 128, 255, drawn.randrange(256)))
    return bytes(bad)


def outcome(kind: Format, data: dict[str, Any], limit: int) -> str | int:
    """The text of the error, or how many samples were read. No output is larger than the files."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "readers.* are left out", UserWarning)
        try:
            read = 0
            for outputs in kind.reader(**data).next_epoch(batch_size=2):
                assert all(batch.nbytes <= 2 * limit for batch in values(outputs))
                read += len(values(outputs)[0])
            return read
        except gradiva.GradivaError as error:
            return str(error)


def refused_of(name: str, count: int, folder: Path) -> int:
    """How many of so many damaged data sets are refused; anything but a GradivaError comes out."""
    kind = FORMATS[name]
    data = kind.write(folder, SIZE)
    files = sorted(path for path in folder.rglob("*.*") if path.is_file())
    drawn = random.Random(name)
    refused = 0
    for number in range(count):
        path = files[number % len(files)]
        whole = path.read_bytes()
        path.write_bytes(damaged(whole, drawn)[: drawn.choice((None, drawn.randrange(len(whole))))])
        refused += isinstance(outcome(kind, data, 1 << 20), str)
        path.write_bytes(whole)
    return refused


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print("refused", refused_of(sys.argv[1], int(sys.argv[2]), Path(place)))
