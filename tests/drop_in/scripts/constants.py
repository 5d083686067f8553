# Constants: scalars with types, arrays, in arithmetic, as outputs and as inputs of operators.
import numpy as np
from nvidia.dali import fn, pipeline_def
from nvidia.dali.types import FLOAT, INT32, UINT8, Constant

table = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)


@pipeline_def(batch_size=2, num_threads=1, device_id=None)
def pipeline():
    data = fn.external_source(source=lambda: [np.int32([i, i + 1, 7]) for i in range(2)])
    image = Constant(table, layout="HWC")
    return (
        data * Constant(3),
        data + Constant(2.5, dtype=FLOAT),
        data - Constant(1).uint8(),
        Constant([1, 2, 3]) + data,
        Constant(4, shape=[2, 2], dtype=INT32),
        fn.flip(image),
        fn.cast(Constant(np.float32([1.5, 300.0])), dtype=UINT8),
        fn.constant(fdata=[1, 2, 3, 4], shape=[2, 2]),
    )


pipe = pipeline()
pipe.build()
results = [np.array(output.as_array()) for output in pipe.run()]
