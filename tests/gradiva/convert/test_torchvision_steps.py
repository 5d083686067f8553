"""Single transforms of torchvision with fixed arguments, for images of Pillow and tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError

from .files import photograph

T: Any = pytest.importorskip("torchvision.transforms")
v2: Any = pytest.importorskip("torchvision.transforms.v2")
torch: Any = pytest.importorskip("torch")

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]

convert = gradiva.convert.torchvision
CUBIC, LINEAR, NEAREST = (
    getattr(T.InterpolationMode, name) for name in ("BICUBIC", "BILINEAR", "NEAREST")
)
IMAGES = [photograph(*size) for size in ((60, 91), (33, 40), (128, 77))]

STEPS: dict[str, Any] = {
    "Resize": ((40,), ((50, 70),), (70, LINEAR, 75), ((20, 21), CUBIC), (35, NEAREST)),
    "CenterCrop": ((30,), ((50, 200),), ((61, 35),)),
    "Pad": ((3,), ([3, 5], 7), ([3, 5], (7, 8, 9)), ((1, 2, 3, 4), 0, "reflect"), (9, 0, "edge")),
    "RandomHorizontalFlip": ((1.0,),),
    "RandomVerticalFlip": ((1.0,),),
    "RandomRotation": (
        ((30, 30),),
        ((30, 30), LINEAR, True, None, 9),
        ((90, 90),),
        ((30, 30), NEAREST, False, [10, 20]),
        ((-30, -30), LINEAR, False, None, (1, 2, 3)),
    ),
    "RandomAffine": (
        ((10, 10), None, (1.2, 1.2), (5, 5), LINEAR, 3),
        ((10, 10), None, None, (5, 5), NEAREST, 0, [3, 4]),
    ),
    "ColorJitter": (
        ((1.3, 1.3),),
        (0, (1.3, 1.3)),
        (0, 0, (1.3, 1.3)),
        (0, 0, 0, (0.2, 0.2)),
        (0, 0, 0, 0),
    ),
    "Grayscale": ((), (3,)),
    "RandomGrayscale": ((1.0,),),
    "RandomInvert": ((1.0,),),
    "RandomPosterize": ((3, 1.0),),
    "RandomSolarize": ((100, 1.0),),
    "RandomAdjustSharpness": ((2, 1.0), (0.3, 1.0)),
    "RandomAutocontrast": ((1.0,),),
    "RandomEqualize": ((1.0,),),
    "GaussianBlur": ((5, (1.1, 1.1)), ((3, 7), (0.6, 0.6))),
}
"""By name: arguments for which nothing is random."""


@pytest.mark.parametrize("backend", ["pil", "tensor"])
@pytest.mark.parametrize("name", STEPS)
def test_fixed_arguments(name: str, backend: str) -> None:
    for arguments in STEPS[name]:
        for module in (T, v2):
            if (name, module, backend, arguments[1:]) == ("Pad", T, "tensor", ((7, 8, 9),)):
                continue  # torchvision itself refuses it
            function = convert(getattr(module, name)(*arguments), backend=backend)
            assert not function.random
            report = function.report(IMAGES)
            assert report.ok, repr(report)
            if all(step.bound == 0 for step in function.steps):
                assert report.exact, repr(report)


@pytest.mark.parametrize("backend", ["pil", "tensor"])
def test_chains(backend: str) -> None:
    """v2, from images to normalized tensors, in both orders."""
    mean, std = [0.5, 0.4, 0.3], [0.2, 0.3, 0.4]
    first = [v2.ToImage(), v2.Resize(40, antialias=True), v2.CenterCrop(35)]
    last = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean, std)]
    function = convert(v2.Compose([*first, *last, v2.ToPureTensor()]), backend=backend)
    report = function.report(IMAGES)
    assert report.exact, repr(report)
    assert len(function.steps) == 6  # one for both of the last
    floats = convert(v2.Compose([v2.ToImage(), *last, *first[1:]]), backend=backend)
    report = floats.report(IMAGES)
    assert report.ok, repr(report)
    assert report.largest < 2e-6
    whole = convert(T.Compose([T.ToTensor(), T.Normalize(0.5, 0.25)]), backend="pil")
    assert whole.report(IMAGES).exact


def test_forms_of_transforms() -> None:
    """Compose in Compose, nn.Sequential and lists are the same."""
    steps = [T.Resize(40), T.CenterCrop(35), T.ToTensor()]
    forms = [T.Compose(steps), T.Compose([T.Compose(steps[:2]), steps[2]]), steps]
    codes = {convert(form).code() for form in forms}
    assert len(codes) == 1
    sequence = torch.nn.Sequential(T.Resize(40), T.CenterCrop(35))
    assert convert(sequence).report(IMAGES).exact
    assert convert(steps).report(IMAGES).exact


def test_which_backend() -> None:
    """Images of Pillow, if no step needs tensors before one makes them."""
    resized, normalized = T.Resize(40), T.Normalize(0.5, 0.5)
    floats = T.ConvertImageDtype(torch.float32)
    assert 'compat="pil"' in convert([resized, T.ToTensor(), normalized]).code()
    assert 'compat="pil"' in convert(resized).code()
    assert 'compat="torchvision"' in convert([resized, floats, normalized]).code()
    assert 'compat="torchvision"' in convert(resized, backend="tensor").code()
    for steps, backend in (([resized, floats], "pil"), ([T.ToTensor()], "tensor")):
        with pytest.raises(OperatorTypeError, match="images are"):
            convert(steps, backend=backend)


def test_v1_and_v2_scale_differently() -> None:
    """v2 multiplies by 1/255, v1 divides by 255: both are followed."""
    old, new = T.ConvertImageDtype(torch.float32), v2.ToDtype(torch.float32, scale=True)
    ramp = np.arange(256, dtype=np.uint8).reshape(16, 16, 1).repeat(3, 2)
    assert convert(old).report(ramp).exact
    assert convert(new).report(ramp).exact
    batch = gradiva.batch([ramp], layout="HWC")
    assert not np.array_equal(convert(old)(batch).at(0), convert(new)(batch).at(0))
    unscaled = convert(v2.ToDtype(torch.float32))(batch)
    assert np.array_equal(unscaled.at(0)[0], ramp[..., 0])


class Mine(T.Resize):  # type: ignore[misc]
    """A class of the user's own, which may do anything."""


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: T.Compose([T.Resize(9), T.Lambda(np.fliplr)]), "step 2, Lambda"),
        (lambda: T.Compose([T.Resize(9), lambda x: x]), "gradiva has nothing for"),
        (lambda: Mine(9), "Mine"),
        (lambda: T.FiveCrop(9), "FiveCrop"),
        (lambda: T.Resize(9, T.InterpolationMode.BOX), "box has no counterpart"),
        (lambda: [T.ToTensor(), T.RandomEqualize(1.0)], "the images are float32"),
        (lambda: v2.ToDtype(torch.float16), "uint8 becomes float16"),
        (lambda: T.RandomApply([T.ToTensor()]), "images that are"),
    ],
)
def test_what_has_no_counterpart(make: Any, words: str) -> None:
    with pytest.raises(OperatorTypeError, match=words) as caught:
        convert(make())
    assert "has no counterpart" in str(caught.value)
    assert "one of" in str(caught.value)


