"""A function of operators, run by hand."""

import sys

import nvidia.dali as dali
import nvidia.dali.fn as fn
import nvidia.dali.types as types
from nvidia.dali import pipeline_def


@pipeline_def(batch_size=2, num_threads=2, device_id=None)
def validation(folder, size=40):
    encoded, labels = fn.readers.file(file_root=folder, name="Reader", pad_last_batch=True)
    images = fn.decoders.image(encoded, device="cpu", output_type=types.RGB)
    images = fn.resize(images, size=[size, size], interp_type=types.INTERP_LINEAR)
    bright = fn.cast(images, dtype=types.FLOAT) * 0.5 + types.Constant(1.0)
    return fn.crop(bright, crop=(24, 20)), labels.gpu() if "--gpu" in sys.argv else labels


pipe = validation(sys.argv[1], size=48)
pipe.build()
print(dali.__version__.split(".")[0].isdigit(), pipe.reader_meta("Reader")["epoch_size"])
for _ in range(3):
    images, labels = pipe.run()
    print([images.at(i).shape for i in range(len(images))], labels.as_array().tolist())
    assert images.as_cpu().as_array().min() >= 1
