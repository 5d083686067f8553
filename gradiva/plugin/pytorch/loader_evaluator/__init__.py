"""How long a training loop waits for its batches, and how long it would without a loader."""

from gradiva.plugin.pytorch.loader_evaluator.loader import LoaderEvaluator

__all__ = ["LoaderEvaluator"]
