"""Automatic augmentation: AutoAugment, RandAugment and TrivialAugment, and what they are made of.

    from gradiva.auto_aug import rand_augment

    images = rand_augment.rand_augment(images, n=2, m=9)

The functions work at once and in pipelines, with the same bits.
"""

from gradiva.auto_aug import augmentations as augmentations
from gradiva.auto_aug import auto_augment as auto_augment
from gradiva.auto_aug import core as core
from gradiva.auto_aug import rand_augment as rand_augment
from gradiva.auto_aug import trivial_augment as trivial_augment

__all__ = ["augmentations", "auto_augment", "core", "rand_augment", "trivial_augment"]
