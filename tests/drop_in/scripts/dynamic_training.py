"""A training loop: reader, augmentations that are not random, tensors of PyTorch."""
import numpy as np
import torch
from nvidia.dali.experimental import dynamic as ndd

results = []
reader = ndd.readers.File(file_root=FOLDER, random_shuffle=False, name="reader", max_batch_size=3)
meta = reader.get_metadata(batch_size=3)
results += [meta["epoch_size"], meta["number_of_shards"]]


def load(files, labels):
    images = ndd.decoders.image(files, device="cpu")
    images = ndd.crop_mirror_normalize(
        images,
        crop=(32, 32),
        dtype=ndd.float32,
        output_layout="CHW",
        mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
        std=[0.229 * 255, 0.224 * 255, 0.225 * 255],
    )
    return images.torch(), labels.torch()


seen = 0
weights = torch.zeros(3)
for epoch in range(2):
    for files, labels in reader.next_epoch(batch_size=3):
        x, y = load(files, labels)
        assert isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor)
        weights += x.mean(dim=(0, 2, 3))
        seen += len(x)
        results += [x.numpy(), y.numpy()]
results += [seen, tuple(weights.shape)]

singles = ndd.readers.File(file_root=FOLDER)
for file, label in singles.next_epoch():
    image = ndd.decoders.image(file)
    results += [image, label]

ragged = ndd.batch([np.ones((2, 3), np.float32), np.ones((4, 1), np.float32)])
results.append(ragged.torch(pad=True).numpy())
