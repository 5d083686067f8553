"""Automatic augmentation: what is refused, and what the errors say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.auto_aug import augmentations as a
from gradiva.auto_aug import auto_augment as aa
from gradiva.auto_aug import rand_augment as ra
from gradiva.auto_aug import trivial_augment as ta
from gradiva.auto_aug.core import Policy, augmentation, select, signed_bin

PICTURES = [np.arange(9 * 12 * 3, dtype=np.uint8).reshape(9, 12, 3), np.ones((7, 5, 3), np.uint8)]


@augmentation(mag_range=np.array([0.25, 0.5, 2.0]))
def dim(data: Any, factor: Any) -> Any:
    return gradiva.brightness(data, brightness=factor)


def images() -> Any:
    return gradiva.batch(PICTURES, layout="HWC")


def index(*numbers: int) -> Any:
    return gradiva.batch([np.int32(number) for number in numbers])


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "n": (lambda: ra.rand_augment(images(), n=-1, m=3), "`n`: expected an integer of at least 0"),
    "m": (lambda: ra.rand_augment(images(), n=1, m=31), "`m`: expected an integer from 0 to 30"),
    "m, a fraction": (lambda: ra.rand_augment(images(), n=1, m=1.5), "`m`"),  # type: ignore[call-overload]
    "bins": (lambda: ta.trivial_augment_wide(images(), 0), "num_magnitude_bins.*at least 1"),
    "excluded": (lambda: ra.rand_augment(images(), 1, 1, excluded=["foo"]), "shear_x.*'foo'"),
    "excluded, no list": (lambda: ra.rand_augment(images(), 1, 1, excluded="color"), "a list"),
    "nothing left": (lambda: ra.apply_rand_augment([], images(), 1, 1), "at least one"),
    "pixels and shape": (
        lambda: ra.rand_augment(images(), 1, 1, shape=(3, 3), max_translate_abs=3),
        "max_translate_rel",
    ),
    "a part of no shape": (lambda: ta.trivial_augment_wide(images(), max_translate_rel=0.1), "abs"),
    "policy": (lambda: aa.auto_augment(images(), "foo"), "image_net, reduced_cifar10, svhn"),
    "a shape in vain": (lambda: aa.auto_augment(images(), "reduced_image_net", (3, 3)), "no trans"),
    "no policy": (lambda: aa.apply_auto_augment(3, images()), "a Policy"),
    "unused": (
        lambda: ra.apply_rand_augment([a.rotate], images(), 1, 1, foo=3),
        "interp_type.*got foo",
    ),
    "no bin": (lambda: a.brightness(images(), num_magnitude_bins=3), "magnitude_bin"),
    "no bins": (lambda: a.brightness(images(), magnitude_bin=3), "num_magnitude_bins"),
    "bin": (lambda: a.posterize(images(), magnitude_bin=11, num_magnitude_bins=11), "0 to 10"),
    "a negative bin": (lambda: a.color(images(), magnitude_bin=-1, num_magnitude_bins=2), "0 to 1"),
    "bins of an array": (lambda: dim(images(), magnitude_bin=1, num_magnitude_bins=4), "got 4"),
    "no shape": (
        lambda: a.translate_x(images(), magnitude_bin=1, num_magnitude_bins=4),
        "auto_aug.translate_x.*`shape`",
    ),
    "no parameter": (lambda: augmentation(lambda data: data), "two positional"),
    "no function": (lambda: augmentation(3), "a function of data"),  # type: ignore[call-overload]
    "range": (lambda: a.color.augmentation(mag_range=(1, 2, 3)), "two numbers"),  # type: ignore[arg-type]
    "device": (lambda: a.color.augmentation(param_device="tpu"), '"gpu" or "auto"'),
    "gpu": (
        lambda: a.color.augmentation(param_device="gpu")(
            images(), magnitude_bin=1, num_magnitude_bins=4
        ),
        "is not available",
    ),
    "shapes of parameters": (
        lambda: (
            a.color.augmentation(mag_to_param=lambda m: [m] * int(1 + m))(
                images(), magnitude_bin=1, num_magnitude_bins=99
            )
            and a.color.augmentation(mag_range=(0, 2), mag_to_param=lambda m: [m] * int(3 + m))(
                images(), magnitude_bin=1, num_magnitude_bins=3
            )
        ),
        "different shapes",
    ),
    "probability": (lambda: Policy("x", 11, [[(a.color, 1.5, 3)]]), "from 0 to 1"),
    "bin in a policy": (lambda: Policy("x", 11, [[(a.color, 0.5, 11)]]), "0 to 10"),
    "no bin in a policy": (lambda: Policy("x", 11, [[(a.color, 0.5, None)]]), "a magnitude bin"),
    "a pair": (lambda: Policy("x", 11, [[(a.color, 0.5)]]), "magnitude bin"),  # type: ignore[list-item]
    "an empty policy": (
        lambda: gradiva.auto_aug.auto_augment.apply_auto_augment(Policy("none", 11, []), images()),
        "no sub-policies.*'none'",
    ),
    "select nothing": (lambda: select([], index(0, 0), images()), "at least one function"),
    "select beyond": (lambda: select([a.invert], index(0, 1), images()), "from 0 to 0.*got 1"),
    "select by floats": (
        lambda: select([a.invert], gradiva.batch(np.zeros(2, np.float32)), images()),
        "integers",
    ),
    "select other sizes": (
        lambda: select([a.invert, a.identity], index(0, 1, 1), images()),
        "3 samples",
    ),
    "select unlike types": (
        lambda: select([a.invert, lambda x, _=0: x * 2.0], index(0, 1), images()),
        "dtypes",
    ),
    "sign of unknown size": (lambda: signed_bin(3), "batch_size"),
    "sign of no bin": (lambda: signed_bin("x"), "an integer"),  # type: ignore[arg-type]
    "sign of no batch": (lambda: signed_bin(3, 1), "0 or 1"),  # type: ignore[arg-type]
}


@pytest.mark.tiny
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    call, match = REFUSED[name]
    with pytest.raises(gradiva.GradivaError, match=f"(?s){match}") as caught:
        call()
    assert "test_auto_aug_errors.py" in str(caught.value)


def test_an_error_inside_names_the_users_line() -> None:
    flat = gradiva.cast(images(), dtype=gradiva.float32)
    with pytest.raises(gradiva.GradivaError, match="equalize") as caught:
        ra.apply_rand_augment([a.equalize], flat, 1, 1)
    assert "test_auto_aug_errors.py" in str(caught.value)
