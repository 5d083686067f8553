"""The operators, under the names of pipeline mode."""

from gradiva import math as math
from gradiva.capture.recording.constants import constant as constant
from gradiva.capture.recording.free_calls import node_without_inputs as _node_without_inputs
from gradiva.capture.recording.free_calls import per_sample as _per_sample
from gradiva.fn import _old_names
from gradiva.fn import decoders as decoders
from gradiva.fn import experimental as experimental
from gradiva.fn import io as io
from gradiva.fn import noise as noise
from gradiva.fn import random as random
from gradiva.fn import readers as readers
from gradiva.fn import reductions as reductions
from gradiva.fn import segmentation as segmentation
from gradiva.fn import transforms as transforms
from gradiva.namespaces.dl_tensor_function import (
    dl_tensor_python_function as dl_tensor_python_function,
)
from gradiva.operators import *  # noqa: F403
from gradiva.ops.arrays.permutation import batch_permutation as _batch_permutation
from gradiva.ops.external_source.external_source import external_source as external_source
from gradiva.ops.image.crop.roi_random_crop import roi_random_crop as _roi_random_crop
from gradiva.ops.indexing.properties import shapes as _shapes
from gradiva.ops.python_function.python_function import python_function as _python_function

batch_permutation = _per_sample(_batch_permutation)
python_function = _node_without_inputs(_python_function)  # type: ignore[assignment]
roi_random_crop = _per_sample(_roi_random_crop)  # type: ignore[assignment]

# Names of old scripts.
audio_decoder = _old_names.old("audio_decoder", decoders.audio)
caffe2_reader = _old_names.old("caffe2_reader", readers.caffe2)
caffe_reader = _old_names.old("caffe_reader", readers.caffe)
coin_flip = _old_names.old("coin_flip", random.coin_flip)
fast_resize_crop_mirror = _old_names.old(
    "fast_resize_crop_mirror", _old_names.fast_resize_crop_mirror
)
coco_reader = _old_names.old("coco_reader", readers.coco)
file_reader = _old_names.old("file_reader", readers.file)
image_decoder = _old_names.old("image_decoder", decoders.image)
image_decoder_crop = _old_names.old("image_decoder_crop", decoders.image_crop)
image_decoder_random_crop = _old_names.old("image_decoder_random_crop", decoders.image_random_crop)
image_decoder_slice = _old_names.old("image_decoder_slice", decoders.image_slice)
mxnet_reader = _old_names.old("mxnet_reader", readers.mxnet)
nemo_asr_reader = _old_names.old("nemo_asr_reader", readers.nemo_asr)
normal_distribution = _old_names.old("normal_distribution", random.normal)
numpy_reader = _old_names.old("numpy_reader", readers.numpy)
shapes = _old_names.old("shapes", _shapes)
ssd_random_crop = _old_names.old("ssd_random_crop", _old_names.ssd_random_crop)
sequence_reader = _old_names.old("sequence_reader", readers.sequence)
tfrecord_reader = _old_names.old("tfrecord_reader", readers.tfrecord)
transform_translation = _old_names.old("transform_translation", transforms.translation)
uniform = _old_names.old("uniform", random.uniform)
video_reader = _old_names.old("video_reader", readers.video)
video_reader_resize = _old_names.old("video_reader_resize", readers.video_resize)

__getattr__ = _old_names.absent("")
