"""What an operator says of itself, as scripts ask `backend.GetSchema`."""

from __future__ import annotations

import inspect
from typing import Any

from gradiva.capture.serialization.names import find_operator
from gradiva.eager.execution.gpu_execute import devices_of
from gradiva.eager.operators.arguments import Argument
from gradiva.eager.operators.operator import OperatorBase, operators
from gradiva.eager.support.errors import OperatorValueError
from gradiva.ops.readers.core.source import SourceOperator

__all__ = [
    "GetSchema",
    "OpSchema",
    "RegisteredCPUOps",
    "RegisteredGPUOps",
    "RegisteredMixedOps",
    "TryGetSchema",
]

_UNSTORED = {"ExternalSource": "external_source", "PythonFunction": "python_function"}
"""Operators that the format of stored pipelines has no name for, or that need more than one."""
_COMMON = ("bytes_per_sample_hint", "preserve")


class OpSchema:
    """The declaration of an operator under the names that scripts ask for: a view, of what is known
    of it before it is called."""

    def __init__(self, name: str, operator: OperatorBase) -> None:
        self._name, self._operator = name, operator

    def Name(self) -> str:  # noqa: N802
        """What stored pipelines call the operator; or its name in old scripts."""
        return self._name

    def OperatorName(self) -> str:  # noqa: N802
        """The name of its class, without the module."""
        return self._name.rpartition("__")[2]

    def ModulePath(self) -> list[str]:  # noqa: N802
        """The modules between `fn` and the operator."""
        return self._name.split("__")[:-1]

    def Dox(self) -> str:  # noqa: N802
        """The documentation."""
        return inspect.cleandoc(self._operator.__doc__ or "")

    def MinNumInput(self) -> int:  # noqa: N802
        return self._operator.min_inputs

    def MaxNumInput(self) -> int:  # noqa: N802
        return self._operator.max_inputs

    def GetSupportedBackends(self) -> list[str]:  # noqa: N802
        """Where it runs here: "cpu", and "gpu" or "mixed"."""
        found = self._operator
        if len(devices_of(found)) > 1:
            return ["cpu", "mixed" if found.mixed else "gpu"]
        return ["cpu"]

    def IsStateful(self) -> bool:  # noqa: N802
        """Whether a call depends on the calls before it: sources, and random operators."""
        found = self._operator
        return found.random or found.effects or isinstance(found, SourceOperator)

    def HasRandomSeedArg(self) -> bool:  # noqa: N802
        return self._operator.takes_seed

    def IsDeprecated(self) -> bool:  # noqa: N802
        """Whether this is an old name."""
        return self._operator.schema not in (None, self._name)

    def DeprecatedInFavorOf(self) -> str:  # noqa: N802
        """The name of today."""
        return self._operator.schema or ""

    def GetArgumentNames(self) -> list[str]:  # noqa: N802
        """In the order of the alphabet; old ones too."""
        found = self._operator
        seed = ("seed",) if found.takes_seed else ()
        return sorted({*found.arguments, *found.old_arguments, *_COMMON, *seed})

    def HasArgument(self, name: str) -> bool:  # noqa: N802
        return name in self.GetArgumentNames()

    def IsDeprecatedArg(self, name: str) -> bool:  # noqa: N802
        return name in self._operator.old_arguments

    def DeprecatedArgInfo(self, name: str) -> dict[str, Any]:  # noqa: N802
        """Of an old argument: whether it is `removed`, and what it is `renamed_to`."""
        new = self._operator.old_arguments[name]
        return {"removed": new is None, "renamed_to": new or ""}

    def IsArgumentOptional(self, name: str) -> bool:  # noqa: N802
        found = self._argument(name)
        return found is None or not found.required

    def IsTensorArgument(self, name: str) -> bool:  # noqa: N802
        """Whether it may differ per sample."""
        found = self._argument(name)
        return found is not None and found.per_sample

    def HasArgumentDefaultValue(self, name: str) -> bool:  # noqa: N802
        found = self._argument(name)
        return found is not None and found.default is not None

    def GetArgumentDefaultValueString(self, name: str) -> str:  # noqa: N802
        """The default as text. Raises ValueError without one."""
        found = self._argument(name)
        if found is None or found.default is None:
            raise OperatorValueError(f"argument `{name}` of {self._name} has no default value")
        return repr(found.default)

    def _argument(self, name: str) -> Argument | None:
        """The declaration of an argument, None for one that all operators take. Raises
        OperatorValueError."""
        if not self.HasArgument(name):
            raise OperatorValueError(f"{self._name} has no argument `{name}`")
        return self._operator.arguments.get(self._operator.old_arguments.get(name) or name)

    def __repr__(self) -> str:
        return f"<schema {self._name}>"


def TryGetSchema(name: str) -> OpSchema | None:  # noqa: N802
    """The schema of an operator by its name in stored pipelines, such as "decoders__Image"; None if
    there is no such operator."""
    try:
        known = _UNSTORED.get(name)
        return OpSchema(name, find_operator(name) if known is None else operators[known])
    except OperatorValueError:
        return None


def GetSchema(name: str) -> OpSchema:  # noqa: N802
    """As `TryGetSchema`. Raises KeyError if there is no such operator."""
    found = TryGetSchema(name)
    if found is None:
        raise KeyError(f"gradiva has no operator for {name!r}")
    return found


def RegisteredCPUOps() -> list[str]:  # noqa: N802
    """The names of the operators that run on the CPU."""
    return _registered("cpu")


def RegisteredGPUOps() -> list[str]:  # noqa: N802
    """The names of the operators that run on a GPU."""
    return _registered("gpu")


def RegisteredMixedOps() -> list[str]:  # noqa: N802
    """The names of the operators that take host memory and run on a GPU."""
    return _registered("mixed")


def _registered(device: str) -> list[str]:
    named = [one for one in operators.values() if one.schema]
    return sorted(
        one.schema
        for one in named
        if one.schema and device in OpSchema(one.schema, one).GetSupportedBackends()
    )
