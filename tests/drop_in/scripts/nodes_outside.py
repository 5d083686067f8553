import numpy as np
from nvidia.dali import Pipeline, fn, ops, types
from nvidia.dali.pipeline import pipeline_def


def pictures(info):
    sides = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)
    return sides + np.uint8(info.idx_in_epoch)


def numbers(info):
    return np.array([info.idx_in_epoch, 2], dtype=np.int32), np.float32(info.iteration)


results = []

# Everything before there is a pipeline.
images = fn.external_source(source=pictures, batch=False, layout="HWC")
pairs, steps = fn.external_source(source=numbers, batch=False, num_outputs=2)
part = images[1:, ::2]
moved = fn.cast(images * 2 + 1, dtype=types.FLOAT) - steps
kept = fn.flip(images, horizontal=pairs[0] % 2)
pipe = Pipeline(batch_size=3, num_threads=1, device_id=None)
pipe.set_outputs(part, moved, kept, pairs, images.shape(), types.Constant(np.int32([7, 8])))
for _ in range(2):
    results += [sample for batch in pipe.run() for sample in map(np.asarray, batch)]

# Made outside, used within.
scale = types.Constant(3)
again = fn.external_source(source=pictures, batch=False, layout="HWC")
turned = fn.rotate(again, angle=90.0)
other = Pipeline(batch_size=2, num_threads=1, device_id=None)
with other:
    labels = fn.external_source(source=lambda info: np.int32(info.idx_in_batch), batch=False)
    other.set_outputs(turned, labels * scale)
results += [sample for batch in other.run() for sample in map(np.asarray, batch)]


# Handed to the function of a pipeline.
@pipeline_def(batch_size=2, num_threads=1, device_id=None)
def cropped(node, size):
    return fn.crop(node, crop=size), node


given = fn.external_source(source=pictures, batch=False, layout="HWC")
results += [sample for batch in cropped(given, (2, 3)).run() for sample in map(np.asarray, batch)]


# In the constructor of a class, with operators as objects.
class Training(Pipeline):
    def __init__(self):
        super().__init__(batch_size=2, num_threads=1, device_id=None)
        self.pictures = fn.external_source(source=pictures, batch=False, layout="HWC")
        self.flip = ops.Flip(vertical=1)
        self.again = self.flip(self.pictures)

    def define_graph(self):
        return self.again, self.flip(self.again)


results += [sample for batch in Training().run() for sample in map(np.asarray, batch)]


# Pipelines as methods.
class Definitions:
    def __init__(self, factor):
        self.factor = factor

    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def scaled(self, more):
        return fn.external_source(source=pictures, batch=False) * (self.factor + more)

    @staticmethod
    @pipeline_def
    def chosen(limit):
        value = fn.external_source(source=lambda info: np.int32(info.idx_in_batch), batch=False)
        if value > limit:
            value = value * 10
        return value


results += [sample for sample in map(np.asarray, Definitions(2).scaled(more=1).run()[0])]
options = {"batch_size": 4, "num_threads": 1, "device_id": None, "enable_conditionals": True}
results += [sample for sample in map(np.asarray, Definitions.chosen(1, **options).run()[0])]
