# The training recipe that everybody starts from: read, decode, resize, normalise.
import numpy as np
from nvidia.dali import fn, pipeline_def, types


@pipeline_def(batch_size=3, num_threads=2, device_id=None, seed=12)
def training_pipeline(folder):
    jpegs, labels = fn.readers.file(file_root=folder, name="Reader")
    images = fn.decoders.image(jpegs, device="cpu", output_type=types.RGB)
    images = fn.resize(images, size=(32, 40), interp_type=types.INTERP_LINEAR)
    images = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        crop=(28, 28),
        mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
        std=[0.229 * 255, 0.224 * 255, 0.225 * 255],
    )
    return images, labels


pipe = training_pipeline(FOLDER)
pipe.build()
results = []
for _ in range(2):
    images, labels = pipe.run()
    results += [np.array(images.as_array()), np.array(labels.as_array())]
