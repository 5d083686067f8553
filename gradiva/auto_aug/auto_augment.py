"""AutoAugment: for each sample one of the sub-policies that were found by a search.

Cubuk, Zoph, Mane, Vasudevan, Le: "AutoAugment: Learning augmentation policies from data"
(arXiv 1805.09501).
"""

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
from gradiva.eager.values.tensor import as_tensor

from .augmentations import identity
from .bins import SignedBin
from .checks import as_images, check_all_used
from .core import Augmentation, Policy, select
from .draws import Draws
from .followed import followed_first, followed_second
from .policies import get_image_net_policy as get_image_net_policy
from .policies import get_reduced_cifar10_policy as get_reduced_cifar10_policy
from .policies import get_reduced_image_net_policy as get_reduced_image_net_policy
from .policies import get_svhn_policy as get_svhn_policy
from .translations import shape_arguments, warp_arguments

__all__ = [
    "apply_auto_augment",
    "auto_augment",
    "auto_augment_image_net",
    "get_image_net_policy",
    "get_reduced_cifar10_policy",
    "get_reduced_image_net_policy",
    "get_svhn_policy",
]

Array: TypeAlias = "np.ndarray[Any, Any]"

_MOVING = {
    "image_net": get_image_net_policy,
    "reduced_cifar10": get_reduced_cifar10_policy,
    "svhn": get_svhn_policy,
}
_FIXED = "reduced_image_net"
_TITLE = "auto_aug.auto_augment"


@followed_first
def auto_augment(
    data: Any,
    policy_name: str = "image_net",
    shape: Any = None,
    fill_value: Any = 128,
    interp_type: Any = None,
    max_translate_abs: Any = None,
    max_translate_rel: Any = None,
    seed: int | None = None,
    *,
    _targets: tuple[Any, ...] = (),
) -> Any:
    """Apply AutoAugment with one of its policies.

    data: uint8 images HWC or sequences FHWC with three channels, also without a layout; all frames
        of a sequence get the same augmentations. `gradiva.Targets` may stand behind them, also in
        tuples, lists and dicts, and are then returned behind them, too:
        `images, targets = auto_augment(images, targets)`.
    policy_name: "image_net", "reduced_image_net", "reduced_cifar10" or "svhn".
    shape: (height, width, ...), for each sample or for all; if given, translations go by a part of
        it. Not for "reduced_image_net", which has no translations.
    fill_value: of pixels from outside, for the warps; None repeats the border.
    interp_type: of the warps.
    max_translate_abs: the largest translation in pixels, without `shape`: a number or (y, x); 250
        by default. max_translate_rel: with `shape`, as a part of it; 1 by default.
    seed: makes the random choices the same for the same samples wherever the call stands.

    Returns the samples, of the same shapes. Raises OperatorTypeError and OperatorValueError.
    """
    if policy_name == _FIXED:
        moving = {
            "shape": shape,
            "max_translate_abs": max_translate_abs,
            "max_translate_rel": max_translate_rel,
        }
        for name, value in moving.items():
            if value is not None:
                raise OperatorValueError(
                    f"the policy {_FIXED!r} has no translations",
                    operator=_TITLE,
                    argument=name,
                    expected="nothing",
                    got=describe(value),
                    location=user_location(),
                )
        policy = get_reduced_image_net_policy()
    elif policy_name in _MOVING:
        policy = _MOVING[policy_name](shape is not None, max_translate_abs, max_translate_rel)
    else:
        raise OperatorValueError(
            operator=_TITLE,
            argument="policy_name",
            expected="one of " + ", ".join([*_MOVING, _FIXED]),
            got=repr(policy_name),
            location=user_location(),
        )
    keywords = shape_arguments(shape) | warp_arguments(fill_value, interp_type)
    return _apply(policy, as_images(data, _TITLE), _targets, seed, keywords)


@followed_first
def auto_augment_image_net(
    data: Any,
    shape: Any = None,
    fill_value: Any = 128,
    interp_type: Any = None,
    max_translate_abs: Any = None,
    max_translate_rel: Any = None,
    seed: int | None = None,
    *,
    _targets: tuple[Any, ...] = (),
) -> Any:
    """`auto_augment` with the policy "image_net"."""
    return auto_augment(
        data,
        "image_net",
        shape,
        fill_value,
        interp_type,
        max_translate_abs,
        max_translate_rel,
        seed,
        _targets=_targets,
    )


@followed_second
def apply_auto_augment(
    policy: Policy,
    data: Any,
    seed: int | None = None,
    *,
    _targets: tuple[Any, ...] = (),
    **kwargs: Any,
) -> Any:
    """`auto_augment` with a policy of your own.

    policy: a Policy; each sample draws one of its sub-policies, and takes each augmentation in it
        with that one's probability.
    kwargs: go to the augmentations that take them; OperatorTypeError if none does.

    Raises OperatorValueError for a policy without sub-policies.
    """
    if not isinstance(policy, Policy):
        raise OperatorTypeError(
            operator="auto_aug.apply_auto_augment",
            argument="policy",
            expected="a Policy",
            got=describe(policy),
            location=user_location(),
        )
    if not policy.sub_policies:
        raise OperatorValueError(
            "the policy has no sub-policies, so there is nothing to draw from",
            operator="auto_aug.apply_auto_augment",
            argument="policy",
            expected="at least one sub-policy, which may be empty",
            got=repr(policy.name),
            location=user_location(),
        )
    check_all_used(policy.augmentations.values(), kwargs, "auto_aug.apply_auto_augment")
    return _apply(policy, data, _targets, seed, kwargs)


def _apply(
    policy: Policy, data: Any, targets: tuple[Any, ...], seed: int | None, kwargs: dict[str, Any]
) -> Any:
    rows = policy.sub_policies
    turns = max((len(row) for row in rows), default=0)
    if not turns:
        return (data, *targets) if targets else data
    draws = Draws(data, seed)
    row, chance = draws.number(len(rows)), draws.chance((turns,))
    signs = draws.signs(policy.augmentations.values(), (turns,))
    for turn in range(turns):
        offered, numbers, chances, bins = _turn(rows, turn)
        # Augmentation 0 is the identity: for samples whose chance is missed.
        happens = chance.slice[turn] < as_tensor(chances)[row]
        bin: Any = as_tensor(bins)[row]
        made = select(
            offered,
            happens * as_tensor(numbers)[row],
            data,
            *targets,
            magnitude_bin=bin if signs is None else SignedBin(bin, signs.slice[turn]),
            num_magnitude_bins=policy.num_magnitude_bins,
            **kwargs,
        )
        data, *rest = made if targets else (made,)
        targets = tuple(rest)
    return (data, *targets) if targets else data


def _turn(rows: Sequence[Any], turn: int) -> tuple[list[Augmentation], Array, Array, Array]:
    """The different augmentations at one place of the sub-policies, after the identity; and for
    each sub-policy the number of its augmentation, its probability and its bin."""
    offered = [identity]
    numbers = np.zeros(len(rows), np.int32)
    chances = np.zeros(len(rows), np.float32)
    bins = np.zeros(len(rows), np.int32)
    for index, row in enumerate(rows):
        if turn >= len(row):
            continue
        op, chances[index], bin = row[turn]
        if op not in offered:
            offered.append(op)
        numbers[index], bins[index] = offered.index(op), bin or 0
    return offered, numbers, chances, bins
