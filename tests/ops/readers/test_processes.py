"""Readers in other processes: inherited, and pickled in the middle of an epoch."""

from __future__ import annotations

import multiprocessing
import pickle
from pathlib import Path
from typing import Any

import pytest

from .formats import FORMATS, read_epoch

SIZE = 7


def started(folder: Path) -> dict[str, Any]:
    """A reader of each format, after its first batch."""
    readers = {}
    for name, kind in FORMATS.items():
        (folder / name).mkdir()
        data = kind.write(folder / name, SIZE)
        reader = kind.reader(**data, random_shuffle=True, pad_last_batch=True, seed=3)
        next(reader.next_epoch(batch_size=2))
        readers[name] = reader
    return readers


def rest(readers: dict[str, Any]) -> dict[str, list[list[bytes]]]:
    return {name: read_epoch(reader, 2) for name, reader in readers.items()}


def read_there(readers: dict[str, Any], results: Any) -> None:
    results.send((rest(readers), rest(readers)))
    results.close()


@pytest.mark.full
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_the_rest_of_an_epoch_and_the_next(method: str, tmp_path: Path) -> None:
    """By `spawn` they are pickled; by `fork` they are used as they are."""
    readers = started(tmp_path)
    context: Any = multiprocessing.get_context(method)
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=read_there, args=(readers, there), daemon=True)
    child.start()
    there.close()
    found = here.recv()
    child.join()
    assert found == (rest(readers), rest(readers))
    assert child.exitcode == 0


def test_pickled(tmp_path: Path) -> None:
    readers = started(tmp_path)
    copies = pickle.loads(pickle.dumps(readers))
    assert {name: copy.get_state() for name, copy in copies.items()} == {
        name: reader.get_state() for name, reader in readers.items()
    }
    assert rest(copies) == rest(readers)
