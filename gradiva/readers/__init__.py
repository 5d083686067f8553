"""Readers of dynamic mode: objects that are looped over, epoch by epoch."""

from typing import TYPE_CHECKING

from gradiva._names import names_of
from gradiva.eager.support.lazy_names import lazy_names

# Nothing is imported before it is asked for; `_names` is made of these lines.
if TYPE_CHECKING:
    from gradiva.ops.readers.coco import COCO
    from gradiva.ops.readers.file import File
    from gradiva.ops.readers.mix import Mix
    from gradiva.ops.readers.mix import mixed as mix
    from gradiva.ops.readers.nemo_asr import NemoAsr
    from gradiva.ops.readers.numpy import Numpy
    from gradiva.ops.readers.records.caffe import Caffe
    from gradiva.ops.readers.records.caffe2 import Caffe2
    from gradiva.ops.readers.records.mxnet import MXNet
    from gradiva.ops.readers.records.tfrecord import TFRecord
    from gradiva.ops.readers.records.webdataset import Webdataset
    from gradiva.ops.readers.rows.hdf5 import HDF5
    from gradiva.ops.readers.rows.npz import Npz
    from gradiva.ops.readers.rows.objects import TableReader as Table
    from gradiva.ops.readers.rows.parquet import Parquet
    from gradiva.ops.readers.rows.text import CSV, JSONL
    from gradiva.ops.readers.sequence import Sequence
    from gradiva.ops.readers.video.legacy_video import Video, VideoResize
else:
    __getattr__, __dir__ = lazy_names(__name__, names_of(__name__))

__all__ = [
    "COCO",
    "CSV",
    "HDF5",
    "JSONL",
    "Caffe",
    "Caffe2",
    "File",
    "MXNet",
    "Mix",
    "NemoAsr",
    "Npz",
    "Numpy",
    "Parquet",
    "Sequence",
    "TFRecord",
    "Table",
    "Video",
    "VideoResize",
    "Webdataset",
    "mix",
]
