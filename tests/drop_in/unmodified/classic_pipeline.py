"""A training script of the older kind: operators as objects, a class of pipeline, feed_input."""

import argparse

import numpy as np

import nvidia.dali.ops as ops
import nvidia.dali.types as types
from nvidia.dali.pipeline import Pipeline


class TrainPipe(Pipeline):
    def __init__(self, batch_size, num_threads, device_id, folder, crop):
        super(TrainPipe, self).__init__(batch_size, num_threads, device_id, seed=12)
        self.input = ops.FileReader(file_root=folder, shard_id=0, num_shards=1)
        self.decode = ops.ImageDecoder(device="cpu", output_type=types.RGB)
        self.resize = ops.Resize(device="cpu", resize_x=crop, resize_y=crop)
        self.normalize = ops.CropMirrorNormalize(
            device="cpu",
            dtype=types.FLOAT,
            output_layout=types.NCHW,
            mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
            std=[0.229 * 255, 0.224 * 255, 0.225 * 255],
        )
        self.coin = ops.CoinFlip(probability=0.5)
        self.weights = ops.ExternalSource()

    def define_graph(self):
        jpegs, labels = self.input(name="Reader")
        images = self.resize(self.decode(jpegs))
        self.feed = self.weights()
        return self.normalize(images, mirror=self.coin()), labels, self.feed

    def iter_setup(self):
        self.feed_input(self.feed, np.arange(self.batch_size, dtype=np.float32))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("-b", "--batch-size", type=int, default=3)
    args = parser.parse_args()
    pipe = TrainPipe(args.batch_size, 2, None, args.folder, 32)
    pipe.build()
    print("epoch", pipe.epoch_size("Reader"))
    for _ in range(2):
        images, labels, weights = pipe.run()
        print(images.as_array().shape, labels.as_array().ravel().tolist(), weights.as_array())
