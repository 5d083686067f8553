"""`torch_python_function`: a Python function on torch tensors, as an operator."""

from gradiva.plugin.pytorch.function import torch_python_function

__all__ = ["torch_python_function"]
