"""How callbacks go to worker processes."""

from gradiva.eager.workers.by_value import pickle_by_value

__all__ = ["pickle_by_value"]
