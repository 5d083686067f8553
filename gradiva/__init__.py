"""gradiva: operators for batches of images and tensors, that run at once or as a pipeline.

    import gradiva

    reader = gradiva.readers.File(file_root="photos", random_shuffle=True)
    for files, labels in reader.next_epoch(batch_size=32):
        images = gradiva.resize(gradiva.decoders.image(files), size=(224, 224))

The same function of batches, called inside a function decorated with `pipeline_def`, becomes a
prefetching pipeline with the same bits.

Where to go from here:

    tutorials/               the idea on one page (00_from_scratch.py), then every part
    docs/                    guides: dynamic mode, pipelines, readers, errors, PyTorch, ...
    gradiva ops              all operators by field; `gradiva ops resize` shows one
    help(gradiva.resize)     the arguments of an operator, with an example
    gradiva demo             decodes and augments photographs, and shows them
"""

from gradiva._names import names_of as _names_of

try:
    from gradiva.compat.old_paths import install as _install
    from gradiva.eager.support.lazy_names import lazy_names as _lazy_names
except ModuleNotFoundError as _error:
    if _error.name != "gradiva.eager":
        raise
    raise ImportError(
        "gradiva/eager, gradiva/ops and gradiva/capture must be symbolic links to the folders "
        "beside gradiva/, but this checkout has files in their place: allow links (on Windows, "
        "turn on Developer Mode), then run `git config core.symlinks true` and "
        "`git checkout -- gradiva`"
    ) from None

__version__ = "0.1.0"

_install()

