"""What goes wrong here is the user's: `resize_with` is no argument."""

import sys

from nvidia.dali import fn, pipeline_def, types


@pipeline_def(batch_size=2, num_threads=1, device_id=None)
def training(folder):
    files, labels = fn.readers.file(file_root=folder)
    images = fn.decoders.image(files, output_type=types.RGB)
    return fn.resize(images, resize_with=30), labels


print("starts")
pipe = training(sys.argv[1])
print("not reached")
