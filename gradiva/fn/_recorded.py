"""Operators that need less in a pipeline than in dynamic mode, for both."""

from gradiva.capture.recording.free_calls import per_recorded_sample
from gradiva.ops.arrays import permutation

__all__ = ["batch_permutation"]

batch_permutation = per_recorded_sample(permutation.batch_permutation)
