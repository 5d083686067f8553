"""Reductions in pipeline mode."""

from gradiva.reductions import max, mean, mean_square, min, rms, std_dev, sum, variance

__all__ = ["max", "mean", "mean_square", "min", "rms", "std_dev", "sum", "variance"]
