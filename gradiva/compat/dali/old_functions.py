"""The functions of `gradiva.fn` under their old names."""

from gradiva.compat.dali.old_names import fast_resize_crop_mirror as _fast_resize_crop_mirror
from gradiva.compat.dali.old_names import old
from gradiva.compat.dali.old_names import ssd_random_crop as _ssd_random_crop
from gradiva.fn import decoders, random, readers, transforms
from gradiva.ops.indexing.properties import shapes as _shapes

audio_decoder = old("audio_decoder", decoders.audio)
caffe2_reader = old("caffe2_reader", readers.caffe2)
caffe_reader = old("caffe_reader", readers.caffe)
coin_flip = old("coin_flip", random.coin_flip)
fast_resize_crop_mirror = old("fast_resize_crop_mirror", _fast_resize_crop_mirror)
coco_reader = old("coco_reader", readers.coco)
file_reader = old("file_reader", readers.file)
image_decoder = old("image_decoder", decoders.image)
image_decoder_crop = old("image_decoder_crop", decoders.image_crop)
image_decoder_random_crop = old("image_decoder_random_crop", decoders.image_random_crop)
image_decoder_slice = old("image_decoder_slice", decoders.image_slice)
mxnet_reader = old("mxnet_reader", readers.mxnet)
nemo_asr_reader = old("nemo_asr_reader", readers.nemo_asr)
normal_distribution = old("normal_distribution", random.normal)
numpy_reader = old("numpy_reader", readers.numpy)
shapes = old("shapes", _shapes)
ssd_random_crop = old("ssd_random_crop", _ssd_random_crop)
sequence_reader = old("sequence_reader", readers.sequence)
tfrecord_reader = old("tfrecord_reader", readers.tfrecord)
transform_translation = old("transform_translation", transforms.translation)
uniform = old("uniform", random.uniform)
video_reader = old("video_reader", readers.video)
video_reader_resize = old("video_reader_resize", readers.video_resize)
