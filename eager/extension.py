"""What files with operators import, under one name: `from gradiva.eager import extension as op`.

`gradiva.extension` gives the same names to those who write operators outside of this package.
"""

import sys
from typing import TYPE_CHECKING, Any

from gradiva.eager.cuda.launch import CudaKernel as CudaKernel
from gradiva.eager.cuda.launch import Launch as Launch
from gradiva.eager.cuda.launch import OutputArg as OutputArg
from gradiva.eager.cuda.launch import Scratch as Scratch
from gradiva.eager.cuda.launch import blocks_of as blocks_of
from gradiva.eager.cuda.launch import launch_over as launch_over
from gradiva.eager.cuda.launch import numbered as numbered
from gradiva.eager.cuda.launch import refuse_large as refuse_large
from gradiva.eager.cuda.launch import struct_rows as struct_rows
from gradiva.eager.cuda.launch import type_name as type_name
from gradiva.eager.jit.jit import jit as jit
from gradiva.eager.operators.argument_groups import argument_group as argument_group
from gradiva.eager.operators.argument_groups import uses_arguments as uses_arguments
from gradiva.eager.operators.argument_types import DoubleArg as DoubleArg
from gradiva.eager.operators.argument_types import DoublesArg as DoublesArg
from gradiva.eager.operators.argument_types import DTypeLike as DTypeLike
from gradiva.eager.operators.argument_types import FloatArg as FloatArg
from gradiva.eager.operators.argument_types import FloatArrayArg as FloatArrayArg
from gradiva.eager.operators.argument_types import Floats as Floats
from gradiva.eager.operators.argument_types import FloatsArg as FloatsArg
from gradiva.eager.operators.argument_types import ImageTypeLike as ImageTypeLike
from gradiva.eager.operators.argument_types import IntArg as IntArg
from gradiva.eager.operators.argument_types import InterpArg as InterpArg
from gradiva.eager.operators.argument_types import InterpTypeLike as InterpTypeLike
from gradiva.eager.operators.argument_types import Ints as Ints
from gradiva.eager.operators.argument_types import IntsArg as IntsArg
from gradiva.eager.operators.argument_types import Layout as Layout
from gradiva.eager.operators.argument_types import MatrixArg as MatrixArg
from gradiva.eager.operators.argument_types import OnError as OnError
from gradiva.eager.operators.argument_types import Path as Path
from gradiva.eager.operators.argument_types import Paths as Paths
from gradiva.eager.operators.argument_types import RaggedFloatsArg as RaggedFloatsArg
from gradiva.eager.operators.argument_types import RaggedIntsArg as RaggedIntsArg
from gradiva.eager.operators.argument_types import Strings as Strings
from gradiva.eager.operators.argument_types import UnevenFloatsArg as UnevenFloatsArg
from gradiva.eager.operators.argument_types import UnevenIntsArg as UnevenIntsArg
from gradiva.eager.operators.arguments import Common as Common
from gradiva.eager.operators.arguments import Sampled as Sampled
from gradiva.eager.operators.call import Call as Call
from gradiva.eager.operators.cases import Case as Case
from gradiva.eager.operators.cases import case as case
from gradiva.eager.operators.cases import samples as samples
from gradiva.eager.operators.layout_hints import warn_of_mixed_channels as warn_of_mixed_channels
from gradiva.eager.operators.operator import Operator as Operator
from gradiva.eager.operators.operator import maker as maker
from gradiva.eager.operators.operator import operator as operator
from gradiva.eager.operators.pixelwise import pixelwise as pixelwise
from gradiva.eager.operators.plan import Plan as Plan
from gradiva.eager.operators.type_rules import refuse_samples as refuse_samples
from gradiva.eager.operators.type_rules import require_dtype as require_dtype
from gradiva.eager.operators.type_rules import require_layout as require_layout
from gradiva.eager.operators.type_rules import require_ndim as require_ndim
from gradiva.eager.operators.type_rules import with_layout as with_layout
from gradiva.eager.random.philox import normal_from_word as normal_from_word
from gradiva.eager.random.philox import philox as philox
from gradiva.eager.rows.convert import convert_sat as convert_sat
from gradiva.eager.rows.row_kernel import row_kernel as row_kernel
from gradiva.eager.runtime.worker_pool import WorkerPool as WorkerPool
from gradiva.eager.support.errors import GradivaError as GradivaError
from gradiva.eager.support.errors import OperatorRuntimeError as OperatorRuntimeError
from gradiva.eager.support.errors import OperatorTypeError as OperatorTypeError
from gradiva.eager.support.errors import OperatorValueError as OperatorValueError
from gradiva.eager.support.errors import SampleDataError as SampleDataError
from gradiva.eager.support.errors import describe as describe
from gradiva.eager.support.errors import without_frames as without_frames
from gradiva.eager.support.errors import wrong_type as wrong_type
from gradiva.eager.support.errors import wrong_value as wrong_value
from gradiva.eager.types.arrays import Int64Array as Int64Array
from gradiva.eager.types.batch_shape import BatchShape as BatchShape
from gradiva.eager.types.coordinate_maps import IN_PLACE as IN_PLACE
from gradiva.eager.types.coordinate_maps import NoMap as NoMap
from gradiva.eager.types.coordinate_maps import axis_map as axis_map
from gradiva.eager.types.coordinate_maps import spatial_axes as spatial_axes
from gradiva.eager.types.coordinate_maps import window_map as window_map
from gradiva.eager.types.dtypes import DType as DType
from gradiva.eager.types.dtypes import ImageType as ImageType
from gradiva.eager.types.dtypes import InterpType as InterpType
from gradiva.eager.types.dtypes import bool_ as bool_
from gradiva.eager.types.dtypes import float16 as float16
from gradiva.eager.types.dtypes import float32 as float32
from gradiva.eager.types.dtypes import float64 as float64
from gradiva.eager.types.dtypes import int8 as int8
from gradiva.eager.types.dtypes import int16 as int16
from gradiva.eager.types.dtypes import int32 as int32
from gradiva.eager.types.dtypes import int64 as int64
from gradiva.eager.types.dtypes import uint8 as uint8
from gradiva.eager.types.dtypes import uint16 as uint16
from gradiva.eager.types.dtypes import uint32 as uint32
from gradiva.eager.types.dtypes import uint64 as uint64
from gradiva.eager.types.provenance import NamesOnDemand as NamesOnDemand
from gradiva.eager.types.provenance import Provenance as Provenance
from gradiva.eager.types.sample_type import SampleType as SampleType
from gradiva.eager.values.batch import Batch as Batch
from gradiva.eager.values.batch import batch as batch
from gradiva.eager.values.tensor import Tensor as Tensor
from gradiva.eager.values.value import Value as Value

if TYPE_CHECKING:
    from typing_extensions import Unpack as Unpack
elif sys.version_info >= (3, 11):
    from typing import Unpack as Unpack
else:

    class Unpack:
        """`Unpack[Common]`, for Python 3.10, which has none: nothing reads it at run time."""

        def __class_getitem__(cls, group: Any) -> Any:
            return group
