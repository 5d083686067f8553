"""TrivialAugment: one augmentation of a random magnitude for each sample.

Müller, Hutter: "TrivialAugment: Tuning-free yet state-of-the-art data augmentation"
(arXiv 2103.10158), with its wide ranges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradiva.auto_aug import augmentations as a

from .bins import SignedBin
from .checks import as_images, at_least, offered
from .core import Augmentation, select
from .draws import Draws
from .followed import followed_first, followed_second
from .translations import leave_out, shape_arguments, translations, warp_arguments

__all__ = ["apply_trivial_augment", "get_trivial_augment_wide_suite", "trivial_augment_wide"]


@followed_first
def trivial_augment_wide(
    data: Any,
    num_magnitude_bins: int = 31,
    shape: Any = None,
    fill_value: Any = 128,
    interp_type: Any = None,
    max_translate_abs: Any = None,
    max_translate_rel: Any = None,
    seed: int | None = None,
    excluded: Sequence[str] | None = None,
    *,
    _targets: tuple[Any, ...] = (),
) -> Any:
    """Apply TrivialAugment: for each sample one augmentation and one magnitude bin are drawn.

    The largest translation is 32 pixels by default, with `shape` all of it. The other arguments,
    what is returned and the errors are those of `rand_augment`.
    """
    suite = get_trivial_augment_wide_suite(shape is not None, max_translate_abs, max_translate_rel)
    return apply_trivial_augment(
        leave_out(suite, excluded, "auto_aug.trivial_augment_wide"),
        as_images(data, "auto_aug.trivial_augment_wide"),
        num_magnitude_bins,
        seed,
        **shape_arguments(shape),
        **warp_arguments(fill_value, interp_type),
        _caller="auto_aug.trivial_augment_wide",
        _targets=_targets,
    )


@followed_second
def apply_trivial_augment(
    augmentations: Sequence[Augmentation],
    data: Any,
    num_magnitude_bins: int = 31,
    seed: int | None = None,
    *,
    _caller: str = "auto_aug.apply_trivial_augment",
    _targets: tuple[Any, ...] = (),
    **kwargs: Any,
) -> Any:
    """`trivial_augment_wide` with augmentations of your own.

    kwargs: go to the augmentations that take them; OperatorTypeError if none does.
    """
    bins = at_least(1, num_magnitude_bins, _caller, "num_magnitude_bins")
    own = _caller == "auto_aug.apply_trivial_augment"
    augmentations = offered(augmentations, kwargs, _caller, own)
    draws = Draws(data, seed)
    number, bin = draws.number(len(augmentations)), draws.number(bins)
    signs = draws.signs(augmentations)
    if signs is not None:
        bin = SignedBin(bin, signs)
    return select(
        augmentations, number, data, *_targets, magnitude_bin=bin, num_magnitude_bins=bins, **kwargs
    )


def get_trivial_augment_wide_suite(
    use_shape: bool = False, max_translate_abs: Any = None, max_translate_rel: Any = None
) -> list[Augmentation]:
    """The 14 augmentations of TrivialAugment (wide). The arguments are those of
    `get_rand_augment_suite`."""
    return [
        *translations(
            use_shape,
            32,
            1.0,
            max_translate_abs,
            max_translate_rel,
            "auto_aug.trivial_augment_wide",
        ),
        a.shear_x.augmentation((0, 0.99)),
        a.shear_y.augmentation((0, 0.99)),
        a.rotate.augmentation((0, 135)),
        a.brightness.augmentation((0.01, 0.99)),
        a.contrast.augmentation((0.01, 0.99)),
        a.color.augmentation((0.01, 0.99)),
        a.sharpness.augmentation((0.01, 0.99)),
        a.posterize.augmentation((8, 2)),
        a.solarize.augmentation((256, 0)),
        a.equalize,
        a.auto_contrast,
        a.identity,
    ]
