"""Element types, image types and interpolation types under the names of pipeline mode."""

from gradiva.capture.run_apis import PipelineAPIType
from gradiva.eager.dtypes import DALIDataType, ImageType, InterpType
from gradiva.eager.dtypes import bool_ as BOOL
from gradiva.eager.dtypes import float16 as FLOAT16
from gradiva.eager.dtypes import float32 as FLOAT
from gradiva.eager.dtypes import float64 as FLOAT64
from gradiva.eager.dtypes import int8 as INT8
from gradiva.eager.dtypes import int16 as INT16
from gradiva.eager.dtypes import int32 as INT32
from gradiva.eager.dtypes import int64 as INT64
from gradiva.eager.dtypes import uint8 as UINT8
from gradiva.eager.dtypes import uint16 as UINT16
from gradiva.eager.dtypes import uint32 as UINT32
from gradiva.eager.dtypes import uint64 as UINT64
from gradiva.ops.generic.feed import BatchInfo, SampleInfo

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

CPU_ONLY_DEVICE_ID = -99999

__all__ = [
    "ANY_DATA",
    "BGR",
    "BOOL",
    "CPU_ONLY_DEVICE_ID",
    "FLOAT",
    "FLOAT16",
    "FLOAT64",
    "GRAY",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "INTERP_CUBIC",
    "INTERP_GAUSSIAN",
    "INTERP_LANCZOS3",
    "INTERP_LINEAR",
    "INTERP_NN",
    "INTERP_TRIANGULAR",
    "RGB",
    "UINT8",
    "UINT16",
    "UINT32",
    "UINT64",
    "BatchInfo",
    "DALIDataType",
    "DALIImageType",
    "DALIInterpType",
    "ImageType",
    "InterpType",
    "PipelineAPIType",
    "SampleInfo",
    "YCbCr",
]
