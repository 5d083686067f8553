"""Descriptions of the features of a record, for `readers.tfrecord`."""

from gradiva.ops.readers.tfrecord.features import (
    Feature,
    FixedLenFeature,
    VarLenFeature,
    float32,
    int64,
    string,
)

__all__ = ["Feature", "FixedLenFeature", "VarLenFeature", "float32", "int64", "string"]
