# Arguments that differ per sample: fed from outside, and computed in the pipeline.
import numpy as np
from nvidia.dali import fn, pipeline_def, types

images = [np.arange(90, dtype=np.uint8).reshape(5, 6, 3) + i for i in range(4)]
flips = [np.int32(i % 2) for i in range(4)]
corners = [np.float32([i / 4, 1 - i / 4]) for i in range(4)]


@pipeline_def(batch_size=4, num_threads=2, device_id=None)
def pipeline():
    image = fn.external_source(source=lambda: images, layout="HWC")
    flip = fn.external_source(source=lambda: flips)
    corner = fn.external_source(source=lambda: corners)
    flipped = fn.flip(image, horizontal=flip, vertical=1 - flip)
    cropped = fn.crop(image, crop=(3, 4), crop_pos_x=corner[0], crop_pos_y=corner[1])
    bright = fn.brightness(image, brightness=0.5 + fn.cast(flip, dtype=types.FLOAT))
    mirrored = fn.crop_mirror_normalize(image, mirror=flip, dtype=types.FLOAT, mean=[8.0] * 3)
    return flipped, cropped, bright, mirrored


pipe = pipeline()
pipe.build()
results = [np.array(output.as_array()) for output in pipe.run()]
