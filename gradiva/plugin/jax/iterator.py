"""The iterators of JAX under the module name that some scripts import."""

from gradiva.capture.iterators.iterator import LastBatchPolicy
from gradiva.plugin.jax.data_iterator import THREADS, data_iterator
from gradiva.plugin.jax.iterators import DALIGenericIterator

__all__ = ["DALIGenericIterator", "LastBatchPolicy", "data_iterator", "default_num_threads_value"]


def default_num_threads_value() -> int:
    """The `num_threads` of iterators that are given none."""
    return THREADS
