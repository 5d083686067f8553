# Names of old versions, which scripts still use: readers, decoders and random values.
import warnings

import numpy as np
from nvidia.dali import ops, types
from nvidia.dali.pipeline import Pipeline

warnings.simplefilter("ignore")


class OldPipeline(Pipeline):
    def __init__(self):
        super().__init__(batch_size=2, num_threads=1, device_id=None, seed=1)
        self.reader = ops.FileReader(file_root=FOLDER)
        self.decoder = ops.ImageDecoder(device="cpu", output_type=types.GRAY)
        self.resize = ops.Resize(size=[20, 20])
        self.coin = ops.CoinFlip(probability=1.0)
        self.uniform = ops.Uniform(range=[0.0, 1.0])
        self.flip = ops.Flip()

    def define_graph(self):
        files, labels = self.reader()
        images = self.resize(self.decoder(files))
        return self.flip(images, horizontal=self.coin()), labels, self.uniform() < 1.0


pipe = OldPipeline()
pipe.build()
results = [np.array(output.as_array()) for output in pipe.run()]
