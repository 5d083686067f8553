"""A loop over two epochs, by the iterator for PyTorch."""

import sys

import torch

from nvidia.dali import fn, pipeline_def
from nvidia.dali.plugin.pytorch import DALIGenericIterator
from nvidia.dali.plugin.pytorch import LastBatchPolicy


@pipeline_def
def pictures(folder):
    files, labels = fn.readers.file(file_root=folder, name="Train")
    images = fn.decoders.image(files)
    images = fn.resize(images, resize_x=16, resize_y=16)
    return fn.crop_mirror_normalize(images, output_layout="CHW"), labels


pipe = pictures(sys.argv[1], batch_size=4, num_threads=2, device_id=None)
loader = DALIGenericIterator(
    [pipe], ["data", "label"], reader_name="Train",
    last_batch_policy=LastBatchPolicy.PARTIAL, auto_reset=True,
)
model = torch.nn.Linear(3 * 16 * 16, 2)
for epoch in range(2):
    for i, data in enumerate(loader):
        x, y = data[0]["data"], data[0]["label"].squeeze(-1).long()
        loss = torch.nn.functional.cross_entropy(model(x.flatten(1)), y)
        print(epoch, i, tuple(x.shape), y.tolist(), bool(torch.isfinite(loss)))
