"""The operators of both modes, `gradiva.resize` and `gradiva.fn.resize`: one line each."""

from gradiva.ops.decoders.peek_image_shape import peek_image_shape as peek_image_shape
from gradiva.ops.generic.cast import cast as cast
from gradiva.ops.generic.dump_image import dump_image as dump_image
from gradiva.ops.generic.get_property import get_property as get_property
from gradiva.ops.generic.python_function import python_function as python_function
from gradiva.ops.generic.shapes import shapes as shapes
from gradiva.ops.generic.transpose import transpose as transpose
from gradiva.ops.image.brightness import brightness as brightness
from gradiva.ops.image.brightness_contrast import brightness_contrast as brightness_contrast
from gradiva.ops.image.color_space_conversion import (
    color_space_conversion as color_space_conversion,
)
from gradiva.ops.image.color_twist import color_twist as color_twist
from gradiva.ops.image.contrast import contrast as contrast
from gradiva.ops.image.crop import crop as crop
from gradiva.ops.image.crop_mirror_normalize import crop_mirror_normalize as crop_mirror_normalize
from gradiva.ops.image.filter import filter as filter
from gradiva.ops.image.flip import flip as flip
from gradiva.ops.image.gaussian_blur import gaussian_blur as gaussian_blur
from gradiva.ops.image.grid_mask import grid_mask as grid_mask
from gradiva.ops.image.hsv import hsv as hsv
from gradiva.ops.image.hue import hue as hue
from gradiva.ops.image.jpeg_compression_distortion import (
    jpeg_compression_distortion as jpeg_compression_distortion,
)
from gradiva.ops.image.laplacian import laplacian as laplacian
from gradiva.ops.image.random_resized_crop import random_resized_crop as random_resized_crop
from gradiva.ops.image.resize import resize as resize
from gradiva.ops.image.saturation import saturation as saturation
from gradiva.ops.random.random_crop_generator import random_crop_generator as random_crop_generator
