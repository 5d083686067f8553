"""Progress bars of loops over readers."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from gradiva.eager.support.lazy_import import lazy_module

__all__ = ["counted", "watched"]

tqdm = lazy_module("tqdm.auto", "tqdm")

T = TypeVar("T")


class _Watched(Iterator[Any]):
    """An epoch with a progress bar."""

    def __init__(self, epoch: Iterator[Any], bar: Any) -> None:
        self._epoch = epoch
        self._bar = bar

    def __next__(self) -> Any:
        try:
            item = next(self._epoch)
        except BaseException:
            self._bar.close()
            raise
        self._bar.update()
        return item

    def __getattr__(self, name: str) -> Any:
        return getattr(self._epoch, name)


def watched(epoch: Iterator[Any], total: int | None, name: str) -> Iterator[Any]:
    """The loop with a bar of `total` turns: a widget in notebooks, or a line of text, where it is
    not needed that tqdm asks for ipywidgets."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "IProgress not found")
        bar = tqdm.tqdm
    return _Watched(epoch, bar(total=total, desc=name))


def counted(values: Iterable[T], name: str) -> Iterator[T]:
    """The values, with a bar on a terminal; without one, nothing is printed."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "IProgress not found")
        bar = tqdm.tqdm
    yield from bar(values, desc=name, disable=None, leave=False)
