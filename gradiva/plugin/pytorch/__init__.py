"""Functions on torch tensors as operators: `fn.torch_python_function`, `TorchPythonFunction`."""

from gradiva.plugin.pytorch import fn
from gradiva.plugin.pytorch.function import TorchPythonFunction

__all__ = ["TorchPythonFunction", "fn"]
