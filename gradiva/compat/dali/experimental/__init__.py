"""Operators under trial, the transforms of torchvision, and the place where scripts look for
dynamic mode."""

from gradiva.compat.dali.experimental import dynamic, readers
from gradiva.eager.support.lazy_names import lazy_names
from gradiva.fn.experimental import decoders, peek_image_shape
from gradiva.ops.image.filter.dilate_erode import dilate, erode
from gradiva.ops.image.filter.median_blur import median_blur
from gradiva.ops.image.resize.resize import resize
from gradiva.ops.image.warp.remap import remap
from gradiva.ops.image.warp.warp_perspective import warp_perspective

__all__ = [
    "decoders",
    "dilate",
    "dynamic",
    "erode",
    "median_blur",
    "peek_image_shape",
    "readers",
    "remap",
    "resize",
    "torchvision",
    "warp_perspective",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradiva.compat.dali.experimental import torchvision as torchvision
else:  # few scripts use it, so that the others need not load it
    __getattr__, __dir__ = lazy_names(__name__, {"torchvision": f"{__name__}.torchvision"})