# Nothing is imported before it is asked for; `_names` is made of these lines.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import typing as _typing

    from gradiva import auto_aug as auto_aug
    from gradiva import capture as capture
    from gradiva import checkpoint as checkpoint
    from gradiva import compat as compat
    from gradiva import convert as convert
    from gradiva import decoders as decoders
    from gradiva import eager as eager
    from gradiva import extension as extension
    from gradiva import fn as fn
    from gradiva import io as io
    from gradiva import math as math
    from gradiva import noise as noise
    from gradiva import plugin as plugin
    from gradiva import random as random
    from gradiva import readers as readers
    from gradiva import receipts as receipts
    from gradiva import reductions as reductions
    from gradiva import samplers as samplers
    from gradiva import segmentation as segmentation
    from gradiva import serve as serve
    from gradiva import transforms as transforms
    from gradiva import types as types
    from gradiva.capture.pipeline.options import OperatorConcurrency as OperatorConcurrency
    from gradiva.capture.pipeline.options import StreamPolicy as StreamPolicy
    from gradiva.capture.pipeline.pipeline import Pipeline as Pipeline
    from gradiva.capture.pipeline.pipeline_def import pipeline_def as pipeline_def
    from gradiva.capture.recording.data_node import DataNode as DataNode
    from gradiva.compat.dali import backend as backend
    from gradiva.compat.dali import backend_impl as backend_impl
    from gradiva.compat.dali import data_node as data_node
    from gradiva.compat.dali import experimental as experimental
    from gradiva.compat.dali import external_source as external_source
    from gradiva.compat.dali import pickling as pickling
    from gradiva.compat.dali import pipeline as pipeline
    from gradiva.compat.dali import plugin_manager as plugin_manager
    from gradiva.compat.dali import sysconfig as sysconfig
    from gradiva.compat.dali import tensors as tensors
    from gradiva.compat.dali import tfrecord as tfrecord
    from gradiva.display.show import show as show
    from gradiva.eager.contexts.eval_modes import EvalContext as EvalContext
    from gradiva.eager.contexts.eval_modes import EvalMode as EvalMode
    from gradiva.eager.contexts.stream import Stream as Stream
    from gradiva.eager.contexts.stream import get_current_stream as get_current_stream
    from gradiva.eager.contexts.stream import get_default_stream as get_default_stream
    from gradiva.eager.contexts.stream import set_current_stream as set_current_stream
    from gradiva.eager.contexts.stream import set_default_stream as set_default_stream
    from gradiva.eager.contexts.stream import stream as stream
    from gradiva.eager.execution.align import align as align
    from gradiva.eager.execution.quarantine import Quarantine as Quarantine
    from gradiva.eager.execution.quarantine import quarantine as quarantine
    from gradiva.eager.random.step import step as step
    from gradiva.eager.runtime.thread_pool import ThreadPool as ThreadPool
    from gradiva.eager.runtime.worker_pool import get_num_threads as get_num_threads
    from gradiva.eager.runtime.worker_pool import set_num_threads as set_num_threads
    from gradiva.eager.schedules.schedule import schedule as schedule
    from gradiva.eager.support.errors import GradivaError as GradivaError
    from gradiva.eager.support.errors import OperatorRuntimeError as OperatorRuntimeError
    from gradiva.eager.support.errors import OperatorTypeError as OperatorTypeError
    from gradiva.eager.support.errors import OperatorValueError as OperatorValueError
    from gradiva.eager.types.dali_types import DALIDataType as _DALIDataType
    from gradiva.eager.types.device import Device as Device
    from gradiva.eager.types.device import DeviceLike as DeviceLike
    from gradiva.eager.types.device import device as device
    from gradiva.eager.types.dtypes import DType as DType
    from gradiva.eager.types.dtypes import ImageType as ImageType
    from gradiva.eager.types.dtypes import InterpType as InterpType
    from gradiva.eager.types.dtypes import bfloat16 as bfloat16
    from gradiva.eager.types.dtypes import bool_ as bool_
    from gradiva.eager.types.dtypes import dtype as dtype
    from gradiva.eager.types.dtypes import float16 as float16
    from gradiva.eager.types.dtypes import float32 as float32
    from gradiva.eager.types.dtypes import float64 as float64
    from gradiva.eager.types.dtypes import int8 as int8
    from gradiva.eager.types.dtypes import int16 as int16
    from gradiva.eager.types.dtypes import int32 as int32
    from gradiva.eager.types.dtypes import int64 as int64
    from gradiva.eager.types.dtypes import type_id as type_id
    from gradiva.eager.types.dtypes import uint8 as uint8
    from gradiva.eager.types.dtypes import uint16 as uint16
    from gradiva.eager.types.dtypes import uint32 as uint32
    from gradiva.eager.types.dtypes import uint64 as uint64
    from gradiva.eager.values.batch import Batch as Batch
    from gradiva.eager.values.batch import as_batch as as_batch
    from gradiva.eager.values.batch import batch as batch
    from gradiva.eager.values.indexing import newaxis as newaxis
    from gradiva.eager.values.tensor import Tensor as Tensor
    from gradiva.eager.values.tensor import as_tensor as as_tensor
    from gradiva.eager.values.tensor import tensor as tensor
    from gradiva.fn._shared_operators import *  # noqa: F403
    from gradiva.ops.external_source.external_source_object import ExternalSource as ExternalSource
    from gradiva.ops.external_source.prefetchable import prefetchable as prefetchable
    from gradiva.ops.image.patches.pixel_values import pixel_values as pixel_values
    from gradiva.ops.readers.imread import imread as imread
    from gradiva.ops.targets.targets import Targets as Targets
    from gradiva.ops.targets.transform import transform as transform
    from gradiva.plugin import pytorch as pytorch

    ops: _typing.Any
    """The packages of operators, and in them the classes of the class spelling."""

    DataType = _DALIDataType
    """The types of elements and arguments, by their names and numbers."""

    bool = bool_
    """The element type, as it is called in dynamic mode."""
else:
    _places = _names_of(__name__)
    __getattr__, __dir__ = _lazy_names(__name__, _places, "gradiva.compat.old_paths:attributes")
    __all__ = list(_places)
    del TYPE_CHECKING
