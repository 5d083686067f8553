"""Cases: example calls that each operator declares, from which generic tests are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gradiva.eager.support.errors import (
    GradivaError,
    OperatorRuntimeError,
    OperatorTypeError,
    OperatorValueError,
)
from gradiva.eager.types.dtypes import DType, uint8
from gradiva.eager.values.batch import Batch, batch


@dataclass(frozen=True)
class Case:
    """One call, and its expected result. `case` makes one from the arguments of the call.

    expect: the samples of the first output by an independent computation, or None; raises: the
    error that the call must raise, whose text must contain `match`; oracle: whether DALI, if it is
    installed, must agree (see `tests/oracle`).
    """

    name: str
    inputs: tuple[Any, ...] = ()
    arguments: dict[str, Any] = field(default_factory=dict)
    expect: Sequence[np.ndarray[Any, Any]] | None = None
    raises: type[GradivaError] | None = None
    match: str = ""
    oracle: bool = True

    def equals(self, expect: Sequence[np.ndarray[Any, Any]] | None) -> Case:
        """The same call, with the samples of its first output by an independent computation."""
        return replace(self, expect=expect)

    def each(self, function: Callable[..., Any]) -> Case:
        """The same call, whose first output is `function` of each sample of the inputs; the first
        of these is a batch."""
        size = len(self.inputs[0])
        inputs = [one.arrays() if isinstance(one, Batch) else [one] * size for one in self.inputs]
        return self.equals([np.asarray(function(*one)) for one in zip(*inputs, strict=True)])

    def raising(self, error: type[GradivaError] | None, match: str = "") -> Case:
        """The same call, which gives an error whose text holds `match`."""
        return replace(self, raises=error, match=match)

    def value_error(self, match: str = "") -> Case:
        """The same call, which gives an OperatorValueError whose text holds `match`."""
        return self.raising(OperatorValueError, match)

    def type_error(self, match: str = "") -> Case:
        """The same call, which gives an OperatorTypeError whose text holds `match`."""
        return self.raising(OperatorTypeError, match)

    def runtime_error(self, match: str = "") -> Case:
        """The same call, which gives an OperatorRuntimeError whose text holds `match`."""
        return self.raising(OperatorRuntimeError, match)

    def no_oracle(self, unless: bool = False) -> Case:
        """The same call, not compared with DALI: it cannot do it, or errs."""
        return replace(self, oracle=unless)


def case(name: str, /, *inputs: Any, **arguments: Any) -> Case:
    """A case: a call of the operator with these inputs and arguments.

    >>> case("twice", samples((4, 6, 3)), times=2).no_oracle()  # doctest: +SKIP
    """
    return Case(name, inputs, arguments)


def samples(
    *shapes: tuple[int, ...],
    dtype: DType = uint8,
    layout: str = "HWC",
    seed: int = 0,
    low: float | None = None,
    high: float | None = None,
) -> Batch:
    """A batch of reproducible noise: over the whole range of 8 and 16 bit integers, in +-1000 for
    wider ones, in 0..1 for floats."""
    generator = np.random.default_rng(seed)
    arrays = []
    for shape in shapes:
        if dtype.is_float:
            values: np.ndarray[Any, Any] = generator.uniform(
                low or 0.0, 1.0 if high is None else high, shape
            )
        elif dtype.is_bool:
            values = generator.integers(0, 2, shape)
        else:
            limits = np.iinfo(dtype.numpy)
            least = max(limits.min, -1000) if dtype.bits > 16 else limits.min
            most = min(limits.max, 1000) if dtype.bits > 16 else limits.max
            values = generator.integers(
                least if low is None else int(low),
                most if high is None else int(high),
                shape,
                endpoint=True,
            )
        arrays.append(values.astype(dtype.numpy))
    if not arrays:
        empty = np.empty((0, *([1] * len(layout or "H"))), dtype.numpy)
        return batch(empty, layout=layout)
    return batch(arrays, layout=layout)
