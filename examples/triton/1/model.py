"""A model for the Python backend of the Triton server: encoded images as normalized tensors.

Put this folder into the model repository as `prepare`, with `config.pbtxt` and `1/model.py`, and
gradiva into the Python environment of the backend. The input has a row for each image, the bytes of
a file. Triton collects requests into batches; the Batcher puts the images of all of them into one
call of gradiva, and a request with a damaged file fails alone.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

import gradiva
from gradiva.serve import Batcher


def prepare(files: Any) -> Any:
    """Encoded images as a model expects them."""
    images = gradiva.decoders.image(files, on_error="skip")
    images = gradiva.resize(images, resize_shorter=256)
    mean, std = [123.7, 116.3, 103.5], [58.4, 57.1, 57.4]
    return gradiva.crop_mirror_normalize(images, crop=(224, 224), mean=mean, std=std)


class TritonPythonModel:
    """What the backend makes of this file, once for each instance of the model."""

    def initialize(self, args: dict[str, str]) -> None:
        config = json.loads(args["model_config"])
        # Triton has waited for requests: the Batcher need not, and it must not refuse any.
        self.batcher = Batcher(
            prepare, max_batch=max(1, config["max_batch_size"]), max_delay_ms=0, block=True
        )

    def execute(self, requests: list[Any]) -> list[Any]:
        """A response for each request."""
        waiting = []
        for request in requests:
            files = pb_utils.get_input_tensor_by_name(request, "files").as_numpy()
            waiting.append([self.batcher.submit(data) for data in files.reshape(-1)])
        return [self._response(futures) for futures in waiting]

    def _response(self, futures: list[Any]) -> Any:
        try:
            images = np.stack([np.asarray(future.result()) for future in futures])
        except gradiva.GradivaError as error:
            text = str(error).partition("\n")[0]
            return pb_utils.InferenceResponse(error=pb_utils.TritonError(text))
        return pb_utils.InferenceResponse([pb_utils.Tensor("images", images)])

    def finalize(self) -> None:
        self.batcher.close()
