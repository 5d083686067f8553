# An iterable class as a source, over and over with cycle="raise", and a generator function.
import numpy as np
from nvidia.dali import fn
from nvidia.dali.pipeline import Pipeline


class Batches:
    def __init__(self, size):
        self.size = size

    def __iter__(self):
        self.number = 0
        return self

    def __next__(self):
        if self.number >= 6:
            raise StopIteration
        batch = [np.array([self.number + i], np.int64) for i in range(self.size)]
        self.number += self.size
        return batch, np.stack(batch) * 10


pipe = Pipeline(batch_size=2, num_threads=1, device_id=None)
with pipe:
    left, right = fn.external_source(source=Batches(2), num_outputs=2, cycle="raise")
    pipe.set_outputs(left, right, left - right)
pipe.build()
results = []
for epoch in range(2):
    while True:
        try:
            results += [np.array(output.as_array()) for output in pipe.run()]
        except StopIteration:
            pipe.reset()
            break
