"""Reductions in pipeline mode."""

from gradiva.ops.reductions.deviations import std_dev, variance
from gradiva.ops.reductions.extremes import max, min
from gradiva.ops.reductions.sums import mean, mean_square, rms, sum

__all__ = ["max", "mean", "mean_square", "min", "rms", "std_dev", "sum", "variance"]
