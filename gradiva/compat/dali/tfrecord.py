"""Descriptions of the features of a record, for `readers.tfrecord`."""

from gradiva.ops.readers.records.tfrecord_features import (
    Feature,
    FixedLenFeature,
    VarLenFeature,
    float32,
    int64,
    string,
)

__all__ = ["Feature", "FixedLenFeature", "VarLenFeature", "float32", "int64", "string"]
