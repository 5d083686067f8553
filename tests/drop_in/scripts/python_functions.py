# Python in the pipeline: per sample, per batch, several outputs, the class, and side effects.
import numpy as np
from nvidia.dali import fn, ops, pipeline_def, types

seen = []


def edges(image):
    result = np.zeros(image.shape, np.int16)
    result[:, 1:] = image[:, 1:].astype(np.int16) - image[:, :-1]
    return result


def statistics(image):
    return np.float32([image.mean()]), np.array(image.shape, np.int64)


def brightest(images):
    top = max(int(image.max()) for image in images)
    return [np.uint8(255 - top) + image for image in images]


def note(image):
    seen.append(int(image[0, 0, 0]))


@pipeline_def(batch_size=3, num_threads=2, device_id=None, exec_async=False, exec_pipelined=False)
def pipeline():
    images = fn.external_source(
        source=lambda info: np.arange(
            info.idx_in_epoch, info.idx_in_epoch + 24, dtype=np.uint8
        ).reshape(2, 4, 3),
        batch=False,
        layout="HWC",
    )
    mean, shape = fn.python_function(images, function=statistics, num_outputs=2)
    fn.python_function(images, function=note, num_outputs=0)
    lifted = ops.PythonFunction(brightest, batch_processing=True)(images)
    return fn.python_function(images, function=edges, output_layouts="HWC"), mean, shape, lifted


pipe = pipeline()
pipe.build()
results = []
for _ in range(2):
    outputs = pipe.run()
    results += [np.array(output.as_array()) for output in outputs]
results.append(
    np.array(
        [ord(letter) for letter in outputs[0].layout()]
        if callable(outputs[0].layout)
        else list(map(ord, outputs[0].layout))
    )
)
results.append(np.array(seen))
