# A callable that returns batches, told which one by number, and a smaller last batch.
import numpy as np
from nvidia.dali import fn, pipeline_def, types


def load(iteration):
    if iteration == 3:
        raise StopIteration
    size = 4 if iteration < 2 else 3
    return [np.full((2 + i, 3, 1), 10 * iteration + i, np.uint8) for i in range(size)]


@pipeline_def(batch_size=4, num_threads=2, device_id=None)
def pipeline():
    images = fn.external_source(source=load, layout="HWC", dtype=types.UINT8)
    return fn.flip(images, vertical=1), fn.cast(images, dtype=types.FLOAT)


pipe = pipeline()
pipe.build()
results = []
for _ in range(2):
    while True:
        try:
            flipped, floats = pipe.run()
        except StopIteration:
            pipe.reset()
            break
        for i in range(len(flipped)):
            results += [np.array(flipped.at(i)), np.array(floats.at(i))]
    if len(results) > 30:
        break
