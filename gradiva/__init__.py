"""gradiva: operators for batches of images and tensors, that run at once or as a pipeline.

    import gradiva

    reader = gradiva.readers.File(file_root="photos", random_shuffle=True)
    for files, labels in reader.next_epoch(batch_size=32):
        images = gradiva.resize(gradiva.decoders.image(files), size=(224, 224))

The same function of batches, called inside a function decorated with `pipeline_def`, becomes a
prefetching pipeline with the same bits.
"""

from gradiva import auto_aug as auto_aug
from gradiva import backend as backend
from gradiva import capture as capture
from gradiva import checkpoint as checkpoint
from gradiva import data_node as data_node
from gradiva import decoders as decoders
from gradiva import experimental as experimental
from gradiva import extension as extension
from gradiva import fn as fn
from gradiva import io as io
from gradiva import math as math
from gradiva import noise as noise
from gradiva import op_classes as op_classes
from gradiva import ops as ops
from gradiva import pipeline as pipeline
from gradiva import plugin as plugin
from gradiva import plugin_manager as plugin_manager
from gradiva import pytorch as pytorch
from gradiva import random as random
from gradiva import readers as readers
from gradiva import reductions as reductions
from gradiva import segmentation as segmentation
from gradiva import sysconfig as sysconfig
from gradiva import tensors as tensors
from gradiva import tfrecord as tfrecord
from gradiva import transforms as transforms
from gradiva import types as types
from gradiva.capture.node import DataNode as DataNode
from gradiva.capture.options import OperatorConcurrency as OperatorConcurrency
from gradiva.capture.options import StreamPolicy as StreamPolicy
from gradiva.capture.pipeline import Pipeline as Pipeline
from gradiva.capture.pipeline_def import pipeline_def as pipeline_def
from gradiva.eager.align import align as align
from gradiva.eager.batch import Batch as Batch
from gradiva.eager.batch import as_batch as as_batch
from gradiva.eager.batch import batch as batch
from gradiva.eager.device import Device as Device
from gradiva.eager.device import device as device
from gradiva.eager.dtypes import DType as DType
from gradiva.eager.dtypes import bfloat16 as bfloat16
from gradiva.eager.dtypes import bool_ as bool_
from gradiva.eager.dtypes import dtype as dtype
from gradiva.eager.dtypes import float16 as float16
from gradiva.eager.dtypes import float32 as float32
from gradiva.eager.dtypes import float64 as float64
from gradiva.eager.dtypes import int8 as int8
from gradiva.eager.dtypes import int16 as int16
from gradiva.eager.dtypes import int32 as int32
from gradiva.eager.dtypes import int64 as int64
from gradiva.eager.dtypes import type_id as type_id
from gradiva.eager.dtypes import uint8 as uint8
from gradiva.eager.dtypes import uint16 as uint16
from gradiva.eager.dtypes import uint32 as uint32
from gradiva.eager.dtypes import uint64 as uint64
from gradiva.eager.errors import GradivaError as GradivaError
from gradiva.eager.errors import OperatorRuntimeError as OperatorRuntimeError
from gradiva.eager.errors import OperatorTypeError as OperatorTypeError
from gradiva.eager.errors import OperatorValueError as OperatorValueError
from gradiva.eager.modes import EvalContext as EvalContext
from gradiva.eager.modes import EvalMode as EvalMode
from gradiva.eager.pictures.show import show as show
from gradiva.eager.quarantine import Quarantine as Quarantine
from gradiva.eager.quarantine import quarantine as quarantine
from gradiva.eager.rng import step as step
from gradiva.eager.stream import Stream as Stream
from gradiva.eager.stream import get_current_stream as get_current_stream
from gradiva.eager.stream import get_default_stream as get_default_stream
from gradiva.eager.stream import set_current_stream as set_current_stream
from gradiva.eager.stream import set_default_stream as set_default_stream
from gradiva.eager.stream import stream as stream
from gradiva.eager.subscripts import newaxis as newaxis
from gradiva.eager.tensor import Tensor as Tensor
from gradiva.eager.tensor import as_tensor as as_tensor
from gradiva.eager.tensor import tensor as tensor
from gradiva.eager.thread_pool import ThreadPool as ThreadPool
from gradiva.eager.threads import get_num_threads as get_num_threads
from gradiva.eager.threads import set_num_threads as set_num_threads
from gradiva.operators import *  # noqa: F403
from gradiva.ops.decoders.imread import imread as imread
from gradiva.ops.generic.callback import prefetchable as prefetchable
from gradiva.ops.generic.external_source_object import ExternalSource as ExternalSource

bool = bool_
"""The element type, as it is called in dynamic mode."""

__version__ = "0.1.0"
