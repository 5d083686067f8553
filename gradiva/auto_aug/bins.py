"""Magnitude bins, and the random sign that goes with them."""

from __future__ import annotations

from typing import Any, TypeAlias

from gradiva.capture.recording.free_calls import per_recorded_sample as for_each_sample
from gradiva.eager.operators.interpreter import current_interpreter
from gradiva.eager.schedules.schedule import Schedule
from gradiva.eager.support.errors import OperatorTypeError, describe, user_location
from gradiva.eager.types.dtypes import int32
from gradiva.eager.values.value import Value
from gradiva.ops.math.scheduled import scheduled
from gradiva.ops.random.uniform import uniform

from .checks import in_range

__all__ = ["AnyBin", "SignedBin", "per_sample", "random_signs", "signed_bin"]


class SignedBin:
    """A magnitude bin, and for each sample whether an augmentation that may be negated is.

    bin: an integer, or one per sample. sign: 0 or 1 per sample; 1 negates. Both may have an axis,
    along which `[...]` takes a part: `signed[0]` is the first bin or sign of each sample.
    """

    __slots__ = ("bin", "sign")

    def __init__(self, bin: Any, sign: Any) -> None:
        self.bin = bin
        self.sign = sign

    def __getitem__(self, item: Any) -> SignedBin:
        bin = self.bin.slice[item] if _has_axes(self.bin) else self.bin
        return SignedBin(bin, self.sign.slice[item])

    def __repr__(self) -> str:
        return f"SignedBin({self.bin!r}, {self.sign!r})"


AnyBin: TypeAlias = "int | Value | SignedBin | None"


def _has_axes(value: Any) -> bool:
    return isinstance(value, Value) and bool(getattr(value, "ndim", 0))


def per_sample(value: Any) -> dict[str, Any]:
    """The `batch_size` argument of random calls that draw for each sample of a value."""
    size = getattr(value, "batch_size", None)
    return {} if size is None else {"batch_size": size}


def signed_bin(
    magnitude_bin: int | Value,
    random_sign: Value | None = None,
    seed: int | None = None,
    shape: tuple[int, ...] | None = None,
    *,
    batch_size: Any = None,
) -> SignedBin:
    """Give a magnitude bin a sign per sample, for augmentations with `randomly_negate`.

    magnitude_bin: an integer, or one per sample. random_sign: 0 or 1 per sample, where 1 negates;
        drawn with equal chances if not given. seed: of that draw. shape: of the signs of each
        sample. batch_size: of how many samples, where nothing else says so.

    Raises OperatorTypeError for other types, and in dynamic mode where `batch_size` is missing.
    """
    if isinstance(magnitude_bin, SignedBin) or not (
        isinstance(magnitude_bin, Value | int) and not isinstance(magnitude_bin, bool)
    ):
        raise OperatorTypeError(
            operator="auto_aug.signed_bin",
            argument="magnitude_bin",
            expected="an integer, or one per sample",
            got=describe(magnitude_bin),
            location=user_location(),
        )
    if random_sign is not None:
        if not isinstance(random_sign, Value):
            raise OperatorTypeError(
                operator="auto_aug.signed_bin",
                argument="random_sign",
                expected="0 or 1 for each sample: a batch or a symbol",
                got=describe(random_sign),
                location=user_location(),
            )
        return SignedBin(magnitude_bin, random_sign)
    size = per_sample(magnitude_bin) if batch_size is None else {"batch_size": batch_size}
    known = size or isinstance(magnitude_bin, Value)
    if not known and not getattr(current_interpreter(), "symbolic", False):
        raise OperatorTypeError(
            "the number of samples is not known",
            operator="auto_aug.signed_bin",
            argument="batch_size",
            expected="the number of samples (such as images.batch_size)",
            got="nothing",
            location=user_location(),
        )
    return SignedBin(magnitude_bin, random_signs(seed, shape, size))


def random_signs(seed: int | None, shape: tuple[int, ...] | None, size: dict[str, Any]) -> Any:
    """0 or 1 with equal chances; size: what `per_sample` gives, for a single sample nothing."""
    draw: Any = for_each_sample(uniform)
    return draw(values=[0, 1], dtype=int32, shape=shape, seed=seed, **size)


def scheduled_bin(bin: int | Schedule, count: int, data: Any, caller: str) -> Any:
    """A magnitude bin for all samples; of a schedule, one for each. Raises OperatorTypeError or
    OperatorValueError for other bins than 0 ... count - 1, of a schedule where it runs."""
    if isinstance(bin, Schedule):
        given: Any = bin
        return scheduled(integers=given, limits=(0, count - 1), **per_sample(data))
    return in_range(bin, count, caller, "m")
