"""Arithmetic and slicing of tensors, batches, numbers and arrays."""
import numpy as np
import nvidia.dali.experimental.dynamic as ndd

results = []

t = ndd.tensor(np.arange(24, dtype=np.int32).reshape(2, 3, 4))
f = ndd.tensor([[1.5, -2.0], [0.25, 8.0]], dtype=ndd.float32)
u = ndd.as_tensor(np.array([200, 100, 7], np.uint8))
results += [t + 1, t * 2, t - t, t // 5, t / 4, t > 10, t == 3, -t, f**2, u & 15, u | 1, u ^ 255]
results += [2.5 * f, 1 - f, u + 100, u * 2.0, f * np.float32(3), t[1], t[:, -1], t[..., ::2][0]]
results += [t[0, 1, 2].item(), (f + f)[1, 0].item(), t[1, :, 1:3]]

b = ndd.batch([np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((1, 5), np.float32)])
offsets = ndd.batch([np.float32(10), np.float32(20)])
for made in (b + offsets, b * 2, 1 / (b + 1), b > 2, b - 3, b + f[0, 0]):
    results += list(made.tensors)
results += list(b.slice[0].tensors)
results += list(b.slice[:, 1:].tensors)
results += list(b.slice[..., -1].tensors)
starts = ndd.batch([np.int32(0), np.int32(2)])
results += list(b.slice[0, starts : starts + 2].tensors)

for made in (ndd.math.sqrt(b), ndd.math.max(b, 2.0), ndd.math.clamp(b, 1.0, 3.0), ndd.math.floor(f)):
    results += list(made.tensors) if isinstance(made, ndd.Batch) else [made]
results += list(ndd.Batch.broadcast(np.array([1, 2, 3]), 3).tensors)
mixed = ndd.cast(b, dtype=ndd.int16)
results += list(mixed.tensors)
results.append(mixed.dtype == ndd.int16)
results.append(np.asarray(ndd.as_tensor(np.ones((2, 2)), layout="HW").layout == "HW"))
results += list(ndd.reductions.sum(b, axes=[1]).tensors)
results += list(ndd.stack(b.slice[0, :3], b.slice[0, :3]).tensors)
results.append(np.from_dlpack(f).copy())
