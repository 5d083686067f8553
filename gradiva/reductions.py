"""Reductions: one number in place of all those along some axes."""

from gradiva.ops.reductions.max import max
from gradiva.ops.reductions.mean import mean
from gradiva.ops.reductions.mean_square import mean_square
from gradiva.ops.reductions.min import min
from gradiva.ops.reductions.rms import rms
from gradiva.ops.reductions.std_dev import std_dev
from gradiva.ops.reductions.sum import sum
from gradiva.ops.reductions.variance import variance

__all__ = ["max", "mean", "mean_square", "min", "rms", "std_dev", "sum", "variance"]
