"""The policies of AutoAugment, as tables.

Cubuk, Zoph, Mane, Vasudevan, Le: "AutoAugment: Learning augmentation policies from data"
(arXiv 1805.09501). SVHN is table 9 of the appendix, reduced CIFAR-10 table 7, reduced ImageNet
table 8. ImageNet is the policy that the authors published later with their code for EfficientNet,
where `solarize_add` occurs. An entry is an augmentation, its probability and its magnitude of 0 to
10. Entries of probability 0 are left out.
"""

from __future__ import annotations

from typing import Any

from gradiva.auto_aug import augmentations as a

from .core import Augmentation, Policy
from .translations import translations

__all__ = [
    "get_image_net_policy",
    "get_reduced_cifar10_policy",
    "get_reduced_image_net_policy",
    "get_svhn_policy",
]

_BINS = 11
IMAGE_NET = """
equalize 0.8 -, shear_y 0.8 4
color 0.4 9, equalize 0.6 -
color 0.4 1, rotate 0.6 8
solarize 0.8 3, equalize 0.4 -
solarize 0.4 2, solarize 0.6 2
color 0.2 0, equalize 0.8 -
equalize 0.4 -, solarize_add 0.8 3
shear_x 0.2 9, rotate 0.6 8
color 0.6 1, equalize 1.0 -
invert 0.4 -, rotate 0.6 0
equalize 1.0 -, shear_y 0.6 3
color 0.4 7, equalize 0.6 -
posterize 0.4 6, auto_contrast 0.4 -
solarize 0.6 8, color 0.6 9
solarize 0.2 4, rotate 0.8 9
rotate 1.0 7, translate_y 0.8 9
solarize 0.8 4
shear_y 0.8 0, color 0.6 4
color 1.0 0, rotate 0.6 2
equalize 0.8 -
equalize 1.0 -, auto_contrast 0.6 -
shear_y 0.4 7, solarize_add 0.6 7
posterize 0.8 2, solarize 0.6 10
solarize 0.6 8, equalize 0.6 -
color 0.8 6, rotate 0.4 5
"""
REDUCED_CIFAR10 = """
invert 0.1 -, contrast 0.2 6
rotate 0.7 2, translate_x 0.3 9
sharpness 0.8 1, sharpness 0.9 3
shear_y 0.5 8, translate_y 0.7 9
auto_contrast 0.5 -, equalize 0.9 -
shear_y 0.2 7, posterize 0.3 7
color 0.4 3, brightness 0.6 7
sharpness 0.3 9, brightness 0.7 9
equalize 0.6 -, equalize 0.5 -
contrast 0.6 7, sharpness 0.6 5
color 0.7 7, translate_x 0.5 8
equalize 0.3 -, auto_contrast 0.4 -
translate_y 0.4 3, sharpness 0.2 6
brightness 0.9 6, color 0.2 8
solarize 0.5 2
equalize 0.2 -, auto_contrast 0.6 -
equalize 0.2 -, equalize 0.6 -
color 0.9 9, equalize 0.6 -
auto_contrast 0.8 -, solarize 0.2 8
brightness 0.1 3, color 0.7 0
solarize 0.4 5, auto_contrast 0.9 -
translate_y 0.9 9, translate_y 0.7 9
auto_contrast 0.9 -, solarize 0.8 3
equalize 0.8 -, invert 0.1 -
translate_y 0.7 9, auto_contrast 0.9 -
"""
SVHN = """
shear_x 0.9 4, invert 0.2 -
shear_y 0.9 8, invert 0.7 -
equalize 0.6 -, solarize 0.6 6
invert 0.9 -, equalize 0.6 -
equalize 0.6 -, rotate 0.9 3
shear_x 0.9 4, auto_contrast 0.8 -
shear_y 0.9 8, invert 0.4 -
shear_y 0.9 5, solarize 0.2 6
invert 0.9 -, auto_contrast 0.8 -
equalize 0.6 -, rotate 0.9 3
shear_x 0.9 4, solarize 0.3 3
shear_y 0.8 8, invert 0.7 -
equalize 0.9 -, translate_y 0.6 6
invert 0.9 -, equalize 0.6 -
contrast 0.3 3, rotate 0.8 4
invert 0.8 -
shear_y 0.7 6, solarize 0.4 8
invert 0.6 -, rotate 0.8 4
shear_y 0.3 7, translate_x 0.9 3
shear_x 0.1 6, invert 0.6 -
solarize 0.7 2, translate_y 0.6 7
shear_y 0.8 4, invert 0.8 -
shear_x 0.7 9, translate_y 0.8 3
shear_y 0.8 5, auto_contrast 0.7 -
shear_x 0.7 2, invert 0.1 -
"""
REDUCED_IMAGE_NET = """
posterize 0.4 8, rotate 0.6 9
solarize 0.6 5, auto_contrast 0.6 -
equalize 0.8 -, equalize 0.6 -
posterize 0.6 7, posterize 0.6 6
equalize 0.4 -, solarize 0.2 4
equalize 0.4 -, rotate 0.8 8
solarize 0.6 3, equalize 0.6 -
posterize 0.8 5, equalize 1.0 -
rotate 0.2 3, solarize 0.6 8
equalize 0.6 -, posterize 0.4 6
rotate 0.8 8, color 0.4 0
rotate 0.4 9, equalize 0.6 -
equalize 0.8 -
invert 0.6 -, equalize 1.0 -
color 0.6 4, contrast 1.0 8
rotate 0.8 8, color 1.0 2
color 0.8 8, solarize 0.8 7
sharpness 0.4 7, invert 0.6 -
shear_x 0.6 5, equalize 1.0 -
color 0.4 0, equalize 0.6 -
equalize 0.4 -, solarize 0.2 4
solarize 0.6 5, auto_contrast 0.6 -
invert 0.6 -, equalize 1.0 -
color 0.6 4, contrast 1.0 8
equalize 0.8 -, equalize 0.6 -
"""


