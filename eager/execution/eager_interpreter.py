"""Dynamic mode: the interpreter that runs each call immediately, and the checks of its
arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradiva.eager.operators.arguments import Argument, bytes_hint, is_edge
from gradiva.eager.operators.interpreter import current_interpreter, eager_hook, free_calls_hook
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.operators.per_frame_types import has_frames
from gradiva.eager.operators.ragged import differ, ragged_rows
from gradiva.eager.random.default_generator import get_default_rng
from gradiva.eager.random.generator import RNG, RandomKey
from gradiva.eager.random.step import current_step
from gradiva.eager.runtime.worker_pool import default_pool
from gradiva.eager.schedules.settling import (
    LISTS,
    SCHEDULE,
    Place,
    current_place,
    place_of,
    with_schedule_values,
)
from gradiva.eager.support.errors import (
    GradivaError,
    OperatorTypeError,
    describe,
    wrong_type,
    wrong_value,
)
from gradiva.eager.support.user_warning import warn_user
from gradiva.eager.support.validation import integer
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.types.device import CPU, Device, check_device, device
from gradiva.eager.values.batch import Batch, batch_on
from gradiva.eager.values.buffers import gpu_named
from gradiva.eager.values.random_origin import random_origin_of_call
from gradiva.eager.values.tensor import Tensor, tensor_on, to_array
from gradiva.eager.values.value import Symbolic, Value

from .error_policy import check_not_single
from .execute import backends, execute
from .gpu_execute import on_gpu
from .shared_draws import warn_of_values

__all__ = [
    "Eager",
    "as_argument",
    "as_input",
    "as_seed",
    "batch_size_of",
    "check_common",
    "check_on_cpu",
    "device_for",
    "device_named",
    "place_of_call",
    "positions_of",
    "random_key",
    "split_common",
]

_MOST_SAMPLES = 1 << 24


class Eager:
    """The interpreter of dynamic mode: a call runs immediately, in the worker pool."""

    def bind(
        self, operator: OperatorBase, inputs: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        operator.check(inputs, keywords)
        source = operator.effects and not operator.kernels
        if (source or _is_symbolic(inputs, keywords)) and current_interpreter() is None:
            return free_calls_hook.get().bind(operator, inputs, keywords)
        if source:
            raise OperatorTypeError(
                "this makes a source for a pipeline definition; in dynamic mode use its class "
                "(readers.File, ExternalSource, ...)"
            )
        for (
            value
        ) in keywords.values():  # `has_schedules` without a call, for all calls come by here
            kind = type(value)
            if kind is SCHEDULE or (kind in LISTS and SCHEDULE in map(type, value)):
                place = place_of_call(inputs, keywords)
                keywords = with_schedule_values(operator.arguments, keywords, place)
                break
        given, common = split_common(operator, keywords)
        size, single = batch_size_of(operator, inputs, given, common)
        if single:
            check_not_single(given, single)
        drawn = random_origin_of_call(operator.name, operator.random, single, inputs, keywords)
        if drawn is not None and not single:
            warn_of_values(operator.name, (*inputs, *given.values()))
        made = list(inputs)
        for number, value in enumerate(inputs):
            if not isinstance(value, Batch):
                made[number] = as_input(value, size, number)
        batches = tuple(made)
        for name, value in given.items():
            given[name] = as_argument(operator.arguments[name], value, size)
        key, positions = None, None
        if operator.random:
            key, positions = random_key(common), positions_of(batches, size, single)
        where = device_for(operator, batches, common)
        outputs = execute(
            operator, batches, given, size, default_pool(), key, positions, device=where
        )
        for batch in outputs:
            if batch.valid is not None:
                batch.valid = None  # the user gets it, who sees no masks
            if drawn is not None:
                batch.drawn_at = drawn
        if single:
            tensors = tuple(batch.tensors[0] for batch in outputs)
            return tensors[0] if len(tensors) == 1 else tensors
        return outputs[0] if len(outputs) == 1 else outputs


def _is_symbolic(inputs: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    """Whether there are symbols among the values of a call. Symbols have no data."""
    for value in (*inputs, *keywords.values()):  # noqa: SIM110  each call asks: this is faster
        if isinstance(value, Symbolic):
            return True
    return False


def split_common(
    operator: OperatorBase, keywords: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The given arguments, checked: the operator's own, and the common ones."""
    given: dict[str, Any] = {}
    common: dict[str, Any] = {}
    for name, value in keywords.items():
        if value is not None:
            (given if name in operator.arguments else common)[name] = value
    if common:
        check_common(operator, common)
    return given, common


