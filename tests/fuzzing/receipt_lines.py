"""Receipts: lines of JSON that people send each other, and whole ones of which values are
replaced."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gradiva import fn, pipeline_def
from gradiva.receipts import Receipt, Reproducer

from .edited_values import edited

__all__ = ["lines", "read", "values"]


@cache
def _folder() -> str:
    """Some small arrays; they are removed with the object that the cache keeps."""
    made = tempfile.TemporaryDirectory()
    for number in range(4):
        np.save(Path(made.name) / f"{number}.npy", np.full((2,), number, np.uint8))
    _kept.append(made)
    return made.name


_kept: list[Any] = []


@pipeline_def(batch_size=2, num_threads=1, seed=1)
def _pipeline() -> Any:
    arrays = fn.readers.numpy(file_root=_folder(), random_shuffle=True)
    return arrays + fn.random.uniform(range=[0.0, 1.0])


@cache
def _line() -> str:
    pipe = _pipeline(with_receipt=True)
    pipe.run()
    line: str = pipe.receipt().line()
    return line


@cache
def _reproducer() -> Reproducer:
    return Reproducer(_pipeline())


def lines() -> list[bytes]:
    return [_line().encode(), b"{}"]


def read(data: bytes) -> None:
    """A line as it is: if it is a receipt, it is one again."""
    receipt = Receipt.read(data)
    assert Receipt.read(receipt.line()) == receipt


def values(data: bytes) -> None:
    """A batch is made from it, or not; nothing of it is believed."""
    said = edited(json.loads(_line()), data)
    found = _reproducer().reproduce(json.dumps(said))
    assert not (found.reproduced and found.receipt.edited)
