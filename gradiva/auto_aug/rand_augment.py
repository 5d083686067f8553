"""RandAugment: n augmentations, one after the other, all of one magnitude.

Cubuk, Zoph, Shlens, Le: "RandAugment: Practical automated data augmentation with a reduced search
space" (arXiv 1909.13719).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradiva.auto_aug import augmentations as a
from gradiva.eager.schedules.schedule import Schedule

from .bins import SignedBin, scheduled_bin
from .checks import as_images, at_least, offered
from .core import Augmentation, select
from .draws import Draws
from .followed import followed_first, followed_second
from .policies import enhancements
from .translations import leave_out, shape_arguments, translations, warp_arguments

__all__ = [
    "apply_rand_augment",
    "get_rand_augment_non_monotonic_suite",
    "get_rand_augment_suite",
    "rand_augment",
]


@followed_first
def rand_augment(
    data: Any,
    n: int,
    m: int | Schedule,
    num_magnitude_bins: int = 31,
    shape: Any = None,
    fill_value: Any = 128,
    interp_type: Any = None,
    max_translate_abs: Any = None,
    max_translate_rel: Any = None,
    seed: int | None = None,
    monotonic_mag: bool = True,
    excluded: Sequence[str] | None = None,
    *,
    _targets: tuple[Any, ...] = (),
) -> Any:
    """Apply RandAugment: n augmentations drawn for each sample, of magnitude m.

    data: uint8 images HWC or sequences FHWC with three channels, also without a layout; all frames
        of a sequence get the same augmentations. `gradiva.Targets` may stand behind them, also in
        tuples, lists and dicts, and are then returned behind them, too:
        `images, targets = rand_augment(images, targets, n=2, m=9)`.
    n: how many. m: the magnitude bin, from 0 to num_magnitude_bins - 1, or a schedule of it.
    shape: (height, width, ...), for each sample or for all; if given, translations go by a part of
        it.
    fill_value: of pixels from outside, for the warps; None repeats the border.
    interp_type: of the warps.
    max_translate_abs: the largest translation in pixels, without `shape`: a number or (y, x); 100
        by default. max_translate_rel: with `shape`, as a part of it; 100 / 224 by default.
    seed: makes the random choices the same for the same samples wherever the call stands.
    monotonic_mag: whether a higher magnitude always means a stronger change. Without it, the ranges
        are those of AutoAugment: see `get_rand_augment_non_monotonic_suite`.
    excluded: names of augmentations that are left out.

    Returns the samples, of the same shapes. Raises OperatorTypeError and OperatorValueError.
    """
    suite = get_rand_augment_suite if monotonic_mag else get_rand_augment_non_monotonic_suite
    chosen = suite(shape is not None, max_translate_abs, max_translate_rel)
    return apply_rand_augment(
        leave_out(chosen, excluded, "auto_aug.rand_augment"),
        as_images(data, "auto_aug.rand_augment"),
        n,
        m,
        num_magnitude_bins,
        seed,
        **shape_arguments(shape),
        **warp_arguments(fill_value, interp_type),
        _caller="auto_aug.rand_augment",
        _targets=_targets,
    )


@followed_second
def apply_rand_augment(
    augmentations: Sequence[Augmentation],
    data: Any,
    n: int,
    m: int | Schedule,
    num_magnitude_bins: int = 31,
    seed: int | None = None,
    *,
    _caller: str = "auto_aug.apply_rand_augment",
    _targets: tuple[Any, ...] = (),
    **kwargs: Any,
) -> Any:
    """`rand_augment` with augmentations of your own.

    kwargs: go to the augmentations that take them; OperatorTypeError if none does.
    """
    n = at_least(0, n, _caller, "n")
    bins = at_least(1, num_magnitude_bins, _caller, "num_magnitude_bins")
    m = scheduled_bin(m, bins, data, _caller)
    own = _caller == "auto_aug.apply_rand_augment"
    augmentations = offered(augmentations, kwargs, _caller, own, " (or n=0)" if n else None)
    if n == 0:
        return (data, *_targets) if _targets else data
    draws = Draws(data, seed)
    numbers = draws.number(len(augmentations), (n,))
    signs = draws.signs(augmentations, (n,))
    for turn in range(n):
        made = select(
            augmentations,
            numbers.slice[turn],
            data,
            *_targets,
            magnitude_bin=m if signs is None else SignedBin(m, signs.slice[turn]),
            num_magnitude_bins=bins,
            **kwargs,
        )
        data, *rest = made if _targets else (made,)
        _targets = tuple(rest)
    return (data, *_targets) if _targets else data


def _translations(use_shape: bool, max_abs: Any, max_rel: Any) -> list[Augmentation]:
    return translations(use_shape, 100, 100 / 224, max_abs, max_rel, "auto_aug.rand_augment")


def get_rand_augment_suite(
    use_shape: bool = False, max_translate_abs: Any = None, max_translate_rel: Any = None
) -> list[Augmentation]:
    """The 14 augmentations of RandAugment, with magnitudes that grow from no change.

    use_shape: whether translations go by a part of the image's size. The other arguments are those
    of `rand_augment`.
    """
    return [
        *_translations(use_shape, max_translate_abs, max_translate_rel),
        a.shear_x.augmentation((0, 0.3)),
        a.shear_y.augmentation((0, 0.3)),
        a.rotate.augmentation((0, 30)),
        a.brightness.augmentation((0, 0.9)),
        a.contrast.augmentation((0, 0.9)),
        a.color.augmentation((0, 0.9)),
        a.sharpness.augmentation((0, 0.9)),
        a.posterize.augmentation((8, 4)),
        a.solarize.augmentation((256, 0)),
        a.equalize,
        a.auto_contrast,
        a.identity,
    ]


def get_rand_augment_non_monotonic_suite(
    use_shape: bool = False, max_translate_abs: Any = None, max_translate_rel: Any = None
) -> list[Augmentation]:
    """The same with the ranges of AutoAugment: enhancing goes from a factor of 0.1 to 1.9, and
    posterize and solarize are strongest at magnitude 0."""
    return [
        *_translations(use_shape, max_translate_abs, max_translate_rel),
        *enhancements(),
        a.equalize,
        a.auto_contrast,
        a.identity,
    ]
