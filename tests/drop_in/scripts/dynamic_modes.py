"""Modes, contexts, threads and devices."""
import numpy as np
import nvidia.dali.experimental.dynamic as ndd

results = []
images = ndd.batch(
    [np.arange(60, dtype=np.uint8).reshape(4, 5, 3), np.full((2, 6, 3), 9, np.uint8)], layout="HWC"
)


def work(batch):
    return ndd.brightness_contrast(ndd.flip(batch, vertical=1), contrast=1.5)


for mode in ndd.EvalMode:
    results.append(mode.value)
    with mode:
        results.append(ndd.EvalMode.current() is mode)
        made = work(images)
        made.evaluate()
    results += list(made.tensors)
results += [len(ndd.EvalMode), ndd.EvalMode["deferred"] is ndd.EvalMode.deferred]

with ndd.EvalMode.deferred:
    late = work(images)
    ndd.EvalContext.current().evaluate_all()
    results += list(late.tensors)

outside = ndd.EvalContext.current()
results.append(outside is ndd.EvalContext.default())
with ndd.EvalContext(num_threads=2) as context:
    pass
context = ndd.EvalContext(num_threads=2)
with context:
    results.append(ndd.EvalContext.current() is context)
    results += [context.num_threads, context.device_id is None, context.cuda_stream is None]
    results += list(work(images).tensors)
results.append(ndd.EvalContext.current() is outside)

pool = ndd.ThreadPool(3)
results += [pool.num_threads, pool.device_id is None]
with ndd.EvalContext(thread_pool=pool):
    results += list(work(images).tensors)
    results.append(ndd.EvalContext.current().num_threads)

ndd.set_num_threads(2)
results.append(ndd.get_num_threads())
for wrong in (0, -1, 10**6):
    try:
        ndd.set_num_threads(wrong)
    except ValueError:
        results.append("refused")
try:
    ndd.set_num_threads(1.5)
except TypeError:
    results.append("no integer")
ndd.set_num_threads(None)

cpu = ndd.Device("cpu")
results += [cpu == ndd.Device.CPU, str(cpu), cpu.device_type, cpu.device_id is None]
results += [ndd.device(cpu) is cpu, ndd.Device.type_from_dlpack(1), ndd.Device.type_from_dlpack(2)]
results += [ndd.Device.from_dlpack(np.zeros(3)) == cpu, ndd.Device.current() == cpu]
results.append(ndd.Device.default_device_id("cpu") is None)
with cpu:
    results.append(ndd.Device.current() == cpu)
    results += list(work(images.to_device("cpu")).tensors)
for wrong in ("tpu", "cpu:0", "gpu:-1"):
    try:
        ndd.device(wrong)
    except ValueError:
        results.append("refused")
results += [ndd.stream(stream=None) is None, images.device == cpu]
