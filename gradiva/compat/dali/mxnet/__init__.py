"""Iterators that return MXNet arrays, for training loops of MXNet's modules and of Gluon.

The last MXNet, 1.9.1, asks at its import for names that NumPy has dropped: import this module
before, and they are there for as long as that takes.
"""

from gradiva.capture.iterators.iterator import LastBatchPolicy
from gradiva.compat.dali.mxnet.arrays import feed_ndarray
from gradiva.compat.dali.mxnet.gluon import DALIGluonIterator
from gradiva.compat.dali.mxnet.modules import DALIClassificationIterator, DALIGenericIterator

__all__ = [
    "DALIClassificationIterator",
    "DALIGenericIterator",
    "DALIGluonIterator",
    "LastBatchPolicy",
    "feed_ndarray",
]
