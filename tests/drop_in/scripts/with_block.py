# A pipeline built in a `with` block, with named operators and arithmetic on what they return.
import numpy as np
import nvidia.dali as dali
import nvidia.dali.fn as fn
import nvidia.dali.types as types

numbers = np.arange(12, dtype=np.float32).reshape(4, 3)
pipe = dali.Pipeline(batch_size=4, num_threads=1, device_id=None)
with pipe:
    data = fn.external_source(source=lambda: numbers, name="numbers")
    integers = fn.cast(data, dtype=types.INT16)
    smooth = (data - 5) / 2 + 1.5
    masks = (data > 3) & (data < 9)
    powers = integers * integers // 3 % 5
    clamped = dali.math.clamp(data, 2, 7) + dali.math.sqrt(data)
    pipe.set_outputs(smooth, masks, powers, clamped, -integers, data[1], data[0:2])
pipe.build()
results = [np.array(output.as_array()) for output in pipe.run()]
