# Data that the script puts in: by name and by node, as a list and as an array.
import numpy as np
import nvidia.dali.fn as fn
from nvidia.dali.pipeline import Pipeline

pipe = Pipeline(batch_size=3, num_threads=1, device_id=None, prefetch_queue_depth=1)
with pipe:
    images = fn.external_source(name="images", layout="HWC")
    labels = fn.external_source(name="labels")
    pipe.set_outputs(fn.flip(images), labels + 1)
pipe.build()
results = []
for step in range(3):
    pictures = [np.arange(24, dtype=np.uint8).reshape(2, 4, 3) + 3 * step + i for i in range(3)]
    pipe.feed_input("images", pictures, layout="HWC")
    pipe.feed_input("labels", np.arange(3, dtype=np.int64).reshape(3, 1) + step)
    for output in pipe.run():
        results.append(np.array(output.as_array()))
