"""Readers in pipeline mode."""

from typing import TYPE_CHECKING

from gradiva._names import names_of
from gradiva.eager.support.lazy_names import lazy_names

# Nothing is imported before it is asked for; `_names` is made of these lines.
if TYPE_CHECKING:
    from gradiva.ops.readers.coco.coco import coco
    from gradiva.ops.readers.file import file
    from gradiva.ops.readers.lmdb.caffe import caffe
    from gradiva.ops.readers.lmdb.caffe2 import caffe2
    from gradiva.ops.readers.mix.mix import mix
    from gradiva.ops.readers.mxnet import mxnet
    from gradiva.ops.readers.nemo_asr import nemo_asr
    from gradiva.ops.readers.numpy import numpy
    from gradiva.ops.readers.rows.hdf5 import hdf5
    from gradiva.ops.readers.rows.npz import npz
    from gradiva.ops.readers.rows.objects import table
    from gradiva.ops.readers.rows.parquet import parquet
    from gradiva.ops.readers.rows.text import csv, jsonl
    from gradiva.ops.readers.sequence import sequence
    from gradiva.ops.readers.tfrecord.tfrecord import tfrecord
    from gradiva.ops.readers.video.legacy_video import video, video_resize
    from gradiva.ops.readers.webdataset.webdataset import webdataset
else:
    __getattr__, __dir__ = lazy_names(__name__, names_of(__name__))

__all__ = [
    "caffe",
    "caffe2",
    "coco",
    "csv",
    "file",
    "hdf5",
    "jsonl",
    "mix",
    "mxnet",
    "nemo_asr",
    "npz",
    "numpy",
    "parquet",
    "sequence",
    "table",
    "tfrecord",
    "video",
    "video_resize",
    "webdataset",
]
