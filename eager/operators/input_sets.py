"""Inputs that are lists or tuples: input sets, `a, b = slice([a, b], anchor, shape)`, and in
dynamic mode the samples of a batch, `decoders.image([bytes, bytes])`; and `Targets`, also in lists,
tuples and dicts, which follow the images."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from gradiva.eager.random.default_generator import get_default_rng
from gradiva.eager.random.generator import RNG, RepeatedRNG
from gradiva.eager.support.errors import GradivaError, OperatorTypeError, OperatorValueError
from gradiva.eager.support.hooks import Hook
from gradiva.eager.support.user_warning import warn_user
from gradiva.eager.values.batch import batch_on
from gradiva.eager.values.interop import is_array
from gradiva.eager.values.value import Following, Value

from .arguments import Argument
from .interpreter import current_interpreter

__all__ = ["SET_TYPES", "call_sets", "follow", "has_sets", "has_targets", "with_batches"]


SET_TYPES: set[type] = {list, tuple, dict}
"""The types of inputs that are looked at; `Targets` are added where they are defined."""
_LISTS = (list, tuple)

follow: Hook[Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]] = Hook(
    "calls with targets", "gradiva.ops.targets.follow"
)


def has_targets(inputs: Any) -> bool:
    """Whether there are `Targets` among the inputs of a call, or in what these hold."""
    for value in inputs:
        if isinstance(value, Following):
            return True
        if type(value) is dict and has_targets(value.values()):
            return True
        if type(value) in _LISTS and has_targets(value):
            return True
    return False


class SetOperator(Protocol):
    """What `call_sets` needs of an operator."""

    name: str
    random: bool

    @property
    def arguments(self) -> Mapping[str, Argument]:
        """The arguments that it declares, by name."""

    def bind_one(self, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Make a call whose inputs are no lists."""


def has_sets(inputs: tuple[Any, ...]) -> bool:
    """Whether an input of a call is a list or tuple of batches, tensors or symbols.

    Tuples are what several outputs come in: `slice(external_source(..., num_outputs=2), ...)`.
    """
    return any(map(_is_set, inputs))


def _is_set(value: Any) -> bool:
    return type(value) in _LISTS and bool(value) and all(isinstance(v, Value) for v in value)


def with_batches(inputs: tuple[Any, ...], instead_of_texts: str = "") -> tuple[Any, ...]:
    """The inputs of a call in dynamic mode, with a batch in place of each list of samples: arrays,
    bytes or texts. Lists of numbers are arrays, and so are all lists in a pipeline definition,
    where data are constants. instead_of_texts: of the operator. Raises OperatorTypeError and
    OperatorValueError, naming the sample."""
    if getattr(current_interpreter(), "symbolic", False):
        return inputs
    found = list(inputs)
    for number, value in enumerate(inputs):
        if type(value) in _LISTS and value and all(map(_is_sample, value)):
            if instead_of_texts and any(isinstance(one, str) for one in value):
                raise OperatorTypeError(
                    f"input {number} is a list of texts, each of which would be a sample of bytes",
                    expected=instead_of_texts,
                    got=repr(value)[:80],
                )
            try:
                found[number] = batch_on(value)
            except GradivaError as error:
                error.argument = None
                error.problem = f"input {number}: {error.problem}".removesuffix(": ")
                raise
    return tuple(found)


def _is_sample(value: Any) -> bool:
    """Whether this is an array or what the bytes of a file or a text are in, and no number."""
    if isinstance(value, str | bytes | bytearray | memoryview):
        return True
    return is_array(value) and not isinstance(value, np.generic | Value)


def _explain_set(error: GradivaError, operator: SetOperator, length: int, place: int) -> None:
    """Say that the call with the error is one of several."""
    argument = operator.arguments.get(error.argument or "")
    said = f"the input is a list of {length}: the call is made for each, and this is number {place}"
    if error.argument is None:
        said += ". Of the outputs of one call, pass the one that is meant: `first, second = ...`"
    elif argument is not None and argument.per_sample:
        said += f". {_SHARED.format(error.argument)}"
    error.problem = f"{error.problem}; {said}" if error.problem else said


_SHARED = (
    "The values of `{}` are one for each sample, and the same for all elements of the list: for "
    "other values call the operator for each input, a random one with the same `seed=`"
)


def _warn_of_lists(operator: SetOperator, keywords: dict[str, Any], length: int) -> None:
    """Warn of a list in an argument that may be meant as one value for each element of a set."""
    for name, value in keywords.items():
        argument = operator.arguments.get(name)
        if (
            type(value) in _LISTS
            and len(value) == length > 1
            and argument is not None
            and argument.per_sample
            and not argument.kind.vector
        ):
            warn_user(f"{operator.name}: {_SHARED.format(name)}")


def call_sets(operator: SetOperator, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call an operator once for each place in the lists among its inputs; the others are shared.

    Returns a list of the results; of several outputs, a list for each. Lists of one element give
    what that element gives. A random operator draws the same values each time, so that what belongs
    together stays together. Raises OperatorValueError for lists of different lengths.
    """
    lengths = [len(value) for value in inputs if _is_set(value)]
    if len(set(lengths)) > 1:
        raise OperatorValueError(
            "inputs that are lists have one length",
            expected=str(lengths[0]),
            got=", ".join(map(str, lengths)),
        )
    _warn_of_lists(operator, keywords, lengths[0])
    if operator.random:
        rng = keywords.get("rng")
        if rng is None or isinstance(rng, RNG):
            keywords = {**keywords, "rng": RepeatedRNG(rng or get_default_rng(), rng is None)}
    made = []
    for place in range(lengths[0]):
        chosen = tuple(value[place] if _is_set(value) else value for value in inputs)
        try:
            made.append(operator.bind_one(chosen, keywords))
        except GradivaError as error:
            if lengths[0] > 1:
                _explain_set(error, operator, lengths[0], place)
            raise
    if len(made) == 1:
        return made[0]
    if isinstance(made[0], tuple | list):
        return [list(outputs) for outputs in zip(*made, strict=True)]
    return made
