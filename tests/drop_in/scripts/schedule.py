# The run in three steps, for those who overlap it with something else.
import numpy as np
from nvidia.dali import fn, pipeline_def


@pipeline_def(batch_size=2, num_threads=1, device_id=None, prefetch_queue_depth=2)
def pipeline():
    numbers = fn.external_source(source=lambda info: np.int32([info.idx_in_epoch]), batch=False)
    return numbers, numbers * 3


pipe = pipeline()
pipe.build()
results = []
pipe.schedule_run()
for _ in range(3):
    pipe.schedule_run()
    numbers, triple = pipe.share_outputs()
    results += [np.array(numbers.as_array()), np.array(triple.as_array())]
    pipe.release_outputs()
