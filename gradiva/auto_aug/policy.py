"""`Policy`: pairs of augmentations with probabilities and magnitudes, as AutoAugment uses them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from gradiva.eager.support.errors import (
    OperatorTypeError,
    OperatorValueError,
    describe,
    user_location,
)

from .checks import at_least, in_range
from .declared import Augmentation

__all__ = ["Policy", "SubPolicy"]

SubPolicy: TypeAlias = "Sequence[tuple[Augmentation, float, int | None]]"

_TITLE = "auto_aug.Policy"


class Policy:
    """Sub-policies, one of which is drawn for each sample.

    name: shown in errors. num_magnitude_bins: of all augmentations in it. sub_policies: each a
    sequence of (augmentation, probability, magnitude bin); the bin may be None where the
    augmentation has no `mag_range`.

    Different augmentations of one name get a number before it, such as `0__rotate`.
    Raises OperatorTypeError and OperatorValueError.
    """

    def __init__(
        self, name: str, num_magnitude_bins: int, sub_policies: Sequence[SubPolicy]
    ) -> None:
        self.name = name
        self.num_magnitude_bins = at_least(1, num_magnitude_bins, _TITLE, "num_magnitude_bins")
        if not isinstance(sub_policies, list | tuple):
            raise _wrong("a sequence of sub-policies", sub_policies)
        checked = [self._checked(one) for one in sub_policies]
        renamed = _distinct([entry[0] for one in checked for entry in one])
        self.sub_policies = [
            tuple((renamed[id(op)], chance, bin) for op, chance, bin in one) for one in checked
        ]

    @property
    def augmentations(self) -> dict[str, Augmentation]:
        """The augmentations that occur, by name, in alphabetic order."""
        found = {op.name: op for one in self.sub_policies for op, _, _ in one}
        return dict(sorted(found.items()))

    def _checked(self, sub_policy: Any) -> tuple[tuple[Augmentation, float, int | None], ...]:
        if not isinstance(sub_policy, list | tuple):
            raise _wrong("a sequence of (augmentation, probability, magnitude bin)", sub_policy)
        return tuple(self._entry(entry) for entry in sub_policy)

    def _entry(self, entry: Any) -> tuple[Augmentation, float, int | None]:
        if not isinstance(entry, list | tuple) or len(entry) != 3:
            raise _wrong("(augmentation, probability, magnitude bin)", entry)
        op, chance, bin = entry
        if not isinstance(op, Augmentation):
            raise _wrong("an augmentation, made with `@augmentation`", op)
        if not isinstance(chance, int | float | np.number) or not 0 <= chance <= 1:
            raise OperatorValueError(
                f"the probability of `{op.name}`",
                operator=_TITLE,
                argument="sub_policies",
                expected="a number from 0 to 1",
                got=repr(chance),
                location=user_location(),
            )
        if bin is not None or op.mag_range is not None:
            if bin is None:
                raise _wrong(f"a magnitude bin for `{op.name}`, which has a `mag_range`", bin)
            bin = in_range(bin, self.num_magnitude_bins, _TITLE, "sub_policies")
        return op, float(chance), bin

    def __repr__(self) -> str:
        rows = ",\n    ".join(
            str([(op.name, chance, bin) for op, chance, bin in one]) for one in self.sub_policies
        )
        return (
            f"Policy(name={self.name!r}, num_magnitude_bins={self.num_magnitude_bins}, "
            f"sub_policies=[\n    {rows}])"
        )


def _wrong(expected: str, got: Any) -> OperatorTypeError:
    return OperatorTypeError(
        operator=_TITLE,
        argument="sub_policies",
        expected=expected,
        got=describe(got),
        location=user_location(),
    )


def _distinct(ops: Sequence[Augmentation]) -> dict[int, Augmentation]:
    """Each augmentation under a name of its own."""
    different = list({id(op): op for op in ops}.values())
    by_name: dict[str, list[Augmentation]] = {}
    for op in different:
        by_name.setdefault(op.name, []).append(op)
    return {
        id(op): op if len(same) == 1 else op.augmentation(name=f"{number}__{name}")
        for name, same in by_name.items()
        for number, op in enumerate(same)
    }
