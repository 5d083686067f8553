"""How callbacks go to worker processes."""

from gradiva.ops.external_source.workers.by_value import pickle_by_value

__all__ = ["pickle_by_value"]
