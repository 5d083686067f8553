"""Iterators that return MXNet arrays, for training loops of MXNet's modules and of Gluon.

The last MXNet, 1.9.1, asks at its import for names that NumPy has dropped: import this module
before, and they are there for as long as that takes.
"""

from gradiva.capture.iterators.iterator import LastBatchPolicy

from .mxnet_arrays import feed_ndarray
from .mxnet_gluon import DALIGluonIterator
from .mxnet_modules import DALIClassificationIterator, DALIGenericIterator

__all__ = [
    "DALIClassificationIterator",
    "DALIGenericIterator",
    "DALIGluonIterator",
    "LastBatchPolicy",
    "feed_ndarray",
]
