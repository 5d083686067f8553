# A compiled function in the pipeline, with shapes of its own.
import numpy as np
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.plugin.numba.fn.experimental import numba_function


def set_shapes(outs, ins):
    for i in range(len(outs[0])):
        outs[0][i][0] = ins[0][i][1]
        outs[0][i][1] = ins[0][i][0]


def transpose(out, image):
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            out[x, y] = image[y, x] + 0.5


@pipeline_def(batch_size=2, num_threads=2, device_id=None)
def pipeline():
    planes = fn.external_source(
        source=lambda: [np.arange(6, dtype=np.uint8).reshape(2, 3)] * 2, layout="HW"
    )
    return numba_function(
        planes,
        run_fn=transpose,
        setup_fn=set_shapes,
        in_types=[types.UINT8],
        out_types=[types.FLOAT],
        ins_ndim=[2],
        outs_ndim=[2],
    )


pipe = pipeline()
pipe.build()
results = [np.array(pipe.run()[0].as_array())]
