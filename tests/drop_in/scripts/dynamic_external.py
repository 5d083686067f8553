"""Data of one's own: generators and callables as sources."""
import numpy as np
import nvidia.dali.experimental.dynamic as ndd

results = []


def generate():
    for number in range(5):
        yield [np.full((2, 3 + number), number * 10 + k, np.uint8) for k in range(3)]


def numbers():
    for number in range(4):
        yield np.arange(number, number + 3, dtype=np.float32)


source = ndd.ExternalSource(numbers())
while True:
    try:
        value = source()
    except StopIteration:
        break
    results += [value, value * 2]

repeated = ndd.ExternalSource([np.float32(1), np.float32(2)], cycle=True)
results += [repeated().item() for _ in range(5)]

pairs = ndd.ExternalSource(lambda: (np.int32(4), np.arange(3)), num_outputs=2)
left, right = pairs()
results += [left, right, left + right]
left, right = pairs(batch_size=2)
results += [*left.tensors, *right.tensors]


def whole_batches():
    for number in range(3):
        yield ndd.as_batch([np.full((2, 2 + k), number + k, np.int32) for k in range(2)])


counted = ndd.ExternalSource(whole_batches())
for batch in counted.captured(batch_size=2):
    results += [batch.batch_size, *ndd.cast(batch, dtype=ndd.float32).tensors]

for arrays in generate():
    batch = ndd.as_batch(arrays, layout="HW")
    results += list(ndd.flip(ndd.expand_dims(batch, axes=[2], new_axis_names="C")).tensors)
