"""The class spelling of operators: made from the functions in `gradiva.fn`, one class for each.

The constructor takes arguments of the operator and those that all operators take; a call takes the
inputs and further arguments, and does what the function does: it runs at once, or is recorded.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from gradiva import fn
from gradiva.compat.dali.class_names import PACKAGES, classes
from gradiva.compat.dali.dl_tensor_function import dl_tensor_python_function
from gradiva.compat.dali.facts import operator_of
from gradiva.eager.operators.arguments import check_names, is_edge
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.operators.signature import Signatures, named
from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError, annotate_error
from gradiva.eager.types.dtypes import DTypeLike
from gradiva.ops.external_source.python_function import python_function

__all__ = [
    "Compose",
    "Constant",
    "DLTensorPythonFunction",
    "OperatorClass",
    "class_of",
    "names",
    "provide",
]

_WORDS = {
    "bbox": "BBox",
    "coco": "COCO",
    "dl": "DL",
    "mfcc": "MFCC",
    "mxnet": "MXNet",
    "rms": "RMS",
    "roi": "ROI",
    "ssd": "SSD",
    "tfrecord": "TFRecord",
}
"""Words of operators' names that classes do not write as Word."""
_IN_ORDER = {"python_function": ("function", "num_outputs", "device", "batch_processing")}
"""Arguments that a constructor takes without their names, where the function does not."""


class OperatorClass:
    """An operator with some of its arguments: call it on inputs.

    Arguments are checked when the object is made: a wrong name is an OperatorTypeError. An argument
    that was given there cannot be given again in the call. name, device, preserve: as they were
    given; device is "cpu" by default.
    """

    operator: OperatorBase
    function: Callable[..., Any]
    in_order: tuple[str, ...] = ()

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        with annotate_error(f"ops.{type(self).__name__}"):
            if len(arguments) > len(self.in_order):
                wanted = ", ".join(self.in_order) or "none"
                raise OperatorTypeError(
                    "the constructor takes arguments by their names; inputs belong to the call",
                    expected=f"without a name: {wanted}",
                    got=f"{len(arguments)} values",
                )
            given = dict(zip(self.in_order, arguments, strict=False))
            twice = given.keys() & keywords.keys()
            if twice:
                raise OperatorTypeError(f"argument `{min(twice)}` is given twice")
            self.arguments = self.operator.modern({**given, **keywords})
            known = self.operator.arguments
            # Required arguments may come with the call.
            here = {
                key: value
                for key, value in known.items()
                if not value.required or self.arguments.get(key) is not None
            }
            check_names(self.arguments, here, self.operator.common | known.keys())
            for name, value in self.arguments.items():
                if name in known and value is not None and not is_edge(known[name], value):
                    known[name].static(value)

    @property
    def name(self) -> str | None:
        name: str | None = self.arguments.get("name")
        return name

    @property
    def device(self) -> str:
        return str(self.arguments.get("device") or "cpu")

    @property
    def preserve(self) -> bool:
        return bool(self.arguments.get("preserve", False))

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        """What the function returns for these inputs. None stands for what is not given."""
        with annotate_error(f"ops.{type(self).__name__}"):
            given = {name: value for name, value in keywords.items() if value is not None}
            keywords = self.operator.modern(given)
            twice = [name for name in keywords if self.arguments.get(name) is not None]
            if twice:
                raise OperatorValueError(
                    "it was given to the constructor already", argument=twice[0]
                )
        return type(self).function(*inputs, **{**self.arguments, **keywords})

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"ops.{type(self).__name__}({given})"


