"""Element types, image types, constants and other types under the names of pipeline mode."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.capture.pipeline.run_api import PipelineAPIType
from gradiva.capture.recording.constants import Constant, ConstantNode, ScalarConstant
from gradiva.eager.types.dali_types import DALIDataType, OtherType
from gradiva.eager.types.dtypes import DType, ImageType, InterpType
from gradiva.eager.types.dtypes import bool_ as BOOL
from gradiva.eager.types.dtypes import float16 as FLOAT16
from gradiva.eager.types.dtypes import float32 as FLOAT
from gradiva.eager.types.dtypes import float64 as FLOAT64
from gradiva.eager.types.dtypes import int8 as INT8
from gradiva.eager.types.dtypes import int16 as INT16
from gradiva.eager.types.dtypes import int32 as INT32
from gradiva.eager.types.dtypes import int64 as INT64
from gradiva.eager.types.dtypes import uint8 as UINT8
from gradiva.eager.types.dtypes import uint16 as UINT16
from gradiva.eager.types.dtypes import uint32 as UINT32
from gradiva.eager.types.dtypes import uint64 as UINT64
from gradiva.ops.external_source.callback_source import BatchInfo, SampleInfo

DALIImageType = ImageType
DALIInterpType = InterpType

RGB = ImageType.RGB
BGR = ImageType.BGR
GRAY = ImageType.GRAY
YCbCr = ImageType.YCbCr
ANY_DATA = ImageType.ANY_DATA

INTERP_NN = InterpType.INTERP_NN
INTERP_LINEAR = InterpType.INTERP_LINEAR
INTERP_CUBIC = InterpType.INTERP_CUBIC
INTERP_LANCZOS3 = InterpType.INTERP_LANCZOS3
INTERP_TRIANGULAR = InterpType.INTERP_TRIANGULAR
INTERP_GAUSSIAN = InterpType.INTERP_GAUSSIAN
INTERP_BOX = InterpType.INTERP_BOX
INTERP_HAMMING = InterpType.INTERP_HAMMING
INTERP_NEAREST_EXACT = InterpType.INTERP_NEAREST_EXACT

NO_TYPE = OtherType.NO_TYPE
STRING = OtherType.STRING
FEATURE = OtherType.FEATURE
IMAGE_TYPE = OtherType.IMAGE_TYPE
DATA_TYPE = OtherType.DATA_TYPE
INTERP_TYPE = OtherType.INTERP_TYPE
TENSOR_LAYOUT = OtherType.TENSOR_LAYOUT
PYTHON_OBJECT = OtherType.PYTHON_OBJECT

NCHW, NHWC, NFHWC, NFCHW = "CHW", "HWC", "FHWC", "FCHW"
"""Layouts of samples; the axis of the batch has no letter."""
SAME = ""
"""The layout that stays as it is."""

CPU_ONLY_DEVICE_ID = -99999


class TensorLayout(str):
    """A layout such as "HWC": a string."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"types.TensorLayout({str(self)!r})"


class CUDAStream:
    """A CUDA stream by its address, `ptr`; None or 0 for the default one."""

    def __init__(self, ptr: int | None = None) -> None:
        self.ptr = ptr or 0


def to_numpy_type(dali_type: DType | int) -> type[np.generic]:
    """NumPy's scalar type for an element type. Raises KeyError for a type that is none."""
    if isinstance(dali_type, DType):
        return dali_type.numpy.type
    try:
        return DType.from_type_id(int(dali_type)).numpy.type
    except ValueError:
        raise KeyError(dali_type) from None


def to_dali_type(framework_type: Any) -> DType:
    """The element type for a NumPy dtype, a scalar type or a name. Raises TypeError."""
    try:
        return DType.of(framework_type)
    except (TypeError, ValueError) as error:
        raise TypeError(str(error)) from None


__all__ = [
    "ANY_DATA",
    "BGR",
    "BOOL",
    "CPU_ONLY_DEVICE_ID",
    "DATA_TYPE",
    "FEATURE",
    "FLOAT",
    "FLOAT16",
    "FLOAT64",
    "GRAY",
    "IMAGE_TYPE",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "INTERP_BOX",
    "INTERP_CUBIC",
    "INTERP_GAUSSIAN",
    "INTERP_HAMMING",
    "INTERP_LANCZOS3",
    "INTERP_LINEAR",
    "INTERP_NEAREST_EXACT",
    "INTERP_NN",
    "INTERP_TRIANGULAR",
    "INTERP_TYPE",
    "NCHW",
    "NFCHW",
    "NFHWC",
    "NHWC",
    "NO_TYPE",
    "PYTHON_OBJECT",
    "RGB",
    "SAME",
    "STRING",
    "TENSOR_LAYOUT",
    "UINT8",
    "UINT16",
    "UINT32",
    "UINT64",
    "BatchInfo",
    "CUDAStream",
    "Constant",
    "ConstantNode",
    "DALIDataType",
    "DALIImageType",
    "DALIInterpType",
    "ImageType",
    "InterpType",
    "PipelineAPIType",
    "SampleInfo",
    "ScalarConstant",
    "TensorLayout",
    "YCbCr",
    "to_dali_type",
    "to_numpy_type",
]
