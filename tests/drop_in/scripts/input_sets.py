# Several inputs in one call: a list of batches, which belong together.
import numpy as np
from nvidia.dali import fn, ops, pipeline_def, types


@pipeline_def(batch_size=3, num_threads=2, device_id=None, seed=7)
def sets():
    files, labels = fn.readers.file(file_root=FOLDER)
    images = fn.decoders.image(files)
    masks = fn.cast(images[:, :, 0:1] > 100, dtype=types.UINT8)
    images, masks = fn.crop([images, masks], crop=(30, 28), crop_pos_x=0.25)
    images, masks = fn.slice([images, masks], 3, 20, axes=[0])
    images, masks = ops.Flip(horizontal=1)([images, masks])
    drawn = fn.random.uniform([images, masks], range=(-1.0, 1.0))
    once = fn.crop([images], crop=(5, 5))
    joined = fn.cat([images, images], masks, axis=2)
    return images, masks, drawn[0][0, 0] == drawn[1][0, 0], once, joined[0], joined[1]


pipe = sets()
pipe.build()
results = [np.array(output.as_array()) for _ in range(2) for output in pipe.run()]
