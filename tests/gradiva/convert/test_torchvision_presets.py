"""The transforms of torchvision's weights: the same bits, from files and from pixels."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn
from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError

from .files import files_of_all_kinds, photograph, photographs

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]

WEIGHTS = (
    "ResNet50_Weights.IMAGENET1K_V2",
    "ViT_B_16_Weights.IMAGENET1K_V1",
    "ViT_B_16_Weights.IMAGENET1K_SWAG_E2E_V1",
    "EfficientNet_B0_Weights.IMAGENET1K_V1",
    "EfficientNet_V2_S_Weights.IMAGENET1K_V1",
    "ConvNeXt_Tiny_Weights.IMAGENET1K_V1",
    "Swin_V2_T_Weights.IMAGENET1K_V1",
    "MobileNet_V3_Large_Weights.IMAGENET1K_V2",
    "RegNet_Y_400MF_Weights.IMAGENET1K_V1",
    "MaxVit_T_Weights.IMAGENET1K_V1",
    "detection.FasterRCNN_ResNet50_FPN_Weights.COCO_V1",
    "segmentation.DeepLabV3_ResNet50_Weights.COCO_WITH_VOC_LABELS_V1",
)


def preset(name: str) -> Any:
    models: Any = pytest.importorskip("torchvision.models")
    package, _, rest = name.rpartition(".")
    package, _, kind = package.rpartition(".")
    module = importlib.import_module(f"torchvision.models.{package}") if package else models
    return getattr(getattr(module, kind), rest).transforms()


@pytest.mark.parametrize("name", WEIGHTS)
def test_bits(name: str) -> None:
    """For images of Pillow, of twenty sizes, and of files of all kinds."""
    transform = preset(name)
    function = gradiva.convert.torchvision(transform, decode=True)
    assert function.exact
    for images in (photographs(), list(files_of_all_kinds().values())):
        report = function.report(images)
        assert report.exact, repr(report)
        assert report.ok, repr(report)


@pytest.mark.parametrize("name", WEIGHTS[:4])
def test_tensors(name: str) -> None:
    """For tensors v1 resizes as floats: one step, in a few values."""
    function = gradiva.convert.torchvision(preset(name), backend="tensor")
    report = function.report(photographs())
    assert report.ok, repr(report)
    assert report.rows[0].largest <= 1
    assert report.rows[0].share < 0.001
    assert report.largest < 0.018  # 1 / 255 / 0.224


def test_one_fused_group() -> None:
    """From the file to the tensor, in all modes with the same bits."""
    function = gradiva.convert.torchvision(preset(WEIGHTS[0]), decode=True)
    files = list(files_of_all_kinds().values())[:4]
    arrays = [np.frombuffer(file, np.uint8) for file in files]

    @gradiva.pipeline_def(batch_size=4, num_threads=2)
    def pipeline() -> Any:
        return function(fn.external_source(source=[arrays], cycle=True))

    pipe = pipeline()
    (made,) = pipe.run()
    (group,) = pipe.explain()
    assert group.title == "decoders.image + resize + crop + rescale_normalize + transpose"
    pipe.close()
    at_once = function(gradiva.batch(arrays))
    compiled = gradiva.capture.compile(function)(gradiva.batch(arrays))
    for other in (at_once, compiled):
        assert np.array_equal(made.as_array(), other.as_array())


def test_videos() -> None:
    """Float sums in another order: a step of uint8 after the resize."""
    torch = pytest.importorskip("torch")
    transform = preset("video.R3D_18_Weights.KINETICS400_V1")
    function = gradiva.convert.torchvision(transform)
    clips = [np.stack([photograph(*size)] * 3) for size in ((200, 311), (128, 171), (90, 100))]
    made = function(gradiva.batch(clips, layout="FHWC"))
    assert made.layout == "CFHW"
    with pytest.raises(OperatorTypeError, match="a function of videos"):
        function.report(clips)
    with pytest.raises(OperatorValueError, match="`decode`"):
        gradiva.convert.torchvision(transform, decode=True)
    for sample, clip in enumerate(clips):
        wanted = transform(torch.from_numpy(clip.transpose(0, 3, 1, 2).copy())).numpy()
        assert made.at(sample).shape == wanted.shape
        assert np.abs(made.at(sample) - wanted).max() < 0.019


def test_optical_flow() -> None:
    image = pytest.importorskip("PIL.Image")
    transform = preset("optical_flow.Raft_Small_Weights.C_T_V1")
    function = gradiva.convert.torchvision(transform)
    one, other = photograph(40, 56), photograph(56, 40)
    wanted = transform(image.fromarray(one), image.fromarray(other))
    made = function(*(gradiva.batch([x], layout="HWC") for x in (one, other)))
    for mine, theirs in zip(made, wanted, strict=True):
        assert np.array_equal(mine.at(0), theirs.numpy())
