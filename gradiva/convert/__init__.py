"""Preprocessing of other packages as functions of gradiva, with the same bits where that can be.

    prepare = gradiva.convert.torchvision(weights.transforms())
    print(prepare.code())              # the calls
    prepare.report("photos")           # how both differ on your images, step by step
    tensors = prepare(images)          # at once, in captured loops, in pipelines

docs/convert.md is the guide.
"""

from gradiva.convert.core.converted import Converted
from gradiva.convert.core.report import ConversionReport
from gradiva.convert.from_albumentations.convert import albumentations
from gradiva.convert.from_huggingface.convert import huggingface
from gradiva.convert.from_torchvision.convert import torchvision

__all__ = ["ConversionReport", "Converted", "albumentations", "huggingface", "torchvision"]
