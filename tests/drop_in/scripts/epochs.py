# Loops over epochs with the length that the reader reports, the last batch wrapping around.
import math

import numpy as np
from nvidia.dali import fn, pipeline_def


@pipeline_def
def files_and_labels(folder):
    files, labels = fn.readers.file(file_root=folder, name="train", shard_id=1, num_shards=2)
    return files, labels


pipe = files_and_labels(FOLDER, batch_size=2, num_threads=1, device_id=None, prefetch_queue_depth=1)
pipe.build()
meta = pipe.reader_meta("train")
size = pipe.epoch_size("train")
results = [np.array([meta[key] for key in sorted(meta)]), np.array(size)]
for epoch in range(3):
    for _ in range(math.ceil(size / meta["number_of_shards"] / 2)):
        files, labels = pipe.run()
        results.append(np.array([len(files.at(i)) for i in range(len(files))]))
        results.append(np.array(labels.as_array()))
