"""`torch_python_function`: `python_function` with torch tensors in place of NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradiva.compat.dali.dl_tensor_function import AdaptedFunction
from gradiva.compat.dali.op_classes import class_of
from gradiva.eager.support.errors import OperatorTypeError, describe
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.ops.external_source.python_function import python_function

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

torch = lazy_module("torch", "torch")

__all__ = ["TorchPythonFunction", "torch_python_function"]


def torch_python_function(
    *inputs: Any,
    function: Callable[..., Any],
    num_outputs: int = 1,
    batch_processing: bool = False,
    output_layouts: Any = None,
    **common: Unpack[Common],
) -> Any:
    """Call a Python function on torch tensors on the CPU.

    As `gradiva.python_function`, but the function gets torch tensors, and returns such. They share
    no memory with the batches. Raises ImportError where torch is not installed; OperatorTypeError
    if the function returns something else than tensors.
    """
    adapted: Any = function
    if callable(function):
        # An error here and now, if torch is not there.
        adapted = AdaptedFunction(function, torch.from_dlpack, _to_array)
    return python_function(
        *inputs,
        function=adapted,
        num_outputs=num_outputs,
        batch_processing=batch_processing,
        output_layouts=output_layouts,
        **common,
    )


def _to_array(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        raise OperatorTypeError(
            "the function returned the wrong thing", expected="a torch tensor", got=describe(value)
        )
    return value.detach().cpu().numpy()


TorchPythonFunction = class_of("TorchPythonFunction", torch_python_function, python_function)
