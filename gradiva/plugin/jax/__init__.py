"""JAX: iterators for training loops, and JAX functions as operators."""

from gradiva.capture.iterators.iterator import LastBatchPolicy
from gradiva.plugin.jax import fn
from gradiva.plugin.jax.data_iterator import data_iterator
from gradiva.plugin.jax.iterators import DALIGenericIterator

__all__ = ["DALIGenericIterator", "LastBatchPolicy", "data_iterator", "fn"]