def get_image_net_policy(
    use_shape: bool = False, max_translate_abs: Any = None, max_translate_rel: Any = None
) -> Policy:
    """The policy for ImageNet.

    use_shape: whether translations go by a part of the image's size, all of it at most by default,
    or by at most 250 pixels. The other arguments are those of `auto_augment`.
    """
    moves = _translations(use_shape, max_translate_abs, max_translate_rel)
    return _policy("ImageNetPolicy", IMAGE_NET, moves)


def get_reduced_cifar10_policy(
    use_shape: bool = False, max_translate_abs: Any = None, max_translate_rel: Any = None
) -> Policy:
    """The policy found on a part of CIFAR-10. Arguments as of `get_image_net_policy`."""
    moves = _translations(use_shape, max_translate_abs, max_translate_rel)
    return _policy("ReducedCifar10Policy", REDUCED_CIFAR10, moves)


def get_svhn_policy(
    use_shape: bool = False, max_translate_abs: Any = None, max_translate_rel: Any = None
) -> Policy:
    """The policy for Street View house numbers. Arguments as of `get_image_net_policy`."""
    moves = _translations(use_shape, max_translate_abs, max_translate_rel)
    return _policy("SvhnPolicy", SVHN, moves)


def get_reduced_image_net_policy() -> Policy:
    """The policy found on a part of ImageNet. It has no translations."""
    return _policy("ReducedImageNetPolicy", REDUCED_IMAGE_NET, [])


def enhancements() -> list[Augmentation]:
    """Those that AutoAugment and the suite with its ranges share: enhancing goes from a factor of
    0.1 to 1.9, and posterize and solarize are strongest at magnitude 0."""
    factors: dict[str, Any] = {
        "mag_range": (0.1, 1.9),
        "randomly_negate": False,
        "mag_to_param": None,
    }
    return [
        a.shear_x.augmentation((0, 0.3)),
        a.shear_y.augmentation((0, 0.3)),
        a.rotate.augmentation((0, 30)),
        a.brightness.augmentation(**factors),
        a.contrast.augmentation(**factors),
        a.color.augmentation(**factors),
        a.sharpness.augmentation(**factors | {"mag_to_param": a.sharpness_kernel_shifted}),
        a.posterize.augmentation((0, 4)),
        a.solarize.augmentation((0, 256)),
    ]


def _translations(use_shape: bool, max_abs: Any, max_rel: Any) -> list[Augmentation]:
    return translations(use_shape, 250, 1.0, max_abs, max_rel, "auto_aug.auto_augment")


def _policy(name: str, table: str, moves: list[Augmentation]) -> Policy:
    known = [
        *enhancements(),
        a.solarize_add.augmentation((0, 110)),
        a.invert,
        a.equalize,
        a.auto_contrast,
        *moves,
    ]
    named = {one.name: one for one in known}

    def entry(text: str) -> tuple[Augmentation, float, int | None]:
        op, chance, bin = text.split()
        return named[op], float(chance), None if bin == "-" else int(bin)

    rows = table.strip().splitlines()
    return Policy(name, _BINS, [[entry(part) for part in row.split(",")] for row in rows])
