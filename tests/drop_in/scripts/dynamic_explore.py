"""A first look at a folder of images, as in a notebook."""
from pathlib import Path

import numpy as np
import nvidia.dali.experimental.dynamic as ndd

results = []

names = sorted(Path(FOLDER).glob("*/*.png"))
one = ndd.imread(names[0])
results += [one, one.shape, one.ndim, one.nbytes, one.size, one.itemsize]
results.append(one.dtype == ndd.uint8)
results.append(one.layout == "HWC")

images = ndd.imread([str(name) for name in names])
results.append(images.batch_size)
results += [np.array(shape) for shape in images.shape]

for image in images:
    results.append(image.cpu())

flipped = ndd.flip(images, horizontal=1)
cropped = ndd.crop(flipped, crop=(20, 24), crop_pos_x=0.25)
darker = ndd.brightness_contrast(cropped, brightness=0.5)
results += list(darker.tensors)

row = one[3]
results += [row, one[2:10:3, 1], one[..., 0], one[-1, -1, 1].item()]
results.append(images.select(2))
results.append(images.tensors[-1])
results += list(images.slice[:5, 2:9, 0].tensors)
