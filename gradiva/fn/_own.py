"""Operators that pipeline mode calls in a way of its own."""

from gradiva.capture.recording.free_calls import node_without_inputs, per_sample
from gradiva.ops.arrays import permutation
from gradiva.ops.external_source import python_function as functions
from gradiva.ops.image import roi_random_crop as windows

__all__ = ["batch_permutation", "python_function", "roi_random_crop"]

batch_permutation = per_sample(permutation.batch_permutation)
python_function = node_without_inputs(functions.python_function)
roi_random_crop = per_sample(windows.roi_random_crop)