def test_bad_arguments() -> None:
    with pytest.raises(OperatorValueError, match="`backend`"):
        convert(T.Resize(9), backend="cv2")
    with pytest.raises(OperatorValueError, match="`fallback`"):
        convert(T.Resize(9), fallback="torch")
    given: list[Any] = [3, None, [], "Resize"]
    for bad in given:
        with pytest.raises(OperatorTypeError, match="a transform of torchvision"):
            convert(bad)


def test_steps_in_python() -> None:
    """A step in the middle that changes dtype and layout of what follows."""
    steps = [T.Resize(40), T.Lambda(lambda x: x.rotate(90)), T.ToTensor(), T.Lambda(torch.sin)]
    function = convert(T.Compose(steps), fallback="python")
    assert [step.python for step in function.steps] == [False, True, False, True, False]
    report = function.report(IMAGES)
    assert report.exact, repr(report)
    kept = convert(
        [T.Grayscale(), T.Lambda(lambda x: x.rotate(90)), T.ToTensor()], fallback="python"
    )
    assert kept.report(IMAGES).exact


def test_labels() -> None:
    function = convert(v2.MixUp(num_classes=4))
    images = gradiva.batch([photograph(20, 30).astype(np.float32)] * 3, layout="HWC")
    labels = gradiva.as_batch(np.array([0, 1, 2]))
    mixed, soft = function(images, labels)
    assert mixed.layout == "CHW"
    with pytest.raises(OperatorTypeError, match="a function of images, labels"):
        function.report(IMAGES)
    assert np.allclose(soft.as_array().sum(axis=1), 1)
