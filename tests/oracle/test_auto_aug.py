"""Automatic augmentations against DALI: each augmentation at each magnitude bin with both
signs, the suites and the policies."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import types
from gradiva.auto_aug import augmentations, auto_augment, rand_augment, trivial_augment
from gradiva.auto_aug.core import Augmentation, Policy, signed_bin

from .pictures import part
from .reference import Array, assert_close, dali, feed

BINS = 11
SIGNED = [(bin, sign) for sign in (0, 1) for bin in range(BINS)]
SAMPLE = part("coffee", 40, 200, 83, 131)
NAMES = [
    "shear_x", "shear_y", "translate_x", "translate_y", "translate_x_no_shape",
    "translate_y_no_shape", "rotate", "brightness", "contrast", "color", "sharpness", "posterize",
    "solarize", "solarize_add", "invert", "equalize", "auto_contrast", "identity",
]  # fmt: skip
ROUNDED = ("contrast", "sharpness")
"""Now and then one step apart: products and sums are rounded in another order."""
SHAPED = ("translate_x", "translate_y")


def theirs(name: str) -> Any:
    return importlib.import_module(f"nvidia.dali.auto_aug.{name}")


def reference(augmentation: Any, sample: Array, layout: str, **arguments: Any) -> list[Array]:
    """What DALI makes of a sample, for each entry of SIGNED."""
    shaped = augmentation.name in SHAPED and "no_shape" not in augmentation.op.__name__

    def definition() -> Any:
        data = feed([sample] * len(SIGNED), layout)
        bin = feed([np.int32(bin) for bin, _ in SIGNED])
        sign = feed([np.int32(sign) for _, sign in SIGNED])
        if shaped:
            arguments["shape"] = feed([np.array(extent(sample, layout))] * len(SIGNED))
        signed = theirs("core").signed_bin(bin, random_sign=sign)
        return augmentation(data, magnitude_bin=signed, num_magnitude_bins=BINS, **arguments)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        decorate = dali.pipeline_def(
            batch_size=len(SIGNED), num_threads=1, device_id=None, enable_conditionals=True
        )
        built = decorate(definition)()
        built.build()
        (output,) = built.run()
        return [np.array(output.at(i)).copy() for i in range(len(SIGNED))]


def extent(sample: Array, layout: str) -> tuple[int, int]:
    """Height and width."""
    first = layout.index("H")
    return sample.shape[first], sample.shape[first + 1]


def ours(augmentation: Augmentation, sample: Array, layout: str, **arguments: Any) -> Any:
    data = gradiva.batch([sample] * len(SIGNED), layout=layout)
    bin = gradiva.batch([np.int32(bin) for bin, _ in SIGNED])
    sign = gradiva.batch([np.int32(sign) for _, sign in SIGNED])
    if "shape" in augmentation.keywords:
        arguments["shape"] = extent(sample, layout)
    return augmentation(
        data, magnitude_bin=signed_bin(bin, sign), num_magnitude_bins=BINS, **arguments
    )


def compare(own: Augmentation, their: Any, sample: Array, layout: str = "HWC", **more: Any) -> None:
    wanted = reference(their, sample, layout, **more)
    got = ours(own, sample, layout, **more)
    assert got.layout == layout
    assert_close(got, wanted, exact=own.name not in ROUNDED)


@pytest.mark.parametrize("name", NAMES)
def test_every_bin_with_both_signs(name: str) -> None:
    compare(getattr(augmentations, name), getattr(theirs("augmentations"), name), SAMPLE)


@pytest.mark.parametrize("name", NAMES)
def test_sequences(name: str) -> None:
    frame = SAMPLE[:40, :60]
    sample = np.stack([frame, frame[::-1] // 2, 255 - frame])
    own, their = getattr(augmentations, name), getattr(theirs("augmentations"), name)
    compare(own, their, sample, "FHWC")


@pytest.mark.parametrize("name", ["shear_x", "translate_y", "rotate"])
def test_fill_and_interpolation(name: str) -> None:
    own, their = getattr(augmentations, name), getattr(theirs("augmentations"), name)
    compare(own, their, SAMPLE, fill_value=7)
    wanted = reference(their, SAMPLE, "HWC", interp_type=dali.types.INTERP_NN)
    got = ours(own, SAMPLE, "HWC", interp_type=types.INTERP_NN)
    for index in range(len(SIGNED)):
        np.testing.assert_array_equal(got.at(index), wanted[index])


@pytest.mark.parametrize("name", ["auto_contrast", "equalize", "contrast"])
def test_flat_images(name: str) -> None:
    sample = np.full((6, 7, 3), 9, np.uint8)
    sample[0, 0, 1] = 4
    compare(getattr(augmentations, name), getattr(theirs("augmentations"), name), sample)


def described(augmentation: Any) -> tuple[Any, ...]:
    """All that makes an augmentation: its parameters at each bin are compared as numbers."""
    given = augmentation.mag_range
    pair = None if given is None else tuple(float(one) for one in given)
    parameters: list[Any] = []
    if pair is not None:
        for one in np.linspace(pair[0], pair[1], BINS, dtype=np.float32):
            parameters.append(np.asarray(augmentation.mag_to_param(one)).tolist())
            if augmentation.randomly_negate:
                parameters.append(np.asarray(augmentation.mag_to_param(-one)).tolist())
    return (
        augmentation.name,
        augmentation.op.__name__,
        pair,
        augmentation.randomly_negate,
        parameters,
    )


def assert_same(own: Any, their: Any) -> None:
    *facts, parameters = described(own)
    *wanted, their_parameters = described(their)
    assert facts == wanted
    for one, other in zip(parameters, their_parameters, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-7, err_msg=own.name)


SUITES = [
    (rand_augment, "rand_augment", "get_rand_augment_suite"),
    (rand_augment, "rand_augment", "get_rand_augment_non_monotonic_suite"),
    (trivial_augment, "trivial_augment", "get_trivial_augment_wide_suite"),
]
MOVES: list[dict[str, Any]] = [
    {},
    {"max_translate_abs": 7},
    {"max_translate_abs": (7, 9)},
    {"use_shape": True},
    {"use_shape": True, "max_translate_rel": 0.25},
    {"use_shape": True, "max_translate_rel": (0.25, 0.5)},
]


@pytest.mark.parametrize("moves", MOVES, ids=str)
@pytest.mark.parametrize(("home", "module", "name"), SUITES)
def test_suites(home: Any, module: str, name: str, moves: dict[str, Any]) -> None:
    own, their = getattr(home, name)(**moves), getattr(theirs(module), name)(**moves)
    assert len(own) == len(their) == 14
    for one, other in zip(own, their, strict=True):
        assert_same(one, other)


def entries(policy: Any) -> list[list[tuple[str, float, int | None]]]:
    return [[(op.name, chance, bin) for op, chance, bin in one] for one in policy.sub_policies]


@pytest.mark.parametrize("moves", MOVES, ids=str)
@pytest.mark.parametrize(
    "name", ["get_image_net_policy", "get_reduced_cifar10_policy", "get_svhn_policy"]
)
def test_policies(name: str, moves: dict[str, Any]) -> None:
    own = getattr(auto_augment, name)(**moves)
    compare_policies(own, getattr(theirs("auto_augment"), name)(**moves))


def test_the_policy_without_translations() -> None:
    own = auto_augment.get_reduced_image_net_policy()
    compare_policies(own, theirs("auto_augment").get_reduced_image_net_policy())


def compare_policies(own: Policy, their: Any) -> None:
    assert (own.name, own.num_magnitude_bins) == (their.name, their.num_magnitude_bins)
    assert len(own.sub_policies) == 25
    assert entries(own) == entries(their)
    assert list(own.augmentations) == list(their.augmentations)
    for one, other in zip(own.augmentations.values(), their.augmentations.values(), strict=True):
        assert_same(one, other)


def test_names_in_a_policy() -> None:
    def policy(module: Any, home: Any) -> Any:
        other = module.brightness.augmentation(mag_range=(0, 1))
        return home.Policy("x", 11, [[(module.brightness, 0.5, 1), (other, 0.5, 1)]])

    own = policy(augmentations, gradiva.auto_aug.core)
    their = policy(theirs("augmentations"), theirs("core"))
    assert entries(own) == entries(their)


REFUSED: list[Callable[[Any, Any], Any]] = [
    lambda a, core: core.Policy("x", 11, [[(a.brightness, 1.5, 3)]]),
    lambda a, core: core.Policy("x", 11, [[(a.brightness, 0.5, 11)]]),
    lambda a, core: core.Policy("x", 11, [[(a.brightness, 0.5, None)]]),
    lambda a, core: core.Policy("x", 11, [[(a.brightness, 0.5)]]),
    lambda a, core: core.Policy("x", 11, [[(max, 0.5, 3)]]),
    lambda a, core: core.augmentation(lambda data: data),
]


@pytest.mark.parametrize("call", REFUSED)
def test_both_refuse(call: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(gradiva.GradivaError):
        call(augmentations, gradiva.auto_aug.core)
    with pytest.raises(Exception):  # noqa: B017 - that is what DALI raises
        call(theirs("augmentations"), theirs("core"))


@pytest.mark.parametrize("module", ["auto_augment", "rand_augment", "trivial_augment", "core"])
def test_signatures(module: str) -> None:
    import inspect

    own, their = importlib.import_module(f"gradiva.auto_aug.{module}"), theirs(module)
    names = [
        name
        for name, value in vars(their).items()
        if inspect.isfunction(value)
        and not name.startswith("_")
        and value.__module__.startswith(their.__name__)
    ]
    assert names
    for name in names:
        ours_here = inspect.signature(getattr(own, name)).parameters
        for parameter in inspect.signature(getattr(their, name)).parameters.values():
            assert ours_here[parameter.name].default == parameter.default, f"{name}.{parameter}"
