"""Progress bars of loops over readers."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from gradiva.eager.support.lazy_import import lazy_module

from .loop_data import SizedIterator

__all__ = ["counted", "watched"]

tqdm = lazy_module("tqdm.auto", "tqdm")

T = TypeVar("T")


class _Watched(Iterator[Any]):
    """An epoch with a progress bar. single: its items are samples, not batches."""

    def __init__(self, epoch: SizedIterator, bar: Any, single: bool) -> None:
        self._epoch = epoch
        self._bar = bar
        self._single = single

    def __len__(self) -> int:
        return len(self._epoch)

    def __bool__(self) -> bool:
        return True

    def __next__(self) -> Any:
        try:
            item = next(self._epoch)
        except BaseException:
            self._bar.close()
            raise
        self._bar.update(1 if self._single else _samples_in(item))
        return item

    def __getattr__(self, name: str) -> Any:
        return getattr(self._epoch, name)


def _samples_in(item: Any) -> int:
    """How many samples a turn delivers: a batch, or several in a tuple or a dictionary."""
    while isinstance(item, tuple | list | dict):
        item = next(iter(item.values() if isinstance(item, dict) else item))
    return len(item)


def watched(
    epoch: SizedIterator, total: int | None, name: str, single: bool = False
) -> SizedIterator:
    """The loop with a bar of `total` samples: a widget in notebooks, or a line of text, where it is
    not needed that tqdm asks for ipywidgets. single: the loop delivers samples, not batches."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "IProgress not found")
        bar = tqdm.tqdm
    return _Watched(epoch, bar(total=total, desc=name, unit=" samples"), single)


def counted(values: Iterable[T], name: str) -> Iterator[T]:
    """The values, with a bar on a terminal; without one, nothing is printed."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "IProgress not found")
        bar = tqdm.tqdm
    yield from bar(values, desc=name, disable=None, leave=False)
