"""The transforms of torchvision for images of Pillow and tensors of torch, run as pipelines.

    from gradiva.experimental import torchvision

    transform = torchvision.Compose([
        torchvision.RandomResizedCrop(224),
        torchvision.RandomHorizontalFlip(),
        torchvision.PILToTensor(),
    ])
    tensor = transform(image)

`functional` has functions of one image. Results are those of torchvision, bit by bit, where
docs/coming_from_torchvision.md does not say otherwise.
"""

from gradiva.compat.dali.experimental.torchvision.v2 import functional
from gradiva.compat.dali.experimental.torchvision.v2.color_transforms import (
    ColorJitter,
    GaussianBlur,
    Grayscale,
    Normalize,
    RandomGrayscale,
)
from gradiva.compat.dali.experimental.torchvision.v2.compose import Compose
from gradiva.compat.dali.experimental.torchvision.v2.interpolation import InterpolationMode
from gradiva.compat.dali.experimental.torchvision.v2.transforms import (
    CenterCrop,
    Pad,
    PILToTensor,
    RandomApply,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Resize,
    ToPILImage,
    ToPureTensor,
)

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "GaussianBlur",
    "Grayscale",
    "InterpolationMode",
    "Normalize",
    "PILToTensor",
    "Pad",
    "RandomApply",
    "RandomCrop",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomVerticalFlip",
    "Resize",
    "ToPILImage",
    "ToPureTensor",
    "functional",
]