def check_common(operator: OperatorBase, common: Mapping[str, Any], present: bool = True) -> None:
    """Raise errors for missing devices and for bad hints; warn of a seed that has no effect.
    present: whether a device must exist now, and not only when a graph runs."""
    if "bytes_per_sample_hint" in common:
        bytes_hint(common["bytes_per_sample_hint"])
    if not isinstance(common.get("name", ""), str):
        got = describe(common["name"])
        raise OperatorTypeError(argument="name", expected="a text", got=got)
    if "device" in common:
        try:
            chosen = device_named(common["device"])
            if present:
                check_device(chosen)
        except GradivaError as error:
            raise error.complete(argument="device") from None
    if "seed" in common and not operator.takes_seed:
        warn_user(f"{operator.name}: `seed` has no effect on an operator that is not random")


def device_named(name: Any) -> Device:
    """The device of an argument `device`: "mixed", which takes host memory, runs on a GPU; the CPU
    is the one `CPU`. Raises OperatorTypeError, OperatorValueError."""
    if name == "mixed":
        return gpu_named(Device.current(), None)
    chosen = device(name)
    return CPU if chosen.device_type == "cpu" else chosen


def device_for(
    operator: OperatorBase, inputs: tuple[Batch, ...], common: Mapping[str, Any]
) -> Device:
    """The device of a call: the given one, otherwise that of an input on a GPU, otherwise the
    CPU."""
    if "device" in common:
        return device_named(common["device"])
    for one in inputs:
        where = one.device
        if where is not CPU:
            return where
    return CPU


def random_key(common: Mapping[str, Any]) -> RandomKey:
    """The key of a random call. With an explicit seed a call gives the same values wherever it is
    made."""
    seed, rng = common.get("seed"), common.get("rng")
    if rng is not None and not isinstance(rng, RNG):
        raise wrong_type("rng", "an RNG", repr(rng))
    given = as_seed(seed)
    if given is not None:
        return RandomKey(given, 0)
    return (rng or get_default_rng()).draw()


def as_seed(seed: Any) -> int | None:
    """A seed as 64 bits; None if it was not given or is negative. Raises OperatorTypeError."""
    if seed is None:
        return None
    number = integer(seed, argument="seed")
    return None if number < 0 else number & 0xFFFFFFFFFFFFFFFF


