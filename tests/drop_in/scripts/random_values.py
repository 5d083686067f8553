# Random augmentation. The values differ between libraries; shapes, dtypes and ranges do not.
import numpy as np
from nvidia.dali import fn, pipeline_def, types


@pipeline_def(batch_size=8, num_threads=2, device_id=None, seed=42)
def pipeline(folder):
    jpegs, labels = fn.readers.file(file_root=folder, random_shuffle=True, initial_fill=16)
    images = fn.decoders.image(jpegs, output_type=types.RGB)
    images = fn.random_resized_crop(images, size=(24, 24), random_area=[0.3, 0.9])
    angle = fn.random.uniform(range=(0.8, 1.2))
    images = fn.brightness_contrast(
        images, brightness=angle, contrast=fn.random.uniform(range=(0.8, 1.2))
    )
    coin = fn.random.coin_flip(probability=0.5)
    noise = fn.random.normal(mean=0.0, stddev=1.0, shape=[3])
    chosen = fn.random.uniform(values=[1.0, 2.0, 4.0])
    return fn.flip(images, horizontal=coin), coin, angle, noise, chosen


pipe = pipeline(FOLDER)
pipe.build()
images, coin, angle, noise, chosen = [np.array(output.as_array()) for output in pipe.run()]
results = [np.zeros_like(value) for value in (images, coin, angle, noise, chosen)]
results.append(np.isin(coin, (0, 1)))
results.append((angle >= 0.8) & (angle < 1.2))
results.append(np.isin(chosen, (1.0, 2.0, 4.0)))
results.append(np.abs(noise) < 10)
