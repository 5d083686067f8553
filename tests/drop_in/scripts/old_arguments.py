# Arguments that other versions had.
import warnings

import numpy as np
from nvidia.dali import fn, ops, pipeline_def, types

warnings.simplefilter("ignore")


@pipeline_def(batch_size=2, num_threads=1, device_id=None)
def old():
    files, labels = fn.readers.file(file_root=FOLDER)
    images = fn.decoders.image(files, output_type=types.RGB)
    size = fn.shapes(images, type=types.INT32)
    images = fn.crop(images, crop=(20, 20), output_dtype=types.FLOAT, image_type=types.RGB)
    images = fn.slice(images, 2, 16, axes=[1], output_dtype=types.UINT8, image_type=types.RGB)
    resized = fn.resize(
        images, size=(12, 12), interp_type=types.INTERP_NN, image_type=types.RGB
    )
    normal = ops.CropMirrorNormalize(
        output_dtype=types.FLOAT, image_type=types.RGB, mean=[100.0], std=[50.0]
    )
    table = fn.lookup_table(labels, keys=[0, 1], values=[5, 7], output_dtype=types.INT32)
    matrix = [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]
    turned = fn.warp_affine(
        images, matrix=matrix, output_dtype=types.FLOAT, interp_type=types.INTERP_NN
    )
    rotated = fn.rotate(
        images, angle=90.0, output_dtype=types.FLOAT, interp_type=types.INTERP_NN
    )
    return size, images, resized, normal(images), table, turned, rotated


pipe = old()
pipe.build()
results = [np.array(output.as_array()) for output in pipe.run()]