def positions_of(
    inputs: tuple[Batch, ...], size: int, single: bool = False
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The positions of the samples of a random call: those of its input, those of the current step,
    those that are left in the step (not for one value for all samples), or the first ones."""
    for batch in inputs:
        if batch.positions is not None:
            return batch.positions
    step = current_step()
    found = None if step is None else step.positions_of(size)
    if step is not None and found is not None and (not single or found is step.positions):
        return found
    first = int(step.positions[0]) if step is not None and len(step.positions) else 0
    return np.arange(first, first + size, dtype=np.int64)


def place_of_call(inputs: tuple[Any, ...], keywords: Mapping[str, Any]) -> Place | None:
    """The place in the run of a call with schedules: that of its inputs, else that of the current
    step."""
    count = next((len(one) for one in inputs if isinstance(one, Batch)), None)
    if count is None and inputs:
        count = 1
    asked = keywords.get("batch_size") if count is None else None
    if isinstance(asked, int | np.integer) and asked >= 0:
        count = int(asked)
    return place_of(inputs) or current_place(count)


def batch_size_of(
    operator: OperatorBase,
    inputs: tuple[Any, ...],
    given: Mapping[str, Any],
    common: Mapping[str, Any],
) -> tuple[int, bool]:
    """The number of samples of a call, and whether its inputs are single tensors."""
    size: int | None = None
    for value in (*inputs, *given.values()):
        if isinstance(value, Batch):
            # A batch that has not been computed may not know yet which samples it will drop.
            count = value.expected if hasattr(value, "expected") else len(value)
            if size is not None and count != size:
                raise wrong_value(
                    "",
                    f"{size} samples",
                    f"{count}",
                    "all inputs and per-sample arguments have one batch size",
                )
            size = count
    if size is None or (operator.random and "batch_size" in common):
        asked = _asked_size(common)
        if size is not None and asked not in (None, size):
            raise wrong_value(
                "batch_size", f"{size}, as many as there are in a batch given", str(asked)
            )
        size = asked if size is None else size
    if size is None and not inputs:
        for name, value in given.items():
            argument = operator.arguments[name]
            if is_edge(argument, value) and not isinstance(value, Tensor):
                return len(value), False
    return (1, True) if size is None else (size, False)


def _asked_size(common: Mapping[str, Any]) -> int | None:
    asked = common.get("batch_size")
    if asked is None:
        return None
    if isinstance(asked, bool) or not isinstance(asked, int | np.integer) or asked < 0:
        raise wrong_value("batch_size", "a number of samples", repr(asked))
    if asked > _MOST_SAMPLES:
        raise wrong_value("batch_size", f"at most {_MOST_SAMPLES}", str(asked))
    return int(asked)


def as_input(value: Any, size: int, number: int) -> Batch:
    if isinstance(value, Batch):
        return value
    if isinstance(value, Value) and not isinstance(value, Tensor):
        raise OperatorTypeError(
            f"input {number} is a symbol of a graph: it has no data outside of the pipeline "
            f"definition that made it: {value!r}"
        )
    if isinstance(value, list | tuple) and not _is_numbers(value):
        raise wrong_type(
            "",
            "a Batch, a Tensor or an array (see gradiva.as_batch)",
            type(value).__name__,
            f"input {number}",
        )
    try:
        tensor = tensor_on(value)
    except GradivaError as error:
        error.problem = f"input {number}: {error.problem}".removesuffix(": ")
        raise
    array = tensor._array
    batch_shape = BatchShape.repeated(size, array.shape)
    # A tensor that stands for several samples has no position of its own.
    where = tensor.provenance if size == 1 else None
    return Batch.over(array.reshape(-1), batch_shape, tensor.type, where)


def _is_numbers(value: Any) -> bool:
    """Whether this is a list of numbers, possibly nested: one array. A list of arrays may mean a
    batch or an array, so the answer is no."""
    while isinstance(value, list | tuple):
        if not value:
            return True
        value = value[0]
    return isinstance(value, int | float | np.number | np.bool_)


def check_on_cpu(argument: Argument, value: Any) -> None:
    """Raise OperatorTypeError for values of an argument that are on a GPU."""
    if isinstance(value, Batch | Tensor) and value.device is not CPU:
        raise OperatorTypeError(
            argument=argument.name,
            expected="values in host memory (take `.cpu()` of them)",
            got=f"a {type(value).__name__} on {value.device}",
        )


def as_argument(argument: Argument, value: Any, size: int) -> Any:
    """A static value, or a Batch or array with one row per sample."""
    if isinstance(value, Value):
        check_on_cpu(argument, value)
    if isinstance(value, Batch):
        return value
    if isinstance(value, Tensor):
        if argument.per_sample and has_frames(value.type):
            return Batch.broadcast(value, size)
        array = np.asarray(value)
        if argument.per_sample:
            return np.broadcast_to(array, (size, *array.shape))
        return argument.static(array.item() if array.size == 1 else array.tolist())
    if isinstance(value, Value):
        raise OperatorTypeError(
            argument=argument.name,
            expected=argument.kind.expected,
            got=f"a symbol of a graph: {value!r}",
        )
    if is_edge(argument, value):
        listed = isinstance(value, list | tuple)
        if listed and (argument.kind.ragged or (argument.kind.uneven and differ(value))):
            return batch_on(ragged_rows(argument, value))
        try:
            array = to_array(value)
        except GradivaError as error:
            raise error.complete(argument=argument.name) from None
        shared = argument.kind.matrix and array.ndim == 2
        return np.broadcast_to(array, (size, *array.shape)) if shared else array
    return argument.static(value)


eager_hook.fill(Eager())
backends["gpu"] = on_gpu
