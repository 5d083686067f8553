# The way of old: a subclass of Pipeline with operator objects and define_graph.
import numpy as np
import nvidia.dali.ops as ops
import nvidia.dali.types as types
from nvidia.dali.pipeline import Pipeline


class ValidationPipeline(Pipeline):
    def __init__(self, batch_size, num_threads, device_id):
        super(ValidationPipeline, self).__init__(batch_size, num_threads, device_id, seed=3)
        self.input = ops.readers.File(file_root=FOLDER, random_shuffle=False)
        self.decode = ops.decoders.Image(device="cpu", output_type=types.RGB)
        self.resize = ops.Resize(device="cpu", resize_x=36, resize_y=30)
        self.crop = ops.Crop(device="cpu", crop=(24, 24))
        self.cast = ops.Cast(dtype=types.INT32)
        self.swap = ops.Transpose(perm=[2, 0, 1])

    def define_graph(self):
        jpegs, labels = self.input()
        images = self.decode(jpegs)
        images = self.resize(images)
        return self.swap(self.crop(images, crop_pos_x=0.25, crop_pos_y=0.75)), self.cast(labels)


pipe = ValidationPipeline(4, 2, None)
pipe.build()
results = [np.array(output.as_array()) for output in pipe.run()]
