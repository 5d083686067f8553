"""`Compose`: transforms as one pipeline, for one image or a batch of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from threading import Lock
from typing import Any

from gradiva.auto_aug.checks import another_seed
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.capture.pipeline.pipeline_def import pipeline_def
from gradiva.eager.random.default_generator import get_default_rng
from gradiva.eager.support.errors import OperatorValueError, user_location
from gradiva.eager.types.dtypes import DType
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.value import Value
from gradiva.fn import external_source

from .images import as_images
from .pixels import Pixels, pixels_of
from .transform import Transform, check_transforms
from .transforms import ToPureTensor

__all__ = ["Compose"]

_TITLE = "torchvision.Compose"


class Compose(Transform):
    """Several transforms as one pipeline, called like that of torchvision.

    op_list: the transforms, also a `Compose` of them. batch_size: how many images a call may have
        at most. num_threads: of the pipeline, by default half as many as there are cores.
        pipeline_arguments: others of `Pipeline`, such as `seed`.

    It is called with one image of Pillow, one tensor (C, H, W), a batch of tensors (N, C, H, W), or
    a list of either, also of several sizes, and returns the same kind, unless `PILToTensor`,
    `ToPureTensor` or `ToPILImage` are among the transforms. Random transforms draw for each image
    of a batch. Called with a batch of gradiva, or with the symbol of one in a pipeline definition,
    it calls the transforms and makes no pipeline of its own.

    Values are those of torchvision: of images of Pillow with Pillow's arithmetic, of tensors with
    torch's. On a GPU they are those of DALI's operators. A pipeline is made for the first image of
    each kind, dtype and number of channels. In a worker process of torch's `DataLoader` the draws
    depend on the seed of the worker, too, so that no two workers draw the same.
    """

    def __init__(
        self,
        op_list: Sequence[Any],
        batch_size: int = 16,
        num_threads: int = max(1, (os.cpu_count() or 1) // 2),
        **pipeline_arguments: Any,
    ) -> None:
        self.op_list = check_transforms(op_list, _TITLE)
        super().__init__(self.op_list[0].device if self.op_list else "cpu")
        self.batch_size = batch_size
        self.num_threads = num_threads
        self._options = {
            "batch_size": batch_size,
            "num_threads": num_threads,
            "prefetch_queue_depth": 1,
            **pipeline_arguments,
        }
        pipeline_def(_graph, **self._options)  # refuses other names
        self._pure = any(isinstance(one, ToPureTensor) for one in self.op_list)
        self._pipelines: dict[Any, Pipeline] = {}
        self._lock = Lock()

    def __call__(self, images: Any) -> Any:
        """The transformed images.

        Raises OperatorTypeError for what is no image, OperatorValueError for more images than
        `batch_size`, and what the transforms raise.
        """
        if isinstance(images, Value):
            return self.apply(pixels_of(images, _TITLE)).data
        batch, given = as_images(images, self._place)
        if not len(batch) and not given.listed:
            one = images.new_zeros((1, *images.shape[-3:]))
            made = self(one)
            return made[:0].reshape(*images.shape[:-3], *made.shape[1:])
        if len(batch) > self.batch_size:
            raise OperatorValueError(
                operator=_TITLE,
                argument="batch_size",
                expected=f"at least {len(batch)}, as many as these images",
                got=str(self.batch_size),
                location=user_location(),
            )
        with self._lock:
            (result,) = self._pipeline_for(batch).run(images=batch)
        return given.results(result, self._pure)

    def _changed(self, pixels: Pixels) -> Pixels:
        for one in self.op_list:
            pixels = one.apply(pixels)
        return pixels

    def _pipeline_for(self, batch: Batch) -> Pipeline:
        pixels = pixels_of(batch, _TITLE)
        worker = _worker_seed()
        key = pixels.layout, batch.dtype, pixels.channels, worker
        pipeline = self._pipelines.get(key)
        if pipeline is None:
            options = {**self._options, "seed": self._seed_for(worker)}
            factory = pipeline_def(_graph, **options)
            pipeline = factory(
                self.op_list, self._place, pixels.layout, batch.dtype, pixels.channels
            )
            self._pipelines[key] = pipeline
        return pipeline

    def _seed_for(self, worker: int | None) -> int | None:
        """Of the next pipeline: images of several kinds draw other numbers, and so do workers."""
        given: int | None = self._options.get("seed")
        numbers = [number for number in (len(self._pipelines), worker) if number]
        if not numbers:
            return given
        seed = get_default_rng().seed if given is None or given < 0 else given
        for number in numbers:
            seed = another_seed(seed, number) or 0
        return seed

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_pipelines": {}, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=Lock())

    def __repr__(self) -> str:
        return f"Compose({self.op_list!r})"


def _graph(
    steps: Sequence[Transform], place: str, layout: str, dtype: DType, channels: int | None
) -> Any:
    data = external_source(name="images", device=place, layout=layout, dtype=dtype, ndim=3)
    pixels = Pixels(data, layout, channels)
    for one in steps:
        pixels = one.apply(pixels)
    return pixels.data


def _worker_seed() -> int | None:
    """What makes the draws of a worker of a DataLoader its own; None elsewhere."""
    data = sys.modules.get("torch.utils.data")
    worker = None if data is None else data.get_worker_info()
    return None if worker is None else int(worker.seed)
