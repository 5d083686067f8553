# A callable object that returns one sample, with what it needs to know in a SampleInfo.
import numpy as np
from nvidia.dali import fn, pipeline_def


class Samples:
    def __init__(self, count, batch_size):
        self.full_iterations = count // batch_size

    def __call__(self, info):
        if info.iteration >= self.full_iterations:
            raise StopIteration
        number = info.idx_in_epoch
        return (
            np.arange(number, number + 6, dtype=np.float32).reshape(2, 3),
            np.array([number, info.idx_in_batch, info.iteration], np.int32),
        )


@pipeline_def(batch_size=3, num_threads=1, device_id=None)
def pipeline():
    data, info = fn.external_source(source=Samples(7, 3), num_outputs=2, batch=False)
    return data * 2 + 1, info


pipe = pipeline()
pipe.build()
results = []
for epoch in range(2):
    try:
        while True:
            data, info = pipe.run()
            results += [np.array(data.as_array()), np.array(info.as_array())]
    except StopIteration:
        pipe.reset()
