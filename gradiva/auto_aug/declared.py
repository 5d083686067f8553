"""Augmentations: functions of data and a parameter, which a magnitude bin sets."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from gradiva.capture.recording.data_node import DataNode
from gradiva.capture.recording.dispatch import call as rewritten
from gradiva.eager.operators.input_sets import has_targets
from gradiva.eager.support.errors import (
    GradivaError,
    OperatorTypeError,
    OperatorValueError,
    describe,
    user_location,
)
from gradiva.eager.types.device import check_device, device
from gradiva.eager.values.tensor import as_tensor
from gradiva.eager.values.value import Value

from .bins import AnyBin, SignedBin, per_sample, random_signs
from .checks import at_least, in_range
from .parameters import ShapesError, even_parameters, parameters

__all__ = ["Augmentation", "MagToParam", "Range"]

Array: TypeAlias = "np.ndarray[Any, Any]"
Range: TypeAlias = "tuple[float, float] | Array | None"
MagToParam: TypeAlias = "Callable[[Any], Any] | None"

_KEEP: Any = object()
_DEVICES = ("cpu", "gpu", "auto")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def with_moves(moves: bool | None) -> dict[str, Any]:
    """The argument `moves` for a class of augmentations, if it is given: classes of users may not
    know it."""
    return {} if moves is None else {"moves": moves}


class Augmentation:
    """A function `op(data, parameter, ...)` and how its parameter follows from a magnitude bin.

    Made by `augmentation`, which tells the arguments. Calling it applies it. Its attributes cannot
    be set: `augmentation(...)` makes a copy with others.
    """

    def __init__(
        self,
        op: Callable[..., Any],
        mag_range: Range = None,
        randomly_negate: bool | None = None,
        mag_to_param: MagToParam = None,
        param_device: str | None = None,
        name: str | None = None,
        moves: bool | None = None,
    ) -> None:
        self._op = op
        self._moves = moves
        self._name = getattr(op, "__name__", type(op).__name__) if name is None else name
        self._mag_range = mag_range
        self._randomly_negate = bool(randomly_negate)
        self._mag_to_param = mag_to_param
        self._param_device = "cpu" if param_device is None else param_device
        self._check()
        taken = list(inspect.signature(op).parameters.values())
        if sum(one.kind in _POSITIONAL for one in taken) < 2:
            raise self._error(
                OperatorTypeError,
                "an augmentation takes data and a parameter",
                argument="function",
                expected="a function of at least two positional arguments",
                got=str(inspect.signature(op)),
            )
        if moves and not any(one.name == "targets" for one in taken[2:]):
            raise self._error(
                OperatorTypeError,
                "an augmentation that moves pixels takes the targets that follow them",
                argument="moves",
                expected="a function with an argument `targets`, a tuple that is passed on behind "
                "the images: `rotate(data, *targets, angle=parameter)`",
                got=str(inspect.signature(op)),
            )
        self.takes_all = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken)
        more = [one for one in taken[2:] if one.kind is not inspect.Parameter.VAR_KEYWORD]
        more = [one for one in more if not (moves and one.name == "targets")]
        self.keywords = tuple(one.name for one in more)
        """The arguments of the function, beside data and the parameter."""
        self._required = [one.name for one in more if one.default is inspect.Parameter.empty]

    @property
    def op(self) -> Callable[..., Any]:
        return self._op

    @property
    def name(self) -> str:
        return self._name

    @property
    def mag_range(self) -> Range:
        return self._mag_range

    @property
    def randomly_negate(self) -> bool:
        return self._randomly_negate

    @property
    def mag_to_param(self) -> Callable[[Any], Any]:
        return self._mag_to_param or np.asarray

    @property
    def param_device(self) -> str:
        return self._param_device

    @property
    def moves(self) -> bool | None:
        return self._moves

    def augmentation(
        self,
        mag_range: Range = _KEEP,
        randomly_negate: bool | None = _KEEP,
        mag_to_param: MagToParam = _KEEP,
        param_device: str | None = _KEEP,
        name: str | None = _KEEP,
        augmentation_cls: type[Augmentation] | None = None,
        moves: bool | None = _KEEP,
    ) -> Augmentation:
        """A copy in which what is given here differs. The arguments are those of `augmentation`."""
        given = (mag_range, randomly_negate, mag_to_param, param_device, name)
        own = (
            self._mag_range,
            self._randomly_negate,
            self._mag_to_param,
            self._param_device,
            self._name,
        )
        chosen: Any = (mine if new is _KEEP else new for new, mine in zip(given, own, strict=True))
        more = with_moves(self._moves if moves is _KEEP else moves)
        return (augmentation_cls or type(self))(self._op, *chosen, **more)

    def __call__(
        self,
        data: Any,
        *targets: Any,
        magnitude_bin: AnyBin = None,
        num_magnitude_bins: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """Apply the augmentation.

        data: a batch, a tensor or a symbol, usually uint8 images HWC or sequences FHWC.
        targets: `gradiva.Targets`, which follow the images and are then returned behind them.
        magnitude_bin: an integer, one per sample, or what `signed_bin` returns. Not needed without
            `mag_range`. With `randomly_negate`, a bin without a sign gets one here, at random.
        num_magnitude_bins: into how many steps `mag_range` is split; not needed if it is an array.
        kwargs: go to the function, those that it takes.

        Raises OperatorTypeError for a missing argument, and for targets if the augmentation does
        not say whether it moves pixels; OperatorValueError for a bin that there is
        not, and what the function raises.
        """
        self._check_targets(targets)
        passed = {
            name: value for name, value in kwargs.items() if self.takes_all or name in self.keywords
        }
        missing = [name for name in self._required if name not in passed]
        if missing:
            raise self._error(
                OperatorTypeError,
                "an argument is missing",
                argument=missing[0],
                expected="a value (for translations with a `shape`, the height and width)",
                got="nothing",
            )
        if self._param_device == "gpu":
            try:
                check_device(device("gpu"))
            except GradivaError as error:
                raise error.complete(operator=self._title, location=user_location()) from None
        parameter = self._parameter(data, magnitude_bin, num_magnitude_bins)
        if self._param_device == "gpu" and isinstance(parameter, Value):
            parameter = parameter.gpu()  # type: ignore[attr-defined]  # all three kinds have it
        op = rewritten(self._op) if isinstance(data, DataNode) else self._op
        if self._moves:
            passed["targets"] = targets
        made = op(data, parameter, **passed)
        if not targets:
            return made
        if not self._moves:
            return (made, *targets)
        if not isinstance(made, tuple | list) or len(made) != 1 + len(targets):
            raise self._error(
                OperatorTypeError,
                "a function that moves pixels returns images and targets",
                expected="what `rotate(data, *targets, angle=parameter)` returns",
                got=describe(made),
            )
        return tuple(made)

    def _check_targets(self, targets: tuple[Any, ...]) -> None:
        """Refuse what is no targets, and targets where nobody knows whether they move."""
        for one in targets:
            if not has_targets((one,)):
                raise self._error(
                    OperatorTypeError,
                    "only targets stand behind the images",
                    expected="`gradiva.Targets`, or other arguments by their names",
                    got=describe(one),
                )
        if targets and self._moves is None:
            raise self._error(
                OperatorTypeError,
                "the augmentation does not say whether it moves pixels, and so whether the targets "
                "move with them",
                argument="moves",
                expected="`@augmentation(..., moves=False)`, or `moves=True` and a function with "
                "an argument `targets`",
                got="nothing",
            )

    def _parameter(self, data: Any, bin: AnyBin, bins: int | None) -> Any:
        """The parameter of each sample, or one for all."""
        if self._mag_range is None:
            return None
        if bin is None:
            raise self._error(
                OperatorTypeError,
                "an argument is missing",
                argument="magnitude_bin",
                expected="an integer, or one per sample",
                got="nothing",
            )
        count = self._count(bins)
        signed = isinstance(bin, SignedBin)
        plain: Any = bin.bin if isinstance(bin, SignedBin) else bin
        if not isinstance(plain, Value):
            plain = in_range(plain, count, self._title, "magnitude_bin")
        table = self._table(count)
        if not self._randomly_negate:
            chosen = as_tensor(table[0])
            return chosen[plain] if isinstance(plain, Value) else as_tensor(table[0][plain])
        if not signed:
            size = per_sample(data if isinstance(plain, int) else plain)
            bin = SignedBin(plain, random_signs(None, None, size))
        assert isinstance(bin, SignedBin)
        if isinstance(plain, Value):
            return as_tensor(table)[bin.sign, plain]
        return as_tensor(np.ascontiguousarray(table[:, plain]))[bin.sign]

    def _count(self, bins: int | None) -> int:
        custom = isinstance(self._mag_range, np.ndarray)
        if bins is None and not custom:
            raise self._error(
                OperatorTypeError,
                "an argument is missing",
                argument="num_magnitude_bins",
                expected="the number of magnitude bins",
                got="nothing",
            )
        own = len(self._mag_range) if isinstance(self._mag_range, np.ndarray) else None
        count = own if bins is None else at_least(1, bins, self._title, "num_magnitude_bins")
        assert count is not None
        if own is not None and own != count:
            raise self._error(
                OperatorValueError,
                "`mag_range` is an array with a magnitude for each bin",
                argument="num_magnitude_bins",
                expected=str(own),
                got=str(count),
            )
        return count

    def _table(self, count: int) -> Array:
        """The parameters of all bins; those of the negated magnitudes come second."""
        given = self._mag_range
        try:
            if isinstance(given, np.ndarray):
                return parameters(given, self.mag_to_param, self._randomly_negate)
            assert given is not None
            first, last = given
            return even_parameters(first, last, count, self.mag_to_param, self._randomly_negate)
        except ShapesError:
            raise self._error(
                OperatorValueError,
                "the parameters of the bins have different shapes",
                argument="mag_to_param",
                expected="arrays of one shape and dtype",
                got="several shapes",
            ) from None

    @property
    def _title(self) -> str:
        return f"auto_aug.{self._name}"

    def _error(self, kind: type[GradivaError], problem: str, **facts: Any) -> GradivaError:
        return kind(problem, operator=self._title, location=user_location(), **facts)

    def _check(self) -> None:
        given = self._mag_range
        array = isinstance(given, np.ndarray) and given.ndim == 1 and len(given) > 0
        pair = (
            isinstance(given, tuple | list)
            and len(given) == 2
            and all(isinstance(one, int | float | np.number) for one in given)
        )
        if not (given is None or array or pair):
            raise self._error(
                OperatorTypeError,
                "",
                argument="mag_range",
                expected="two numbers, or a 1-D array with a magnitude for each bin",
                got=describe(given),
            )
        if self._mag_to_param is not None and not callable(self._mag_to_param):
            raise self._error(
                OperatorTypeError,
                "",
                argument="mag_to_param",
                expected="a function of a magnitude",
                got=describe(self._mag_to_param),
            )
        if self._param_device not in _DEVICES:
            raise self._error(
                OperatorValueError,
                "",
                argument="param_device",
                expected='"cpu", "gpu" or "auto"',
                got=repr(self._param_device),
            )

    def __repr__(self) -> str:
        facts = [repr(self._op)]
        if self._mag_range is not None:
            facts.append(f"mag_range={self._mag_range!r}")
        if self._mag_to_param is not None:
            facts.append(f"mag_to_param={self._mag_to_param!r}")
        if self._randomly_negate:
            facts.append("randomly_negate=True")
        if self._name != getattr(self._op, "__name__", None):
            facts.append(f"name={self._name!r}")
        return f"Augmentation({', '.join(facts)})"
