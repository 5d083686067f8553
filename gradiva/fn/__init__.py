"""The operators, under the names of pipeline mode."""

import typing as _typing

from gradiva._names import names_of as _names_of
from gradiva.eager.support.lazy_names import lazy_names as _lazy_names

# Nothing is imported before it is asked for; `_names` is made of these lines.
if _typing.TYPE_CHECKING:
    from gradiva import math as math
    from gradiva.capture.recording.constants import constant as constant
    from gradiva.compat.dali.dl_tensor_function import (
        dl_tensor_python_function as dl_tensor_python_function,
    )
    from gradiva.compat.dali.old_functions import audio_decoder as audio_decoder
    from gradiva.compat.dali.old_functions import caffe2_reader as caffe2_reader
    from gradiva.compat.dali.old_functions import caffe_reader as caffe_reader
    from gradiva.compat.dali.old_functions import coco_reader as coco_reader
    from gradiva.compat.dali.old_functions import coin_flip as coin_flip
    from gradiva.compat.dali.old_functions import fast_resize_crop_mirror as fast_resize_crop_mirror
    from gradiva.compat.dali.old_functions import file_reader as file_reader
    from gradiva.compat.dali.old_functions import image_decoder as image_decoder
    from gradiva.compat.dali.old_functions import image_decoder_crop as image_decoder_crop
    from gradiva.compat.dali.old_functions import (
        image_decoder_random_crop as image_decoder_random_crop,
    )
    from gradiva.compat.dali.old_functions import image_decoder_slice as image_decoder_slice
    from gradiva.compat.dali.old_functions import mxnet_reader as mxnet_reader
    from gradiva.compat.dali.old_functions import nemo_asr_reader as nemo_asr_reader
    from gradiva.compat.dali.old_functions import normal_distribution as normal_distribution
    from gradiva.compat.dali.old_functions import numpy_reader as numpy_reader
    from gradiva.compat.dali.old_functions import sequence_reader as sequence_reader
    from gradiva.compat.dali.old_functions import shapes as shapes
    from gradiva.compat.dali.old_functions import ssd_random_crop as ssd_random_crop
    from gradiva.compat.dali.old_functions import tfrecord_reader as tfrecord_reader
    from gradiva.compat.dali.old_functions import transform_translation as transform_translation
    from gradiva.compat.dali.old_functions import uniform as uniform
    from gradiva.compat.dali.old_functions import video_reader as video_reader
    from gradiva.compat.dali.old_functions import video_reader_resize as video_reader_resize
    from gradiva.fn import decoders as decoders
    from gradiva.fn import experimental as experimental
    from gradiva.fn import io as io
    from gradiva.fn import noise as noise
    from gradiva.fn import random as random
    from gradiva.fn import readers as readers
    from gradiva.fn import reductions as reductions
    from gradiva.fn import segmentation as segmentation
    from gradiva.fn import transforms as transforms
    from gradiva.fn._own import batch_permutation as batch_permutation
    from gradiva.fn._own import python_function as python_function
    from gradiva.fn._own import roi_random_crop as roi_random_crop
    from gradiva.fn._shared_operators import *  # noqa: F403
    from gradiva.ops.external_source.external_source import external_source as external_source
else:
    _places = _names_of(__name__)
    __getattr__, __dir__ = _lazy_names(__name__, _places)
    __all__ = list(_places)
