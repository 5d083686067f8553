"""Readers in pipeline mode."""

import typing as _typing

from gradiva._names import names_of as _names_of
from gradiva.eager.support.lazy_names import lazy_names as _lazy_names

# Nothing is imported before it is asked for; `_names` is made of these lines.
if _typing.TYPE_CHECKING:
    from gradiva.ops.readers.coco import coco as coco
    from gradiva.ops.readers.file import file as file
    from gradiva.ops.readers.mix import mix as mix
    from gradiva.ops.readers.nemo_asr import nemo_asr as nemo_asr
    from gradiva.ops.readers.numpy import numpy as numpy
    from gradiva.ops.readers.records.caffe import caffe as caffe
    from gradiva.ops.readers.records.caffe2 import caffe2 as caffe2
    from gradiva.ops.readers.records.mxnet import mxnet as mxnet
    from gradiva.ops.readers.records.tfrecord import tfrecord as tfrecord
    from gradiva.ops.readers.records.webdataset import webdataset as webdataset
    from gradiva.ops.readers.rows.hdf5 import hdf5 as hdf5
    from gradiva.ops.readers.rows.npz import npz as npz
    from gradiva.ops.readers.rows.objects import table as table
    from gradiva.ops.readers.rows.parquet import parquet as parquet
    from gradiva.ops.readers.rows.text import csv as csv
    from gradiva.ops.readers.rows.text import jsonl as jsonl
    from gradiva.ops.readers.sequence import sequence as sequence
    from gradiva.ops.readers.video.legacy_video import video as video
    from gradiva.ops.readers.video.legacy_video import video_resize as video_resize
else:
    _places = _names_of(__name__)
    __getattr__, __dir__ = _lazy_names(__name__, _places)
    __all__ = list(_places)
