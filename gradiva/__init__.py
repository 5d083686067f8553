"""gradiva: operators for batches of images and tensors, that run at once or as a pipeline.

    import gradiva

    reader = gradiva.readers.File(file_root="photos", random_shuffle=True)
    for files, labels in reader.next_epoch(batch_size=32):
        images = gradiva.resize(gradiva.decoders.image(files), size=(224, 224))

The same function of batches, called inside a function decorated with `pipeline_def`, becomes a
prefetching pipeline with the same bits.
"""

from gradiva import decoders, fn, pipeline, random, readers, types
from gradiva.capture.node import DataNode
from gradiva.capture.pipeline import Pipeline, pipeline_def
from gradiva.eager.batch import Batch, as_batch, batch
from gradiva.eager.device import Device, device
from gradiva.eager.dtypes import (
    DType,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from gradiva.eager.errors import (
    GradivaError,
    OperatorRuntimeError,
    OperatorTypeError,
    OperatorValueError,
)
from gradiva.eager.rng import step
from gradiva.eager.tensor import Tensor, as_tensor, tensor
from gradiva.eager.threads import default_pool, set_num_threads
from gradiva.ops.decoders.imread import imread
from gradiva.ops.decoders.peek_image_shape import peek_image_shape
from gradiva.ops.generic.cast import cast
from gradiva.ops.generic.external_source_object import ExternalSource
from gradiva.ops.generic.transpose import transpose
from gradiva.ops.image.brightness_contrast import brightness_contrast
from gradiva.ops.image.crop import crop
from gradiva.ops.image.crop_mirror_normalize import crop_mirror_normalize
from gradiva.ops.image.flip import flip
from gradiva.ops.image.resize import resize

__version__ = "0.1.0"


def get_num_threads() -> int:
    """The number of threads that operators of dynamic mode use."""
    return default_pool().num_threads


__all__ = [
    "Batch",
    "DType",
    "DataNode",
    "Device",
    "ExternalSource",
    "GradivaError",
    "OperatorRuntimeError",
    "OperatorTypeError",
    "OperatorValueError",
    "Pipeline",
    "Tensor",
    "as_batch",
    "as_tensor",
    "batch",
    "bool_",
    "brightness_contrast",
    "cast",
    "crop",
    "crop_mirror_normalize",
    "decoders",
    "device",
    "flip",
    "float16",
    "float32",
    "float64",
    "fn",
    "get_num_threads",
    "imread",
    "int8",
    "int16",
    "int32",
    "int64",
    "peek_image_shape",
    "pipeline",
    "pipeline_def",
    "random",
    "readers",
    "resize",
    "set_num_threads",
    "step",
    "tensor",
    "transpose",
    "types",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
