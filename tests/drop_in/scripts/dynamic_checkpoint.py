"""A loop that is stopped and goes on from a file."""
import os
import tempfile

import numpy as np
import nvidia.dali.experimental.dynamic as ndd
from nvidia.dali.experimental.dynamic import checkpoint as ckpt

results = []


def make():
    reader = ndd.readers.File(
        file_root=FOLDER, enable_checkpointing=True, num_shards=1, shard_id=0
    )
    return reader, ndd.random.RNG(3)


with tempfile.TemporaryDirectory() as folder:
    reader, rng = make()
    saving = ckpt.Checkpoint()
    results += [saving.register(reader, "reader"), saving.register(rng, "rng")]
    steps = iter(reader.next_epoch(batch_size=3))
    files, labels = next(steps)
    noise = ndd.random.uniform(batch_size=3, rng=rng)
    saving.collect()
    results += [len(saving), saving.is_complete, saving.is_loaded, sorted(saving.names)]
    name = saving.save(os.path.join(folder, "step_{seq:03d}.json"))
    results.append(os.path.basename(name))
    expected = []
    for files, labels in steps:
        expected += [tensor.item() for tensor in labels]

    again, rng_again = make()
    loading = ckpt.Checkpoint()
    loaded = loading.load(os.path.join(folder, "step_{seq:03d}.json"))
    results += [os.path.basename(loaded), loading.is_loaded]
    loading.register(again, "reader")
    loading.register(rng_again, "rng")
    got = []
    for _, (files, labels) in zip(range(2), again.next_epoch(batch_size=3)):
        got += [tensor.item() for tensor in labels]
    results += [expected, got, got == expected]

    text = saving.serialize()
    third = ckpt.Checkpoint()
    third.deserialize(text)
    results += [third.is_loaded, len(third)]
    third.clear()
    results += [third.is_loaded, len(third)]

results.append(ckpt.current() is ndd.EvalContext.current().checkpoint)
results = [np.asarray(value) for value in results]
