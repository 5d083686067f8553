"""The class spelling of operators: made from the functions in `gradiva.fn`, one class for each.

The constructor takes arguments of the operator and those that all operators take; a call takes the
inputs and further arguments, and does what the function does: it runs at once, or is recorded.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

from gradiva import fn
from gradiva.dl_tensor_function import dl_tensor_python_function
from gradiva.eager.operators.arguments import check_names, is_edge
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.operators.signature import Signatures, named
from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError, annotate_error
from gradiva.eager.types.dtypes import DTypeLike
from gradiva.facts import deprecated, later, operator_of
from gradiva.fn._old_names import AWAITED, LATER
from gradiva.ops.class_names import attributes_of, classes, waiting
from gradiva.ops.python_function.python_function import python_function

__all__ = ["Compose", "Constant", "DLTensorPythonFunction", "OperatorClass", "class_of", "publish"]

_WORDS = {
    "bbox": "BBox",
    "coco": "COCO",
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
        """What the function returns for these inputs."""
        with annotate_error(f"ops.{type(self).__name__}"):
            keywords = self.operator.modern(keywords)
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
            inspect.Signature([*own, *named(found.common, taken=found.arguments)]),
            found.__signature__,
        ),
        "function": staticmethod(function),
        "in_order": _IN_ORDER.get(found.name) or tuple(positional),
        "operator": found,
    }
    return type(name, (OperatorClass,), fields)


class Constant:
    """The class spelling of `fn.constant`, whose arguments these are; name, preserve: accepted."""

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


def _functions(module: ModuleType, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """All operators in `gradiva.fn` and its modules, by the names of their classes."""
    for name, value in sorted(vars(module).items()):
        if name.startswith("_"):
            continue
        if isinstance(value, ModuleType):
            if value.__name__ == f"{module.__name__}.{name}":
                yield from _functions(value, f"{prefix}{name}.")
        elif operator_of(value) is not None:
            yield prefix + _class_name(name), value


def publish() -> None:
    """Put the classes of all operators where `gradiva.ops` finds them."""
    classes["Compose"], classes["Constant"] = Compose, Constant
    classes["DLTensorPythonFunction"] = DLTensorPythonFunction
    for name, function in _functions(fn):
        classes[name] = class_of(name.rpartition(".")[2], function)
        package = name.rpartition(".")[0]
        if package:
            _ensure(package)
    for name in {*LATER, *AWAITED, *deprecated()}:
        reason = later(name)
        if reason is not None:
            package, _, last = name.rpartition(".")
            if package:
                _ensure(package)
            waiting[f"{package}.{_class_name(last)}".lstrip(".")] = reason


def _ensure(package: str) -> None:
    """A module `gradiva.ops.<package>`, where there is no folder of operators of that name."""
    whole = f"gradiva.ops.{package}"
    try:
        importlib.import_module(whole)
    except ModuleNotFoundError:
        outer = package.rpartition(".")[0]
        if outer:
            _ensure(outer)
        module = ModuleType(whole, "The class spelling of operators.")
        module.__dict__["__getattr__"], module.__dict__["__dir__"] = attributes_of(package, {})
        sys.modules[whole] = module
        setattr(sys.modules[whole.rpartition(".")[0]], package.rpartition(".")[2], module)


publish()
