"""Loaders on other machines, through Ray: `pip install "gradiva[ray]"`; docs/scale.md."""

from gradiva.capture.iterators.iterator import LastBatchPolicy

from .loader_iterator import LoaderIterator
from .loader_pool import LoaderPool
from .map import Map

__all__ = ["LastBatchPolicy", "LoaderIterator", "LoaderPool", "Map"]
