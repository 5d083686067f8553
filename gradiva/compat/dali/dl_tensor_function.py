"""`dl_tensor_python_function`: `python_function` with DLPack capsules in place of NumPy arrays."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradiva.eager.operators.signature import extended
from gradiva.eager.support.errors import describe, wrong_type
from gradiva.eager.values.capsules import is_capsule
from gradiva.ops.external_source.python_function import python_function

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["AdaptedFunction", "dl_tensor_python_function"]


class AdaptedFunction:
    """A user's function on arrays of another kind, as `python_function` calls it.

    It stands between two conversions: `before` of each NumPy array that it gets, `after` of
    each thing that it returns; both also of the items of lists.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        before: Callable[[Any], Any],
        after: Callable[[Any], Any],
    ) -> None:
        functools.update_wrapper(self, function)
        self.__qualname__ = getattr(function, "__qualname__", type(function).__qualname__)
        self._function, self._before, self._after = function, before, after
        self.prefetchable = getattr(function, "prefetchable", False)

    def __call__(self, *arguments: Any) -> Any:
        return self._returned(self._function(*[self._given(value) for value in arguments]))

    def _given(self, value: Any) -> Any:
        return list(map(self._given, value)) if isinstance(value, list) else self._before(value)

    def _returned(self, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, tuple | list):
            return type(value)(map(self._returned, value))
        return self._after(value)


def dl_tensor_python_function(
    *inputs: Any,
    function: Callable[..., Any],
    num_outputs: int = 1,
    batch_processing: bool = False,
    output_layouts: Any = None,
    synchronize_stream: bool = True,
    **common: Unpack[Common],
) -> Any:
    """Call a Python function on DLPack capsules of arrays in host memory.

    As `gradiva.python_function`, but the function gets capsules, and returns such: with
    `torch.utils.dlpack`, `from_dlpack` makes a tensor of one, `to_dlpack` the reverse. They share
    no memory with the batches. synchronize_stream: without effect. Raises OperatorTypeError if the
    function returns something else than capsules.
    """
    adapted: Any = function
    if callable(function):
        adapted = AdaptedFunction(function, lambda array: array.__dlpack__(), _checked)
    return python_function(
        *inputs,
        function=adapted,
        num_outputs=num_outputs,
        batch_processing=batch_processing,
        output_layouts=output_layouts,
        **common,
    )


def _checked(value: Any) -> Any:
    if not is_capsule(value):
        raise wrong_type(
            "", "a DLPack capsule", describe(value), "the function returned the wrong thing"
        )
    return value


dl_tensor_python_function.__signature__ = extended(  # type: ignore[attr-defined]
    dl_tensor_python_function, inspect.signature(python_function)
)
