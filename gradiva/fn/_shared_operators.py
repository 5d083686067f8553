"""The operators of both modes, `gradiva.resize` and `gradiva.fn.resize`: one line each."""

import typing as _typing

from gradiva._names import names_of as _names_of
from gradiva.eager.support.lazy_names import lazy_names as _lazy_names

# Nothing is imported before it is asked for; `_names` is made of these lines.
if _typing.TYPE_CHECKING:
    from gradiva.fn._recorded import batch_permutation as batch_permutation
    from gradiva.ops.arrays.cast import cast as cast
    from gradiva.ops.arrays.cast import cast_like as cast_like
    from gradiva.ops.arrays.concatenate import cat as cat
    from gradiva.ops.arrays.concatenate import stack as stack
    from gradiva.ops.arrays.copy import copy as copy
    from gradiva.ops.arrays.frames import element_extract as element_extract
    from gradiva.ops.arrays.frames import per_frame as per_frame
    from gradiva.ops.arrays.frames import sequence_rearrange as sequence_rearrange
    from gradiva.ops.arrays.full import full as full
    from gradiva.ops.arrays.full import full_like as full_like
    from gradiva.ops.arrays.one_hot import one_hot as one_hot
    from gradiva.ops.arrays.permutation import permute_batch as permute_batch
    from gradiva.ops.arrays.reshape import reinterpret as reinterpret
    from gradiva.ops.arrays.reshape import reshape as reshape
    from gradiva.ops.arrays.unit_axes import expand_dims as expand_dims
    from gradiva.ops.arrays.unit_axes import squeeze as squeeze
    from gradiva.ops.arrays.zeros_ones import ones as ones
    from gradiva.ops.arrays.zeros_ones import ones_like as ones_like
    from gradiva.ops.arrays.zeros_ones import zeros as zeros
    from gradiva.ops.arrays.zeros_ones import zeros_like as zeros_like
    from gradiva.ops.audio.audio_resample import audio_resample as audio_resample
    from gradiva.ops.audio.mel_filter_bank import mel_filter_bank as mel_filter_bank
    from gradiva.ops.audio.mfcc import mfcc as mfcc
    from gradiva.ops.audio.nonsilent_region import nonsilent_region as nonsilent_region
    from gradiva.ops.audio.power_spectrum import power_spectrum as power_spectrum
    from gradiva.ops.audio.preemphasis_filter import preemphasis_filter as preemphasis_filter
    from gradiva.ops.audio.spectrogram import spectrogram as spectrogram
    from gradiva.ops.audio.to_decibels import to_decibels as to_decibels
    from gradiva.ops.cache.cache import cache as cache
    from gradiva.ops.decoders.audio.peek_audio import peek_audio as peek_audio
    from gradiva.ops.decoders.image.peek_image_shape import peek_image_shape as peek_image_shape
    from gradiva.ops.external_source.python_function import python_function as python_function
    from gradiva.ops.image.color.brightness_contrast import brightness as brightness
    from gradiva.ops.image.color.brightness_contrast import (
        brightness_contrast as brightness_contrast,
    )
    from gradiva.ops.image.color.brightness_contrast import contrast as contrast
    from gradiva.ops.image.color.clahe import clahe as clahe
    from gradiva.ops.image.color.color_space_conversion import (
        color_space_conversion as color_space_conversion,
    )
    from gradiva.ops.image.color.crop_mirror_normalize import (
        crop_mirror_normalize as crop_mirror_normalize,
    )
    from gradiva.ops.image.color.debayer import debayer as debayer
    from gradiva.ops.image.color.equalize import equalize as equalize
    from gradiva.ops.image.color.hue import color_twist as color_twist
    from gradiva.ops.image.color.hue import hsv as hsv
    from gradiva.ops.image.color.hue import hue as hue
    from gradiva.ops.image.color.hue import saturation as saturation
    from gradiva.ops.image.color.normalize import normalize as normalize
    from gradiva.ops.image.color.rescale_normalize import rescale_normalize as rescale_normalize
    from gradiva.ops.image.crop import crop as crop
    from gradiva.ops.image.dump_image import dump_image as dump_image
    from gradiva.ops.image.enhance.autocontrast import autocontrast as autocontrast
    from gradiva.ops.image.enhance.gamma import gamma as gamma
    from gradiva.ops.image.enhance.posterize import posterize as posterize
    from gradiva.ops.image.enhance.posterize import solarize as solarize
    from gradiva.ops.image.enhance.sharpness import sharpness as sharpness
    from gradiva.ops.image.erase import erase as erase
    from gradiva.ops.image.filter.filter import filter as filter
    from gradiva.ops.image.filter.gaussian_blur import gaussian_blur as gaussian_blur
    from gradiva.ops.image.filter.jpeg_compression_distortion import (
        jpeg_compression_distortion as jpeg_compression_distortion,
    )
    from gradiva.ops.image.filter.laplacian import laplacian as laplacian
    from gradiva.ops.image.flip import flip as flip
    from gradiva.ops.image.grid_mask import grid_mask as grid_mask
    from gradiva.ops.image.multi_paste import multi_paste as multi_paste
    from gradiva.ops.image.paste import paste as paste
    from gradiva.ops.image.patches.patches import patches as patches
    from gradiva.ops.image.patches.smart_resize import smart_resize as smart_resize
    from gradiva.ops.image.random_erasing import random_erasing as random_erasing
    from gradiva.ops.image.resize.random_resized_crop import (
        random_resized_crop as random_resized_crop,
    )
    from gradiva.ops.image.resize.resize import resize as resize
    from gradiva.ops.image.resize.resize_crop_mirror import resize_crop_mirror as resize_crop_mirror
    from gradiva.ops.image.resize.tensor_resize import tensor_resize as tensor_resize
    from gradiva.ops.image.roi_random_crop import roi_random_crop as roi_random_crop
    from gradiva.ops.image.warp.affine import affine as affine
    from gradiva.ops.image.warp.jitter import jitter as jitter
    from gradiva.ops.image.warp.perspective import perspective as perspective
    from gradiva.ops.image.warp.rotate import rotate as rotate
    from gradiva.ops.image.warp.sphere import sphere as sphere
    from gradiva.ops.image.warp.warp_affine import warp_affine as warp_affine
    from gradiva.ops.image.warp.water import water as water
    from gradiva.ops.indexing.coord_flip import coord_flip as coord_flip
    from gradiva.ops.indexing.coord_transform import coord_transform as coord_transform
    from gradiva.ops.indexing.lookup_table import lookup_table as lookup_table
    from gradiva.ops.indexing.pad import pad as pad
    from gradiva.ops.indexing.properties import get_property as get_property
    from gradiva.ops.indexing.properties import shapes as shapes
    from gradiva.ops.indexing.slice import slice as slice
    from gradiva.ops.indexing.transpose import transpose as transpose
    from gradiva.ops.mixing.copy_paste import copy_paste as copy_paste
    from gradiva.ops.mixing.cutmix import cutmix as cutmix
    from gradiva.ops.mixing.mixup import mixup as mixup
    from gradiva.ops.mixing.mosaic import mosaic as mosaic
    from gradiva.ops.random.crop_window import random_crop_generator as random_crop_generator
    from gradiva.ops.segmentation.bb_flip import bb_flip as bb_flip
    from gradiva.ops.segmentation.bb_flip import bbox_paste as bbox_paste
    from gradiva.ops.segmentation.bbox_rotate import bbox_rotate as bbox_rotate
    from gradiva.ops.segmentation.box_encoder import box_encoder as box_encoder
    from gradiva.ops.segmentation.random_bbox_crop import random_bbox_crop as random_bbox_crop
    from gradiva.ops.video.optical_flow import optical_flow as optical_flow
else:
    _places = _names_of(__name__)
    __getattr__, __dir__ = _lazy_names(__name__, _places)
    __all__ = list(_places)