class Compose:
    """Operators one after the other: each is called with what the one before returned.

    operators: class spellings, or any callables. Raises OperatorTypeError.
    """

    def __init__(self, operators: Sequence[Callable[..., Any]]) -> None:
        with annotate_error("ops.Compose"):
            if not isinstance(operators, list | tuple) or not all(map(callable, operators)):
                raise OperatorTypeError(
                    argument="operators", expected="a list of operators", got=repr(operators)
                )
        self.operators = tuple(operators)

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        """The result of the last one. keywords: for the first."""
        values: Any = inputs
        for operator in self.operators:
            several = values if isinstance(values, tuple | list) else (values,)
            values, keywords = operator(*several, **keywords), {}
        return values[0] if values is inputs and len(inputs) == 1 else values


def class_of(
    name: str, function: Callable[..., Any], operator: OperatorBase | None = None
) -> type[OperatorClass]:
    """The class `name` of a function that calls `operator` (by default: that is one)."""
    found = operator or operator_of(function)
    assert found is not None, name
    parameters = list(inspect.signature(found.infer).parameters.values())
    positional = (
        parameter.name
        for parameter in parameters
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    )
    own = [
        inspect.Parameter(
            key,
            inspect.Parameter.KEYWORD_ONLY,
            default=value.default,
            annotation=found.__signature__.parameters[key].annotation,
        )
        for key, value in sorted(found.arguments.items())
    ]
    fields = {
        "__doc__": found.__doc__,
        "__module__": "gradiva.ops",
        "__signature__": Signatures(
            inspect.Signature([*own, *named(found.shown_common)]), found.__signature__
        ),
        "function": staticmethod(function),
        "in_order": _IN_ORDER.get(found.name) or tuple(positional),
        "operator": found,
    }
    return type(name, (OperatorClass,), fields)


class Constant:
    """The class spelling of `fn.constant`, whose arguments these are."""

    def __init__(
        self,
        device: Any = "cpu",
        *,
        name: str | None = None,
        preserve: bool = False,
        fdata: Sequence[float] | float | None = None,
        idata: Sequence[int] | int | None = None,
        shape: Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        layout: str | None = None,
    ) -> None:
        self.device, self.name, self.preserve = device, name, preserve
        self.arguments: dict[str, Any] = {
            "fdata": fdata, "idata": idata, "shape": shape, "dtype": dtype, "layout": layout,
            "name": name, "preserve": preserve,
        }  # fmt: skip

    def __call__(self) -> Any:
        return fn.constant(device=self.device, **self.arguments)


class DLTensorPythonFunction(
    class_of("DLTensorPythonFunction", dl_tensor_python_function, python_function)  # type: ignore[misc]
):
    """The class spelling of `fn.dl_tensor_python_function`."""

    def __init__(self, *arguments: Any, synchronize_stream: bool = True, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.synchronize_stream = synchronize_stream


def _class_name(name: str) -> str:
    return "".join(_WORDS.get(word, word.capitalize()) for word in name.split("_"))


def names() -> set[str]:
    """The names of all classes of the functions in `gradiva.fn` and its modules."""
    packages = (f"{package}." for package in PACKAGES)
    return {prefix + name for prefix in ("", *packages) for name in _functions(prefix)}


def provide(name: str) -> None:
    """Make the class of this name, if there is a function for it."""
    package, dot, last = name.rpartition(".")
    function = _functions(package + dot).get(last)
    if function is not None:
        module = importlib.import_module(f"gradiva.fn.{package}".rstrip("."))
        # Two threads may both make one.
        classes.setdefault(name, _OWN.get(name) or class_of(last, getattr(module, function)))


@cache
def _functions(prefix: str) -> dict[str, str]:
    """The functions in `gradiva.fn`, or in a module of it, by the names of their classes."""
    package = prefix.rstrip(".")
    if package not in ("", *PACKAGES):
        return {}
    module = importlib.import_module(f"gradiva.fn.{package}".rstrip("."))
    functions = (name for name in module.__all__ if prefix + name not in (*PACKAGES, "math"))
    return {_class_name(name): name for name in functions}


_OWN = {"Constant": Constant, "DLTensorPythonFunction": DLTensorPythonFunction}
"""Classes that are written out here."""
classes["Compose"] = Compose
