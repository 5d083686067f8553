"""Samples from a callable, made in worker processes that are spawned."""

import os
import pickle

import numpy as np

from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.plugin.base_iterator import LastBatchPolicy


class Squares:
    def __init__(self, count):
        self.count = count
        self.policy = LastBatchPolicy.PARTIAL

    def __call__(self, sample_info: types.SampleInfo):
        if sample_info.idx_in_epoch >= self.count:
            raise StopIteration
        number = np.array([sample_info.idx_in_epoch ** 2], dtype=np.int32)
        return number, np.array([os.getpid()], dtype=np.int64)


@pipeline_def(batch_size=4, num_threads=1, device_id=None, py_num_workers=2, py_start_method="spawn")
def numbers():
    return tuple(
        fn.external_source(
            source=Squares(10), num_outputs=2, parallel=True, batch=False,
            dtype=[types.INT32, types.INT64],
        )
    )


if __name__ == "__main__":
    copy = pickle.loads(pickle.dumps(Squares(3)))
    print(copy.policy is LastBatchPolicy.PARTIAL)
    pipe = numbers()
    pipe.build()
    while True:
        try:
            squares, processes = pipe.run()
        except StopIteration:
            break
        print(squares.as_array().ravel().tolist(), os.getpid() in processes.as_array())
