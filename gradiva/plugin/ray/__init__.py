"""Loaders on other machines, through Ray: `pip install "gradiva[ray]"`; docs/scale.md."""

from gradiva.capture.iterators.iterator import LastBatchPolicy as LastBatchPolicy

from .loader_iterator import LoaderIterator as LoaderIterator
from .loader_pool import LoaderPool as LoaderPool
from .map import Map as Map
